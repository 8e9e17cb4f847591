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
KEYS = ["name", "target", "phase", "tokens_before", "count", "flops", "bytes_read", "bytes_written", "uses_state",
        "bytes_requested", "registers", "spills", "shared_memory", "buffers"]
work = {"decode": 0, "prefill": 0}
for kernel in report["kernels"]:
    assert list(kernel) == KEYS, kernel
    assert kernel["name"] and kernel["target"] == "cpu" and kernel["count"] > 0, kernel
    assert any(buffer["access"] == "write" for buffer in kernel["buffers"]) or kernel["uses_state"], kernel
    work[kernel["phase"]] += kernel["flops"] or 0
# A chunk's collapsed stream: 512 rows of 5120 floats, rounded in place.
collapse = next(k for k in report["kernels"] if k["phase"] == "prefill" and k["name"].startswith("hc_collapse"))
assert {"type": "memref<512x5120xf32>", "access": "write", "bytes": 512 * 5120 * 4} in collapse["buffers"], collapse
# Pieces of a workspace lie inside it, at multiples of 64 bytes.
assert report["memory_plan"]
for piece in report["memory_plan"]:
    assert piece["offset"] % 64 == 0 and piece["bytes"] > 0, piece
    assert piece["offset"] + piece["bytes"] <= memory["workspace"], piece
# What the compiled phases multiply (SPEC section 4: active parameters; section 3: rows of the trapezoid; section 6: growth).
phases = {phase["phase"]: phase for phase in report["phases"]}
near(phases["prompt"]["active_parameters"], 7.89e9)
near(phases["decode"]["active_parameters"], 16.13e9)
assert phases["exact tail"]["rows"] == 128 + 19 * 127 and phases["bounded tail"]["rows"] == 128
# Of the trapezoid's rows less than all pass every layer, and more than a window.
assert phases["bounded tail"]["flops"] < phases["exact tail"]["flops"] < phases["bounded tail"]["flops"] * 2541 / 128
full, prompt = (phases[name]["flops"] / phases[name]["rows"] for name in ("full prefill", "prompt"))
assert 8192 * prompt + phases["exact tail"]["flops"] <= 0.62 * 8192 * full
assert 8192 * prompt + phases["bounded tail"]["flops"] <= 0.55 * 8192 * full
first, _, last = report["contexts"]
assert (first["tokens"], last["tokens"]) == (4096, 1 << 20)
# Three sources of ratio 2 and one of ratio 1 scan; four layers read 2048 blocks of 8.
assert first["rows_scanned"] == 3 * 2048 + 4096 and last["rows_scanned"] == 3 * 2**19 + 2**20
assert first["rows_in_candidates"] == 4 * 4096 and last["rows_in_candidates"] == 4 * 2048 * 8
near((last["flops_products"] + last["flops_attention"] + last["flops_index"]) / 1e9, 57.67, 0.002)
near((first["flops_products"] + first["flops_attention"] + first["flops_index"]) / 1e9, 35.70, 0.002)
growth = report["flops_growth"]
assert abs(growth["alike"] - 1.615) < 0.01 and abs(growth["fp4_at_half"] - 1.31) < 0.01
assert abs(growth["fp4_at_quarter"] - 1.15) < 0.01
size = lambda context: sum(bytes for key, bytes in context.items() if key.startswith("bytes_") and key != "bytes_scanned_keys")
assert size(last) <= 1.02 * size(first), (size(first), size(last))
# Every active parameter is multiplied once for a token.
near(work["decode"], 2 * parameters["active_decode"], 0.002)
assert work["prefill"] > 256 * work["decode"]
