"""What GPU kernels touch in a step, as dsflash-bench kernels --json has it: no byte more than they must, and as many requests
as the formulas of their tiles say (docs/Nvptx.md). Keys count in steps of 64, so that attention over a few of them moves more;
AttentionTest has it with whole steps."""

import json
import sys

with open(sys.argv[1]) as file:
    kernels = json.load(file)["kernels"]
with_formula, on_tensor_cores = set(), set()
for kernel in kernels:
    name = kernel["name"]
    assert kernel["unique_ratio"] <= 1.02 or name.startswith(("csa2", "attention")), (name, kernel["unique_ratio"])
    assert kernel["bank_ratio"] <= 1.1, (name, kernel["bank_ratio"])
    assert kernel["sector_ratio"] <= 1.05, (name, kernel["sector_ratio"])
    if kernel["request_formula"] is not None:
        with_formula.add(name.split("_")[0])
        assert abs(kernel["request_ratio"] / kernel["request_formula"] - 1) <= 0.05, kernel
    if kernel["tensor_share"]:
        on_tensor_cores.add(name.split("_")[0])
assert with_formula >= {"linear", "grouped", "expert", "csa2", "attention", "indexer"}, with_formula
assert on_tensor_cores >= {"linear", "grouped", "expert", "csa2"}, on_tensor_cores
