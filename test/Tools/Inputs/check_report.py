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

assert all(stage["operations"] > 0 for stage in report["stages"][1:])
# The passes of a stage are parts of it.
for stage in report["stages"]:
    assert sum(time["seconds"] for time in report["passes"] if time["stage"] == stage["name"]) <= stage["seconds"], stage
assert {"FuseRoundingPass", "OneShotBufferizePass"} <= {time["name"] for time in report["passes"]}
# The names that scripts rely on, for every kernel; what has no meaning on a CPU is null.
KEYS = ["name", "target", "phase", "count", "flops", "bytes_read", "bytes_written", "registers", "spills",
        "shared_memory", "buffers"]
work = {"decode": 0, "prefill": 0}
for kernel in report["kernels"]:
    assert list(kernel) == KEYS, kernel
    assert kernel["name"] and kernel["target"] == "cpu" and kernel["count"] > 0, kernel
    assert any(buffer["access"] == "write" for buffer in kernel["buffers"]) or kernel["bytes_written"] == 0, kernel
    work[kernel["phase"]] += kernel["flops"] or 0
# A chunk's collapsed stream: 512 rows of 5120 floats, rounded in place.
collapse = next(k for k in report["kernels"] if k["phase"] == "prefill" and k["name"].startswith("hc_collapse"))
assert {"type": "memref<512x5120xf32>", "access": "write", "bytes": 512 * 5120 * 4} in collapse["buffers"], collapse
# Pieces of a workspace lie inside it, at multiples of 64 bytes.
assert report["memory_plan"]
for piece in report["memory_plan"]:
    assert piece["offset"] % 64 == 0 and piece["bytes"] > 0, piece
    assert piece["offset"] + piece["bytes"] <= memory["workspace"], piece
# Every active parameter is multiplied once for a token.
near(work["decode"], 2 * parameters["active_decode"], 0.002)
assert work["prefill"] > 256 * work["decode"]
