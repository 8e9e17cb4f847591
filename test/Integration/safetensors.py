"""Reads safetensors files into NumPy arrays; bf16 becomes float32."""

import json
import struct

import numpy as np

_TYPES = {"BF16": np.uint16, "F32": np.float32, "I32": np.int32, "I64": np.int64, "U8": np.uint8}


def read(path):
    """{name: array}"""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        body = file.read()
    tensors = {}
    for name, info in header.items():
        if name == "__metadata__":
            continue
        begin, end = info["data_offsets"]
        array = np.frombuffer(body[begin:end], _TYPES[info["dtype"]]).reshape(info["shape"])
        if info["dtype"] == "BF16":
            array = (array.astype(np.uint32) << 16).view(np.float32)
        tensors[name] = array
    return tensors


def write(path, tensors):
    """tensors: {name: float32 or int32 array, or (type name, array of its bytes)}"""
    header, offset, arrays = {}, 0, []
    for name, value in tensors.items():
        kind, array = value if isinstance(value, tuple) else ("F32" if value.dtype == np.float32 else "I32", value)
        arrays.append(array)
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in arrays:
            file.write(np.ascontiguousarray(array).tobytes())
