"""A mapper never changes; a run owns what does: insert sizes, threads and the order of batches."""

from itertools import zip_longest

import numpy as np
import pytest

import gassst
from gassst.index.seed_index import SeedIndex
from gassst.model.reference import Reference
from gassst.reads.in_memory import batch_of_records, batch_records
from gassst.runs.run import MappingRun, MappingWork

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
