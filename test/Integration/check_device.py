"""Checks that sessions on a device are those of the host: forks of a shared prompt, and a file that goes from one to the other;
and that launches which are recorded and replayed give the bits of plain ones.

    check_device.py BIN_DIR WORK_DIR MODEL DEVICE
"""

import json
import os
import pathlib
import sys

import numpy as np

import safetensors
from check_golden import Report
from tools import Tools

STEPS, SHARED, REPLAYED_STEPS = 3, 20, 12


def main():
    bin_dir, work_dir, model, device = sys.argv[1:]
    model, work = pathlib.Path(model), pathlib.Path(work_dir)
    report = Report()
    tokens = safetensors.read(model / "golden.safetensors")["tokens"]
    host, gpu = Tools(bin_dir, work / "host"), Tools(bin_dir, work / "device", device)
    models = {tools: tools.compile(model, "ideal", "--numerics=ideal") for tools in (host, gpu)}

    def run(tools, *prompts, flags=(), steps=STEPS):
        (logits,) = tools.run(models[tools], *prompts, logits=True, flags=["-n", steps, "--draft=off", "--prefill=full", *flags])
        return logits

    def same(name, got, expected):
        for key, value in expected.items():
            report.near(f"{name}, {key}", got[key], value, 1e-4)

    forks = [tokens[:SHARED + 5], np.concatenate([tokens[:SHARED], tokens[30:33]])]
    saved = work / "a.session"
    same("two prompts that begin alike", run(gpu, *forks), run(host, *forks))
    # Where all logits are wanted nothing is shared.
    gpu.run(models[gpu], *forks, flags=["-n", 1, "--stats-json", work / "stats.json"])
    reused = json.loads((work / "stats.json").read_text())["reused_tokens"]
    report.check(reused >= SHARED, f"their beginning is computed once: {reused} tokens reused (case 11)")
    whole = run(host, tokens[:SHARED], flags=["--save-session", work / "b.session"])
    same("saved on the device", run(gpu, tokens[:SHARED], flags=["--save-session", saved]), whole)
    more = tokens[SHARED:SHARED + 4]
    same("continued on the host", run(host, more, flags=["--load-session", saved]),
         run(host, more, flags=["--load-session", work / "b.session"]))
    same("continued on the device", run(gpu, more, flags=["--load-session", saved]),
         run(host, more, flags=["--load-session", work / "b.session"]))

    # A short sequence decodes while a long one reads: other numbers of rows, then steps alike.
    models[gpu] = gpu.compile(model.parent / "window", "window")
    flags = ["--chunk=6", "--stats-json", work / "stats.json"]

    def run_steps():
        logits = run(gpu, tokens[:2], tokens[:20], flags=flags, steps=REPLAYED_STEPS)
        return logits, json.loads((work / "stats.json").read_text())["device_calls"]

    recorded, calls = run_steps()
    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
    plain, plain_calls = run_steps()
    for key, value in plain.items():
        report.equal(f"recorded steps, {key}", recorded[key], value)
    report.check(calls["replayed"] >= 6 and calls["recorded"] >= 2 and calls["can_record"],
                 f"steps are replayed: {calls}")
    report.check(plain_calls["recorded"] == plain_calls["replayed"] == 0 and not plain_calls["can_record"],
                 f"blocking launches are not recorded: {plain_calls}")
    sys.exit(report.failed > 0)


if __name__ == "__main__":
    main()
