"""Checks that drafting changes nothing but the time: text, logits and state of plain decoding, for every width.

    check_drafts.py BIN_DIR WORK_DIR MODEL ideal|reference [--all] [DEVICE]

`--all` takes every width of the model, without it the narrowest, the widest and the scheduled one. On a device the texts are
short.
"""

import json
import pathlib
import sys

import numpy as np

import safetensors
from check_golden import Report
from tools import Tools

STEPS, DEVICE_STEPS = 500, 12
WIDE_BLOCK = 12


def same_bits(report, name, got, expected):
    report.check(got.shape == expected.shape and got.tobytes() == expected.tobytes(), name)


class Drafts:
    def __init__(self, tools, artifact, report):
        self.tools, self.artifact, self.report = tools, artifact, report
        self.steps = DEVICE_STEPS if tools.run_flags else STEPS

    def run(self, width, *prompts, steps=STEPS, flags=()):
        """Tensors of --logits, the sequence that was saved, the statistics."""
        steps = min(steps, self.steps)
        saved, statistics = self.tools.work / "end.session", self.tools.work / "statistics.json"
        flags = ["-n", steps, "--draft", width, "--stats-json", statistics, *flags]
        if len(prompts) == 1:
            flags += ["--save-session", saved]
        (out,) = self.tools.run(self.artifact, *prompts, logits=True, flags=flags)
        return out, safetensors.read(saved) if len(prompts) == 1 else {}, json.loads(statistics.read_text())

    def widths(self, prompt, widths, name):
        """Rings, pending groups, global rows, keys and look-back after any accepted length decide over all later logits;
        500 steps meet every length."""
        plain, state, _ = self.run("off", prompt)
        for width in widths:
            drafted, ended, statistics = self.run(width, prompt)
            label = f"{name}, width {width}"
            self.report.equal(f"{label}: text", drafted["generated"], plain["generated"])
            same_bits(self.report, f"{label}: logits", drafted["generated_logits"], plain["generated_logits"])
            for tensor, value in state.items():
                same_bits(self.report, f"{label}: {tensor} at the end", ended[tensor], value)
            print("      steps by accepted drafts", statistics["accepted"])

    def batch(self, prompts, width):
        """Sequences that accept differently, side by side, some while others still read their prompts."""
        together, _, _ = self.run(width, *prompts, steps=60, flags=["--prefill=full", "--chunk", 2])
        for i, prompt in enumerate(prompts):
            alone, _, _ = self.run("off", prompt, steps=60)
            same_bits(self.report, f"sequence {i} of a batch", together[f"p{i}.generated_logits"], alone["generated_logits"])

    def context(self, prompt, width):
        """The draft layers see a prompt as they see decoded tokens: blocks are the same."""
        _, _, whole = self.run(width, prompt, steps=40)
        _, _, single = self.run(width, prompt, steps=40, flags=["--chunk", 1])
        self.report.equal("accepted after a prompt read one by one", single["accepted"], whole["accepted"])


def main():
    arguments = [a for a in sys.argv[1:] if a != "--all"]
    takes_all = len(arguments) < len(sys.argv) - 1
    bin_dir, work_dir, model, mode, *device = arguments
    model = pathlib.Path(model)
    tools, report = Tools(bin_dir, work_dir, *device), Report()
    block = tools.config(model)["dspark_block_size"]
    tensors = safetensors.read(model / "golden.safetensors")
    prompts = [tensors[name] for name in ("tokens", "p0.tokens", "p1.tokens", "p2.tokens") if name in tensors]
    short = [prompt[:n] for prompt, n in zip(prompts * 3, (20, 3, 11))]
    widths = range(1, block + 1) if takes_all else (1, block)
    drafts = Drafts(tools, tools.compile(model, mode, f"--numerics={mode}"), report)
    drafts.widths(prompts[0], [*widths, "auto"], "block")
    drafts.batch(short, block)
    drafts.context(prompts[0][:30], block)
    long = Drafts(tools, tools.compile(tools.changed(model, "wide", dspark_block_size=WIDE_BLOCK), "wide", f"--numerics={mode}"), report)
    long.widths(prompts[0], range(block + 1, WIDE_BLOCK + 1) if takes_all else (WIDE_BLOCK,), f"block of {WIDE_BLOCK}")
    sys.exit(report.failed > 0)


if __name__ == "__main__":
    main()
