"""Whole reads are aligned with the fewest gaps among alignments with as few errors (--mode global, --all)."""

from __future__ import annotations

import numpy as np
import pytest

import gassst
from gassst.model.reference import Reference

N_READS = 60


def fewest(read: str, target: str) -> tuple[int, int]:
    """Errors, then gaps, of the best alignment of all of `read` in `target`: every cell of the matrix, in turn."""
    nowhere = (1000, 1000)
    row = [((0, 0), nowhere, nowhere)] * (len(target) + 1)  # at all, by an insertion, by a deletion

    def more(cost, errors, gaps):
        return cost[0] + errors, cost[1] + gaps

    for base in read:
        above, row = row, []
        for j in range(len(target) + 1):
            insertion = min(more(above[j][0], 1, 1), more(above[j][1], 1, 0))
            deletion = min(more(row[-1][0], 1, 1), more(row[-1][2], 1, 0)) if j else nowhere
            diagonal = more(above[j - 1][0], base != target[j - 1], 0) if j else nowhere
            row.append((min(diagonal, insertion, deletion), insertion, deletion))
    return min(cell[0] for cell in row)


@pytest.fixture(scope="module")
def world():
    """Reads of two letters with gaps, which can be aligned in many ways."""
    rng = np.random.default_rng(6)
    genome = "".join(rng.choice(list("ACGT"), 6000, p=[0.4, 0.4, 0.1, 0.1]))
    reads = []
    for _ in range(N_READS):
        at, bases = int(rng.integers(100, 5700)), ""
        cut, size = int(rng.integers(25, 60)), int(rng.integers(2, 7))
        inserted = "".join(rng.choice(list("AC"), size))
        source = genome[at : at + 100]
        bases = source[:cut] + (inserted + source[cut:] if rng.random() < 0.5 else source[cut + size :])
        changed = list(bases)
        for i in rng.integers(10, len(bases) - 10, 2):
            changed[i] = str(rng.choice(list("ACGT")))
        reads.append(("".join(changed), at))
    index = gassst.Index.build(Reference.from_sequences([("g", genome.encode())]))
    return genome, index, reads


@pytest.mark.parametrize("options", [{"mode": "global"}, {"all_hits": True}])
def test_no_alignment_with_as_few_errors_has_fewer_gaps(world, options):
    genome, index, reads = world
    mapper = gassst.Mapper(index, device="none", **options)
    compared = 0
    named = [(f"r{i}", bases, "I" * len(bases)) for i, (bases, _) in enumerate(reads)]
    for record in mapper.map(named):
        bases, at = reads[int(record.query_name[1:])]
        if record.is_unmapped or record.is_reverse or abs(record.reference_start - at) > 20:
            continue
        gaps = sum(op in (1, 2) for op, _ in record.cigartuples)
        end = record.reference_end
        errors, least = fewest(bases, genome[max(end - 130, 0) : end])
        assert record.get_tag("NM") >= errors
        if record.get_tag("NM") == errors:
            compared += 1
            assert gaps == least, record.cigarstring
    assert compared > N_READS // 2


def test_one_read_is_aligned_as_in_a_batch(world):
    _, index, reads = world
    mapper = gassst.Mapper(index, device="none", mode="global")
    records = mapper.map([(f"r{i}", bases, "I" * len(bases)) for i, (bases, _) in enumerate(reads)])
    alone = [mapper.map_one(bases) for bases, _ in reads]
    assert [hits[0].cigar if hits else None for hits in alone] == [record.cigarstring for record in records]
    assert any(len(hits[0].cigartuples) > 4 for hits in alone)


def test_a_gap_is_in_one_piece():
    rng = np.random.default_rng(1)
    read = "".join(rng.choice(list("ACGT"), 150))
    left, right = "A" + read[:110], read[115:]
    text = "".join(rng.choice(list("ACGT"), 900)) + left + right + "".join(rng.choice(list("ACGT"), 900))
    index = gassst.Index.build(Reference.from_sequences([("g", text.encode())]))
    mapper = gassst.Mapper(index, device="none", all_hits=True)
    records = [r for r in mapper.map([("r", read, "I" * 150)]) if r.get_tag("NM") == 5]
    assert len(records) == 1 and records[0].cigarstring.count("I") == 1
