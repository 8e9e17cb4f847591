"""Puts standard input, as a block of text, between the marks of a section of a page: write_section.py PAGE NAME

The marks are lines "<!-- NAME -->" and "<!-- end of NAME -->".
"""

import pathlib
import sys

page, name = pathlib.Path(sys.argv[1]), sys.argv[2]
begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
text = page.read_text()
if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
    sys.exit(f"write_section.py: error: {page}: no section '{name}'")
before, rest = text.split(begin)
_, after = rest.split(end)
page.write_text(f"{before}{begin}```text\n{sys.stdin.read().rstrip()}\n```\n{end}{after}")
