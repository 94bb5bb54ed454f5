"""The shapes of reads that `Mapper.map` takes, all made by the packages that have them."""

from __future__ import annotations

import io

import dnaio
import pysam
import pytest
from Bio import SeqIO

import gassst


@pytest.fixture(scope="module")
def mapper(small_index) -> gassst.Mapper:
    return gassst.Mapper(small_index, device="none")


@pytest.fixture(scope="module")
def some(small_reads):
    return small_reads[:12]


def lines(segments) -> list[str]:
    return [segment.to_string() for segment in segments]


@pytest.fixture(scope="module")
def expected(mapper, some) -> list[str]:
    return lines(mapper.map(some))


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
def test_reads_of_every_shape_give_the_same_records(mapper, some, expected, shape):
    assert lines(mapper.map(shape(some))) == expected


def test_records_of_pysam_give_the_same_records(mapper, some, expected, tmp_path):
    path = tmp_path / "some.fq"
    path.write_text(fastq(some))
    for persist in (True, False):
        with pysam.FastxFile(str(path), persist=persist) as reads:
            assert lines(mapper.map(reads)) == expected


def test_reads_without_names_have_numbers_and_those_without_qualities_a_star(mapper, some):
    alone = [pysam.AlignedSegment.to_dict(s) for s in mapper.map([sequence for _, sequence, _ in some])]
    pairs = [s.to_dict() for s in mapper.map([(name, sequence) for name, sequence, _ in some])]
    records = [s.to_dict() for s in mapper.map([dnaio.SequenceRecord(n, s) for n, s, _ in some])]
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
def test_what_is_no_read_is_a_type_error_with_its_number(mapper, some, read, what):
    for mapped in (mapper.map, mapper.map_arrays):
        with pytest.raises(TypeError, match=f"^reads1: {what}, not a sequence, "):
            list(mapped([*some[:2], read]))
    with pytest.raises(TypeError, match=what.replace("reads1", "reads").replace("read 3", "read 1")):
        mapper.map_one(read)


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
def test_what_is_no_iterable_of_reads(mapper, one):
    with pytest.raises(TypeError, match="reads1 is a .*: map_file maps files by their paths"):
        mapper.map(one)
