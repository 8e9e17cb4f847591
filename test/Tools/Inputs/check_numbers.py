"""Gives every numeric option of dsflash-run and dsflash-bench numbers that it cannot mean: check_numbers.py.

Each is wrong usage (exit code 2), and the first line of standard error says which option wants what.
"""

import subprocess
import sys

INT, INT64, UINT64 = 2**31 - 1, 2**63 - 1, 2**64 - 1
GREATEST = "1.79769e+308"

# Tool and what stands before the option, the option, its least and greatest number.
RUN, BENCH = ["dsflash-run", "m", "--prompt", "x"], "dsflash-bench"
WHOLE = [
    (RUN, "-n", 0, INT64),
    (RUN, "--seed", 0, UINT64),
    (RUN, "--chunk", 1, INT64),
    (RUN, "--threads", 1, INT),
    ([BENCH, "--make-checkpoint", "d", "--config", "c"], "--seed", 0, UINT64),
    ([BENCH, "limits"], "--threads", 1, INT),
    ([BENCH, "model", "m"], "--threads", 1, INT),
    ([BENCH, "model", "m"], "--context", 0, INT),
    ([BENCH, "model", "m"], "--sequences", 1, INT),
    ([BENCH, "model", "m"], "--prompt-tokens", 1, INT),
    ([BENCH, "model", "m"], "--generate", 1, INT),
    ([BENCH, "kernels", "m"], "--sequences", 1, INT),
    ([BENCH, "kernels", "m"], "--generate", 1, INT),
    ([BENCH, "engram", "m"], "--generate", 1, INT),
    ([BENCH, "compile", "c"], "--repeat", 1, INT64),
    ([BENCH, "compare", "a", "b"], "--prompt-tokens", 1, INT),
    ([BENCH, "compare", "a", "b"], "--generate", 1, INT),
    ([BENCH, "compare", "a", "b"], "--rounds", 1, INT64),
]
REAL = [(RUN, "--temperature", 0, GREATEST), (RUN, "--top-p", 0, 1)]
NO_NUMBER = ["x", "12x", "nan", "-nan", "inf", "0x10", " 5", "5 ", "1'000", "1_000", "--5", "+-5", "-"]
WORDS = [
    ("--draft", NO_NUMBER + ["-1", "1.5", str(INT64 + 1)], "'{text}' is not off, auto or a count"),
    ("--effort", NO_NUMBER + ["0", "101", "1.5", str(UINT64 + 1)], '"{text}" is none of 1 to 100, low, high, xhigh, max'),
]


def cases():
    """Command, option, text and what is wrong with it."""
    for kind, options, none in (("whole number", WHOLE, ["1.5", "1e3"]), ("number", REAL, ["1e", "1.5.2", "."])):
        for command, option, least, most in options:
            more = "1e999" if most == GREATEST else most + 1
            for text in (least - 1, -INT64 - 1, -10 * UINT64):
                yield command, option, text, f"must be {least} or more, got {text}"
            for text in (more, "9" * 400) if most != GREATEST else (more,):
                yield command, option, text, f"must be {most} or less, got {text}"
            for text in NO_NUMBER + none:
                yield command, option, text, f"must be a {kind}, got '{text}'"
    for option, texts, why in WORDS:
        for text in texts:
            yield RUN, option, text, why.format(text=text)


def fault(command, option, text, why):
    value = [option, str(text)] if option == "-n" else [f"{option}={text}"]
    run = subprocess.run([*command, *value], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    first, expected = run.stderr.split("\n")[0], f"{command[0]}: error: command line: {option}: {why}"
    return None if (run.returncode, first) == (2, expected) else f"exit code {run.returncode}: {first}, not: {expected}"


sys.exit("\n".join(filter(None, (fault(*case) for case in cases()))) or None)
