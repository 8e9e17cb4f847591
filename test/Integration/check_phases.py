"""Prompts read in phases: exact equals full, bit for bit, in logits and later text, in any chunking; bounded equals it
as long as the window reaches back to the start, and what the oracle computed beyond (`bounded.safetensors` of the model).

    check_phases.py BIN_DIR WORK_DIR MODEL ideal|reference LIBDSFLASH|DEVICE LAST LENGTH...

LAST is the number of rows of which the tail's first layer makes window KV, computed from window and layer plan. On a device
what needs the library is left out, and bounded prompts are compared with the host's.
"""

import json
import pathlib
import sys

import numpy as np

import safetensors
from c_api import Library
from tools import Tools

STEPS, DEVICE_STEPS = 12, 3


def main():
    bin_dir, work, model, mode, library, last, *lengths = sys.argv[1:]
    device = None if pathlib.Path(library).exists() else library
    tools, host = Tools(bin_dir, work, device), Tools(bin_dir, pathlib.Path(work) / "host")
    artifact = tools.compile(model, "phases", f"--numerics={mode}")
    on_host = host.compile(model, "phases", f"--numerics={mode}") if device else None
    steps, chunks = (DEVICE_STEPS, [7]) if device else (STEPS, [512, 7, int(last)])
    config = json.loads((pathlib.Path(model) / "config.json").read_text())
    config = config.get("text_config", config)
    window, failed = config["sliding_window"], 0

    profile = tools.work / "profile.json"

    def run(*prompts, prefill, chunk=512, draft="off"):
        flags = ["-n", steps, "--prefill", prefill, "--chunk", chunk, "--draft", draft, "--profile", profile]
        (result,) = tools.run(artifact, *prompts, logits=True, flags=flags)
        return result

    def check(name, good):
        nonlocal failed
        failed += not good
        print(("ok    " if good else "FAIL  ") + name, flush=True)

    def same(name, got, expected, prefix=""):
        logits, full = got[prefix + "logits"], expected[prefix + "logits"]
        later = [r[prefix + "generated_logits"].view(np.uint32) for r in (got, expected)]
        check(name, logits.shape == (1, full.shape[1]) and np.array_equal(logits[-1].view(np.uint32), full[-1].view(np.uint32))
              and list(got[prefix + "positions"]) == [len(full) - 1] and np.array_equal(*later))

    described = json.loads(tools.command("dsflash-run", artifact, "--describe", "--json").stdout)
    needs = {entry["name"]: entry["last_rows"] for entry in described["entries"]}
    check(f"the tail needs {last} rows", needs["tail"] == int(last) and needs["bounded_tail"] == window)
    rng = np.random.default_rng(6)
    tokens = rng.integers(0, config["vocab_size"], 1 + max(map(int, lengths))).astype(np.int32)
    for length in map(int, lengths):
        prompt = tokens[:length]
        full = run(prompt, prefill="full")
        for chunk in chunks:
            same(f"{length} tokens in chunks of {chunk}", run(prompt, prefill="exact", chunk=chunk), full)
        bounded = run(prompt, prefill="bounded", chunk=5)
        if length <= window:
            same(f"{length} tokens bounded", bounded, full)
        else:
            check(f"{length} tokens bounded: finite", bool(np.isfinite(bounded["generated_logits"]).all()))
        if device:
            (expected,) = host.run(on_host, prompt, logits=True, flags=["-n", steps, "--prefill=bounded", "--draft=off"])
            error = np.linalg.norm(bounded["logits"] - expected["logits"]) / np.linalg.norm(expected["logits"])
            check(f"{length} tokens bounded: those of the host, {error:.1e}", error < 1e-4)
        if config.get("num_nextn_predict_layers"):
            drafted = run(prompt, prefill="exact", draft="3")
            check(f"{length} tokens drafted", np.array_equal(drafted["generated"], full["generated"]))
    path = pathlib.Path(model) / "bounded.safetensors"
    golden = safetensors.read(path) if path.exists() and mode == "ideal" else {"lengths": []}
    for i, length in enumerate(golden["lengths"]):
        bounded = run(golden["tokens"][:length], prefill="bounded", chunk=7)
        error = np.linalg.norm(bounded["logits"] - golden["ideal.logits"][i]) / np.linalg.norm(golden["ideal.logits"][i])
        greedy = golden["ideal.greedy"][i][: len(bounded["generated"])]
        check(f"{length} tokens bounded: those of the oracle, {error:.1e}", error < 1e-4 and np.array_equal(bounded["generated"][: len(greedy)], greedy))
    parts = [tokens[:int(n)] for n in dict.fromkeys([*lengths[:3], lengths[-1]])]
    alone = run(*parts, prefill="full")
    # Chunks of one, decode steps and drafts of others in the same calls.
    for draft in ["off", "3"] if config.get("num_nextn_predict_layers") else ["off"]:
        batch = run(*parts, prefill="exact", chunk=9, draft=draft)
        for i in range(len(parts)):
            same(f"batch, drafts {draft}, sequence {i}", batch, alone, f"p{i}.")
        events = json.loads(profile.read_text())["traceEvents"]
        spans = [(event["ts"], event["ts"] + event["dur"], event["name"]) for event in events if event["ph"] == "X"]
        chunks = [(begin, end) for begin, end, name in spans if name == "prompt chunk"]
        mixed = [[name for a, b, name in spans if begin <= a and b <= end] for begin, end in chunks]
        check(f"batch, drafts {draft}: one call of the encoder, calls of the decoder with a chunk of each sequence",
              any("verify" in names and "tail" in names for names in mixed)
              and all(names.count("prompt") == 1 and names.count("tail") <= -(-int(last) // 9) and "forward" not in names
                      for names in mixed)
              and max(event["args"]["rows"] for event in events if event.get("name") == "tail") <= 9 * len(parts))
    if device:
        return failed

    library = Library(library, artifact, config["vocab_size"])
    # What waits for the tail is in the session's size; behind the tail some pages of state are in its place.
    tail = next(entry for entry in described["entries"] if entry["name"] == "tail")
    row = sum(4 * tensor["row_elements"] for tensor in tail["tensors"] if tensor["name"] in ("stream", "pre"))
    waiting, computed = library.create(), library.create()
    library.feed(waiting, tokens, more=True)
    library.feed(computed, tokens)
    more = library.bytes(waiting) - library.bytes(computed)
    check(f"{last} rows wait for the tail: {more} bytes", row * int(last) / 2 < more < 2 * row * int(last))
    prompt, drafts = tokens[:int(lengths[-1])], bool(config.get("num_nextn_predict_layers"))
    full = run(prompt, prefill="full")
    for ends in [], [1], [int(last)], [3, 4, 25], range(7, len(prompt), 7), [len(prompt) - 1], [len(prompt)]:
        session = library.create(draft=3 if drafts else 0)
        for begin, end in zip([0, *ends], ends):
            library.feed(session, prompt[begin:end], more=True)
        logits = library.feed(session, prompt[ends[-1] if ends else 0:])
        check(f"C, split at {list(ends)}", np.array_equal(logits.view(np.uint32), full["logits"][-1].view(np.uint32)))
        text = library.generate(session, STEPS)[:STEPS]
        check(f"C, split at {list(ends)}: text", text == list(full["generated"])[:len(text)])
    return failed


if __name__ == "__main__":
    sys.exit(main() != 0)
