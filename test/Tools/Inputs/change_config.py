"""change_config.py CONFIG KEY=JSON ...   prints the config with these keys of its text_config; KEY= takes one away."""

import json
import sys

document = json.load(open(sys.argv[1]))
for change in sys.argv[2:]:
    key, value = change.split("=", 1)
    if value:
        document["text_config"][key] = json.loads(value)
    else:
        del document["text_config"][key]
json.dump(document, sys.stdout)
