"""Workers that are processes: calls and results by shared memory, and every way in which a process can fail."""

import errno
import gc
import logging
import os
import resource
import signal
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

from gassst.errors import InputError, WorkerError
from gassst.workers.processes import ProcessWorkers
from gassst.workers.shared_memory import SharedMemory
from gassst.workers.threads import ThreadWorkers

log = logging.getLogger("gassst")


class Counting:
    """Counts its calls in every process."""

    def __init__(self):
        self.calls = 0

    def enter(self):
        self.calls = 0

    def account(self):
        return self.calls


def doubled(work, array):
    work.calls += 1
    return 2 * array


def total(work, arrays):
    return sum(int(array.sum()) for array in arrays)


def total_of(work, shared, factor):
    return factor * total(work, shared.value)


def process_id(work):
    return os.getpid()


def fail(work, error):
    raise error


def say(work, text):
    log.warning("%s from a worker", text)


def die(work, number):
    os.kill(os.getpid(), number)
    signal.pause()


def wait(work):
    signal.pause()


@pytest.fixture
def workers():
    with closing(ProcessWorkers(Counting(), processes=2, threads=3)) as workers:
        yield workers


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_calls_are_made_with_their_arguments(kind):
    make = (
        ThreadWorkers(Counting(), 3)
        if kind == "threads"
        else ProcessWorkers(Counting(), processes=2, threads=3)
    )
    with closing(make) as workers:
        futures = [workers.submit(doubled, np.arange(i, dtype=np.uint32)) for i in range(0, 20_000, 1000)]
        for i, future in enumerate(futures):
            assert future.result().tolist() == list(range(0, 2000 * i, 2))


def test_calls_are_made_in_other_processes(workers):
    found = {workers.submit(process_id).result() for _ in range(20)}
    assert os.getpid() not in found
    assert len(found) <= 2


def test_a_result_stays_while_it_is_used(workers):
    """Its region is used again only when nothing refers to it any more, not even to a part of it."""
    parts = [workers.submit(doubled, np.full(5000, i)).result()[10:20] for i in range(8)]
    for _ in range(8):
        workers.submit(doubled, np.full(5000, -1)).result()
    assert [part.tolist() for part in parts] == [[2 * i] * 10 for i in range(8)]


def test_processes_leave_descriptors_for_files(monkeypatch):
    limit = len(os.listdir("/proc/self/fd")) + 40
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    with closing(ProcessWorkers(Counting(), processes=2, threads=2)) as workers:
        assert workers.submit(total, [np.arange(3)]).result() == 3
    with pytest.raises(OSError, match=f"20 need .* open files, and the limit is {limit}"):
        ProcessWorkers(Counting(), processes=20, threads=20)


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_a_shared_value_travels_once(kind):
    with closing(
        ThreadWorkers(Counting(), 3) if kind == "threads" else ProcessWorkers(Counting(), 2, 3)
    ) as workers:
        for i in range(6):
            result = workers.submit(doubled, np.full(1000, i)).result()
            shared = workers.share([result, np.arange(5)])
            futures = [workers.submit(total_of, shared, factor) for factor in range(20)]
            assert [future.result() for future in futures] == [k * (2000 * i + 10) for k in range(20)]
        del shared, futures, result
        gc.collect()
        if kind == "processes":
            assert workers._regions.number <= 20 + 2
            assert workers._regions.free == workers._regions.number


@pytest.mark.parametrize("at_once", [1 << 30, 3, 100])
def test_shared_memory_holds_what_was_put(monkeypatch, at_once):
    """The system may write less than it is told to."""

    def write_some(fd, pieces, offset):
        return pwrite(fd, b"".join(pieces)[:at_once], offset)

    pwrite = os.pwrite
    monkeypatch.setattr("gassst.workers.shared_memory.os.pwritev", write_some)
    memory = SharedMemory(4)
    given = [np.arange(7, dtype=np.int16), np.empty(0, np.uint8), {"a": np.zeros((3, 5))}, "text", b"bytes"]
    size = memory.put(2, given)
    found = memory.get(2, size)
    for left, right in zip(given[:2], found[:2], strict=True):
        assert left.dtype == right.dtype
        assert left.tolist() == right.tolist()
    assert found[2]["a"].tolist() == given[2]["a"].tolist()
    assert found[3:] == given[3:]


def test_no_memory_to_share(monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("gassst.workers.shared_memory.os.pwritev", refuse)
    with pytest.raises(MemoryError, match="no memory to share between processes: No space left on device"):
        SharedMemory(4).put(2, b"bytes")


@pytest.mark.parametrize(
    "error", [InputError("x.fq: record 3: bad"), MemoryError("no memory"), KeyError("key")]
)
def test_what_a_call_raises_is_raised_here(workers, error):
    with pytest.raises(type(error)) as raised:
        workers.submit(fail, error).result()
    assert str(raised.value) == str(error)
    assert "in fail" in str(raised.value.__cause__)
    assert workers.submit(doubled, np.ones(3)).result().tolist() == [2, 2, 2]


def test_log_lines_come_from_the_workers(workers, caplog):
    workers.submit(say, "hello").result()
    workers.close()
    assert [record.getMessage() for record in caplog.records] == ["hello from a worker"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_that_is_killed_fails_all_calls(workers, number):
    futures = [workers.submit(wait), workers.submit(wait), workers.submit(die, number)]
    for future in futures:
        with pytest.raises(WorkerError, match=rf"worker process \d+ was ended by {number.name}"):
            future.result()
    with pytest.raises(WorkerError, match=number.name):
        workers.submit(doubled, np.ones(1))


def test_closing_does_not_wait_for_calls():
    workers = ProcessWorkers(Counting(), processes=2, threads=2)
    futures = [workers.submit(wait) for _ in range(4)]
    workers.close()
    workers.close()
    for future in futures:
        with pytest.raises(WorkerError):
            future.result()


def test_no_process_survives_the_parent():
    """They inherit its standard output, so reading that ends when the last of them has."""
    code = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
import test_workers
from gassst.workers.processes import ProcessWorkers, _Regions
workers = ProcessWorkers(test_workers.Counting(), processes=2, threads=2)
workers.submit(test_workers.process_id).result()
for _ in range(3):
    workers.submit(test_workers.wait)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code, os.path.dirname(__file__)], capture_output=True)
    assert done.returncode == -signal.SIGKILL
    assert done.stderr == b""


def test_no_descriptor_is_left_behind():
    def descriptors():
        gc.collect()  # of what earlier tests have left
        return sorted(os.listdir("/proc/self/fd"))

    with closing(ThreadWorkers(None, 1)):
        before = descriptors()
        workers = ProcessWorkers(Counting(), processes=3, threads=3)
        workers.submit(process_id).result()
        workers.close()
        del workers
        assert descriptors() == before
