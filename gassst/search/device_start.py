"""Starts the process that drives a device: early, before anything large is imported (Linux)."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from gassst.extension.devices import is_named
from gassst.search.device_process import DeviceProcess, Job

# Bytes of an index from which on a device that nobody named looks up the seeds of pairs. With the 0.7 GB of human13
# 16 threads take 3.1 to 3.4 s for 6 M mates, and 3.7 s beside an H100 (docs/benchmarks/gpu.md). In large indexes every
# seed misses the caches.
LARGE_INDEX = 4 << 30


def is_worth_pairs(device: str | None, path: str | None) -> bool:
    """Whether a device is to look up the seeds of pairs: one that was named, and any for a large index (a file)."""
    if is_named(device):
        return True
    with suppress(OSError, TypeError):
        return os.path.getsize(path) >= LARGE_INDEX  # type: ignore[arg-type]
    return False


def start(device: str | None, threads: int, job: Job | None = None) -> DeviceProcess:
    """A process that drives `device`, or any GPU, for a run of so many threads. Raises OSError as `DeviceProcess` does.

    A thread that waits for the device leaves its core to another one. So there are half as many again, and as many as
    were asked for compute at once.
    """
    name = str(device).lower() if is_named(device) else "gpu"
    return DeviceProcess(name, threads + -(-threads // 2), _serve, job, at_once=threads)


def _serve(*arguments: Any) -> None:
    from gassst.search.device_server import serve  # what it imports is loaded in the process alone

    serve(*arguments)
