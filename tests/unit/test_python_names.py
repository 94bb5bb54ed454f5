"""What Python programs may call things and pass: presets, names of options, reads of every shape; rows of hits."""

from __future__ import annotations

import io

import dnaio
import pyarrow
import pysam
import pytest
from Bio import SeqIO

import gassst
from gassst import Hit
from gassst.cli.options import map_params
from gassst.cli.parser import parse
from gassst.errors import ParameterError, UsageError


@pytest.fixture(scope="module")
def mapper(small_index) -> gassst.Mapper:
    return gassst.Mapper(small_index, threads=1, device="none", max_hits=3)


@pytest.mark.parametrize("preset", ["hic", "small-rna", "ancient"])
def test_a_preset_is_that_of_the_command_line(small_index, preset):
    args = parse(["map", str(small_index), "r.fq", "--preset", preset, "-t", "1", "--device", "none"])
    assert gassst.Mapper(small_index, threads=1, device="none", preset=preset).params == map_params(args)


def test_a_preset_of_single_reads_refuses_pairs(small_index, small_fastq, tmp_path):
    mapper = gassst.Mapper(small_index, preset="ancient", device="none")
    for call in (
        lambda: mapper.map(["ACGT"], ["ACGT"]),
        lambda: mapper.map_file(small_fastq, tmp_path / "o.sam", interleaved=True),
    ):
        with pytest.raises(UsageError, match="preset 'ancient' takes single reads: these are pairs"):
            call()


def test_names_of_the_command_line(small_index, small_fastq, tmp_path):
    """A long option, a field of a group, and the opposite of a field."""
    options = {"min_score": 40, "clip_penalty": 3, "no_pairing": True}
    params = gassst.Mapper(small_index, device="none", **options).params
    assert (params.scoring, params.pairing) == (gassst.Scoring(min_score=40, clip=3), False)
    mapper = gassst.Mapper(small_index, device="none", threads=1)
    output = tmp_path / "o.bam"
    mapper.map_file(small_fastq, output, sort=True, markdup=True, markdup_within="file", trim5=3, upto=20)
    with pysam.AlignmentFile(output) as bam:
        assert "duplicates marked within each file" in str(bam.header)
        records = [record for record in bam if not record.flag & 0x900]
    assert len(records) == 20
    with pytest.raises(TypeError, match="'mark_dup'; did you mean 'markdup'\\?"):
        mapper.map_file(small_fastq, tmp_path / "o.sam", mark_dup=True)
    with pytest.raises(ParameterError, match="markdup needs sort=True"):
        mapper.map_file(small_fastq, tmp_path / "o.sam", markdup=True)


@pytest.mark.parametrize("typed, meant", [("n_threads", "threads"), ("min_scores", "min_score"), ("zzz", "")])
def test_another_name_is_named_with_what_was_meant(small_index, typed, meant):
    end = f"; did you mean '{meant}'\\?" if meant else ""
    with pytest.raises(TypeError, match=f"Mapper\\(\\) got an unexpected keyword argument '{typed}'{end}$"):
        gassst.Mapper(small_index, **{typed: 3})


def test_rows_of_hits(mapper, small_reads):
    hits = mapper.map_arrays(small_reads)
    rows = list(hits)
    assert len(rows) == len(hits) and {row.contig for row in rows} >= {None, "one", "two"}
    assert hits[0] == rows[0] and hits[-1] == rows[-1] and list(hits[3:9]) == rows[3:9]
    sure = hits[hits.mapq >= 30]
    assert list(sure) == [row for row in rows if row.mapq >= 30] and 0 < len(sure) < len(hits)
    assert list(hits[[5, 2]]) == [rows[5], rows[2]]
    with pytest.raises(IndexError):
        hits[len(hits)]
    for row, segment in zip(rows, mapper.map(small_reads), strict=True):
        assert (row.read_name, row.flag, row.mapq) == (
            segment.query_name,
            segment.flag,
            segment.mapping_quality,
        )
        assert row.contig == segment.reference_name or segment.is_unmapped


def test_md_and_cs_of_hits_are_those_of_records(mapper, small_fastq, small_reads, tmp_path):
    mapper.map_file(small_fastq, tmp_path / "o.sam", cs=True)
    with pysam.AlignmentFile(tmp_path / "o.sam") as sam:
        expected = {}
        for record in sam:
            if not record.flag & 0x904:
                expected[record.query_name] = record.get_tag("MD"), record.get_tag("cs")
    seen = 0
    for read in small_reads[:60]:
        for hit in mapper.map_one(read, MD=True, cs=True):
            if hit.is_primary:
                assert (hit.MD, hit.cs) == expected[read[0]]
                seen += 1
    assert seen > 20
    bases = mapper.seq("one", 40, 100)
    assert [hit.MD for hit in mapper.map_pair(bases, mapper.seq("one", 200, 260), MD=True)[1]][0] == "60"
    assert mapper.map_one(bases)[0].MD == ""


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
def hits(mapper, small_reads) -> gassst.HitArrays:
    return mapper.map_arrays(small_reads)


@pytest.fixture(scope="module")
def expected_rows(mapper, small_reads) -> list[tuple]:
    rows = rows_of(mapper.map(small_reads))
    assert {row[1] for row in rows} >= {None, "one", "two"} and {row[4] for row in rows} == {None, "+", "-"}
    return rows


def test_pyarrow_reads_the_records(hits, expected_rows):
    table = pyarrow.table(hits)
    assert table.column_names == COLUMNS
    assert [tuple(row.values()) for row in table.to_pylist()] == expected_rows
    assert [hits.read_name(i) for i in range(len(hits))] == [row[0] for row in expected_rows]


def test_pairs_and_no_reads_have_the_same_columns(mapper, small_reads):
    first, second = small_reads[:40:2], small_reads[1:40:2]
    mates = first, [(one[0], two[1], two[2]) for one, two in zip(first, second, strict=True)]
    table = pyarrow.table(mapper.map_arrays(*mates))
    assert [tuple(row.values()) for row in table.to_pylist()] == rows_of(mapper.map(*mates))
    empty = pyarrow.table(mapper.map_arrays([]))
    assert empty.num_rows == 0 and empty.schema == table.schema


@pytest.fixture(scope="module")
def plain_mapper(small_index) -> gassst.Mapper:
    return gassst.Mapper(small_index, device="none")


@pytest.fixture(scope="module")
def some(small_reads):
    return small_reads[:12]


def lines(segments) -> list[str]:
    return [segment.to_string() for segment in segments]


@pytest.fixture(scope="module")
def expected(plain_mapper, some) -> list[str]:
    return lines(plain_mapper.map(some))


def fastq(reads) -> str:
    return "".join(f"@{name}\n{sequence}\n+\n{quality}\n" for name, sequence, quality in reads)


SHAPES = {
    "dnaio": lambda reads: [dnaio.SequenceRecord(*read) for read in reads],
    "biopython": lambda reads: SeqIO.parse(io.StringIO(fastq(reads)), "fastq"),
    "bytes": lambda reads: [tuple(part.encode() for part in read) for read in reads],
    "bytearrays": lambda reads: [[bytearray(part.encode()) for part in read] for read in reads],
    "dnaio's parser": lambda reads: dnaio.open(io.BytesIO(fastq(reads).encode())),
    "a generator": lambda reads: (read for read in reads),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_reads_of_every_shape_give_the_same_records(plain_mapper, some, expected, shape):
    assert lines(plain_mapper.map(shape(some))) == expected


def test_records_of_pysam_give_the_same_records(plain_mapper, some, expected, tmp_path):
    path = tmp_path / "some.fq"
    path.write_text(fastq(some))
    for persist in (True, False):
        with pysam.FastxFile(str(path), persist=persist) as reads:
            assert lines(plain_mapper.map(reads)) == expected


def test_reads_without_names_have_numbers_and_those_without_qualities_a_star(plain_mapper, some):
    alone = [pysam.AlignedSegment.to_dict(s) for s in plain_mapper.map([sequence for _, sequence, _ in some])]
    pairs = [s.to_dict() for s in plain_mapper.map([(name, sequence) for name, sequence, _ in some])]
    records = [s.to_dict() for s in plain_mapper.map([dnaio.SequenceRecord(n, s) for n, s, _ in some])]
    assert [s["name"] for s in alone] == [str(i) for i in range(1, len(some) + 1)]
    assert {s["qual"] for s in (*alone, *pairs)} == {"*"}
    assert pairs == records
    assert [{**s, "name": ""} for s in alone] == [{**s, "name": ""} for s in pairs]


class Odd:
    sequence = "ACGT"


@pytest.mark.parametrize(
    ("read", "what"),
    [
        (None, "read 3 is a NoneType"), (7, "read 3 is a int"), (Odd(), "read 3 is a Odd"),
        (("name", 5), "read 3 is a tuple of str, int"),
        (("name", "ACGT", 5), "read 3 is a tuple of str, str, int"), (("ACGT",), "read 3 is a tuple of 1"),
        (("n", "ACGT", "IIII", ""), "read 3 is a tuple of 4"), (dnaio, "read 3 is a module"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_is_no_read_is_a_type_error_with_its_number(plain_mapper, some, read, what):
    for mapped in (plain_mapper.map, plain_mapper.map_arrays):
        with pytest.raises(TypeError, match=f"^reads1: {what}, not a sequence, "):
            list(mapped([*some[:2], read]))
    with pytest.raises(TypeError, match=what.replace("reads1", "reads").replace("read 3", "read 1")):
        plain_mapper.map_one(read)


@pytest.mark.parametrize(
    "one",
    [
        "reads.fq.gz",
        b"ACGT",
        bytearray(b"ACGT"),
        {"a": "ACGT"},
        {"ACGT"},
        io.StringIO("ACGT\n"),
        io.BytesIO(b"A\n"),
    ],
)
def test_what_is_no_iterable_of_reads(plain_mapper, one):
    with pytest.raises(TypeError, match="reads1 is a .*: map_file maps files by their paths"):
        plain_mapper.map(one)
