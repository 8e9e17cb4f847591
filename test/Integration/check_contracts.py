"""Checks that the bits of a model do not depend on how it is run: chunks, one by one, batches, threads, drafts, probes.

    check_contracts.py BIN_DIR WORK_DIR MODEL ideal|reference [--short] [--device=DEVICE]
"""

import json
import pathlib
import sys

import numpy as np

import safetensors
from tools import Tools

STEPS = 20


class Contracts:
    """Runs of one compiled model, compared with one run of the whole prompt."""

    def __init__(self, tools, artifact, tokens):
        self.tools, self.artifact, self.tokens, self.failed = tools, artifact, tokens, 0
        self.whole = self.run(tokens, "-n", STEPS)
        self.failed += len(self.whole["generated"]) != STEPS

    def run(self, *arguments, artifact=None, draft="off"):
        """The tensors of --logits; token lists first, then flags."""
        prompts = [a for a in arguments if isinstance(a, np.ndarray)]
        flags = [*arguments[len(prompts):], "--draft", draft, "--prefill=full"]
        (logits,) = self.tools.run(artifact or self.artifact, *prompts, logits=True, flags=flags)
        return logits

    def same(self, name, got, expected):
        good = got.shape == expected.shape and np.array_equal(got.view(np.uint32), expected.view(np.uint32))
        good = good and not np.isnan(got.view(np.float32)).any()
        self.failed += not good
        print(("ok    " if good else "FAIL  ") + name)

    def chunks(self, sizes):
        for size in sizes:
            other = self.run(self.tokens, "-n", STEPS, "--chunk", size)
            self.same(f"chunks of {size}: prompt", other["logits"], self.whole["logits"])
            self.same(f"chunks of {size}: decoding", other["generated_logits"], self.whole["generated_logits"])

    def splits(self):
        """A short prompt, split at every offset that a look-back or an incomplete group can cross."""
        for offset in range(1, 7):
            other = self.run(self.tokens[:7], "-n", 0, "--chunk", offset)
            self.same(f"7 tokens split at {offset}", other["logits"], self.whole["logits"][:7])

    def prompt_lengths(self):
        for length in range(1, 9):
            alone = self.run(self.tokens[:length], "-n", 0)
            self.same(f"first {length} tokens alone", alone["logits"], self.whole["logits"][:length])

    def decoding(self, lengths):
        """Decoding step by step equals reading the same tokens as a prompt."""
        for length in lengths:
            start = self.tokens[:length]
            decoded = self.run(start, "-n", STEPS)
            fresh = self.run(np.concatenate([start, decoded["generated"][:-1]]), "-n", 0)
            self.same(f"decoding from {length} tokens equals a prompt", decoded["generated_logits"], fresh["logits"][length - 1:])

    def batches(self, all_lengths):
        """Prompts in small chunks, whose calls have decode steps of shorter ones in them."""
        for lengths in all_lengths:
            parts = [self.tokens[:n] for n in lengths]
            batch = self.run(*parts, "-n", 4, "--chunk", 5)
            for i, part in enumerate(parts):
                alone = self.run(part, "-n", 4)
                self.same(f"batch {lengths}, sequence {i}", batch[f"p{i}.generated_logits"], alone["generated_logits"])

    def same_run(self, name, *flags, **options):
        other = self.run(self.tokens, "-n", STEPS, *flags, **options)
        self.same(name, other["generated_logits"], self.whole["generated_logits"])
        self.same(f"{name}: text", other["generated"], self.whole["generated"])


def main():
    bin_dir, work_dir, model, mode, *options = sys.argv[1:]
    model = pathlib.Path(model)
    config = json.loads((model / "config.json").read_text())["text_config"]
    window, block = config["sliding_window"], config["dspark_block_size"]
    tools = Tools(bin_dir, work_dir, *(option.removeprefix("--device=") for option in options if option.startswith("--device=")))
    artifact = tools.compile(model, mode, f"--numerics={mode}")
    contracts = Contracts(tools, artifact, safetensors.read(model / "golden.safetensors")["tokens"])
    contracts.splits()
    if "--short" in options:
        contracts.chunks((1, window + 1))
        contracts.decoding((1, 6))
        contracts.batches([(12, 11, 1)])
    else:
        contracts.chunks((1, 2, 3, window - 1, window, window + 1))
        contracts.prompt_lengths()
        contracts.decoding((1, 5, 6, 7, 8, len(contracts.tokens)))
        contracts.batches([(12, 11), (1, 31), (len(contracts.tokens), 3, 1)])
        contracts.same_run("again")
        contracts.same_run("one thread", "--threads", 1)
        probed = tools.compile(model, mode + "-probes", f"--numerics={mode}", "--probes")
        contracts.same_run("with probes", artifact=probed)
        for width in range(1, block + 1):
            contracts.same_run(f"drafts of {width}", draft=width)
    sys.exit(contracts.failed > 0)


if __name__ == "__main__":
    main()
