"""Genomes of very many contigs: names are decoded when they are asked for, and the header is the text of the index."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from gassst.errors import UsageError
from gassst.files.sam_header import Header
from gassst.index.seed_index import SeedIndex
from gassst.records import writer as sam

N = 20_000


@pytest.fixture(scope="module")
def fasta(tmp_path_factory):
    rng = np.random.default_rng(11)
    path = tmp_path_factory.mktemp("many") / "draft.fa"
    letters = np.frombuffer(b"ACGT", np.uint8)
    rows = (letters[rng.integers(0, 4, 40 + i % 41)].tobytes().decode() for i in range(N))
    path.write_text("".join(f">NODE_{i}|cov.{i % 7} x\n{bases}\n" for i, bases in enumerate(rows)))
    return path


@pytest.fixture(scope="module")
def index(fasta):
    SeedIndex.build(fasta, threads=1).save(fasta.with_suffix(".gsi"))
    return fasta.with_suffix(".gsi")


def names_in(fasta):
    return [line[1:].split()[0] for line in fasta.read_text().splitlines() if line.startswith(">")]


def test_opening_and_a_header_take_no_object_for_each_contig(index):
    SeedIndex.open(index)  # what is imported or made once is there now
    tracemalloc.start()
    try:
        opened = SeedIndex.open(index)
        header = sam.header_of(opened.reference)
        assert len(header.contigs.names) == N
        assert tracemalloc.get_traced_memory()[1] < 80 * N
    finally:
        tracemalloc.stop()


def test_names_are_those_of_the_fasta(fasta, index):
    names, expected = SeedIndex.open(index).reference.names, names_in(fasta)
    assert names == expected and list(reversed(names)) == expected[::-1]
    assert (names[0], names[-1], names[3:9:2]) == (expected[0], expected[-1], expected[3:9:2])
    assert names.index(expected[777]) == 777 and expected[778] in names and "NODE_1" not in names
    with pytest.raises(ValueError, match="NODE_1"):
        names.index("NODE_1")
    with pytest.raises(IndexError):
        names[N]


TEXT = "@HD\tVN:1.6\n@SQ\tSN:a\tLN:7\n@SQ\tLN:9\tM5:x\tSN:b\n@RG\tID:1\n@PG\tID:gassst\tPN:gassst\n@CO\tx\n"


def test_a_header_is_its_text():
    header = Header.of(TEXT)
    assert header.text == TEXT == b"".join(header.pieces).decode()
    assert (header.contigs.names, header.contigs.lengths.tolist()) == (["a", "b"], [7, 9])
    assert Header.of("@HD\tVN:1.6\n@CO\tx\n").text == "@HD\tVN:1.6\n@CO\tx\n"


def test_lines_are_added_where_they_belong():
    lines = ["@SQ\tSN:b\tSP:x\tM5:y", "@SQ\tSN:b\tAS:z\tSP:w", "@CO\tnew", "@HD\tVN:9"]
    text = Header.of(TEXT).with_lines(lines).text
    assert text == TEXT.replace("SN:b\n", "SN:b\tSP:x\tAS:z\n").replace("@PG", "@CO\tnew\n@PG")
    for bad in ("@SQ\tSN:c", "@SQ\tSN:b\tLN:8", "@SQ\tAS:x", "CO\tx", "@RG\tID"):
        with pytest.raises(UsageError, match="header line"):
            Header.of(TEXT).with_lines([bad])
