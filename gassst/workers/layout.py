"""How many processes the threads of a run are spread over."""

from __future__ import annotations

import sys
import threading

SHORT = 1 << 20
"""Bytes of FASTQ up to which a run takes one process. For 4,000 pairs of 100 bases, 0.9 MB, eight processes took 0.63 s
of CPU time and eight threads 0.42; for 100 pairs 0.36 and 0.28."""
THREADS_EACH = 2
"""Of a process, at most. 16 threads map pairs in 3.08 s with two each, 3.17 with four, 3.25 with one, and 3.65 in one
process; single reads in 3.11, 2.84 and, in one, 3.44. With eight threads four each take 4 to 9 % longer than two."""


def processes_for(threads: int, asked: int | None = None, size: int | None = None) -> int:
    """Processes of `THREADS_EACH` threads, or as many as asked for; each has a thread at least. 1 is this process.

    `size`: bytes of FASTQ of the whole run, where they are known.
    """
    if asked is not None:
        return min(asked, threads)
    is_short = size is not None and size <= SHORT
    return 1 if is_short else -(-threads // THREADS_EACH)


def why_threads() -> str:
    """Why no process of workers can be started here, "" where nothing speaks against it."""
    if not sys.platform.startswith("linux"):
        return "worker processes need Linux"
    strangers = [thread.name for thread in threading.enumerate() if not _is_known(thread)]
    if strangers:
        return f"worker processes do not start beside other threads ({', '.join(strangers[:3])})"
    return ""


def _is_known(thread: threading.Thread) -> bool:
    """Threads of ours hold no lock that a worker needs; nor does the one that asks."""
    return thread is threading.current_thread() or thread.name.startswith("gassst")
