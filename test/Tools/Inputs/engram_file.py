"""Moves the Engram tables of a checkpoint into a file of their own: engram_file.py MODEL OUT [REST].

With REST, all other tensors go into that file.
"""

import json
import struct
import sys

model, out, *rest = sys.argv[1:]
with open(f"{model}/model.safetensors", "rb") as file:
    (length,) = struct.unpack("<Q", file.read(8))
    tensors = json.loads(file.read(length))
    data = file.read()


def write(path, names):
    header, body = {}, b""
    for name in names:
        begin, end = tensors[name]["data_offsets"]
        header[name] = dict(tensors[name], data_offsets=[len(body), len(body) + end - begin])
        body += data[begin:end]
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


tensors.pop("__metadata__", None)
tables = [name for name in sorted(tensors) if ".engram.embed." in name]
write(out, tables)
for path in rest:
    write(path, [name for name in tensors if name not in tables])
