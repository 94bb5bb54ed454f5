"""Which process drives the device of a run over files."""

from __future__ import annotations

import errno
import os
import select
import time
from contextlib import closing
from dataclasses import replace

import pytest

import gassst
from gassst.api.mapper import LateMapper
from gassst.gpu.process import READY, TICKET, DeviceProcess, Job
from gassst.runs.device import RunDevice, _is_served


@pytest.fixture
def process():
    """One that would go on until it is ended."""
    with closing(DeviceProcess("gpu", 1, lambda *_: time.sleep(120))) as process:
        yield process


@pytest.fixture
def index(small_index):
    return gassst.Index.open(small_index)


def is_alive(process: DeviceProcess) -> bool:
    return process._pid is not None


def test_a_run_that_suits_gets_the_process_that_was_started(index, process):
    run = RunDevice(LateMapper(index, device="gpu"), is_late=True, is_served=True, started=process)
    with closing(run.server()) as server:
        assert server.process is process and is_alive(process) and not process.can_be_told


def test_the_next_sample_finds_the_index_on_the_device(index, process):
    """But for one that is searched otherwise: what is there would take the memory of its process."""
    run = RunDevice(LateMapper(index, device="gpu"), is_late=True, is_served=True, started=process)
    for _ in range(2):
        with closing(run.server()) as server:
            assert server.process is process
            server.admit()
            assert select.select([process.tickets], [], [], 0)[0]
            os.read(process.tickets, TICKET.size)  # by a thread that is about to call
        assert is_alive(process) and process.serves(Job.of(index, run.mapper.params))
    with closing(replace(run, with_mates=True).server()) as server:
        assert server.process is not process and not is_alive(process)


def test_a_device_that_is_ready_gets_large_batches(index, process):
    """Before, a worker would search its first batch on the host to the end, however many reads it has."""
    run = RunDevice(LateMapper(index, device="gpu"), is_late=True, is_served=True, started=process)
    assert not run.is_ready
    with closing(run.server()):
        assert not run.is_ready  # its device is looked for
    process.say(READY)
    assert run.is_ready and not replace(run, with_mates=True).is_ready
    for params in (run.mapper.params.for_single(), replace(run.mapper.params, mode="global")):
        late, ready = (params.reads_per_batch(16, is_served=True, is_ready=each) for each in (False, True))
        assert ready > 2 * late
    assert replace(params, batch_size=1000).reads_per_batch(16, is_served=True, is_ready=True) == 1000


def test_a_run_that_does_not_suit_ends_the_process_at_once(index, process):
    """It would keep what it has on the device while the host maps."""
    pid = process._pid
    assert RunDevice(LateMapper(index, device="auto"), is_late=True, started=process).server() is None
    assert not is_alive(process)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_named_device_is_looked_for_though_the_run_has_no_use_for_it(index, process):
    run = RunDevice(LateMapper(index, device="gpu"), is_late=True, started=process)
    with closing(run.server()) as server:
        assert server.process is process and is_alive(process)


@pytest.mark.parametrize("granted", [0, 3, 4])
def test_a_process_that_is_not_granted_leaves_no_descriptor(monkeypatch, granted):
    """Pipes for calls, jobs and tickets, and one for the answers to a thread; then the process."""
    before, pipe, made = os.listdir("/dev/fd"), os.pipe, []

    def few_pipes() -> tuple[int, int]:
        if len(made) == granted:
            raise OSError(errno.EMFILE, "Too many open files")
        made.append(pipe())
        return made[-1]

    monkeypatch.setattr(os, "pipe", few_pipes)
    monkeypatch.setattr(
        os, "fork", lambda: (_ for _ in ()).throw(BlockingIOError(errno.EAGAIN, "no process"))
    )
    with pytest.raises(OSError):
        DeviceProcess("gpu", 1, lambda *_: None)
    assert len(made) == granted and os.listdir("/dev/fd") == before


@pytest.mark.parametrize("device", ["auto", "gpu"])
@pytest.mark.parametrize("with_mates", [False, True])
def test_reads_with_and_without_mates_go_to_any_device(index, device, with_mates):
    """Whether a run is long enough for one that nobody named is decided before (`device_pays`)."""
    assert _is_served(LateMapper(index, device=device), with_mates)
