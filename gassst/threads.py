"""How many threads to start."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet

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


class ForkAware(Protocol):
    """What has threads or locks that a forked child does not inherit in a usable state."""

    def after_fork(self) -> None:
        """Called once in a child that was forked, before anything else runs there."""


_fork_aware: WeakSet[ForkAware] = WeakSet()


def watch_forks(owner: ForkAware) -> None:
    """Have `owner.after_fork` called in every forked child, as long as the owner lives."""
    _fork_aware.add(owner)


def _after_fork() -> None:
    for owner in list(_fork_aware):
        owner.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
