"""How many processes the threads of a run are spread over."""

from __future__ import annotations

import sys
import threading

SHORT = 1 << 20
"""Bytes of FASTQ up to which a run takes one process. For 4,000 pairs of 100 bases, 0.9 MB, eight processes took 0.63 s
of CPU time and eight threads 0.42; for 100 pairs 0.36 and 0.28."""
THREADS_EACH = 2
"""Of a process that searches single reads, at most. They wait for each other for 1.5 % of their time. With one thread
each, 16 threads take 3 % longer, and 32 take 8 to 14 %."""
THREADS_EACH_OTHERS = 1
"""The same of one that maps pairs, or has a device search its reads. Two threads of pairs wait for each other for 5 %
of their time, and three or four for a quarter of it: 4 million mates of human133 took four threads 12.0 s in one
process, 10.1 in two and 9.2 in four. Beside a device one each is faster: with local ends by 5 to 15 %."""


def processes_for(
    threads: int, asked: int | None = None, each: int = THREADS_EACH, size: int | None = None
) -> int:
    """Processes of `each` threads, or as many as asked for; each has a thread at least. 1 is this process itself.

    `size`: bytes of FASTQ of the whole run, where they are known.
    """
    if asked is not None:
        return min(asked, threads)
    is_short = size is not None and size <= SHORT
    return 1 if is_short else -(-threads // each)


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
