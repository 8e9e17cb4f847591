"""Checked models: the same bits as without checks, and planted faults that are reported by layer, operation and position.

    check_checked.py BIN_DIR WORK_DIR GOLDEN_DIR                           the faults
    check_checked.py BIN_DIR WORK_DIR GOLDEN_DIR MODEL ideal|reference     the bits
"""

import json
import pathlib
import re
import shutil
import struct
import sys

import numpy as np

import safetensors
from check_golden import Report, check_ideal, check_reference, read_golden
from tools import Tools

BF16_NAN = struct.pack("<H", 0x7FC0)
HINT = "NaN (dsflash-compile --checked names the layer and operation that made it)"


def check_bits(tools, model, mode, report):
    """The golden passes with checks, with the bits of the model without."""
    checked, plain = (tools.compile(model, f"{model.name}-{mode}-{name}", f"--numerics={mode}", "--probes", f"--{name}")
                      for name in ("checked", "unchecked"))
    {"ideal": check_ideal, "reference": check_reference}[mode](tools, model, read_golden(model, mode), report, checked)
    # Three times around the rings, drafting where the model can; in phases where it has some; behind a replay.
    prompt = read_golden(model, mode)["tokens"]
    saved = tools.work / "saved.session"
    entries = json.loads(tools.command("dsflash-run", plain, "--describe", "--json").stdout)["entries"]
    ways = [("in full", [prompt], ["-n", 40, "--chunk", 5, "--prefill=full"]),
            ("in phases", [prompt], ["-n", 12, "--chunk", 5, "--save-session", saved]),
            ("behind a replay", [], ["-n", 12, "--load-session", saved])]
    if any(entry["name"] == "bounded_tail" for entry in entries):
        ways.append(("bounded", [prompt], ["-n", 12, "--prefill=bounded"]))
    for name, prompts, flags in ways:
        results = [tools.run(artifact, *prompts, logits=True, trace=name == "in full", flags=flags)
                   for artifact in (checked, plain)]
        for (with_checks, without) in zip(*results):
            report.check(with_checks.keys() == without.keys() and
                         all(np.array_equal(with_checks[key].view(np.uint32), without[key].view(np.uint32)) for key in without),
                         f"{model.name}, {mode}, {name}: the same bits with and without checks")


def poisoned(tools, model, tensor):
    """A copy of a checkpoint whose bf16 tensor begins with a NaN."""
    folder = tools.work / f"{model.name}-{tensor}"
    shutil.copytree(model, folder, dirs_exist_ok=True)
    for path in folder.glob("*.safetensors"):
        content = bytearray(path.read_bytes())
        (length,) = struct.unpack("<Q", content[:8])
        place = json.loads(content[8:8 + length]).get(tensor)
        if path.name != "golden.safetensors" and place:
            assert place["dtype"] == "BF16"
            begin = 8 + length + place["data_offsets"][0]
            content[begin:begin + 2] = BF16_NAN
            path.write_bytes(content)
            return folder
    raise SystemExit(f"{model}: no tensor {tensor}")


def expect(tools, report, artifact, weights, tokens, message, flags=()):
    done = tools.fail("dsflash-run", artifact, "--weights", weights, "--tokens", tokens, "--greedy", "--ignore-eos", *flags)
    wanted = f"dsflash-run: error: {message}"
    report.check(done == wanted, message if done == wanted else f"expected {wanted}\n      got      {done}")


def plant(text, function, pattern, change):
    """The text of a stage with the first match in one function replaced by change(match)."""
    begin = text.index(f"func.func private @{function}")
    match = re.compile(pattern).search(text, begin, text.index("\n  }\n", begin))
    if not match:
        raise SystemExit(f"@{function}: no {pattern}")
    return text[:match.start()] + change(match) + text[match.end():]


# A table of ids with another one at its beginning.
PLANT_KERNEL = """
  func.func private @plant(%begin: index, %end: index, %x: memref<?x{k}xi32>, %y: memref<?x{k}xi32>)
      attributes {{dsflash.kernel}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %k = arith.constant {k} : index
    %id = arith.constant {value} : i32
    scf.for %row = %begin to %end step %c1 {{
      scf.for %i = %c0 to %k step %c1 {{
        %place = arith.addi %row, %i : index
        %is_first = arith.cmpi eq, %place, %c0 : index
        %v = memref.load %x[%row, %i] : memref<?x{k}xi32>
        %planted = arith.select %is_first, %id, %v : i32
        memref.store %planted, %y[%row, %i] : memref<?x{k}xi32>
      }}
    }}
    return
  }}
"""


def plant_id(text, function, name, value):
    """The first id is another one where it is checked."""
    columns = []

    def change(match):
        ids, kind, k = match.groups()
        columns.append(k)
        return (f"%plant_0 = arith.constant 0 : index\n    %plant_n = tensor.dim {ids}, %plant_0 : {kind}\n"
                f"    %plant_y = tensor.empty(%plant_n) : {kind}\n    %planted = dsflash.dispatch @plant grid(%plant_n) "
                f"ins({ids} : {kind}) outs(%plant_y : {kind}) -> {kind}\n    "
                f"{match[0].replace(f'{ids} below', '%planted below')}")

    pattern = rf'%\S+ = dsflash\.check_ids <\w+> "{re.escape(name)}"\[%\w+\] (%\w+) below .*: \((tensor<\?x(\d+)xi32>)'
    text = plant(text, function, pattern, change)
    return text.rstrip().removesuffix("}") + PLANT_KERNEL.format(k=columns[0], value=value) + "}\n"


def compile_text(tools, stage, name, text):
    path = tools.work / f"{name}.mlir"
    path.write_text(text)
    return tools.compile(path, name, f"--from={stage}")


def emit(tools, model, stage):
    return tools.command("dsflash-compile", model, "--checked", f"--emit={stage}").stdout.decode()


def check_poison(tools, full, checked, plain, report, tokens):
    norm = poisoned(tools, full, "layers.2.attn.q_norm.weight")
    expect(tools, report, checked, norm, tokens, "layers.2.attn.q_norm: position 0: NaN in result")
    expect(tools, report, plain, norm, tokens, f"sequence 0, position 29: the logit of token 0 is {HINT}")
    # The last decoder layer makes window KV for the last 8 positions alone, the head sees the last one.
    expect(tools, report, checked, poisoned(tools, full, "layers.7.attn_norm.weight"), tokens,
           "layers.7.attn_norm: position 22: NaN in result")
    expect(tools, report, checked, poisoned(tools, full, "norm.weight"), tokens, "norm: position 29: NaN in result")
    # The block behind the prompt.
    expect(tools, report, checked, poisoned(tools, full, "mtp.1.attn_norm.weight"), tokens,
           "mtp.1.attn_norm: position 30: NaN in result", ["--draft=5", "-n", 4])


def check_index_keys(tools, full, checked, plain, report, tokens):
    """NaN in index keys (CASES: NaN scores): ids stay in range and apart; a checked model says where it came from."""
    keys = poisoned(tools, full, "layers.1.attn.indexer.k_norm.weight")
    trace = tools.work / "keys.safetensors"
    tools.command("dsflash-run", plain, "--weights", keys, "--tokens", tokens, "-n", 0, "--draft=off", "--prefill=full",
                  "--trace", trace)
    for name, rows in safetensors.read(trace).items():
        if name.endswith(".selected"):
            good = all((row >= -1).all() and (row < i + 1).all() and len(set(row[row >= 0])) == (row >= 0).sum()
                       for i, row in enumerate(rows))
            report.check(good, f"NaN in index keys: {name} has ids of its range, each once")
    expect(tools, report, checked, keys, tokens, "layers.1.attn.indexer.k_norm: position 0: NaN in result")


def check_ids(tools, goldens, report, tokens):
    faults = [("window", "window_layer", "layers.{l}.ffn.group_by_expert", 9,
               "layers.0.ffn.group_by_expert: position 0: expert id 9 outside [0, 8)"),
              ("window", "window_layer", "layers.{l}.ffn.group_by_expert", -1,
               "layers.0.ffn.group_by_expert: position 0: expert id -1 outside [0, 8)"),
              ("full", "full_r1_keeping_layer", "layers.{l}.attn.csa2", 300,
               "layers.4.attn.csa2: position 0: row 300 outside [0, 1)")]
    for i, (model, function, name, value, message) in enumerate(faults):
        text = plant_id(emit(tools, goldens / model, "phases"), function, name, value)
        expect(tools, report, compile_text(tools, "phases", f"ids{i}", text), goldens / model, tokens, message,
               ["--prefill=full"])


def check_ring(tools, window, report, tokens):
    """Position 27, three times around a ring of 8, is written one slot too far."""

    def change(match):
        slot, position, slots = match.groups()
        return (f"%wrong = arith.constant 27 : index\n    %is_wrong = arith.cmpi eq, {position}, %wrong : index\n"
                f"    %step = arith.index_castui %is_wrong : i1 to index\n    %moved = arith.addi {position}, %step : index\n"
                f"    {slot} = arith.remui %moved, {slots} : index")

    text = plant(emit(tools, window, "kernels"), "append_window", r"(%\w+) = arith.remui (%\w+), (%\w+) : index", change)
    artifact = compile_text(tools, "kernels", "ring", text)
    for chunk in 1, 7:
        expect(tools, report, artifact, window, tokens,
               "layers.0.attn.csa2: position 28: ring slot 3 holds position 19, 27 expected", ["--chunk", chunk])


def main():
    bin_dir, work_dir, goldens, *bits = sys.argv[1:]
    tools, goldens, report = Tools(bin_dir, work_dir), pathlib.Path(goldens), Report()
    if bits:
        check_bits(tools, goldens / bits[0], bits[1], report)
        sys.exit(report.failed > 0)
    tokens = tools.work / "tokens.json"
    tokens.write_text(json.dumps([(7 * i + 3) % 256 for i in range(30)]))
    full = goldens / "full"
    checked, plain = tools.compile(full, "checked", "--checked"), tools.compile(full, "plain", "--unchecked", "--probes")
    check_poison(tools, full, checked, plain, report, tokens)
    check_index_keys(tools, full, checked, plain, report, tokens)
    check_ids(tools, goldens, report, tokens)
    check_ring(tools, goldens / "window", report, tokens)
    sys.exit(report.failed > 0)


if __name__ == "__main__":
    main()
