"""Starts the process that drives a device: early, before anything large is imported (Linux)."""

from __future__ import annotations

from collections.abc import Sequence

from gassst.gpu.devices import is_named
from gassst.gpu.process import DeviceProcess, Job


def start(device: str | None, threads: int, job: Job | None = None) -> DeviceProcess:
    """A process that drives `device`, or any GPU, for a run of so many threads. Raises OSError as `DeviceProcess` does.

    A thread that waits for the device leaves its core to another one. So there are half as many again, and as many as
    were asked for compute at once.
    """
    name = str(device).lower() if is_named(device) else "gpu"
    return DeviceProcess(name, threads + -(-threads // 2), _serve, job, at_once=threads)


def _serve(process: DeviceProcess, job: Job | None, jobs: int, calls: int, answers: Sequence[int]) -> None:
    from gassst.gpu.server import serve  # what it imports is loaded in the process alone

    serve(process, job, jobs, calls, answers)
