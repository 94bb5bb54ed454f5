"""How many processes the threads of a run are spread over."""

from __future__ import annotations

import sys
import threading

FEW_THREADS = 4
"""So many threads of one process do not yet wait for each other."""
THREADS_EACH = 2
"""Of a process, at most. On 32 cores 16 processes of 2 threads map 1.19 M pairs/s, 8 of 4 0.93, 4 of 8 0.77."""


def processes_for(threads: int, asked: int | None = None) -> int:
    """Processes for so many threads, of which each has at least one; 1 is this process itself."""
    if asked is not None:
        return min(asked, threads)
    return 1 if threads <= FEW_THREADS else -(-threads // THREADS_EACH)


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
