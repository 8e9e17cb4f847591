"""Moves the Engram tables of a checkpoint into a file of their own: engram_file.py MODEL OUT."""

import json
import struct
import sys

model, out = sys.argv[1:]
with open(f"{model}/model.safetensors", "rb") as file:
    (length,) = struct.unpack("<Q", file.read(8))
    tensors = json.loads(file.read(length))
    data = file.read()
header, body = {}, b""
for name, tensor in sorted(tensors.items()):
    if ".engram.embed." in name:
        begin, end = tensor["data_offsets"]
        header[name] = dict(tensor, data_offsets=[len(body), len(body) + end - begin])
        body += data[begin:end]
text = json.dumps(header).encode()
with open(out, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + body)
