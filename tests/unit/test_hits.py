"""Hits in Python: the attributes of mappy, columns as an Arrow stream."""

from __future__ import annotations

import pyarrow
import pytest

import gassst
from gassst import Hit


@pytest.mark.parametrize("strand, q_st, q_en", [("+", 7, 30), ("-", 3, 26)])
def test_attributes(strand, q_st, q_en):
    """A read of 33 bases: 7 clipped, 10 M, 2 I, 4 D, 11 M, 3 clipped; two mismatches."""
    cigar = ((4, 7), (0, 10), (1, 2), (2, 4), (0, 11), (4, 3))
    hit = Hit("c", 100, 125, strand, 60, cigar, nm=8, score=5, is_primary=True)
    assert (hit.ctg, hit.NM, hit.q_st, hit.q_en) == ("c", 8, q_st, q_en)
    assert (hit.blen, hit.mlen) == (27, 19)


def test_read_without_clips():
    hit = Hit("c", 0, 50, "-", 60, ((0, 50),), nm=1, score=-1, is_primary=True)
    assert (hit.q_st, hit.q_en, hit.blen, hit.mlen) == (0, 50, 50, 49)


COLUMNS = [
    "read_name", "contig", "start", "end", "strand", "mapq", "cigar", "nm", "score", "flag", "is_primary",
]  # fmt: skip


def rows_of(segments) -> list[tuple]:
    rows = []
    for s in segments:
        kind = s.flag, not s.flag & 0x900
        if s.is_unmapped:
            rows.append((s.query_name, None, None, None, None, s.mapping_quality, None, None, None, *kind))
            continue
        place = s.reference_name, s.reference_start, s.reference_end, "-" if s.is_reverse else "+"
        tags = s.get_tag("NM"), s.get_tag("AS")
        cigar = s.cigarstring.replace("H", "S")
        rows.append((s.query_name, *place, s.mapping_quality, cigar, *tags, *kind))
    return rows


@pytest.fixture(scope="module")
def mapper(small_index) -> gassst.Mapper:
    return gassst.Mapper(small_index, device="none", max_hits=3, batch_size=90)


@pytest.fixture(scope="module")
def hits(mapper, small_reads) -> gassst.HitArrays:
    return mapper.map_arrays(small_reads)


@pytest.fixture(scope="module")
def expected(mapper, small_reads) -> list[tuple]:
    rows = rows_of(mapper.map(small_reads))
    assert {row[1] for row in rows} >= {None, "one", "two"} and {row[4] for row in rows} == {None, "+", "-"}
    return rows


def test_pyarrow_reads_the_records(hits, expected):
    table = pyarrow.table(hits)
    assert table.column_names == COLUMNS
    assert [tuple(row.values()) for row in table.to_pylist()] == expected
    assert [hits.read_name(i) for i in range(len(hits))] == [row[0] for row in expected]


def test_pairs_and_no_reads_have_the_same_columns(mapper, small_reads):
    first, second = small_reads[:40:2], small_reads[1:40:2]
    mates = first, [(one[0], two[1], two[2]) for one, two in zip(first, second, strict=True)]
    table = pyarrow.table(mapper.map_arrays(*mates))
    assert [tuple(row.values()) for row in table.to_pylist()] == rows_of(mapper.map(*mates))
    empty = pyarrow.table(mapper.map_arrays([]))
    assert empty.num_rows == 0 and empty.schema == table.schema
