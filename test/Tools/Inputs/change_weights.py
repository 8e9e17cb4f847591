"""Copies a checkpoint with changes to its tensors.

    change_weights.py CHECKPOINT OUT [drop=NAME] [add=NAME] [shape=NAME:JSON] [dtype=NAME:DTYPE] ...
"""

import json
import pathlib
import shutil
import struct
import sys


def read(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header, body = json.loads(data[8:8 + length]), data[8 + length:]
    header.pop("__metadata__", None)
    return {name: (info, body[slice(*info["data_offsets"])]) for name, info in header.items()}


def write(path, tensors):
    header, offset = {}, 0
    for name, (info, data) in tensors.items():
        header[name] = {**info, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, data in tensors.values()))


def change(tensors, what, argument):
    name, _, value = argument.partition(":")
    if what == "drop":
        del tensors[name]
    elif what == "add":
        tensors[name] = ({"dtype": "F32", "shape": [1]}, bytes(4))
    elif what == "shape":
        tensors[name][0]["shape"] = json.loads(value)
    elif what == "dtype":
        tensors[name][0]["dtype"] = value
    else:
        sys.exit(f"unknown change {what}")


source, out = map(pathlib.Path, sys.argv[1:3])
out.mkdir(parents=True)
for name in ("config.json", "tokenizer.json"):
    shutil.copy(source / name, out)
tensors = read(source / "model.safetensors")
for argument in sys.argv[3:]:
    change(tensors, *argument.split("=", 1))
write(out / "model.safetensors", tensors)
