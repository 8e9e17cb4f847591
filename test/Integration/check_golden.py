"""Compares a compiled model with what the oracle computed (test/golden/README.md says how near).

    check_golden.py BIN_DIR WORK_DIR MODEL ideal|reference [DEVICE]
"""

import pathlib
import sys

import numpy as np

import safetensors
from tools import Tools

STEPS = 6  # greedy tokens in a golden


class Report:
    def __init__(self, quiet=False):
        self.failed, self.quiet = 0, quiet

    def check(self, good, text):
        self.failed += not good
        if not self.quiet:
            print(("ok    " if good else "FAIL  ") + text)

    def near(self, name, got, expected, bound):
        got, expected = np.asarray(got, np.float64), np.asarray(expected, np.float64)
        if got.shape != expected.shape:
            return self.check(False, f"{name}: shape {got.shape}, expected {expected.shape}")
        error = np.linalg.norm(got - expected) / max(np.linalg.norm(expected), 1e-30)
        self.check(error <= bound, f"{name}: relative L2 {error:.2e}, at most {bound:g}")

    def equal(self, name, got, expected):
        got, expected = np.asarray(got), np.asarray(expected)
        if got.shape != expected.shape:
            return self.check(False, f"{name}: shape {got.shape}, expected {expected.shape}")
        different = np.count_nonzero(got != expected)
        self.check(different == 0, f"{name}: {different} of {expected.size} differ")

    def one_code(self, name, got, expected):
        """Values of E4M3 codes in groups of 32: none is off by more than one code at its group's scale (case 34)."""
        got, expected = (np.asarray(values, np.float64).reshape(-1, 32) for values in (got, expected))
        size = np.maximum(np.abs(got), np.abs(expected))
        scale = np.exp2(np.ceil(np.log2(np.maximum(size.max(1, keepdims=True), 1e-4) / 448)))
        smallest_normal = -6
        exponent = np.floor(np.log2(np.maximum(size / scale, 2.0**smallest_normal)))
        step = scale * np.exp2(exponent - 3)  # between codes up to `size`
        worst = np.count_nonzero(np.abs(got - expected) > step)
        self.check(worst == 0, f"{name}: {worst} values are off by more than one code")

    def mostly_equal(self, name, got, expected, share):
        """bf16 values: at most `share` of them may differ."""
        different = np.mean(np.asarray(got) != np.asarray(expected))
        self.check(different <= share, f"{name}: {100 * different:.3f}% differ, at most {100 * share:g}%")


def read_golden(model, mode):
    """The results of one mode, by the names of the README."""
    prefix = mode + "."
    return {name.removeprefix(prefix): value for name, value in safetensors.read(model / "golden.safetensors").items()
            if name == "tokens" or name.startswith(prefix)}


def check_ideal(tools, model, golden, report, artifact=None):
    artifact = artifact or tools.compile(model, "ideal", "--numerics=ideal", "--probes")
    tokens = golden["tokens"]
    logits, trace = tools.run(artifact, tokens, logits=True, trace=True, flags=["-n", STEPS + 1, "--draft=off", "--prefill=full"])
    report.near("logits", logits["logits"], golden["logits"], 1e-4)
    report.equal("greedy", logits["generated"][:STEPS], golden["greedy"])
    report.near("greedy_logits", logits["generated_logits"][STEPS], golden["greedy_logits"], 1e-4)
    for name, value in golden.items():
        if name.endswith((".selected", ".experts", ".rows")):
            report.equal(name, trace[name], value)
    if "draft.tokens" in golden:
        report.equal("draft.tokens", trace["draft.tokens"], golden["draft.tokens"])
        report.near("draft.logits", trace["draft.logits"], golden["draft.logits"], 1e-4)
        report.near("draft.confidence", trace["draft.confidence"], golden["draft.confidence"], 1e-4)


def check_reference(tools, model, golden, report, artifact=None):
    artifact = artifact or tools.compile(model, "reference", "--probes")
    tokens = golden["tokens"]
    forced = {name: value for name, value in golden.items() if name.endswith((".stream", ".pre"))}
    safetensors.write(tools.work / "force.safetensors", forced)
    drafts = "draft.tokens" in golden
    logits, trace = tools.run(artifact, tokens, logits=True, trace=True,
                              flags=["-n", 2 if drafts else 0, "--prefill=full", "--force", tools.work / "force.safetensors"])
    # Closer than the README asks for, or nothing would show the rounding in front of the head.
    report.near("logits", logits["logits"], golden["logits"], 5e-4)
    for name, value in golden.items():
        if name.endswith(".attn.out"):
            report.near(name, trace[name], value, 1e-2)
        elif name.endswith(".ffn.out"):
            report.near(name, trace[name], value, 2e-3)
        elif name.endswith((".weights", ".gate", ".pre")):
            report.near(name, trace[name], value, 1e-4)
        elif name.endswith((".selected", ".experts", ".rows")):
            report.equal(name, trace[name], value)
        elif name.endswith((".kv_global", ".index_key")):
            # Their sums are f64: not one FP4 code may flip.
            report.equal(name, trace[name], value)
        elif name.endswith(".kv_window"):
            report.mostly_equal(name, trace[name], value, 1e-3)
            report.one_code(name, trace[name], value)
        if name.endswith((".attn.out", ".ffn.out", ".stream")):
            report.mostly_equal(name, trace[name], value, 0.1)
    if drafts:
        # Two layers behind forced features: as near as two layers that run freely.
        report.equal("draft.tokens", trace["draft.tokens"], golden["draft.tokens"])
        report.near("draft.logits", trace["draft.logits"], golden["draft.logits"], 2e-2)
        report.near("draft.confidence", trace["draft.confidence"], golden["draft.confidence"], 2e-2)
    if model.name == "window":
        (free,) = tools.run(artifact, tokens, logits=True, flags=["-n", 0, "--draft=off", "--prefill=full"])
        report.near("free running logits", free["logits"], golden["logits"], 2e-2)


def check_codes(tools, model, golden, report):
    """Not forced: layer 0 sees the embedding."""
    (trace,) = tools.run(tools.compile(model, "codes", "--probes"), golden["tokens"], trace=True, flags=["-n", 0, "--prefill=full"])
    for name, value in golden.items():
        if name != "tokens":
            report.equal(name, trace[name], value)


def main():
    bin_dir, work_dir, model, mode, *device = sys.argv[1:]
    model = pathlib.Path(model)
    golden = read_golden(model, mode)
    report = Report()
    tools = Tools(bin_dir, work_dir, *device)
    if model.name == "codes":
        check_codes(tools, model, golden, report)
        sys.exit(report.failed > 0)
    {"ideal": check_ideal, "reference": check_reference}[mode](tools, model, golden, report)
    sys.exit(report.failed > 0)


if __name__ == "__main__":
    main()
