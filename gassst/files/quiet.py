"""Silence of htslib: what goes wrong is raised."""

from __future__ import annotations

import threading

from gassst.files.htslib import LIBRARY


class QuietHtslib:
    """Keeps htslib from writing to stderr while anyone between `enter` and `leave` uses it, in any thread."""

    _lock = threading.Lock()
    _depth = 0
    _before = 0

    @classmethod
    def enter(cls) -> None:
        with cls._lock:
            if cls._depth == 0:
                cls._before = LIBRARY.hts_get_log_level()
                LIBRARY.hts_set_log_level(0)
            cls._depth += 1

    @classmethod
    def leave(cls) -> None:
        with cls._lock:
            cls._depth -= 1
            if cls._depth == 0:
                LIBRARY.hts_set_log_level(cls._before)
