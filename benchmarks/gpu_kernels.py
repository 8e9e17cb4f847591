#!/usr/bin/env python3
"""Counts what the GPU kernels of the published config touch in a decode step.

    benchmarks/gpu_kernels.py WORK_FOLDER [TOOLS_FOLDER [TARGET]]

The config is the published one with three layers (the owners of global rows of both
ratios, the first with Engram, and a layer that selects among candidates), two
experts a token and small tables: heads, rows, the weights of a layer and of an expert
have their published sizes. Weights are random, made once and kept in
WORK_FOLDER/checkpoint (1.5 GB). Prints the table of docs/Nvptx.md; needs 12 GB of
memory, ten of them for the device's notes on what was touched.
"""

import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def chosen_layers(config):
    own = config["kv_source_layer_ids"]
    reindex = [layer for layer in config["index_source_layer_ids"] if layer not in own]
    return [own[0], own[-1], reindex[0]]


def shorten(document):
    config = document["text_config"]
    layers = chosen_layers(config)
    config["engram_layer_ids"] = layers[:1]
    for key in ("kv_source_layer_ids", "index_source_layer_ids", "engram_layer_ids"):
        config[key] = [layers.index(layer) for layer in config[key] if layer in layers]
    config["candidate_source_layer_id"] = layers.index(config["candidate_source_layer_id"])
    config["compress_ratios"] = [config["compress_ratios"][layer] for layer in layers]
    config.update(num_hidden_layers=len(layers), n_routed_experts=4, num_experts_per_tok=2, vocab_size=2048,
                  engram_vocab_size=1000, engram_compressed_vocab_size=1500, num_nextn_predict_layers=0)
    del config["engram_num_embeddings"]
    for key in [key for key in config if key.startswith("dspark")]:
        del config[key]
    document.pop("vision_config")
    document.pop("image_token_id")
    return document


def main():
    work = os.path.abspath(sys.argv[1])
    tools = sys.argv[2] if len(sys.argv) > 2 else os.path.join(ROOT, "build", "bin")
    target = sys.argv[3] if len(sys.argv) > 3 else "nvptx:sm_80"
    os.makedirs(work, exist_ok=True)
    config, checkpoint, model, report, counts = (
        os.path.join(work, name) for name in ("config.json", "checkpoint", "model.dsflash", "report.json", "counts.json"))
    with open(os.path.join(ROOT, "models", "deepseek-v4.1-flash", "config.json")) as source:
        document = shorten(json.load(source))
    with open(config, "w") as out:
        json.dump(document, out, indent=1)
    bench, compiler = os.path.join(tools, "dsflash-bench"), os.path.join(tools, "dsflash-compile")
    if not os.path.exists(os.path.join(checkpoint, "config.json")):
        subprocess.run([bench, "--make-checkpoint", checkpoint, "--config", config], check=True)
    subprocess.run([compiler, checkpoint, f"--target={target}", "-o", model, f"--report={report}"], check=True)
    subprocess.run([bench, "kernels", model, "--device=simt:counters", f"--report={report}", f"--json={counts}"],
                   check=True)


if __name__ == "__main__":
    main()
