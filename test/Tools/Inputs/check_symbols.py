"""check_symbols.py MODEL.so MODEL.ll   what a compiled model takes, gives and holds."""

import re
import subprocess
import sys

# Sine and cosine of large angles, and what LLVM makes of copies.
ALLOWED = {"sinf", "cosf", "memset", "memcpy", "memmove"}


def symbols(*flags):
    """{name: kind}, as nm prints them."""
    lines = subprocess.run(["llvm-nm", *flags, sys.argv[1]], check=True, capture_output=True, text=True).stdout.splitlines()
    return {line.split()[-1]: line.split()[-2] for line in lines}


taken = set(symbols("-D", "--undefined-only"))
given = set(symbols("-D", "--defined-only"))
# LLVM may have a second form of a function, for arguments that are constants.
functions = {name.split(".specialized.")[0] for name, kind in symbols("--defined-only").items() if kind in "tT"}
emitted = set(re.findall(r'^define [^@]*@"?([^"(]+)"?\(', open(sys.argv[2]).read(), re.M))
faults = [f"undefined: {name}" for name in sorted(taken - ALLOWED)]
faults += [f"exported: {name}" for name in sorted(given ^ {"dsf_module_query"})]
faults += [f"not in --emit=llvm: {name}" for name in sorted(functions - emitted)]
if not functions:
    faults.append("no function symbols")
sys.exit("\n".join(faults) or 0)
