"""Several runs over files, one after the other: what is read while what is written, and what a fault leaves."""

from __future__ import annotations

import gc
import os
from collections import Counter
from concurrent.futures import Future
from contextlib import contextmanager

import pytest

import gassst
from gassst.errors import InputError, OutputError, UsageError
from gassst.files.source import Source
from gassst.records.writer import AlignmentWriter
from gassst.runs.file_runs import PlannedRun, map_all
from gassst.runs.run import in_order
from gassst.search.plan import SearchPlan


def done(value):
    future = Future()
    future.set_result(value)
    return future


class FakeWorkers:
    most_waiting = 3


class Run:
    """A run of batches 0, 1 and so on; `fault`: where it fails, and `late`: batches that nobody ever waits for."""

    def __init__(self, name, said, needs="workers", batches=2, fault=None, is_late=False):
        self.name, self.said, self.needs = name, said, needs
        self._batches, self._fault, self._is_late = batches, fault, is_late
        self._has_begun = False

    def _say(self, what, error=InputError):
        self.said.append(f"{what} {self.name}")
        if self._fault == what:
            raise error(f"{self.name}: no {what}")

    @contextmanager
    def crew(self):
        self._say(f"crew of {self.needs} for")
        try:
            yield FakeWorkers()
        finally:
            self.said.append(f"end of {self.needs}")

    def open(self, crew):
        self._say("open")
        self._has_begun = False

    def begin(self, crew):
        self._say("begin")
        self._has_begun = True

    def close(self):
        self.said.append(f"close {self.name}")

    def calls(self, crew):
        if not self._has_begun:
            self.begin(crew)
        for batch in range(self._batches):
            self._say(f"submit {batch}")
            yield Future() if self._is_late else done(batch)

    def write(self, crew, calls):
        self._say("write", OutputError)
        for batch, _ in enumerate(calls):
            self.said.append(f"take {batch} {self.name}")
        self.said.append(f"complete {self.name}")
        return self.name


def mapped(*runs, is_file=True):
    return map_all([PlannedRun(lambda run=run: run, is_file) for run in runs])


def test_a_run_without_reads_is_written():
    said = []
    assert list(mapped(Run("a", said, batches=0), Run("b", said, batches=0))) == ["a", "b"]
    assert said.index("complete a") < said.index("write b")


@pytest.mark.parametrize("fault", ["open", "begin", "submit 0", "submit 1", "write"])
@pytest.mark.parametrize("batches", [2, 9])
@pytest.mark.parametrize("is_late", [True, False])
def test_runs_before_a_fault_are_complete(fault, batches, is_late):
    said, counted = [], []
    runs = [Run("a", said, batches=batches, is_late=is_late), Run("b", said, fault=fault), Run("c", said)]
    with pytest.raises((InputError, OutputError), match=f"b: no {fault}"):
        for stats in mapped(*runs):
            counted.append(stats)
    assert counted == ["a"] and "complete a" in said
    assert "complete b" not in said and "write c" not in said and said[-1] == "end of workers"
    opened = [name for name in "abc" if f"open {name}" in said]
    assert all(f"close {name}" in said for name in opened) and said.count("close a") == 1


def test_runs_before_one_that_cannot_be_are_complete():
    said, counted = [], []

    def cannot():
        raise UsageError("b cannot be")

    with pytest.raises(UsageError, match="b cannot be"):
        for stats in map_all(
            [PlannedRun(lambda: Run("a", said, batches=9, is_late=True), True), PlannedRun(cannot, True)]
        ):
            counted.append(stats)
    assert counted == ["a"] and said[-1] == "end of workers"


def test_calls_in_order():
    """The first is waited for, and no other while few are under way; an error comes behind all calls before it."""
    first, slow, said = Future(), Future(), []

    def calls():
        yield done("at once")
        yield first
        said.append("slow")
        yield slow
        for i in range(5):
            said.append(i)
            yield done(i)
        raise InputError("no more")

    found = in_order(calls(), 3)
    assert next(found).result() == "at once" and next(found) is first and said == []
    assert next(found) is slow and said == ["slow", 0, 1, 2]
    assert [next(found).result() for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(InputError, match="no more"):
        next(found)


# --- what a run leaves behind -------------------------------------------------------------------------------

OPENED = (Source, SearchPlan, AlignmentWriter)


def still_there():
    """Descriptors, and objects that hold them."""
    objects = Counter(type(thing).__name__ for thing in gc.get_objects() if isinstance(thing, OPENED))
    return len(os.listdir("/proc/self/fd")), objects


def test_runs_close_what_they_opened(small_index, small_fastq, tmp_path):
    """Without the collector of cycles: six runs leave what one does."""
    gc.collect()
    gc.disable()
    try:
        left = []
        for i in range(7):
            with gassst.Mapper(small_index, threads=2, device="none") as mapper:
                mapper.map_file(small_fastq, tmp_path / f"out{i % 3}.bam", sort=i % 2 == 1)
            left.append(still_there())
    finally:
        gc.enable()
    assert left[1:] == left[:1] * 6
