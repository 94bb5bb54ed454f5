"""The orientation of a library is learned from its first pairs."""

import brute_force as bf
import numpy as np
import pytest

import gassst
from gassst.model.reference import Reference
from gassst.pairing.insert_size import ENOUGH_PAIRS, InsertModel, learned_insert
from gassst.runs.libraries import PairSample

M = 60


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(8)
    genome = bf.random_bases(rng, 60_000)
    return genome, gassst.Index.build(Reference.from_sequences([("c", genome)]))


def pairs_of(genome, orientation, n, seed=3, mean=400):
    """Pairs on both strands, some 3 % of them out of place."""
    rng, mates = np.random.default_rng(seed), ([], [])
    for i in range(n):
        size, at = int(rng.normal(mean, 20)), int(rng.integers(0, len(genome) - 600))
        piece = genome[at : at + size]
        piece = bf.reverse_complement(piece) if rng.random() < 0.5 else piece
        first, last = piece[:M], piece[-M:]
        if rng.random() < 0.03:
            last = genome[:M]
        if orientation != "rf":
            pair = first, last if orientation == "ff" else bf.reverse_complement(last)
        else:
            pair = bf.reverse_complement(first), last
        for reads, bases in zip(mates, pair, strict=True):
            reads.append((f"p{i}", bases.decode(), None))
    return mates


def records(index, mates, **options):
    return [str(record) for record in gassst.Mapper(index, device="none", **options).map(*mates)]


@pytest.mark.parametrize("orientation", ["fr", "rf", "ff"])
@pytest.mark.parametrize("mode", ["local", "global"])
def test_pairs_are_proper_in_the_orientation_that_most_have(world, orientation, mode):
    genome, index = world
    mates = pairs_of(genome, orientation, 300)
    found = records(index, mates, mode=mode)
    assert found == records(index, mates, mode=mode, orientation=orientation)
    assert sum(int(record.split("\t")[1]) & 2 > 0 for record in found) > 0.9 * len(found)


@pytest.mark.parametrize(
    "counts, expected", [((70, 60, 0), "fr"), ((70, 71, 0), "rf"), ((9, 0, ENOUGH_PAIRS - 1), "fr")]
)
def test_the_most_frequent_orientation_is_taken_where_enough_pairs_have_it(counts, expected):
    none = np.empty(0, np.int64)
    samples = [PairSample(np.full(n, 300), none, none) for n in counts]
    assert learned_insert(("fr", "rf", "ff"), samples).orientation == expected


def test_two_orientations_of_one_library_are_proper(world):
    """Mate pairs hold fragments that were not circularised, a few in ten of which face each other."""
    genome, index = world
    most, some = pairs_of(genome, "rf", 300), pairs_of(genome, "fr", 60, seed=4)
    mates = [a + [(f"q{name}", *rest) for name, *rest in b] for a, b in zip(most, some, strict=True)]
    proper = {True: 0, False: 0}
    for record in gassst.Mapper(index, device="none").map(*mates):
        proper[record.query_name[0] == "q"] += record.is_proper_pair
    assert proper[False] > 2 * 0.9 * 300
    assert proper[True] > 2 * 0.9 * 60
    fixed = [record for record in records(index, mates, orientation="rf") if record[0] == "q"]
    assert sum(int(record.split("\t")[1]) & 2 > 0 for record in fixed) < 20


@pytest.mark.parametrize("few, expected", [(49, None), (53, "fr"), (200, "fr")])
def test_an_orientation_of_one_pair_in_twenty_is_one_of_the_library(few, expected):
    none = np.empty(0, np.int64)
    samples = [PairSample(np.full(n, size), none, none) for n, size in ((few, 300), (1000, 400), (0, 0))]
    model = learned_insert(("fr", "rf", "ff"), samples)
    assert (model.orientation, model.mean) == ("rf", 400)
    assert (model.also and model.also.orientation) == expected


def test_a_model_of_two_orientations_is_read_as_it_was_written(tmp_path):
    none = np.empty(0, np.int64)
    samples = [PairSample(np.full(n, 300 + n), none, none) for n in (400, 300, 200)]
    model = learned_insert(("fr", "rf", "ff"), samples)
    model.write(tmp_path / "model.json")
    assert InsertModel.read(tmp_path / "model.json") == model
    assert model.also.also.orientation == "ff"
    assert "also rf" in str(model) and "also ff" in str(model)
