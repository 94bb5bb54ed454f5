"""How many threads to start."""

from __future__ import annotations

import os

MAX_THREADS = 1024
"""More would only take memory: each worker keeps a batch."""
ALWAYS_ALLOWED = 8
"""Threads that a command starts where it is asked to, however few cores there are."""


def most_threads() -> int:
    """Threads that are of use here: more would only take memory, as nothing in the results depends on them."""
    return max(usable_threads(), ALWAYS_ALLOWED)


def usable_threads() -> int:
    """Cores that this process may run on; containers and batch systems grant fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
