"""Runs over files, one behind another: what is read while what is written, what a run owns, what a fault leaves."""

from __future__ import annotations

import gc
import os
from collections import Counter
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import zip_longest

import numpy as np
import pytest

import gassst
from gassst.errors import InputError, OutputError, UsageError
from gassst.files.source import Source
from gassst.index.seed_index import SeedIndex
from gassst.model.reference import Reference
from gassst.reads.in_memory import batch_of_records, batch_records
from gassst.records.writer import AlignmentWriter
from gassst.runs.file_runs import PlannedRun, map_all
from gassst.runs.run import MappingRun, MappingWork, in_order
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


COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")
LENGTH = 80


@pytest.fixture(scope="module")
def genome():
    return np.random.default_rng(1).choice(np.frombuffer(b"ACGT", np.uint8), 60_000).tobytes()


@pytest.fixture(scope="module")
def mapper(genome):
    index = SeedIndex.build(Reference.from_sequences([("chr", genome)]), threads=1)
    return gassst.Mapper(index, device="none", threads=2, batch_size=64)


def library(genome, seed, mean, sd, n=300):
    """First and second mates, each (name, bases, None), of fragments of normally distributed length."""
    rng = np.random.default_rng(seed)
    sizes = np.maximum(rng.normal(mean, sd, n).astype(int), LENGTH)
    starts = rng.integers(0, len(genome) - sizes)
    first, second = [], []
    for i, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        fragment = genome[start : start + size]
        first.append((f"p{i}", fragment[:LENGTH], None))
        second.append((f"p{i}", fragment[-LENGTH:].translate(COMPLEMENT)[::-1], None))
    return first, second


@pytest.fixture(scope="module")
def libraries(genome):
    return library(genome, 2, 250, 15), library(genome, 3, 2000, 100)


def texts(segments):
    return [segment.to_string() for segment in segments]


def test_two_interleaved_generators_do_not_disturb_each_other(mapper, libraries):
    short, long = libraries
    alone = [texts(mapper.map(*pairs)) for pairs in libraries]
    turns = list(zip_longest(mapper.map(*short), mapper.map(*long)))
    assert [texts(column) for column in zip(*turns, strict=True)] == alone
    for records in alone:  # each library has a window of its own: neither is proper by the other's
        proper = [int(record.split("\t")[1]) & 0x2 for record in records]
        assert np.count_nonzero(proper) > 0.95 * len(records)


def test_a_mapper_cannot_be_changed(mapper):
    for name in ("index", "params", "reference", "another"):
        with pytest.raises(AttributeError):
            setattr(mapper, name, None)


def test_results_come_in_order_and_are_finished_in_the_workers(mapper, libraries):
    first, _ = libraries[0]
    batches = [batch_of_records(first[i : i + 10]) for i in range(0, 300, 10)]
    work = MappingWork(mapper._engine)
    run = MappingRun(work, lambda _, batch, result: [batch.name(int(hit)) for hit in result.hits["read"]])
    names = [name for found, _ in run.results(batches) for name in found]
    assert names == [name for name, _, _ in first]


def test_a_head_of_several_parts_is_cut_between_pairs(genome):
    """Insert sizes are learned in parts: the model is that of all the pairs, whatever their number."""
    index = SeedIndex.build(Reference.from_sequences([("chr", genome)]), threads=1)
    first, second = library(genome, 4, 300, 20, n=1500)
    single = ("alone", genome[100:180], None)
    models = []
    for size in (1 << 15, 100):
        mapper = gassst.Mapper(index, device="none", threads=2, batch_size=size)
        mixed = [single, *(read for pair in zip(first, second, strict=True) for read in pair)]
        run = MappingRun(MappingWork(mapper._engine), lambda *_: None)
        list(run.results(batch_records(mixed, batch_size=size, interleaved=True)))
        models.append(run.insert)
    assert models[0] == models[1]
    assert models[0].pairs == 512
    assert abs(models[0].mean - 300) < 3
