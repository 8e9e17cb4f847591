"""Runs every tool with --help, --version, an unknown option and missing files: check_command_lines.py WORK_FOLDER.

Exit codes: 0 done, 1 the input or the run failed, 2 wrong usage. The language server and the reducer are MLIR's own
programs, with its messages and exit code 1 for both.
"""

import pathlib
import re
import subprocess
import sys

WORK = pathlib.Path(sys.argv[1])
MISSING = WORK / "missing"
OUT = WORK / "out.dsflash"
UNKNOWN = "--no-such-option"
NOT_THERE = r"missing.*: (cannot open|no such|not a folder|No such|no compiled model)"

VERSION = r"{tool} \d+\.\d+\.\d+\nLLVM 22\.1\.\d+\nABI \d+\ntargets cpu, nvptx\n"
RUNTIME_VERSION = r"{tool} \d+\.\d+\.\d+\n"

# Tool, arguments, exit code, standard output, first line of standard error; None: nothing.
CASES = [
    ("dsflash-opt", ["--version"], 0, VERSION, None),
    ("dsflash-compile", ["--version"], 0, VERSION, None),
    ("dsflash-lsp-server", ["--version"], 0, VERSION, None),
    ("dsflash-reduce", ["--version"], 0, VERSION, None),
    ("dsflash-run", ["--version"], 0, RUNTIME_VERSION, None),
    ("dsflash-bench", ["--version"], 0, RUNTIME_VERSION, None),
    ("dsflash-opt", [UNKNOWN], 2, None, "dsflash-opt: error: usage: .*no-such-option"),
    ("dsflash-compile", ["x", "-o", OUT, UNKNOWN], 2, None, "dsflash-compile: error: usage: .*no-such-option"),
    ("dsflash-run", ["x", UNKNOWN], 2, None, "dsflash-run: error: command line: .*no-such-option"),
    ("dsflash-bench", [UNKNOWN], 2, None, "dsflash-bench: error: command line: .*no-such-option"),
    ("dsflash-lsp-server", [UNKNOWN], 1, None, "dsflash-lsp-server: .*no-such-option"),
    ("dsflash-reduce", [UNKNOWN], 1, None, "dsflash-reduce: .*no-such-option"),
    ("dsflash-compile", [], 2, None, "dsflash-compile: error: usage: CHECKPOINT is required"),
    ("dsflash-run", [], 2, None, "dsflash-run: error: command line: MODEL is required"),
    ("dsflash-bench", [], 2, None, "dsflash-bench: error: command line: .* is required"),
    ("dsflash-opt", [MISSING], 1, None, "dsflash-opt: error: .*" + NOT_THERE),
    ("dsflash-reduce", [MISSING], 1, None, ".*missing': No such file"),
    ("dsflash-compile", [MISSING, "-o", OUT], 1, None, "dsflash-compile: error: .*" + NOT_THERE),
    ("dsflash-compile", ["--from=dsflash", MISSING, "-o", OUT], 1, None, "dsflash-compile: error: .*" + NOT_THERE),
    ("dsflash-run", [MISSING, "--prompt", "x"], 1, None, "dsflash-run: error: .*" + NOT_THERE),
    ("dsflash-run", [MISSING, "--describe"], 1, None, "dsflash-run: error: .*" + NOT_THERE),
    ("dsflash-bench", ["model", MISSING], 1, None, "dsflash-bench: error: .*" + NOT_THERE),
    ("dsflash-bench", ["--make-checkpoint", OUT, "--config", MISSING], 1, None, "dsflash-bench: error: .*" + NOT_THERE),
]
TOOLS = sorted({case[0] for case in CASES})
CASES += [(tool, ["--help"], 0, r"(?s).*--help", None) for tool in TOOLS]


def fault(tool, arguments, code, out, error):
    run = subprocess.run([tool, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    first = run.stderr.split("\n")[0]
    if run.returncode != code:
        return f"exit code {run.returncode}, {code} expected: {first}"
    for text, pattern in (run.stdout, out), (first, error):
        if (not re.match(pattern.replace("{tool}", tool), text)) if pattern else text:
            return f"{text[:300]!r} does not match {pattern}"
    return None


WORK.mkdir(parents=True, exist_ok=True)
wrong = [f"{tool} {arguments}: {why}" for tool, arguments, *expected in CASES if (why := fault(tool, arguments, *expected))]
sys.exit("\n".join(wrong) or (f"{OUT} was written" if OUT.exists() else None))
