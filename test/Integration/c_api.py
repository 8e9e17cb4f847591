"""Sessions through the C API, dsflash/Runtime/dsflash.h."""

import ctypes

import numpy as np


class Options(ctypes.Structure):
    """dsf_session_options."""

    _fields_ = [("threads", ctypes.c_int32), ("temperature", ctypes.c_double), ("top_p", ctypes.c_double),
                ("seed", ctypes.c_uint64), ("draft", ctypes.c_int32)]


class Library:
    def __init__(self, path, artifact, vocab):
        self.lib, self.vocab, self.model = ctypes.CDLL(str(path)), vocab, ctypes.c_void_p()
        self.lib.dsf_session_logits.restype = ctypes.POINTER(ctypes.c_float)
        self.lib.dsf_last_error.restype = ctypes.c_char_p
        self.lib.dsf_session_bytes.restype = ctypes.c_int64
        self.call("dsf_model_open", str(artifact).encode(), None, ctypes.byref(self.model))

    def call(self, function, *arguments):
        if getattr(self.lib, function)(*arguments):
            raise SystemExit(f"{function}: {self.lib.dsf_last_error().decode()}")

    def create(self, draft=None):
        """A session; with `draft` a greedy one that drafts so many tokens."""
        options = None if draft is None else ctypes.byref(Options(threads=1, top_p=1, draft=draft))
        session = ctypes.c_void_p()
        self.call("dsf_session_create", self.model, options, ctypes.byref(session))
        return session

    def restore(self, path):
        session = ctypes.c_void_p()
        self.call("dsf_session_restore", self.model, None, str(path).encode(), ctypes.byref(session))
        return session

    def fork(self, session):
        copy = ctypes.c_void_p()
        self.call("dsf_session_fork", session, None, ctypes.byref(copy))
        return copy

    def feed(self, session, tokens, more=False):
        """The logits of the last token."""
        ids = (ctypes.c_int32 * len(tokens))(*map(int, tokens))
        self.call("dsf_session_feed", session, ids, ctypes.c_size_t(len(tokens)), int(more))
        if not more:
            return np.ctypeslib.as_array(self.lib.dsf_session_logits(session), (self.vocab,)).copy()

    def bytes(self, session):
        return self.lib.dsf_session_bytes(session)

    def generate(self, session, count):
        """At least so many more tokens."""
        tokens, ids, gained = [], (ctypes.c_int32 * 64)(), ctypes.c_size_t()
        while len(tokens) < count:
            self.call("dsf_session_generate", session, ids, ctypes.c_size_t(len(ids)), ctypes.byref(gained))
            tokens += ids[: gained.value]
        return tokens
