"""Inputs of gassst.align: sequences of every kind, alphabets, matrices, gaps."""

from __future__ import annotations

import gzip
from types import SimpleNamespace

import numpy as np
import pysam
import pytest

from gassst import align
from gassst.align.matrices import unknown_letters
from gassst.errors import InputError, UsageError

DNA_CODES = [0, 1, 2, 3, 4, 3, 0]
TEXT = "ACGTNua"


def codes_of(source, alphabet=align.DNA) -> list[list[int]]:
    found = align.read_sequences(source, alphabet)
    return [found[i].tolist() for i in range(len(found))]


@pytest.mark.parametrize(
    "source",
    [
        [TEXT],
        (TEXT.encode(),),
        [bytearray(TEXT.encode())],
        [np.array(DNA_CODES)],
        np.array([DNA_CODES], np.uint8),
        [("name", TEXT)],
        [("name", TEXT, "IIIIIII")],
        [pysam.FastxRecord(name="name", sequence=TEXT, quality="IIIIIII")],
        [SimpleNamespace(seq=TEXT, id="name")],  # as Biopython has them
        (text for text in [TEXT]),
    ],
)
def test_sequences_in_memory(source):
    assert codes_of(source) == [DNA_CODES]


def test_lists_of_text_are_coded_letter_by_letter():
    """Of all lengths, so that letters are coded in twos and alone; str and bytes, in either case."""
    rng = np.random.default_rng(5)
    letters = align.PROTEIN.letters
    texts = ["".join(rng.choice(list(letters + letters.lower()), n)) for n in range(1, 40)]
    mixed = [text.encode() if i % 3 else text for i, text in enumerate(texts)]
    codes = [[letters.index(letter) for letter in text.upper()] for text in texts]
    assert codes_of(texts, align.PROTEIN) == codes_of(mixed, align.PROTEIN) == codes
    assert align.read_sequences(texts, align.PROTEIN).names == [str(i) for i in range(1, 40)]


def test_alignments_of_pysam():
    record = pysam.AlignedSegment()
    record.query_name, record.query_sequence = "read", "ACGT"
    record.query_qualities = pysam.qualitystring_to_array("IIH!")
    found = align.read_sequences([record], align.DNA)
    assert (found.names, found.text(0), found.qualities) == (["read"], "ACGT", [b"IIH!"])


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_files(tmp_path, compress):
    fasta = tmp_path / "x.fa"
    fasta.write_bytes(compress(b">one first\r\nACG\r\nT\r\n\r\n>two\nNN\n"))
    found = align.read_sequences(fasta, align.DNA)
    assert found.names == ["one", "two"] and [found.text(0), found.text(1)] == ["ACGT", "NN"]
    assert found.lengths.tolist() == [4, 2] and found.offsets.tolist() == [0, 4, 6]
    fastq = tmp_path / "x.fq"
    fastq.write_bytes(compress(b"@one first\nACG\n+\n@II\n@two\nT\n+two\n!"))
    found = align.read_sequences(str(fastq), align.DNA)
    assert found.names == ["one", "two"] and found.qualities == [b"@II", b"!"]


@pytest.mark.parametrize("content", [b">a\n>b\nAC\n>c\n\n", b"@a\n\n+\n\n@b\nAC\n+\nII\n@c\n\n+\n\n"])
def test_records_without_letters_are_left_out(tmp_path, caplog, content):
    path = tmp_path / "x"
    path.write_bytes(content)
    assert align.read_sequences(path, align.DNA).names == ["b"]
    assert [place.contig for place in align.find(["AC"], path, 0)] == ["b"]
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}: records without letters: 2; they are left out"
    ] * 2


@pytest.mark.parametrize(
    "source, message",
    [
        ([], "queries: no sequence"),
        (["AC", ""], "queries: sequence 2: it is empty"),
        ([("tail", "")], r"queries: sequence 1 \(tail\): it is empty"),
        (["ACJ"], "'J' at 3 is not a letter of the DNA alphabet"),
        ([np.array([0, 15])], "code 15 at 2"),
        ([np.array([-1])], "code -1 at 1"),
        ([("x", "ACGT", "II")], "2 qualities for 4 letters"),
    ],
)
def test_bad_sequences(source, message):
    with pytest.raises(InputError, match=message):
        align.read_sequences(source, align.DNA, "queries")


@pytest.mark.parametrize("source", [b"ACGT", 7, [7], [np.zeros((2, 2))], [np.zeros(2)]])
def test_what_is_no_sequence(source):
    with pytest.raises(UsageError):
        align.read_sequences(source, align.DNA)


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "no sequence"),
        (b"ACGT\n", "neither FASTA nor FASTQ"),
        (b">x\n>y\n", "no sequence"),
        (b"@x\nAC\n+\nI\n", "1 qualities for 2 letters"),
        (b"@x\nAC\nII\n@y\n", "record 1 is not FASTQ"),
        # Its bytes hold the time, which must not get into the name of the test.
        pytest.param(gzip.compress(b">x\n" + b"ACGT" * 1000)[:-9], "x.fa: ", id="gz cut short"),
    ],
)
def test_bad_files(tmp_path, content, message):
    path = tmp_path / "x.fa"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        align.read_sequences(path, align.DNA)


def test_matrix_of_a_file(tmp_path):
    path = tmp_path / "mine"
    path.write_text("# mine\n   G  A\nA -3 1\nG 2 -4\n")
    matrix = align.substitution_matrix(path)
    assert matrix.alphabet is align.DNA
    assert matrix.scores[0, [0, 2]].tolist() == [1, -3] and matrix.scores[2, [0, 2]].tolist() == [-4, 2]
    assert np.flatnonzero(~unknown_letters(matrix)).tolist() == [0, 2]
    path.write_text("  . #\n. 1 0\n# 0 1\n")
    with pytest.raises(InputError, match="1 lines of scores for 2 letters"):
        align.substitution_matrix(path)
    path.write_text("  . -\n. 1 0\n- 0 1\n")
    assert align.substitution_matrix(path).alphabet.letters == ".-"


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "no scores"),
        ("AC\nA 1 1", "each letter once"),
        ("A C\nA 1 1\nC 1", "line 3"),
        ("A C\nA 1 x\n", "line 2: scores must be integers"),
        ("A C\nA 1 1\nA 1 1", "2 lines of scores for 2 letters"),
        ("A\nA 70000", "scores must be between"),
    ],
)
def test_bad_matrix_files(tmp_path, text, message):
    path = tmp_path / "mine"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        align.substitution_matrix(path)
