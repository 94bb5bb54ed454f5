"""Copies of places on a device: the seeds of the reference at a place lead to them, as on the host."""

import brute_force as bf
import numpy as np
import pytest
from device_searches import assert_same, context_of, placed, search_of

from gassst.errors import DeviceError
from gassst.gpu import search as search_module
from gassst.gpu.late import LateSearch
from gassst.model.stats import Stats
from gassst.pairing.insert_size import InsertModel
from gassst.search.context import PairContext
from gassst.search.plan import SearchPlan

COPIES, SIZE, FLANK = 40, 600, 400
OF_COPIES = 1 << SearchPlan.MAX_STAGES


@pytest.fixture(scope="module")
def world(engine, tmp_path_factory):
    """The search in a genome with a family of copies 2 % apart: (search, index, bases)."""
    rng = np.random.default_rng(5)
    element, flank = bf.random_bases(rng, SIZE), bf.random_bases(rng, FLANK)
    family = [bf.mutate(rng, element, 12, 0) + bf.random_bases(rng, FLANK) for _ in range(COPIES)]
    genome = flank + b"".join(family)
    search, mapper = search_of(engine, tmp_path_factory.mktemp("copies"), {"family": genome})
    return search, mapper.index, genome


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch):
    """Tests have few reads."""
    monkeypatch.setattr(search_module, "FEWEST", 1)


def reads_of(genome, n, span):
    """Reads of 75 bases of copies, three errors in each, and others `span` bases on, on the other strand."""
    rng, reads = np.random.default_rng(n), []
    for i in range(n):
        at = FLANK + int(rng.integers(0, COPIES)) * (SIZE + FLANK) + int(rng.integers(0, SIZE - 75))
        for begin in (at, at + span - 75):
            read = bf.mutate(rng, genome[begin : begin + 75], 3, 0)
            reads.append((str(i), (read if begin == at else bf.reverse_complement(read)).decode(), None))
    return reads


@pytest.mark.parametrize("params", [{}, {"mode": "local"}, {"filters": ()}, {"max_hits": 3}], ids=str)
@pytest.mark.parametrize("with_pairs", [False, True])
def test_they_are_those_of_the_host(world, params, with_pairs):
    search, index, genome = world
    reads = reads_of(genome, 100, 300)
    context, pairs = context_of(index, reads, **params), None
    if with_pairs:
        mates = np.tile(np.array([1, 2], np.uint8), len(reads) // 2)
        pairs = PairContext.of(context, mates, InsertModel("fr", 300, 30.0, 180, 420, 100))
    assert_same(search, context, pairs)
    looked = placed(context, Stats(), pairs=pairs)["looked"]
    assert (looked & OF_COPIES != 0).sum() > len(looked) / 10


def test_the_host_has_no_seeds_to_look_up(world):
    search, index, genome = world
    context, counts = context_of(index, reads_of(genome, 100, 300)), Stats()
    found = search.search(context, Stats())
    placed(context, counts, found)
    assert counts.occurrences == counts.scored == 0


@pytest.mark.parametrize(("name", "value"), [("on_device", lambda: None), ("FEWEST", 1000)])
def test_without_room_and_of_few_reads_the_host_finds_them(world, name, value, monkeypatch):
    search, index, genome = world
    context = context_of(index, reads_of(genome, 100, 300))
    counts, found = Stats(), search.search(context, Stats())
    expected = placed(context, Stats())
    monkeypatch.setattr(search if name == "on_device" else search_module, name, value)
    for name, column in placed(context, counts, found).items():
        np.testing.assert_array_equal(column, expected[name], err_msg=name)
    assert counts.occurrences > 0


@pytest.mark.parametrize("named", [False, True])
def test_a_device_that_fails_before_them(world, named, monkeypatch):
    """The host goes on without one that nobody named."""
    search, index, genome = world
    context = context_of(index, reads_of(genome, 100, 300))
    late = LateSearch(index, context.lookup, context.plan, context.cascade, context.params)
    late._search, late.named = search, named
    found = late.search(context, Stats())

    def lost(*_):
        raise DeviceError("the device is lost")

    monkeypatch.setattr(search, "_found", lost)
    if named:
        with pytest.raises(DeviceError, match="lost"):
            placed(context, Stats(), found)
        return
    expected = placed(context, Stats())
    for name, column in placed(context, Stats(), found).items():
        np.testing.assert_array_equal(column, expected[name], err_msg=name)
    assert late.search(context, Stats()) is None
