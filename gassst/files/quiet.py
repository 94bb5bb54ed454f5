"""Silence of htslib: what goes wrong is raised."""

from __future__ import annotations

import threading

import pysam


class QuietHtslib:
    """Keeps htslib from writing to stderr while anyone between `enter` and `leave` uses it, in any thread."""

    _lock = threading.Lock()
    _depth = 0
    _before = 0

    @classmethod
    def enter(cls) -> None:
        with cls._lock:
            if cls._depth == 0:
                cls._before = pysam.set_verbosity(0)
            cls._depth += 1

    @classmethod
    def leave(cls) -> None:
        with cls._lock:
            cls._depth -= 1
            if cls._depth == 0:
                pysam.set_verbosity(cls._before)
