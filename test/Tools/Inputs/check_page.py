"""The page of a report: well-formed, complete in itself, a table for each part."""

import html.parser
import pathlib
import sys


class Page(html.parser.HTMLParser):
    open, headings, rows, links = [], [], 0, []

    def handle_starttag(self, tag, attributes):
        self.rows += tag == "tr"
        self.links += [value for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


page = Page()
page.feed(pathlib.Path(sys.argv[1]).read_text())
assert page.open == [] and page.links == [], (page.open, page.links)
HEADINGS = ["memory", "phases", "contexts", "flops_growth", "kernels", "memory_plan", "parameters", "stages", "passes"]
assert page.headings == HEADINGS, page.headings
assert page.rows > 50, page.rows
