"""The best ungapped alignment on a diagonal, against all stretches tried one by one."""

import numpy as np
import pytest

from gassst._core.stretches import best_stretches
from gassst.io.read_records import batch_of_records
from gassst.io.reference import Reference
from gassst.params import Scoring


def score(read, reference, scoring):
    masked = (read == "N") | (reference == "N")
    return np.where(masked, -1, np.where(read == reference, scoring.match, -scoring.mismatch))


def textbook(read, reference, scoring):
    """The highest total of any stretch that aligns something."""
    sums = np.concatenate([[0], np.cumsum(score(read, reference, scoring))])
    m = len(read)
    return max(
        sums[end] - sums[begin] + scoring.clip * ((begin == 0) + (end == m))
        for begin in range(m)
        for end in range(begin + 1, m + 1)
    )


@pytest.mark.parametrize("scoring", [Scoring(), Scoring(clip=0), Scoring(match=2, mismatch=3, clip=9)])
@pytest.mark.parametrize("length", [1, 63, 64, 130])
def test_the_best_stretch_is_found(scoring, length):
    rng = np.random.default_rng(length)
    genome = rng.choice(list("ACGTN"), 2000, p=[0.24, 0.24, 0.24, 0.24, 0.04])
    reference = Reference.from_sequences([("c", "".join(genome).encode())])
    reads, places = [], rng.integers(200, 1700, 60)
    for at in places:
        read = genome[at : at + length].copy()
        wrong = rng.random(length) < rng.choice([0.02, 0.2, 0.5])
        read[wrong] = rng.choice(list("ACGTN"), wrong.sum())
        reads.append("".join(read))
    packed = batch_of_records([(f"r{i}", read, None) for i, read in enumerate(reads)]).pack()
    columns = packed.planes, packed.plane_start, packed.lengths
    diagonal = (reference.starts[0] + places).astype(np.uint32)
    strands = np.arange(0, 2 * len(reads), 2, dtype=np.uint32)
    total, begin, end = best_stretches(reference.planes, *columns, strands, diagonal, scoring)
    for i, (read, at) in enumerate(zip(reads, places, strict=True)):
        bases, facing = np.array(list(read)), genome[at : at + length]
        assert total[i] == max(textbook(bases, facing, scoring), 0)
        if total[i]:
            here = slice(begin[i], end[i])
            bonus = scoring.clip * (int(begin[i] == 0) + int(end[i] == length))
            assert total[i] == score(bases[here], facing[here], scoring).sum() + bonus
