"""Runs single operations of a text with dsflash-run --function and compares with SPEC's formulas in float64.

    check_function.py DSFLASH_RUN OPERATORS.mlir WORK_DIR
"""

import pathlib
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Integration"))
import safetensors

TOOL, TEXT, WORK = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
random = np.random.default_rng(7)


def call(function, tensors, stage="phases", text=TEXT):
    safetensors.write(WORK / "in.safetensors", tensors)
    return subprocess.run([TOOL, f"--function=@{function}", f"--from={stage}", text, "--input", WORK / "in.safetensors",
                           "--output", WORK / "out.safetensors"], capture_output=True, text=True)


def results(function, tensors, **options):
    done = call(function, tensors, **options)
    assert done.returncode == 0, done.stderr
    return safetensors.read(WORK / "out.safetensors")


def near(value, expected, relative=2e-6):
    assert value.dtype == np.float32 and value.shape == expected.shape, (value.dtype, value.shape, expected.shape)
    bound = relative * np.abs(expected).max()
    assert np.abs(value - expected).max() <= bound, np.abs(value - expected).max() / bound


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


# w x / sqrt(mean(x^2) + eps), bf16 weights given as they are stored.
x, gain = floats(5, 64), (random.standard_normal(64).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
norm_inputs = {"x": x, "norm.weight": ("BF16", gain)}
wide = x.astype(np.float64)
expected = (gain.astype(np.uint32) << 16).view(np.float32) * wide / np.sqrt((wide ** 2).mean(-1, keepdims=True) + 1e-20)
near(results("norm", norm_inputs)["y"], expected)

# Groups of 32: scale 2^ceil(log2(max(max|x|, 1e-4) / 448)), values the nearest E4M3, ties to even.
normal = [(8 + m) * 2.0 ** e for e in range(-9, 6) for m in range(8)]
codes = np.array([m * 2.0 ** -9 for m in range(8)] + normal)
codes = codes[codes <= 448]
x = floats(3, 64) * 10
groups = x.astype(np.float64).reshape(3, 2, 32)
scale = 2.0 ** np.ceil(np.log2(np.maximum(np.abs(groups).max(-1, keepdims=True), 1e-4) / 448))
scaled = np.abs(groups / scale)
above = np.searchsorted(codes, scaled).clip(1, len(codes) - 1)
low, high = codes[above - 1], codes[above]
up = (scaled - low > high - scaled) | ((scaled - low == high - scaled) & (above % 2 == 0))
expected = (np.sign(groups) * np.where(up, high, low) * scale).reshape(3, 64)
quantized = results("quantize", {"arg0": x})["result0"]
assert np.array_equal(quantized, expected.astype(np.float32))

# mHC coefficients: weights that are arguments are tensors of their names.
stream, fn, base, scales = floats(2, 4, 64), floats(24, 256), floats(24), floats(3)
flat = stream.astype(np.float64).reshape(2, 256)
m = flat @ fn.astype(np.float64).T / np.sqrt((flat ** 2).mean(-1, keepdims=True) + 1e-20)
m = m * np.repeat(scales.astype(np.float64), [4, 4, 16]) + base
comb = np.exp(m[:, 8:].reshape(2, 4, 4))
comb = comb / comb.sum(2, keepdims=True) + 1e-6
for step in range(39):
    comb = comb / (comb.sum(1 if step % 2 == 0 else 2, keepdims=True) + 1e-6)
out = results("mix", {"stream": stream, "fn": fn, "base": base, "scale": scales})
near(out["pre"], 1 / (1 + np.exp(-m[:, :4])) + 1e-6)
near(out["post"], 2 / (1 + np.exp(-m[:, 4:8])))
near(out["comb"], comb.reshape(2, 16), 1e-5)

# The products of each row with the weights of the experts that it chose.
x, chosen = floats(3, 64), np.array([[0, 3], [3, 1], [2, 3]], np.int32)
e2m1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])
experts, weights = {"x": x, "chosen": chosen}, []
for e in range(4):
    packed, powers = random.integers(0, 256, (48, 32), np.uint8), random.integers(120, 130, (48, 2), np.uint8)
    experts[f"experts.{e}.w1.weight"], experts[f"experts.{e}.w1.scale"] = ("I8", packed), ("F8_E8M0", powers)
    values = np.stack([e2m1[packed & 15], e2m1[packed >> 4]], -1).reshape(48, 64)
    weights.append(values * np.repeat(2.0 ** (powers.astype(int) - 127), 32, 1))
expected = np.stack([[weights[e] @ x[row].astype(np.float64) for e in chosen[row]] for row in range(3)])
near(results("experts", experts)["y"], expected.reshape(3, 96))

# The same function behind another stage.
subprocess.run(["dsflash-compile", "--from=phases", TEXT, "--function=@quantize",
                "--emit=kernels", "-o", WORK / "kernels.mlir"], check=True)
x = floats(3, 64)
out = results("quantize", {"arg0": x}, stage="phases")["result0"]
again = results("quantize", {"arg0": x}, stage="kernels",
                text=WORK / "kernels.mlir")["result0"]
assert np.array_equal(out, again)


def refuses(message, function, tensors, **options):
    done = call(function, tensors, **options)
    assert done.returncode == 1 and message in done.stderr.splitlines()[0], (message, done.stderr)


(WORK / "out.safetensors").unlink()
refuses("tensor 'x' is missing, the function needs F32 [rows, 64]", "norm", {"norm.weight": ("BF16", gain)})
refuses("tensor 'norm.weight' is missing", "norm", {"x": x})
refuses("tensor 'y' is no argument or weight of the function", "norm", {**norm_inputs, "y": x})
refuses("tensor 'x' is F32 [5, 32], the function needs F32 [rows, 64]", "norm", {**norm_inputs, "x": floats(5, 32)})
refuses("tensor 'x' is I32 [1, 64], the function needs F32", "norm", {**norm_inputs, "x": np.zeros((1, 64), np.int32)})
refuses("tensor 'x' is F32 [0, 64], the function needs F32 [rows, 64]", "norm", {**norm_inputs, "x": floats(0, 64)})
refuses("tensor 'chosen' is I32 [2, 2], the function needs I32 [3, 2]", "experts", {**experts, "chosen": chosen[:2]})
refuses("tensor 'norm.weight' is F32, the model was compiled for BF16", "norm", {**norm_inputs, "norm.weight": floats(64)})
refuses("has no function @nothing", "nothing", {})
refuses("argument 0 of an entry must be a state, the workspace or a buffer of rows", "fixed", {})
refuses("@experts: compiled code stopped: ", "experts", {**experts, "chosen": chosen + 2 ** 30})
assert not (WORK / "out.safetensors").exists()
