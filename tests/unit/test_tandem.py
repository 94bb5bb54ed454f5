"""Rivals in tandem repeats: found beside a place, against all shifts tried; and what they do to mapping qualities."""

from typing import NamedTuple

import numpy as np
import pytest

import gassst
from gassst._core.tandem import tandem_pairs, tandem_rivals
from gassst.index.reference import Reference
from gassst.model.layouts import NO_SCORE
from gassst.reads.in_memory import batch_of_records

M, UNIT, COPIES, AT = 100, 43, 8, 3000
NEAREST, FURTHEST = 11, 128


def substituted(bases, places):
    bases = bases.copy()
    for place in places:
        bases[place] = (bases[place] + 1) % 4
    return bases


def substituted_letters(letters, places):
    letters = letters.copy()
    for place in places:
        letters[place] = "ACGT"[("ACGT".index(letters[place]) + 1) % 4]
    return letters


@pytest.fixture(scope="module")
def world():
    """Random bases with copies of a unit between, of which every other one has another base in the middle."""
    rng = np.random.default_rng(2)
    unit = rng.integers(0, 4, UNIT)
    copies = [substituted(unit, [UNIT // 2] if i % 2 else []) for i in range(COPIES)]
    codes = np.concatenate([rng.integers(0, 4, AT), *copies, rng.integers(0, 4, AT)])
    return np.array(list("ACGT"))[codes]


@pytest.fixture(scope="module")
def reference(world):
    return Reference.from_sequences([("c", "".join(world).encode())])


class Context:
    def __init__(self, reference, packed):
        self.reference, self.packed, self.lengths = reference, packed, packed.lengths


def test_rivals_beside_a_place_are_counted(world, reference):
    starts = np.array([500, AT + 5, AT + 30, AT + 150, AT + 210])
    packed = batch_of_records(
        [(f"r{i}", "".join(world[s : s + M]), None) for i, s in enumerate(starts)]
    ).pack()
    strands = np.arange(0, 2 * len(starts), 2, dtype=np.uint32)
    diagonal = (int(reference.starts[0]) + starts).astype(np.int64)
    begin, end = np.full(len(starts), 10), np.full(len(starts), M)
    context, most = Context(reference, packed), np.full(len(starts), 50, np.uint16)
    errors, count = tandem_rivals(strands, diagonal, begin, end, most, context)
    assert errors[0] == NO_SCORE  # repeats nothing
    for i, start in enumerate(starts[1:], 1):
        part = world[start + 10 : start + M]
        shifts = [s for d in range(NEAREST, FURTHEST + 1) for s in (-d, d)]
        found = [int((world[start + 10 + s : start + M + s] != part).sum()) for s in shifts]
        assert errors[i] == min(found)
        assert count[i] == found.count(min(found))
    errors, count = tandem_rivals(strands, diagonal, begin, end, 0 * most, context)
    assert (errors == NO_SCORE).all()
    assert not count.any()


class Mate(NamedTuple):
    """Bases begin .. end - 1 of a strand that lie at `place` + begin in the world."""

    place: int
    strand: int
    begin: int
    end: int
    bases: np.ndarray
    most: int
    loss: float
    odds: float

    def weights(self, world):
        """Of this place, and of all 11 to 128 bases beside it with few enough mismatches."""
        shifts = [s for d in range(NEAREST, FURTHEST + 1) for s in (-d, d)]
        own = self.bases[self.begin : self.end]
        found = {s: (world[self.place + self.begin + s :][: len(own)] != own).sum() for s in shifts}
        return {0: 1.0} | {s: self.odds ** max(e - self.loss, 0) for s, e in found.items() if e <= self.most}

    @property
    def read(self):
        bases = "".join(self.bases)
        return bases[::-1].translate(str.maketrans("ACGT", "TGCA")) if self.strand else bases

    @classmethod
    def columns(cls, mates, first_read, start):
        place, strand, begin, end, _, *rest = map(np.array, zip(*mates, strict=True))
        reads = np.arange(first_read, first_read + 2 * len(mates), 2)
        kinds = [np.uint32, np.int64, np.int64, np.int64, np.uint16, np.float64, np.float64]
        columns = [2 * reads + strand, start + place, begin, end, *rest]
        return tuple(c.astype(kind) for c, kind in zip(columns, kinds, strict=True))


def test_copies_beside_mates_are_weighed_with_the_template_lengths(world, reference):
    """Mates in unique bases and in copies, in parts or whole, on both strands: against sums over all shifts."""
    rng = np.random.default_rng(5)
    mates = []
    for i in range(60):
        for place in rng.choice([500, AT + 20, AT + 63, AT + 150, AT + 230, AT - 60], 2):
            bases = substituted_letters(world[place : place + M], rng.choice(M, i % 4, replace=False))
            begin, end = (0, M) if i % 3 else (7, M - 12)
            mates.append(
                Mate(int(place), int(rng.integers(2)), begin, end, bases, 8, i % 4 / 2, 0.01 + i / 200)
            )
    packed = batch_of_records([(f"r{i}", mate.read, None) for i, mate in enumerate(mates)]).pack()
    context, own, others = Context(reference, packed), mates[::2], mates[1::2]
    deviate, step = rng.normal(0, 2, len(own)), np.where(rng.integers(0, 2, len(own)), 1 / 30, -1 / 40)
    deviate[:12] *= 200  # given insert sizes need not fit the window of template lengths
    columns = [Mate.columns(some, first, int(reference.starts[0])) for some, first in ((own, 0), (others, 1))]
    weight = tandem_pairs(*columns, deviate, step, context)
    beside, deviate = 0, np.clip(deviate, -30, 30)
    for i, (mate, other) in enumerate(zip(own, others, strict=True)):
        pairs = [
            (s, w * v * np.exp(-((deviate[i] + step[i] * (s - t)) ** 2) / 2))
            for s, w in mate.weights(world).items()
            for t, v in other.weights(world).items()
        ]
        stays = sum(w for s, w in pairs if s == 0)
        assert np.isfinite(weight[i])
        assert weight[i] == pytest.approx(sum(w for s, w in pairs if s) / stays, rel=1e-4, abs=1e-5)
        beside += weight[i] > 0.01
    assert 20 < beside < 50


@pytest.mark.parametrize("mode", ["global", "local"])
def test_the_insert_size_tells_copies_of_a_tandem_repeat_apart(world, reference, mode):
    """A mate that fits two copies beside one in unique bases: with narrow inserts it is sure, with wide ones not."""
    index, at = gassst.Index.build(reference), AT + 4 * UNIT
    letters = "".join(world)
    first, last = letters[at - 300 : at - 200], letters[at : at + M]
    last = last[::-1].translate(str.maketrans("ACGT", "TGCA"))
    qualities = []
    for insert in ((400.0, 10.0), (400.0, 90.0)):
        mapper = gassst.Mapper(index, mode=mode, device="none", insert=insert)
        pair = list(mapper.map([("p", first, None)], [("p", last, None)]))
        qualities.append([mate.mapping_quality for mate in pair])
        assert pair[1].pos == at or insert[1] > 10
    assert min(qualities[0]) >= 40
    assert qualities[1][0] >= 40
    assert qualities[1][1] <= 5


@pytest.mark.parametrize("mode", ["global", "local"])
def test_no_read_is_surer_than_the_copies_beside_it_allow(world, reference, mode):
    """A read with the differences of a neighbour copy: the search may see one place alone."""
    mapper = gassst.Mapper(gassst.Index.build(reference), mode=mode, device="none")
    at = AT + 2 * UNIT
    here, beside = world[at : at + M], world[at + UNIT : at + UNIT + M]
    apart = np.flatnonzero(here != beside)
    read = here.copy()
    read[apart[::2]] = beside[apart[::2]]
    clean = world[500 : 500 + M]
    found = list(mapper.map([("tandem", "".join(read), None), ("clean", "".join(clean), None)]))
    assert found[0].mapping_quality <= 20
    assert found[1].mapping_quality >= 40
