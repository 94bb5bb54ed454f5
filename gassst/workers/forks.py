"""What a forked child has to make anew: threads and locks are not inherited in a usable state."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


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
