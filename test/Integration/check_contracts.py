"""Checks that the bits of a model do not depend on how it is run: chunks, one by one, batches, threads, drafts, probes.

    check_contracts.py BIN_DIR WORK_DIR MODEL ideal|reference
"""

import json
import pathlib
import sys

import numpy as np

import safetensors
from tools import Tools

FULL = ["--prefill=full"]


def same(name, got, expected):
    good = got.shape == expected.shape and np.array_equal(got.view(np.uint32), expected.view(np.uint32)) and not np.isnan(got).any()
    print(("ok    " if good else "FAIL  ") + name)
    return good


def main():
    bin_dir, work_dir, model, mode = sys.argv[1:]
    model = pathlib.Path(model)
    config = json.loads((model / "config.json").read_text())
    config = config.get("text_config", config)
    window, drafts = config["sliding_window"], config.get("dspark_block_size", 0)
    tokens = safetensors.read(model / "golden.safetensors")["tokens" if model.name != "nano" else "p0.tokens"]
    tools = Tools(bin_dir, work_dir)
    artifact = tools.compile(model, mode, f"--numerics={mode}")
    plain = ["--draft=off", *FULL]

    (whole,) = tools.run(artifact, tokens, logits=True, flags=["-n", 20, *plain])
    good = [len(whole["generated"]) == 20]
    for chunk in (1, 2, 3, window - 1, window, window + 1):
        (other,) = tools.run(artifact, tokens, logits=True, flags=["-n", 20, "--chunk", chunk, *plain])
        good.append(same(f"chunks of {chunk}: prompt", other["logits"], whole["logits"]))
        good.append(same(f"chunks of {chunk}: decoding", other["generated_logits"], whole["generated_logits"]))
    (other,) = tools.run(artifact, tokens, logits=True, flags=["-n", 20, "--threads", 1, *plain])
    good.append(same("one thread", other["logits"], whole["logits"]))

    # Decoding step by step equals reading the same tokens as a prompt.
    longer = np.concatenate([tokens, whole["generated"][:-1]])
    (fresh,) = tools.run(artifact, longer, logits=True, flags=["-n", 0, *plain])
    good.append(same("decode equals prefill", fresh["logits"][len(tokens) - 1:], whole["generated_logits"]))
    for length in range(1, 9):
        (short,) = tools.run(artifact, tokens[:length], logits=True, flags=["-n", 0, *plain])
        good.append(same(f"first {length} tokens alone", short["logits"], whole["logits"][:length]))

    probed = tools.compile(model, mode + "-probes", f"--numerics={mode}", "--probes")
    (other,) = tools.run(probed, tokens, logits=True, flags=["-n", 20, *plain])
    good.append(same("with probes", other["generated_logits"], whole["generated_logits"]))

    for lengths in ((12, 11), (1, 31), (len(tokens), 3, 1)):
        parts = [tokens[:n] for n in lengths]
        (batch,) = tools.run(artifact, *parts, logits=True, flags=["-n", 4, *plain])
        for i, part in enumerate(parts):
            (alone,) = tools.run(artifact, part, logits=True, flags=["-n", 4, *plain])
            good.append(same(f"batch {lengths}, sequence {i}", batch[f"p{i}.generated_logits"], alone["generated_logits"]))

    for width in range(1, drafts + 1):
        (drafted,) = tools.run(artifact, tokens, logits=True, flags=["-n", 20, "--draft", width, *FULL])
        good.append(same(f"drafts of {width}", drafted["generated"], whole["generated"]))
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
