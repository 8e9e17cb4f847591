#!/usr/bin/python3
"""How far a bounded prefill is from an exact one, on models/nano: docs/Phases.md has the table.

    benchmarks/bounded_prefill.py [WORK_FOLDER [TOOLS_FOLDER]]

Prompts are pieces of the long one of its golden, text of the training book. Behind each, 64 tokens are generated greedily. KL
is that from exact to bounded, of the token behind the prompt and, where the texts are still the same, of those after it.
"""

import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test" / "Integration"))

import safetensors
from tools import Tools

STEPS = 64
STARTS = range(0, 88, 8)


def log_probabilities(logits):
    logits = logits.astype(np.float64)
    logits -= logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def divergence(exact, bounded):
    """KL of each row, in nats."""
    p, q = log_probabilities(exact), log_probabilities(bounded)
    return (np.exp(p) * (p - q)).sum(axis=-1)


def main():
    work = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "benchmarks")
    tools = Tools(sys.argv[2] if len(sys.argv) > 2 else ROOT / "build" / "bin", work)
    nano = tools.compile(ROOT / "models" / "nano", "nano")
    text = safetensors.read(ROOT / "models" / "nano" / "golden.safetensors")["p2.tokens"]

    def run(prompt, prefill):
        (result,) = tools.run(nano, prompt, logits=True, flags=["-n", STEPS, "--draft=off", f"--prefill={prefill}"])
        return result["logits"][-1:], result["generated"], result["generated_logits"]

    print(f"{'prompt':>6} {'KL behind it':>18} {'KL later':>18} {'same best token':>16} {'same 64 tokens':>15} {'first other':>12}")
    for length in (64, 96, 128, 256, 512):
        first, later, best, same, until = [], [], 0, 0, []
        for start in STARTS:
            prompt = np.concatenate([text[:1], text[1 + start:start + length]])
            (exact, words, logits), (bounded, other, other_logits) = (run(prompt, how) for how in ("exact", "bounded"))
            first += list(divergence(exact, bounded))
            equal = int((np.append(words != other, True)).argmax())
            # Row i of generated_logits is what token i was drawn from.
            later += list(divergence(logits[1:equal + 1], other_logits[1:equal + 1]))
            best += exact.argmax() == bounded.argmax()
            same += equal == STEPS
            until += [equal] * (equal < STEPS)
        median = f"{np.median(until):.0f}" if until else "-"
        print(f"{length:6} {np.mean(first):9.5f} +- {np.std(first):.5f} {np.mean(later):9.5f} +- {np.std(later):.5f}"
              f" {best:10} of {len(STARTS)} {same:9} of {len(STARTS)} {median:>12}")


if __name__ == "__main__":
    main()
