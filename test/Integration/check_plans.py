"""Random layer plans: a prompt in phases leaves the logits and states of a full prefill, bit for bit, in any chunking.

    check_plans.py BIN_DIR WORK_DIR COMPARE_PHASES SEED [COUNT]

Plans of the seeds SEED to SEED + COUNT - 1; every one with random weights. COMPARE_PHASES is the program that reads.
"""

import json
import pathlib
import random
import shutil
import subprocess
import sys

from tools import Tools

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden/full/config.json"


def make_layers(rng):
    """[(ratio, owns KV, selects)] of encoder and decoder, and the number of the first decoder layer."""
    layers = [(0, False, False)] * rng.randint(0, 2)
    for _ in range(rng.randint(0 if layers else 1, 2)):
        layers.append((2, True, True))
        layers += [(2, False, rng.random() < 0.3) for _ in range(rng.randint(0, 2))]
    source = len(layers)
    layers.append((1, True, True))
    for _ in range(rng.randint(0, 5)):
        layers.append(rng.choice([(0, False, False), (1, False, False), (1, False, True)]))
    return layers, source


def numbers(layers, wanted):
    return [i for i, layer in enumerate(layers) if wanted(layer)]


def make_config(rng):
    """A valid config whose plan, window and widths are drawn; the sizes are small."""
    config = json.loads(GOLDEN.read_text())
    text = config["text_config"]
    layers, source = make_layers(rng)
    drafts = rng.choice([0, 0, 1, 2])
    topk = rng.randint(1, 7)
    block = rng.randint(1, 4)
    text.update(
        hidden_size=64, moe_intermediate_size=32, num_attention_heads=2, head_dim=32, qk_rope_head_dim=8, o_groups=1,
        q_lora_rank=32, index_n_heads=2, n_routed_experts=4, max_position_embeddings=1024,
        sliding_window=rng.choice([1, 2, 3, 4, 5, 7, 8]), index_topk=topk, num_hidden_layers=len(layers),
        compress_ratios=[ratio for ratio, _, _ in layers] + [0] * drafts,
        kv_source_layer_ids=numbers(layers, lambda layer: layer[1]),
        index_source_layer_ids=numbers(layers, lambda layer: layer[2]),
        candidate_source_layer_id=rng.choice([-1, source]), candidate_block_size=block,
        candidate_topk_blocks=-(-(topk + block - 1) // block) + rng.randint(0, 1),
        engram_layer_ids=sorted(rng.sample(range(len(layers)), rng.choice([0, 0, 1, min(2, len(layers))]))),
        num_nextn_predict_layers=drafts, dspark_block_size=rng.randint(1, 5) if drafts else 0,
        dspark_target_layer_ids=sorted(rng.sample(range(source, len(layers)), 1)))
    del text["engram_num_embeddings"]
    return config, text, len(layers) - source


def describe(text):
    """The plan in a line: a letter for each layer."""
    letters = ""
    for i, ratio in enumerate(text["compress_ratios"][: text["num_hidden_layers"]]):
        owns, selects = i in text["kv_source_layer_ids"], i in text["index_source_layer_ids"]
        letters += "w" if ratio == 0 else "F" if owns else "x" if selects else "r"
        letters += str(ratio) if owns else ""
    engram = "".join(f" engram {i}" for i in text["engram_layer_ids"])
    candidates = " candidates" if text["candidate_source_layer_id"] >= 0 else ""
    return f"{letters} window {text['sliding_window']}{candidates}{engram} drafts {text['num_nextn_predict_layers']}"


def main():
    bin_dir, work_dir, compare, seed, *count = sys.argv[1:]
    tools, failed = Tools(bin_dir, work_dir), 0
    for seed in range(int(seed), int(seed) + int(*count or [1])):
        rng = random.Random(seed)
        config, text, decoder = make_config(rng)
        numerics = rng.choice(["reference", "ideal"])
        print(f"seed {seed}, {numerics}: {describe(text)}", flush=True)
        path, checkpoint = tools.work / "config.json", tools.work / "checkpoint"
        path.write_text(json.dumps(config))
        shutil.rmtree(checkpoint, ignore_errors=True)
        tools.command("dsflash-bench", "--make-checkpoint", checkpoint, "--config", path, "--seed", seed)
        artifact = tools.compile(checkpoint, "plan", f"--numerics={numerics}")
        # Around the window, what each decoder layer sees of the layer before, and the groups of two positions.
        window = text["sliding_window"]
        halos = [1 + i * (window - 1) for i in range(decoder + 1)]
        lengths = sorted({n for edge in (1, window, *halos[-3:]) for n in (edge - 1, edge, edge + 1) if n > 0} | {2 * window + 20})
        done = subprocess.run([compare, artifact, f"512,1,{window + 2}", *map(str, lengths)])
        failed += done.returncode != 0
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
