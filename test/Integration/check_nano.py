"""Compares what a trained model writes with what the oracle wrote (models/nano/README.md says how near).

    check_nano.py BIN_DIR WORK_DIR MODEL ideal|reference
"""

import json
import pathlib
import sys

import numpy as np

import safetensors
from check_golden import Report
from tools import Tools

STEPS = 64
NEAR = {"ideal": {"p0": 1e-4, "p1": 1e-4, "p2": 1e-4}, "reference": {"p0": 5e-2, "p1": 5e-2, "p2": 2e-1}}
SAFE_MARGIN = 0.3


def accepted_histogram(gains, block):
    """Steps by the number of drafts they took; a step gains one token more."""
    return np.bincount(np.asarray(gains) - 1, minlength=block + 1).tolist()


def check_prompt(tools, artifact, mode, golden, name, config, report):
    """In reference numerics tokens a step: here and in the golden."""
    expected = {key.split(".", 2)[2]: value for key, value in golden.items() if key.startswith(f"{name}.{mode}.")}
    tokens, bound = golden[f"{name}.tokens"], NEAR[mode][name]
    steps = STEPS
    if mode == "reference":
        unsafe = np.flatnonzero(expected["greedy_margins"] < SAFE_MARGIN)
        steps = int(unsafe[0]) if len(unsafe) else STEPS

    def run(*flags):
        (out,) = tools.run(artifact, tokens, logits=True, flags=["-n", STEPS, *flags])
        return out

    plain = run("--draft=off")
    report.near(f"{name}: last logits", plain["logits"][-1], expected["logits"].ravel(), bound)
    report.equal(f"{name}: first {steps} tokens", plain["generated"][:steps], expected["greedy"][:steps])
    window = config["sliding_window"]
    for chunk in (1, window - 1, window, window + 1):
        if chunk > 1 or len(tokens) < window:
            report.equal(f"{name}: in chunks of {chunk}", run("--draft=off", "--chunk", chunk)["generated"], plain["generated"])

    statistics = tools.work / "statistics.json"
    drafted = run("--draft", config["dspark_block_size"], "--stats-json", statistics)
    report.equal(f"{name}: with drafts", drafted["generated"], plain["generated"])
    statistics = json.loads(statistics.read_text())
    if mode == "ideal":
        report.equal(f"{name}: accepted drafts", statistics["accepted"], accepted_histogram(expected["dspark_accepted"], config["dspark_block_size"]))
    else:
        mean, wanted = statistics["tokens_per_step"], float(expected["dspark_tokens_a_step"].ravel()[0])
        report.check(abs(mean - wanted) <= 0.1 * wanted, f"{name}: {mean:.3f} tokens a step, {wanted:.3f} within 10%")
        return mean, wanted


def check_candidates(trace, config, name, report):
    """SPEC section 3, candidates: the newest block and as many more as there are, up to so many; nothing else is selected."""
    size, most = config["candidate_block_size"], config["candidate_topk_blocks"]
    source = config["candidate_source_layer_id"]
    readers = [layer for layer in config["index_source_layer_ids"] if layer > source]
    good = bool(readers)
    for layer in readers:
        blocks, selected = trace[f"layers.{layer}.attn.candidates"], trace[f"layers.{layer}.attn.selected"]
        for position, (row, chosen) in enumerate(zip(blocks.tolist(), selected.tolist())):
            kept = [block for block in row if block >= 0]
            good &= len(kept) == min(most, position // size + 1) and kept == sorted(set(kept)) and kept[-1] == position // size
            good &= {row // size for row in chosen if row >= 0} <= set(kept)
    report.check(good, f"{name}: candidate blocks of layers {readers}")


def check_keys_read(tools, probed, config, report):
    """What the Reindex layers of a step are given; of the newest block the part that can be reached."""
    size, most, results = config["candidate_block_size"], config["candidate_topk_blocks"], tools.work / "contexts.json"
    contexts = [527 + size // 2, 4096]
    tools.command("dsflash-bench", "model", probed, "--pretend", "--context", ",".join(map(str, contexts)), "--generate", 1, "--json", results)
    readers = sum(layer > config["candidate_source_layer_id"] for layer in config["index_source_layer_ids"])
    for context, row in zip(contexts, json.loads(results.read_text())["contexts"]):
        expected = readers * (most * size - (-context % size))
        report.check(row["candidate_keys"] == expected, f"keys read behind {context} tokens: {row['candidate_keys']}, {expected} expected")


def check_first_block(tools, probed, golden, name, config, report):
    _, trace = tools.run(probed, golden[f"{name}.tokens"], logits=True, trace=True, flags=["-n", 2])
    check_candidates(trace, config, name, report)
    report.equal(f"{name}: first draft block", trace["draft.tokens"], golden[f"{name}.ideal.draft.tokens"])
    report.near(f"{name}: its confidence", trace["draft.confidence"], golden[f"{name}.ideal.draft.confidence"], 1e-4)


def main():
    bin_dir, work_dir, model, mode = sys.argv[1:]
    model = pathlib.Path(model)
    tools, report = Tools(bin_dir, work_dir), Report()
    golden = safetensors.read(model / "golden.safetensors")
    config = tools.config(model)
    artifact = tools.compile(model, mode, f"--numerics={mode}")
    figures = [check_prompt(tools, artifact, mode, golden, name, config, report) for name in NEAR[mode]]
    if mode == "reference":
        mean, wanted = np.mean(figures, axis=0)
        report.check(abs(mean - wanted) <= 0.05 * wanted, f"all prompts: {mean:.3f} tokens a step, {wanted:.3f} within 5%")
    if mode == "ideal":
        probed = tools.compile(model, "probed", "--numerics=ideal", "--probes")
        for name in NEAR[mode]:
            check_first_block(tools, probed, golden, name, config, report)
        check_keys_read(tools, probed, config, report)
    sys.exit(report.failed > 0)


if __name__ == "__main__":
    main()
