"""How many threads to start."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

MAX_THREADS = 1024
"""More would only take memory: each worker keeps a batch."""
ALWAYS_ALLOWED = 8
"""Threads that a command starts where it is asked to, however few cores there are."""
ROOT = "/"
"""Where `proc` and `sys` are."""


def most_threads() -> int:
    """Threads that are of use here: more would only take memory, as nothing in the results depends on them."""
    return max(usable_threads(), ALWAYS_ALLOWED)


def usable_threads() -> int:
    """Cores that this process may use; containers and batch systems grant fewer than the machine has.

    They name the cores on which it may run, or bound its CPU time by a quota: one of 2.5 s a second is 3 cores.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min([cores, *(max(1, -(-quota // period)) for quota, period in _quotas())])


def _quotas() -> Iterator[tuple[int, int]]:
    """CPU time, and the period that it is for, of every control group that this process is in (Linux).

    A group is bounded by those around it, too. A container sees its own group as the outermost one, whose path
    /proc may give as the host sees it: folders that are not there are passed over.
    """
    for line in _text("proc/self/cgroup").splitlines():
        _, controllers, group = line.split(":", 2)
        mounts = ["", "unified"] if not controllers else [controllers, "cpu"]
        if controllers and "cpu" not in controllers.split(","):
            continue
        while True:
            for mount in mounts:
                folder = os.path.join("sys/fs/cgroup", mount, group.strip("/"))
                of_version_1 = _text(f"{folder}/cpu.cfs_quota_us"), _text(f"{folder}/cpu.cfs_period_us")
                with suppress(ValueError):  # "max", -1 and an empty text are no bounds
                    quota, period = map(int, (_text(f"{folder}/cpu.max") or " ".join(of_version_1)).split())
                    if quota > 0 and period > 0:
                        yield quota, period
            if not group.strip("/"):
                break
            group = os.path.dirname(group)


def _text(path: str) -> str:
    try:
        with open(os.path.join(ROOT, path), errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""
