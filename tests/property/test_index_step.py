"""An index of some positions leads to what an index of every position leads to."""

from __future__ import annotations

import brute_force as bf
import numpy as np
import pytest

import gassst
from gassst._core import seeds as _seeds
from gassst.index import seed_index
from gassst.index.lookup import IndexParts, WholeIndex
from gassst.index.seed_index import SeedIndex
from gassst.model.reference import FRONT, GAP, TAIL, Reference
from gassst.reads.in_memory import batch_of_records

STEPS = (2, 4)
LENGTH = 60
K = 10
"""Of the indexes, as if they were of 7 Mb: the least with which step 2 leaves positions out."""


@pytest.fixture(scope="module")
def contigs() -> dict[str, bytes]:
    """Repeats, runs of one base, a masked stretch, and contigs that begin at every distance from a multiple of 4."""
    rng = np.random.default_rng(11)
    unit = bf.random_bases(rng, 7)
    return {
        "repeats": bf.repetitive_genome(rng, 9001),
        "tandem": unit * 30 + b"A" * 61 + bf.mutate(rng, unit * 20, 6),
        "masked": bf.random_bases(rng, 301) + b"N" * 17 + bf.random_bases(rng, 202),
        "short": bf.random_bases(rng, 33),
    }


@pytest.fixture(scope="module")
def indexes(contigs) -> dict[int, SeedIndex]:
    reference = Reference.from_sequences(contigs.items())
    return made(reference)


@pytest.fixture(scope="module")
def unmasked(contigs) -> dict[int, SeedIndex]:
    """Indexes of one contig without N. A seed that runs over masked bases may be found there or not."""
    text = b"C" + b"".join(contigs[name] for name in ("repeats", "tandem", "short")) + b"C"
    reference = Reference.from_sequences([("all", text)])
    return made(reference)


@pytest.fixture(scope="module")
def reads(contigs) -> list[bytes]:
    rng = np.random.default_rng(12)
    found = []
    for contig in contigs.values():
        for at in rng.integers(0, max(len(contig) - LENGTH, 1), 12):
            read = bf.mutate(rng, contig[at : at + LENGTH + 9], int(rng.integers(4)))[:LENGTH]
            if len(read) == LENGTH and b"N" not in read:
                found.append(bf.reverse_complement(read) if rng.random() < 0.5 else read)
    return found


def records(mapper: gassst.Mapper, reads) -> list[str]:
    return [segment.to_string() for segment in mapper.map(reads)]


class Lookup:
    """The seeds of a batch of reads in one index, and what they lead to."""

    def __init__(self, index, reads, w, number, caps=None, parts=None):
        packed = batch_of_records([(str(i), read.decode(), None) for i, read in enumerate(reads)]).pack()
        most = np.full(index.longest_seed + 1, 0xFFFFFFFF if caps is None else caps, np.uint32)
        *anchors, self.clipped, self.capped, self.start = _seeds.anchors_of(
            packed, parts or WholeIndex(index), w, number, most
        )
        self.anchors = anchors

    def cells(self) -> set[tuple[int, int, int]]:
        """(read and strand, diagonal, base) of every base of an anchor."""
        columns = (column.tolist() for column in self.anchors)
        return {(s, d, b) for s, d, o, n in zip(*columns, strict=True) for b in range(o, o + n)}


def same(a: Lookup, b: Lookup) -> bool:
    arrays = [(*x.anchors, x.clipped, x.capped) for x in (a, b)]
    return all(np.array_equal(x, y) for x, y in zip(*arrays, strict=True))


def occurrences(
    contigs: dict[str, bytes], reads: list[bytes], w: int, number: int
) -> set[tuple[int, int, int]]:
    """What `Lookup.cells` should hold, by a search in the text."""
    text = b"N" * FRONT + (b"N" * GAP).join(contigs.values()) + b"N" * TAIL
    found = set()
    for r, read in enumerate(reads):
        for reverse in (0, 1):
            strand = bf.reverse_complement(read) if reverse else read
            offsets = [j * (LENGTH - w) // (number - 1) for j in range(number)]
            # They are those on the smaller strand.
            from_right = strand != min(read, bf.reverse_complement(read), key=in_planes)
            for o in (LENGTH - w - o if from_right else o for o in offsets):
                at = text.find(strand[o : o + w])
                while at >= 0:
                    found |= {(2 * r + reverse, at - o, o + b) for b in range(w)}
                    at = text.find(strand[o : o + w], at + 1)
    return found


def in_planes(read: bytes) -> tuple[int, int]:
    """Low and high bits of up to 64 bases, by which `of_reads` compares the strands."""
    codes = [b"ACGT".index(base) for base in read]
    return tuple(sum((code >> bit & 1) << i for i, code in enumerate(codes)) for bit in (0, 1))


def made(reference: Reference) -> dict[int, SeedIndex]:
    """Its indexes by step."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seed_index, "base_length", lambda *of: K - (of[1] == 4))
        return {step: SeedIndex.build(reference, threads=1, step=step) for step in (1, *STEPS)}


def test_not_every_position_is_kept(unmasked):
    kept = [len(unmasked[step].positions) / len(unmasked[1].positions) for step in STEPS]
    assert 0.4 < kept[0] < 0.7 and kept[1] == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize("step", (1, *STEPS))
@pytest.mark.parametrize("w", [4, 6, 8, 9, 12, 15, 20])
def test_every_place_of_every_seed(contigs, indexes, reads, step, w):
    if w < indexes[step].shortest_seed:
        with pytest.raises(ValueError, match=f"a seed of {w} bases"):
            Lookup(indexes[step], reads, w, 5)
        return
    looked = Lookup(indexes[step], reads, w, 5)
    assert occurrences(contigs, reads, w, 5) <= looked.cells()


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("w", [8, 11, 13, 17, 20])
def test_anchors_are_those_of_every_base(unmasked, reads, step, w):
    every, some = (Lookup(unmasked[s], reads, w, 4) for s in (1, step))
    assert len(every.anchors[0]) > 100 and same(every, some)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("caps", [None, 3, 1])
def test_counts_are_those_of_every_base(unmasked, reads, step, caps):
    """Which seeds are passed over or made longer follows from how often they occur, at any step."""
    every, some = (Lookup(unmasked[s], reads, 9, 6, caps) for s in (1, step))
    assert np.array_equal(every.clipped, some.clipped) and np.array_equal(every.capped, some.capped)
    assert every.start[-1] == some.start[-1]
    if caps:
        assert every.capped.any() and not every.capped.all()


@pytest.mark.parametrize("caps", [None, 3])
@pytest.mark.parametrize("step", STEPS)
def test_parts_are_the_whole(indexes, reads, step, caps):
    parts = IndexParts(indexes[step], 6_000)
    assert len(list(parts._parts())) >= 6
    assert same(
        Lookup(indexes[step], reads, 10, 5, caps),
        Lookup(indexes[step], reads, 10, 5, caps, parts),
    )


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    "options", [{"sensitivity": 5}, {"all_hits": True, "min_identity": 94}], ids=["best", "all"]
)
def test_records_without_occurrence_limits_are_those_of_every_base(small_fasta, small_reads, step, options):
    """A read of which all seeds occur too often is looked for at some places only, and at others with another step."""
    every, some = (
        records(gassst.Mapper(SeedIndex.build(small_fasta, step=s), device="none", **options), small_reads)
        for s in (1, step)
    )
    assert every == some


def test_seeds_are_the_same_for_every_step(indexes):
    assert {index.longest_seed for index in indexes.values()} == {indexes[1].k + 16}
    assert {index.plan_k for index in indexes.values()} == {indexes[1].k}
