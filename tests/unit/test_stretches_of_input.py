"""Stretches of an input: the same, however its reads come in batches."""

from __future__ import annotations

import numpy as np
import pytest

from gassst.reads.in_memory import batch_of_records, batch_records
from gassst.reads.stretches import spread, whole_stretches

SIZE, HEAD = 16, 6


class Lazy:
    """A batch of one file that is not parsed yet; it can be parsed once."""

    def __init__(self, batch, lane=0, begins_at=None):
        self.batch, self.lane, self.begins_at = batch, lane, begins_at

    def __len__(self):
        return len(self.batch)

    def parsed(self):
        batch, self.batch = self.batch, None
        return batch


def mixed_reads(seed, n=150):
    """Pairs and single reads by turns, interleaved."""
    rng = np.random.default_rng(seed)
    reads = []
    while len(reads) < n:
        name, bases = f"r{len(reads)}", "".join(rng.choice(list("ACGT"), 20))
        reads += [(name, bases, "I" * 20)] * rng.integers(1, 3)
    return reads


def stretches_of(batches):
    """The names and mates of every stretch, by where it begins in its file."""
    found = {}
    for stretches in whole_stretches(batches, SIZE, HEAD):
        batch = stretches.parsed()
        bounds = stretches.bounds(batch)
        for start, stop in zip(bounds, bounds[1:], strict=False):
            mates = [0] * len(batch) if batch.mate is None else batch.mate.tolist()
            of_stretch = [(batch.name(i), batch.sequence(i), mates[i]) for i in range(start, stop)]
            at = stretches.before + start
            found.setdefault(at // SIZE + (at >= HEAD), []).append(of_stretch)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_stretches_do_not_depend_on_the_batches(seed):
    reads = mixed_reads(seed)
    whole = batch_of_records(reads)
    expected = None
    for size in (1000, 16, 15, 17, 5, 1, 40):
        found = stretches_of(batch_records(reads, batch_size=size, interleaved=True))
        # The first stretch comes as it is read, all others as wholes.
        assert all(len(pieces) == 1 for k, pieces in found.items() if k)
        found = {k: [read for piece in pieces for read in piece] for k, pieces in found.items()}
        expected = expected or found
        assert found == expected
        names = [name for of_stretch in found.values() for name, _, _ in of_stretch]
        assert names == [whole.name(i) for i in range(len(whole))]
        assert HEAD <= len(found[0]) <= HEAD + 1 and len(found[0]) + len(found[1]) - SIZE in (0, 1)
        assert all(SIZE - 1 <= len(found[k]) <= SIZE + 1 for k in range(2, len(found) - 1))


def test_what_is_whole_already_is_not_parsed():
    reads = [(str(i), "ACGTACGTAC", None) for i in range(5 * SIZE)]
    sizes = (HEAD, SIZE - HEAD, SIZE, SIZE, SIZE + 3, SIZE - 3)
    at, batches = 0, []
    for size in sizes:
        batches.append(Lazy(batch_of_records(reads[at : at + size])))
        at += size
    found = [stretches.batch for stretches in whole_stretches(batches, SIZE, HEAD)]
    assert found[:4] == batches[:4]
    assert [len(batch) for batch in found] == [HEAD, SIZE - HEAD, SIZE, SIZE, SIZE, SIZE]


def test_every_file_begins_a_stretch():
    reads = [(str(i), "ACGTACGTAC", None) for i in range(40)]
    batches = [Lazy(batch_of_records(reads[:20]), 0, 0), Lazy(batch_of_records(reads[20:]), 1, 0)]
    found = list(whole_stretches(batches, SIZE, HEAD))
    assert [(stretches.before, len(stretches), stretches.head) for stretches in found] == [
        (0, 20, HEAD),
        (0, 20, 0),
    ]


def test_a_part_goes_on_where_the_one_before_it_ends():
    reads = [(str(i), "ACGTACGTAC", None) for i in range(40)]
    (found,) = whole_stretches([Lazy(batch_of_records(reads), 0, 3 * SIZE)], SIZE, HEAD)
    assert found.before == 3 * SIZE and found.judged(found.parsed())[0] == (0, SIZE)


def test_a_sample_is_of_whole_pairs_from_everywhere():
    reads = [(f"p{i // 2}", "ACGT" * 5, None) for i in range(2000)]
    (batch,) = batch_records(reads, batch_size=2000, interleaved=True)
    some, _, numbers = spread(batch, [(400, 1000), (1000, 1600)], 50)
    assert numbers == [50, 50]
    assert some.mate is not None and some.mate.tolist() == [1, 2] * 50
    alone = batch_of_records([(str(i), "A" * (10 + i // 10), None) for i in range(1000)])
    lengths = np.diff(spread(alone, [(100, 900)], 64)[0].offsets)
    assert len(lengths) == 64 and 20 <= lengths.min() < 25 and 94 < lengths.max() < 100
    assert len(spread(alone, [(990, 1000)], 64)[0]) == 10
