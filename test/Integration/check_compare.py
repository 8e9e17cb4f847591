"""What dsflash-bench compare says of two models, beside NumPy over what dsflash-run recorded of each.

    check_compare.py BIN_DIR WORK_DIR GOLDEN
"""

import json
import sys

import numpy as np
import safetensors
from tools import Tools

LENS_POSITIONS = 16


def nmse(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    return np.sum((a - b) ** 2) / np.sum(a**2)


def log_softmax(logits):
    logits = logits.astype(np.float64)
    logits = logits - logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def kl(a, b):
    a, b = log_softmax(a), log_softmax(b)
    return (np.exp(a) * (a - b)).sum(axis=-1).mean()


def flipped(a, b):
    """(ids of a's rows that b's rows have not, ids of a)"""
    chosen = [(set(x) - {-1}, set(y)) for x, y in zip(a.tolist(), b.tolist())]
    return sum(len(x - y) for x, y in chosen), sum(len(x) for x, _ in chosen)


def near(what, value, expected):
    good = np.allclose(value, expected, rtol=1e-6, atol=1e-15)
    if not good:
        print(f"FAIL  {what}: {value}, NumPy says {expected}")
    return good


def main():
    tools = Tools(sys.argv[1], sys.argv[2])
    golden = sys.argv[3]
    tokens = safetensors.read(f"{golden}/golden.safetensors")["tokens"]
    models = [tools.compile(golden, mode, "--probes", f"--numerics={mode}") for mode in ("ideal", "reference")]
    flags = ("-n", "0", "--draft", "off", "--prefill", "full")
    runs = [tools.run(model, tokens, logits=True, trace=True, flags=flags) for model in models]
    (logits_a, a), (logits_b, b) = runs

    results = tools.work / "compare.json"
    tools.command("dsflash-bench", "compare", *models, "--tokens", tools.work / "prompt0.json", "--generate", 1,
                  "--rounds", 1, "--json", results)
    said = json.loads(results.read_text())["compare"]

    good = near("end nmse", said["end"]["nmse"], nmse(logits_a["logits"], logits_b["logits"]))
    good &= near("end kl", said["end"]["kl"], kl(logits_a["logits"], logits_b["logits"]))
    best = [run["logits"].argmax(axis=-1) for run in (logits_a, logits_b)]
    good &= near("flipped tokens", said["end"]["flipped_tokens"], np.sum(best[0] != best[1]))
    good &= near("positions", said["end"]["positions"], len(tokens))

    names = {f"layers.{row['layer']}.{part}" for row in said["layers"] for part in (*row["nmse"], *row["flipped"])}
    names |= set(said["head"]["nmse"])
    missing = {name for name in a if name in b and not name.startswith("draft.")} - names
    if missing:
        print(f"FAIL  not compared: {sorted(missing)}")
    good &= not missing

    for row in said["layers"]:
        layer = f"layers.{row['layer']}."
        for part, value in row["nmse"].items():
            good &= near(layer + part, value, nmse(a[layer + part], b[layer + part]))
        for part, value in row["flipped"].items():
            good &= near(layer + part, (value["flipped"], value["of"]), flipped(a[layer + part], b[layer + part]))
    for name, value in said["head"]["nmse"].items():
        good &= near(name, value, nmse(a[name], b[name]))

    # What the head makes of a layer's stream: the same by way of --force.
    row = said["layers"][-1]
    seen = []
    for model, trace in zip(models, (a, b)):
        layer = f"layers.{row['layer']}.attn."
        force = tools.work / "force.safetensors"
        safetensors.write(force, {f"head.{part}": trace[layer + part] for part in ("stream", "pre")})
        (forced,) = tools.run(model, tokens, logits=True, flags=(*flags, "--force", force))
        seen.append(forced["logits"][-LENS_POSITIONS:])
    good &= near("lens", row["kl"], kl(*seen))
    good &= near("lens positions", row["positions"], min(LENS_POSITIONS, len(tokens)))

    print("ok    comparison" if good else "FAIL  comparison")
    return 0 if good else 1


sys.exit(main())
