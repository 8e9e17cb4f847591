"""Runs each pass of dsflash by itself on every module given: it may refuse, with a message, but not crash."""

import re
import subprocess
import sys

OPT = "dsflash-opt"
modules = sys.argv[1:]
listed = subprocess.run([OPT, "--help"], capture_output=True, text=True, check=True).stdout
passes = re.findall(r"^ +--((?:convert-)?dsflash-[a-z-]+) ", listed, re.MULTILINE)
assert len(passes) >= 15, passes
passes += ["dsflash-legalize-numerics=mode=ideal", "dsflash-phases-pipeline=numerics=ideal probes"]
passes += [f"dsflash-test-drop-rounding=points={name}" for name in ("probabilities", "state.window", "attn.q")]

faults = 0
for module in modules:
    for name in passes:
        done = subprocess.run([OPT, module, f"--{name}"], capture_output=True, text=True)
        refused = done.returncode == 1 and "error:" in done.stderr
        if done.returncode != 0 and not refused:
            print(f"{OPT} {module} --{name}: exit {done.returncode}\n{done.stderr[:2000]}")
            faults += 1
sys.exit(faults > 0)
