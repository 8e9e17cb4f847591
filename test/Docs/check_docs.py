"""Runs what the pages say: commands, IR, edits of a walk-through, links.

    check_docs.py BUILD_DIR WORK_DIR [PAGE ...]     check these pages, or all of them
    check_docs.py --apply PAGE TREE                 make the edits of a page in a tree

A page is Markdown. What its fenced blocks mean:

sh      Lines that begin with "$ " are commands; those behind them are what the command prints, in this order, other
        lines may stand between. "..." in a line stands for anything. The commands of a page run in one scratch folder
        that looks like the root of the repository; every one must succeed. `sh manual` is not run.
mlir    A module that dsflash-opt accepts.
c       A file that compiles against include/ without warnings.
Any language with `file=PATH` is an edit: a new file, or an insertion into one `after="LINE"` or `before="LINE"`. The files
of a page's edits go through TableGen and the compiler as in the build, in a copy of the tree.
Other blocks are not checked.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["README.md", "CONTRIBUTING.md", *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/*.md"))]
SOURCES = ["include", "lib", "test", "unittests"]
ACCEPTS = {"mlir": "dsflash-opt block.mlir",
           "c": "clang-22 -fsyntax-only -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Werror -Iinclude block.c"}
FENCE = re.compile(r"^```(\S+)([^\n]*)\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
FILE = re.compile(r"`((?:docs|include|lib|scripts|test|tools|unittests)/[\w./-]+\.\w+)`")


class Block:
    def __init__(self, text, match):
        self.line = text.count("\n", 0, match.start()) + 1
        self.language, self.body = match[1], match[3]
        words = shlex.split(match[2])
        self.options = dict(word.split("=", 1) for word in words if "=" in word)
        self.manual = "manual" in words


def blocks_of(page):
    text = (ROOT / page).read_text()
    return [Block(text, match) for match in FENCE.finditer(text)]


def steps_of(body):
    """(command, expected lines) of an `sh` block."""
    steps = []
    for line in body.replace("\\\n", "").splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif line.strip() and steps:
            steps[-1][1].append(line)
    return steps


def missing_line(expected, output):
    """The first expected line that the output does not have in its place; None if all are there."""
    lines = iter(" ".join(line.split()) for line in output.splitlines())
    for wanted in expected:
        pattern = ".*".join(re.escape(" ".join(part.split())) for part in wanted.split("..."))
        if not any(re.search(pattern, line) for line in lines):
            return wanted
    return None


def apply_edits(blocks, tree):
    """Makes the edits of a page; gives the paths of the files."""
    paths = []
    for block in blocks:
        if "file" not in block.options:
            continue
        path = tree / block.options["file"]
        text = path.read_text() if path.exists() else ""
        anchor = block.options.get("after") or block.options.get("before")
        if bool(anchor) != path.exists():
            raise ValueError(f"line {block.line}: {block.options['file']} is{'' if path.exists() else ' not'} there")
        found = list(re.finditer(rf"^[ ]*{re.escape(anchor)}[ ]*\n", text, re.M)) if anchor else []
        if anchor and len(found) != 1:
            raise ValueError(f"line {block.line}: '{anchor}' is {len(found)} times in {block.options['file']}")
        at = found[0].span()["after" in block.options] if anchor else 0
        text = text[:at] + block.body + text[at:]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        paths.append(block.options["file"])
    return list(dict.fromkeys(paths))


class Checker:
    def __init__(self, build, work):
        self.build, self.work = build, work
        self.faults = 0
        self.environment = dict(os.environ, XDG_CACHE_HOME=str(work / "cache"),
                                PATH=f"{build / 'bin'}:/usr/lib/llvm-22/bin:{os.environ['PATH']}")

    def fault(self, page, line, text):
        self.faults += 1
        print(f"{page}:{line}: {text}")

    def run(self, command, folder):
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=folder, env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
        return done.returncode, done.stdout

    def check_page(self, page):
        folder = self.work / page.replace("/", "-")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for entry in ROOT.iterdir():
            if not entry.name.startswith((".", "build")):
                (folder / entry.name).symlink_to(entry)
        (folder / "build").symlink_to(self.build)
        blocks = blocks_of(page)
        for block in blocks:
            if "file" in block.options or block.manual:
                continue
            if block.language == "sh":
                self.check_commands(page, block, folder)
            elif block.language in ACCEPTS:
                self.check_accepted(page, block, folder)
        self.check_links(page)
        if any("file" in block.options for block in blocks):
            self.check_edits(page, blocks, folder / "edited")

    def check_commands(self, page, block, folder):
        if not steps_of(block.body):
            self.fault(page, block.line, "no line begins with '$ '")
        for command, expected in steps_of(block.body):
            code, output = self.run(command, folder)
            wanted = missing_line(expected, output)
            if code or wanted:
                why = f"exit {code}" if code else f"no line '{wanted.strip()}'"
                self.fault(page, block.line, f"{why}: {command}\n{output[-2000:]}")

    def check_accepted(self, page, block, folder):
        (folder / f"block.{block.language}").write_text(block.body)
        code, output = self.run(ACCEPTS[block.language], folder)
        if code:
            self.fault(page, block.line, output)

    def check_links(self, page):
        text = FENCE.sub("", (ROOT / page).read_text())
        for target in LINK.findall(text):
            if "://" not in target and not (ROOT / page).parent.joinpath(target).exists():
                self.fault(page, 1, f"no file '{target}'")
        for name in FILE.findall(text):
            if not (ROOT / name).exists():
                self.fault(page, 1, f"no file '{name}'")

    def check_edits(self, page, blocks, tree):
        """Compiles the edited files with the commands of the build, in a copy of the tree."""
        for name in SOURCES:
            shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("golden", "__pycache__"))
        try:
            paths = apply_edits(blocks, tree)
        except ValueError as error:
            return self.fault(page, 1, str(error))
        generated = tree / "generated" / "include"
        shutil.copytree(self.build / "include", generated, ignore=lambda _, names: [n for n in names if "CMake" in n])

        def moved(command):
            command = command.replace(f"{self.build}/include", str(generated))
            return re.sub(rf"{ROOT}/({'|'.join(SOURCES)})\b", rf"{tree}/\1", command)

        database = json.loads((self.build / "compile_commands.json").read_text())
        commands = {entry["file"]: entry["command"] for entry in database}
        steps = []
        if any(path.endswith(".td") for path in paths):
            _, text = self.run("ninja -t commands DSFlashHeaders", self.build)
            steps += [" && ".join(step.split(" && ")[:2]) for step in text.splitlines() if "-tblgen" in step]
        for path in paths:
            if path.endswith(".cpp"):
                steps.append((commands.get(str(ROOT / path)) or self.sibling(commands, path)) + " -fsyntax-only")
        for step in steps:
            code, output = self.run(moved(step), self.build)
            if code:
                return self.fault(page, 1, output)

    @staticmethod
    def sibling(commands, path):
        """The command of a new file: that of another one in its folder."""
        file = ROOT / path
        other = next(known for known in commands if pathlib.Path(known).parent == file.parent)
        return commands[other].replace(other, str(file))


def main():
    if sys.argv[1] == "--apply":
        page, tree = sys.argv[2:]
        print("\n".join(apply_edits(blocks_of(page), pathlib.Path(tree))))
        return
    build, work, *pages = sys.argv[1:]
    checker = Checker(pathlib.Path(build).resolve(), pathlib.Path(work).resolve())
    shutil.rmtree(checker.work / "cache", ignore_errors=True)
    for page in pages or PAGES:
        checker.check_page(page)
        print(f"{page}: checked", flush=True)
    sys.exit(checker.faults > 0)


if __name__ == "__main__":
    main()
