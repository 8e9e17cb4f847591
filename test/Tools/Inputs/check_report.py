"""The report of the published config against the numbers that its authors give."""

import json
import pathlib
import sys

report = json.loads(pathlib.Path(sys.argv[1]).read_text())


def near(value, expected, part=0.001):
    assert abs(value - expected) <= part * expected, f"{value} is not {expected}"


assert report["kv_bytes_per_token"] == 890
parameters = report["parameters"]
near(parameters["backbone"], 551.6e9)
near(parameters["active_prefill"], 7.89e9)
near(parameters["active_decode"], 16.13e9)
memory = report["memory"]
near(memory["weights"], 510e9, 0.005)
assert memory["session_per_token"] == 890
assert memory["workspace"] > 0 and memory["session_fixed"] > 0
assert [stage["name"] for stage in report["stages"]] == ["config", "dsflash", "phases", "kernels"]
near(sum(stage["seconds"] for stage in report["stages"]), report["seconds"])

work = {"decode": 0, "prefill": 0}
for kernel in report["kernels"]:
    assert kernel["name"] and kernel["target"] == "cpu" and kernel["count"] > 0, kernel
    work[kernel["phase"]] += kernel.get("flops", 0)
# Every active parameter is multiplied once for a token.
near(work["decode"], 2 * parameters["active_decode"], 0.002)
assert work["prefill"] > 256 * work["decode"]
