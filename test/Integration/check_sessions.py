"""Checks saved sessions: what a replay computes against the oracle, and the bits that saving may not change.

    check_sessions.py BIN_DIR WORK_DIR MODEL ideal|reference LIBDSFLASH
    check_sessions.py BIN_DIR WORK_DIR MODEL ideal|reference --device DEVICE

The library runs models of the host alone: what needs its functions is left out on a device.
`replay.safetensors` of the model: the oracle read `kept` tokens, replayed their last window and read the others.
"""

import ctypes
import pathlib
import sys

import numpy as np

import safetensors
from c_api import Library
from check_golden import Report
from tools import Tools


class Sessions:
    def __init__(self, tools, artifact, tokens):
        self.tools, self.artifact, self.tokens = tools, artifact, tokens

    def run(self, *prompts, flags=()):
        (out,) = self.tools.run(self.artifact, *prompts, logits=True, flags=["--draft=off", *flags])
        return out

    def file(self, name):
        return self.tools.work / f"{name}.session"

    def save(self, name, tokens, steps=0):
        self.run(tokens, flags=["-n", steps, "--save-session", self.file(name)])

    def load(self, name, *prompts, flags=()):
        return self.run(*prompts, flags=["--load-session", self.file(name), *flags])


def same_bits(report, name, got, expected):
    report.check(got.shape == expected.shape and got.tobytes() == expected.tobytes(), f"{name}: same bits")


def check_oracle(sessions, golden, mode, report):
    kept = int(golden["kept"][0])
    sessions.save("kept", sessions.tokens[:kept])
    rest = sessions.tokens[kept:]
    loaded = sessions.load("kept", rest, flags=["-n", 0, "--prefill=full"])
    bound = 1e-4 if mode == "ideal" else 2e-2
    report.near("logits behind a replay", loaded["logits"], golden[f"{mode}.logits"], bound)
    report.equal("their positions", loaded["positions"], np.arange(kept, kept + len(rest)))
    chunked = sessions.load("kept", rest, flags=["-n", 0, "--prefill=full", "--chunk", 1])
    same_bits(report, "read one by one", chunked["logits"], loaded["logits"])
    again = sessions.load("kept", rest, flags=["-n", 0, "--prefill=full", "--threads", 1])
    same_bits(report, "loaded again", again["logits"], loaded["logits"])


def check_untouched(sessions, report):
    """A replay reads global rows and index keys and leaves them as they are."""
    sessions.save("waiting", sessions.tokens[:41], steps=1)
    before = safetensors.read(sessions.file("waiting"))
    sessions.load("waiting", flags=["-n", 0, "--save-session", sessions.file("after")])
    after = safetensors.read(sessions.file("after"))
    report.equal("tokens after", after["tokens"], np.concatenate([before["tokens"], before["waiting"]]))
    for name, rows in before.items():
        if name.startswith("state."):
            same_bits(report, f"{name} after a replay", after[name][: len(rows)], rows)


def check_short(sessions, window, report):
    """Within a window a replay is exact: a saved sequence goes on as if it had never stopped."""
    for length in (1, window - 3, window - 2):  # two more are computed before the sequence is saved
        whole = sessions.run(sessions.tokens[:length], flags=["-n", 8])
        sessions.save("short", sessions.tokens[:length], steps=3)
        rest = sessions.load("short", flags=["-n", 5])
        same_bits(report, f"{length} tokens, saved and loaded", rest["generated_logits"], whole["generated_logits"][3:])


def check_forks(sessions, report):
    """Several prompts behind a saved sequence, each as it would be alone."""
    parts = [sessions.tokens[3:9], sessions.tokens[3:4], sessions.tokens[20:33]]
    batch = sessions.load("kept", *parts, flags=["-n", 4])
    for i, part in enumerate(parts):
        alone = sessions.load("kept", part, flags=["-n", 4])
        same_bits(report, f"fork {i} of 3", batch[f"p{i}.generated_logits"], alone["generated_logits"])


def check_dropping(library, sessions, report):
    """A sequence that is taken back equals one that was saved there; a fork equals its trunk."""
    file = sessions.file("dropped")
    for length in (1, 5, 8, 9, 23, 36):
        saved, dropped = library.create(), library.create()
        library.feed(saved, sessions.tokens[:length], more=True)
        library.call("dsf_session_save", saved, str(file).encode())
        library.feed(dropped, sessions.tokens)
        library.call("dsf_session_truncate", dropped, ctypes.c_int64(length))
        restored = library.restore(file)
        for step, token in enumerate(sessions.tokens[length : length + 3]):
            same_bits(report, f"taken back to {length}, step {step}", library.feed(dropped, [token]), library.feed(restored, [token]))
    trunk = library.create()
    library.feed(trunk, sessions.tokens[:30])
    fork = library.fork(trunk)
    for token in sessions.tokens[30:33]:
        same_bits(report, "fork", library.feed(fork, [token]), library.feed(trunk, [token]))


def check_other_config(sessions, model, mode, report):
    """The same weights under another config are another model."""
    tools, file = sessions.tools, sessions.file("kept")
    other = tools.compile(tools.changed(model, "other", rope_theta=20000), "other", f"--numerics={mode}")
    error = tools.fail("dsflash-run", other, "--load-session", file, "-n", 1, *tools.run_flags)
    report.check(error == f"dsflash-run: error: {file}: saved with another model than {other}", error)


def check_size(sessions, report):
    sizes = []
    for length in (20, 40):
        sessions.save("size", sessions.tokens[:length])
        tensors = safetensors.read(sessions.file("size"))
        sizes.append(sum(tensor.nbytes for tensor in tensors.values()))
        rows = sum(tensor.nbytes for name, tensor in tensors.items() if name.startswith("state."))
        report.check(sizes[-1] == rows + 4 * length, f"{length} tokens: {sizes[-1]} bytes are rows and ids alone")


def main():
    bin_dir, work_dir, model, mode, library, *device = sys.argv[1:]
    model = pathlib.Path(model)
    tools, report = Tools(bin_dir, work_dir, *device), Report()
    golden = safetensors.read(model / "replay.safetensors")
    sessions = Sessions(tools, tools.compile(model, mode, f"--numerics={mode}"),
                        safetensors.read(model / "golden.safetensors")["tokens"])
    sessions.tokens = sessions.tokens[: len(golden["tokens"])]
    check_oracle(sessions, golden, mode, report)
    check_untouched(sessions, report)
    check_short(sessions, tools.config(model)["sliding_window"], report)
    check_forks(sessions, report)
    check_other_config(sessions, model, mode, report)
    check_size(sessions, report)
    if not device:
        library = Library(library, sessions.artifact, tools.config(model)["vocab_size"])
        check_dropping(library, sessions, report)
    sys.exit(report.failed > 0)


if __name__ == "__main__":
    main()
