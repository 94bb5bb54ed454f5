"""Reading and packing, against a parser and a packer that work on whole Python strings."""

import bz2
import gzip
import io
import lzma
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xopen import xopen

from gassst._core import reads as _reads
from gassst.errors import InputError
from gassst.reads.in_memory import batch_of_records, batch_records
from gassst.reads.input import open_reads

PIECES = [1, 2, 3, 5, 7, 64]
NAME = st.text(st.sampled_from("abzAZ059:_#/-@>+."), min_size=1, max_size=12)
COMMENT = st.sampled_from(["", " ", " 1:N:0:ACGT", "\tx y", " /1"])
SEQUENCE = st.text(st.sampled_from("ACGTNacgtnUuRYKMSWBDHV."), max_size=150)
QUALITY = st.characters(min_codepoint=33, max_codepoint=126)


class Dribble(io.RawIOBase):
    """A stream that gives at most `piece` bytes at once, as pipes do."""

    def __init__(self, data, piece):
        self.rest, self.piece = memoryview(data), piece

    def readable(self):
        return True

    def readinto(self, target):
        count = min(self.piece, len(target), len(self.rest))
        target[:count] = self.rest[:count]
        self.rest = self.rest[count:]
        return count


def read_stream(data, piece=1 << 20, **kwargs):
    with mock.patch("sys.stdin", mock.Mock(buffer=Dribble(data, piece))):
        return list(open_reads("-", **kwargs))


def records_of(batches):
    return [(b.name(i), b.sequence(i), b.quality(i)) for b in batches for i in range(len(b))]


def outcome(data, piece=1 << 20, **kwargs):
    """The records, or the error message."""
    try:
        return records_of(read_stream(data, piece, **kwargs))
    except InputError as error:
        return str(error)


def naive_name(header):
    name = re.match(r"[^\x00-\x20]*", header[1:])[0]
    name = name[:-2] if len(name) > 2 and name.endswith(("/1", "/2")) else name
    return re.sub(r"^@|[^!-~]", "_", name[:254])


def naive_parse(data):
    """Records of a file without errors, else the number of the first record that has one."""
    text = data.decode("latin-1")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return naive_fastq(lines) if text[:1] == "@" else naive_fasta(lines)


def plain_bases(sequence):
    return sequence.translate(str.maketrans(".Uu", "NTt")).encode()


def naive_fastq(lines):
    records = []
    while lines:
        lines[0] = lines[0].lstrip("\r")
        if not lines[0]:
            lines.pop(0)
            continue
        record, lines = lines[:4], lines[4:]
        if not naive_fastq_valid(record):
            return len(records) + 1
        name, sequence, quality = naive_name(record[0]), record[1], record[3]
        records.append((name, plain_bases(sequence), quality.encode()))
    return records


def naive_fastq_valid(record):
    return (
        len(record) == 4
        and re.match(r"@[^\x00-\x20]", record[0])
        and re.fullmatch(r"[A-Za-z.]*", record[1])
        and record[2].startswith("+")
        and re.fullmatch(r"[!-~]*", record[3])
        and len(record[1]) == len(record[3])
    )


def naive_fasta(lines):
    records = []
    for part in "\n".join(lines)[1:].split("\n>"):
        header, *rest = part.split("\n")
        if not naive_name(">" + header) or not all(re.fullmatch(r"[A-Za-z.]*", line) for line in rest):
            return len(records) + 1
        records.append((naive_name(">" + header), plain_bases("".join(rest)), None))
    return records


@st.composite
def fastq_files(draw):
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    lines = []
    for _ in range(draw(st.integers(1, 6))):
        name, sequence = draw(NAME), draw(SEQUENCE)
        quality = draw(st.text(QUALITY, min_size=len(sequence), max_size=len(sequence)))
        lines += ["@" + name + draw(COMMENT), sequence, "+" + draw(st.sampled_from(["", name])), quality]
    end = draw(st.sampled_from(["", newline, 2 * newline]))
    return (newline.join(lines) + (end if lines[-1] else newline + end)).encode()


@st.composite
def fasta_files(draw):
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    lines = []
    for _ in range(draw(st.integers(1, 6))):
        lines.append(">" + draw(NAME) + draw(COMMENT))
        lines += draw(st.lists(SEQUENCE, max_size=3))
    return (newline.join(lines) + draw(st.sampled_from(["", newline]))).encode()


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(fastq_files(), fasta_files()),
    st.sampled_from([*PIECES, 1 << 20]),
    st.sampled_from([*PIECES, 1 << 12]),
    st.integers(1, 7),
)
def test_records_are_those_of_the_naive_parser(data, piece, buffer_size, batch_size):
    batches = read_stream(data, piece, buffer_size=buffer_size, batch_size=batch_size)
    assert records_of(batches) == naive_parse(data)
    assert all(len(b) == batch_size for b in batches[:-1])
    assert [b.first for b in batches] == list(range(1, 1 + len(batches) * batch_size, batch_size))


@settings(max_examples=200, deadline=None)
@given(st.one_of(fastq_files(), fasta_files()), st.data())
def test_damage_is_found_at_the_same_record_whatever_the_pieces(data, draw):
    place = draw.draw(st.integers(1, len(data) - 1))
    cut, byte = draw.draw(st.booleans()), draw.draw(st.sampled_from(b"\n\r@>+ A\x1f\xff"))
    data = data[:place] if cut else data[:place] + bytes([byte]) + data[place + 1 :]
    expected = naive_parse(data)
    results = [outcome(data, piece, buffer_size=piece) for piece in [*PIECES, 1 << 12]]
    assert all(result == results[0] for result in results)
    if isinstance(expected, int):
        assert results[0].startswith(f"stdin: record {expected}")
    else:
        assert results[0] == expected


GOOD = b"@a\nACGT\n+\nIIII\n@b\nAC\n+\nII\n"
ERRORS = {
    "first byte": (b"BAM\x01", "record 1: begins with 'B', neither '@' (FASTQ) nor '>' (FASTA)"),
    "first byte blank": (b"\n@a\nA\n+\nI\n", "record 1: begins with '\\n', neither"),
    "no @": (GOOD + b"c\nA\n+\nI\n", "record 3: does not begin with '@'"),
    "multi-line FASTQ": (GOOD + b"@c\nA\nA\n+\nII\n", "record 3 (c): its third line does not begin with '+'"),
    "no name": (GOOD + b"@\nA\n+\nI\n", "record 3: has no name"),
    "no name but a comment": (GOOD + b"@ c\nA\n+\nI\n", "record 3: has no name"),
    "cut in header": (GOOD + b"@c", "record 3 (c): cut short"),
    "cut after header": (GOOD + b"@c\n", "record 3 (c): cut short"),
    "cut in sequence": (GOOD + b"@c\nACG", "record 3 (c): cut short"),
    "cut after sequence": (GOOD + b"@c\nACG\n", "record 3 (c): cut short"),
    "cut in plus": (GOOD + b"@c\nACG\n+", "record 3 (c): cut short"),
    "cut after plus": (GOOD + b"@c\nACG\n+\n", "record 3 (c): cut short"),
    "cut in quality": (GOOD + b"@c\nACG\n+\nII", "record 3 (c): cut short, the file ends inside it"),
    "cut after plus of no bases": (GOOD + b"@c\n\n+", "record 3 (c): cut short"),
    "quality short": (GOOD + b"@c\nACG\n+\nII\n", "record 3 (c): 3 bases but 2 qualities"),
    "quality long": (GOOD + b"@c\nACG\n+\nIIII", "record 3 (c): 3 bases but 4 qualities"),
    "quality low": (GOOD + b"@c\nACG\n+\nII \n", "record 3 (c): ' ' at quality 3 is not one of"),
    "quality high": (GOOD + b"@c\nACG\n+\nI\x7fI\n", "record 3 (c): '\\x7f' at quality 2 is not one of"),
    "base": (GOOD + b"@c\nAC-T\n+\nIIII\n", "record 3 (c): '-' at base 3 is not a letter"),
    "base not ASCII": (GOOD + b"@c\nAC\xc3\xa9\n+\nIIII\n", "record 3 (c): '\xc3' at base 3 is not a letter"),
    "long": (GOOD + b"@c\n" + 1001 * b"A" + b"\n+\n" + 1001 * b"I", "record 3 (c): longer than 1000 bases"),
    "FASTA base": (b">a\nAC\n>b\nACGT\nAC*", "record 2 (b): '*' at base 7 is not a letter"),
    "FASTA long": (b">a\nAC\n>b\n" + 11 * (100 * b"A" + b"\n"), "record 2 (b): longer than 1000 bases"),
    "FASTA no name": (b">a\nAC\n> \nACGT\nAC*", "record 2: has no name"),
    "FASTA genome": (b">chr1\n" + 100000 * b"A", "record 1 (chr1): longer than 1000 bases"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_error_names_file_and_record(case, tmp_path):
    data, message = ERRORS[case]
    path = tmp_path / "x.fq"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        list(open_reads(path, max_length=1000))
    assert str(caught.value).startswith(f"{path}: {message}")
    assert "\n" not in str(caught.value)
    assert {outcome(data, piece, batch_size=1, max_length=1000) for piece in PIECES} == {
        f"stdin: {str(caught.value)[len(str(path)) + 2 :]}"
    }


@pytest.mark.parametrize("begin", [b"@", b">", b"@a\nACGT\n+", b"@a\nACGT\n+\n"])
def test_no_line_fills_the_memory(begin):
    stream = Dribble(begin + 60_000_000 * b"A", 1 << 20)
    with (
        mock.patch("sys.stdin", mock.Mock(buffer=stream)),
        pytest.raises(InputError, match=r"record 1.*: a line of more than 167\d{5} bytes"),
    ):
        list(open_reads("-", max_length=1000))
    assert len(stream.rest) > 20_000_000


def bgzf(path, data):
    with pysam.BGZFile(str(path), "wb") as f:
        f.write(data)


def by_xopen(kind):
    def write(path, data):
        with xopen(path, "wb", threads=0, format=kind) as f:
            f.write(data)

    return write


WRITERS = {
    "plain": Path.write_bytes,
    "gz": by_xopen("gz"),
    "gz members": lambda path, data: path.write_bytes(
        gzip.compress(data[:1000]) + gzip.compress(data[1000:])
    ),
    "bgzf": bgzf,
    "bz2": lambda path, data: path.write_bytes(bz2.compress(data)),
    "xz": lambda path, data: path.write_bytes(lzma.compress(data)),
    "zst": by_xopen("zst"),
}


@pytest.fixture(scope="module")
def fastq():
    """FASTQ of 3000 random reads of 90 to 110 bases."""
    rng = np.random.default_rng(5)
    parts = []
    for i, length in enumerate(rng.integers(90, 111, 3000)):
        bases = bytes(rng.choice(np.frombuffer(b"ACGTN", np.uint8), length))
        parts.append(
            b"@r%d/1\n%b\n+\n%b\n" % (i, bases, bytes(rng.integers(33, 74, length).astype(np.uint8)))
        )
    return b"".join(parts)


parsed = cache(naive_parse)


@pytest.mark.parametrize("name", ["reads", "reads.fq.gz"])
@pytest.mark.parametrize("kind", WRITERS)
def test_compression_is_found_by_content(kind, name, fastq, tmp_path):
    WRITERS[kind](tmp_path / name, fastq)
    assert records_of(open_reads(tmp_path / name, batch_size=700)) == parsed(fastq)


def test_batch_of_records_is_like_a_file():
    records = [("a/1 x", "ACg.", "IIII"), (b"b", b"", b""), ("c", "NN", "!~")]
    batch = batch_of_records(records)
    assert records_of([batch]) == [("a", b"ACgN", b"IIII"), ("b", b"", b""), ("c", b"NN", b"!~")]
    assert batch.first == 1 and len(batch) == 3
    assert batch_of_records((n, s, None) for n, s, _ in records).quals is None
    assert len(batch_of_records([])) == 0
    with pytest.raises(IndexError):
        batch.name(3)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (("", "A", "I"), "record 2: has no name"),
        (("b", "A\nC", "III"), "record 2 (b): '\\n' at base 2 is not a letter"),
        (("b", "AC", "I"), "record 2 (b): 2 bases but 1 qualities"),
        (("b", "AC", "I\n"), "record 2 (b): '\\n' at quality 2 is not"),
        (("b", "AC", None), "record 2 (b): all records must have qualities, or none"),
        (("b", 1001 * "A", 1001 * "I"), "record 2 (b): longer than 1000 bases"),
    ],
)
def test_batch_of_records_errors(record, message):
    with pytest.raises(InputError, match="^records: " + re.escape(message)):
        batch_of_records([("a", "A", "I"), record], max_length=1000)


def naive_planes(sequence):
    """Three integers: bit j is the low bit, the high bit, the mask of base j."""
    codes = [{"A": 0, "C": 1, "G": 2, "T": 3, "U": 3}.get(base, 4) for base in sequence.upper()]
    return [sum((code >> plane & 1) << j for j, code in enumerate(codes)) for plane in range(3)]


def naive_complement(sequence):
    pairs = {"A": "T", "C": "G", "G": "C", "T": "A", "U": "A"}
    return "".join(pairs.get(base, "N") for base in sequence.upper()[::-1])


def row_integers(rows):
    return [sum(int(word) << 64 * i for i, word in enumerate(rows[:, plane])) for plane in range(3)]


def assert_packed(sequences, pack):
    bases = np.frombuffer("".join(sequences).encode(), np.uint8)
    offsets = np.cumsum([0, *map(len, sequences)]).astype(np.uint32)
    lengths, planes, plane_start = pack(bases, offsets)
    assert lengths.tolist() == list(map(len, sequences))
    assert [a.dtype.name for a in (lengths, planes, plane_start)] == ["uint32", "uint64", "uint32"]
    row = 0
    for sequence, start in zip(sequences, plane_start.tolist(), strict=True):
        words = -(-len(sequence) // 64)
        assert start == row
        assert row_integers(planes[row : row + words]) == naive_planes(sequence)
        assert row_integers(planes[row + words : row + 2 * words]) == naive_planes(naive_complement(sequence))
        row += 2 * words
    assert planes.shape == (row + 1, 3) and planes.flags.c_contiguous
    assert not planes[row].any()


@pytest.mark.parametrize("pack", [_reads.pack, _reads.pack_portable])
@pytest.mark.parametrize("alphabet", ["ACGT", "ACGTNacgtnUu", "ACGTRYKMSWBDHVEFPQacgtn.@["])
def test_pack_every_length(pack, alphabet):
    rng = np.random.default_rng(7)
    assert_packed(["".join(rng.choice(list(alphabet), n)) for n in [*range(201), 255, 256, 257, 1000]], pack)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(st.characters(max_codepoint=127), max_size=130), max_size=8))
def test_pack_any_characters(sequences):
    for pack in (_reads.pack, _reads.pack_portable):
        assert_packed(sequences, pack)


@pytest.mark.parametrize("offsets", [[0, 5], [3, 2], [0, 4, 3]])
def test_pack_offsets_out_of_range(offsets):
    with pytest.raises(ValueError):
        _reads.pack(np.zeros(4, np.uint8), np.array(offsets, np.uint32))


# --- pairs --------------------------------------------------------------------------------------------------


def record(header, length=4):
    return f"@{header}\n{'ACGT' * length}\n+\n{'IIII' * length}\n"


def mates_of(batches):
    return [mate for b in batches for mate in ([0] * len(b) if b.mate is None else b.mate.tolist())]


def write_pair(folder, first, second):
    """Two files of these texts."""
    paths = folder / "r1.fq", folder / "r2.fq"
    for path, data in zip(paths, (first, second), strict=True):
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return paths


def pair_outcome(paths, **kwargs):
    """Records, mates, and how many of each batch; or the error message."""
    try:
        batches = list(open_reads(paths[0], mates=paths[1], **kwargs))
    except InputError as error:
        return str(error)
    assert all(len(b) % 2 == 0 and b.mate.dtype == np.uint8 for b in batches)
    assert [b.first for b in batches] == [1 + sum(map(len, batches[:i])) // 2 for i in range(len(batches))]
    return records_of(batches), mates_of(batches)


def in_turn(first, second):
    return [record for pair in zip(first, second, strict=True) for record in pair]


@st.composite
def files_of_pairs(draw):
    """Two files of as many records of the same names, the headers of both, and their format."""
    fastq, names = draw(st.booleans()), draw(st.lists(NAME, max_size=6))
    ends = draw(
        st.sampled_from([("", ""), ("/1", "/2"), (" 1:N:0:A", " 2:Y:0:A"), ("", "/2"), (" x", "\ty z")])
    )
    texts = []
    for end in ends:
        text = ""
        for name in names:
            name = name.replace("/", "_")
            sequence = draw(SEQUENCE)
            newline = draw(st.sampled_from(["\n", "\r\n"]))
            quality = f"+{newline}{'I' * len(sequence)}{newline}" if fastq else ""
            text += f"{'@' if fastq else '>'}{name}{end}{newline}{sequence}{newline}{quality}"
        texts.append((text + draw(st.sampled_from(["", "\n", "\r\n"])) * bool(text)).encode())
    return texts


@settings(max_examples=120, deadline=None)
@given(files_of_pairs(), st.sampled_from([*PIECES, 1 << 12]), st.integers(1, 7))
def test_pairs_are_the_records_of_both_files_in_turn(tmp_path_factory, texts, buffer_size, batch_size):
    paths = write_pair(tmp_path_factory.mktemp("pairs"), *texts)
    expected = in_turn(*(naive_parse(text) if text else [] for text in texts))
    batches = list(open_reads(paths[0], mates=paths[1], batch_size=batch_size, buffer_size=buffer_size))
    assert records_of(batches) == expected
    assert mates_of(batches) == [1, 2] * (len(expected) // 2)
    assert all(len(b) == max(2, batch_size // 2 * 2) for b in batches[:-1])


@settings(max_examples=150, deadline=None)
@given(files_of_pairs(), st.data())
def test_damage_in_pairs_is_the_same_whatever_the_pieces(tmp_path_factory, texts, draw):
    which = draw.draw(st.integers(0, 1))
    if texts[which]:
        place = draw.draw(st.integers(0, len(texts[which]) - 1))
        cut, byte = draw.draw(st.booleans()), draw.draw(st.sampled_from(b"\n\r@>+ A\x1f\xff"))
        rest = b"" if cut else bytes([byte]) + texts[which][place + 1 :]
        texts[which] = texts[which][:place] + rest
    paths = write_pair(tmp_path_factory.mktemp("pairs"), *texts)
    results = [pair_outcome(paths, buffer_size=size, batch_size=size) for size in [*PIECES, 1 << 12]]
    assert all(result == results[0] for result in results)
    parsed = [naive_parse(text) if text else [] for text in texts]
    if isinstance(results[0], str):
        same = [isinstance(p, list) for p in parsed] == [True, True]
        same = same and [r[0] for r in parsed[0]] == [r[0] for r in parsed[1]]
        formats = {text[:1] for text in texts if text}
        assert not same or len(formats) > 1 or b"/" in b"".join(texts) or b":" in b"".join(texts)
    else:
        assert results[0] == (in_turn(*parsed), [1, 2] * len(parsed[0]))


THREE = "".join(record(f"n{i}") for i in range(3))
PAIR_ERRORS = {
    "names": (THREE + record("x"), THREE + record("y"), "{2}: record 4 (y): its mate in {1} is named x"),
    "name longer": (record("x"), record("xx"), "{2}: record 1 (xx): its mate in {1} is named x"),
    "order": (
        THREE + record("x/2"),
        THREE + record("x/1"),
        "{2}: record 4 (x): marked as mate 1, the one in {1} as mate 2",
    ),
    "both first": (
        record("x/1"),
        record("x/1"),
        "{2}: record 1 (x): marked as mate 1, the one in {1} as mate 1",
    ),
    "both second": (
        record("x 2:N:0:A"),
        record("x/2"),
        "{2}: record 1 (x): marked as mate 2, the one in {1} as mate 2",
    ),
    "Casava order": (
        record("x 2:N:0:A"),
        record("x 1:N:0:A"),
        "{2}: record 1 (x): marked as mate 1, the one in {1} as mate 2",
    ),
    "second ends": (THREE + record("x"), THREE, "{2}: ends after record 3, {1} goes on"),
    "first ends": (THREE, THREE + record("x") + "\n", "{1}: ends after record 3, {2} goes on"),
    "second empty": (THREE, "", "{2}: has no records, {1} goes on"),
    "first empty": ("", THREE, "{1}: has no records, {2} goes on"),
    "formats": (
        THREE,
        ">n0\nACGT\n",
        "{2}: record 1: begins with '>', {1} with '@': one is FASTA, the other FASTQ",
    ),
    "neither format": (THREE, "n0\n", "{2}: record 1: begins with 'n', neither '@' (FASTQ) nor '>' (FASTA)"),
    "damage in the first": (THREE + "@x\nA-C\n", THREE, "{1}: record 4 (x): '-' at base 2 is not a letter"),
    "damage in the second": (THREE, THREE[:-1] + "I\n", "{2}: record 3 (n2): 16 bases but 17 qualities"),
    "second cut short": (THREE, THREE[:-9], "{2}: record 3 (n2): cut short, the file ends inside it"),
}


@pytest.mark.parametrize("case", PAIR_ERRORS)
def test_error_in_pairs_names_the_file_and_the_record(case, tmp_path):
    first, second, message = PAIR_ERRORS[case]
    paths = write_pair(tmp_path, first, second)
    expected = message.replace("{1}", str(paths[0])).replace("{2}", str(paths[1]))
    for size in (*PIECES, 1 << 18):
        assert pair_outcome(paths, buffer_size=size, batch_size=size) == expected


def test_lanes_come_one_after_the_other(tmp_path):
    a, b = write_pair(tmp_path, record("x/1"), record("x/2"))
    c, d = tmp_path / "c", tmp_path / "d"
    c.write_text(">y/1\nAC\n>z/1\n\n")
    d.write_text(">y/2\n\n>z/2\nGT\n")
    batches = list(open_reads([a, c], mates=[b, d]))
    assert [len(batch) for batch in batches] == [2, 4] and mates_of(batches) == 3 * [1, 2]
    assert [(n, s) for n, s, _ in records_of(batches)][2:] == [
        ("y", b"AC"), ("y", b""), ("z", b""), ("z", b"GT"),
    ]  # fmt: skip
    assert batches[1].path == f"{c} and {d}" and batches[1].quals is None


def naive_interleaved(names):
    """Mate numbers of reads of these names: the first of two neighbours alike waits for the second."""
    mates, i = [], 0
    while i < len(names):
        together = i + 1 < len(names) and names[i] == names[i + 1]
        mates += [1, 2] if together else [0]
        i += 1 + together
    return mates


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from("aab"), max_size=12),
    st.sampled_from([*PIECES, 1 << 12]),
    st.integers(1, 7),
    st.booleans(),
)
def test_interleaved_neighbours_of_one_name_are_a_pair(names, buffer_size, batch_size, fastq):
    marker, end = ("@", "\n+\nII\n") if fastq else (">", "\n")
    text = "".join(f"{marker}{name} {i}\nAC{end}" for i, name in enumerate(names)).encode()
    batches = read_stream(text, batch_size=batch_size, buffer_size=buffer_size, interleaved=True)
    expected = naive_interleaved(names)
    assert mates_of(batches) == expected
    assert [name for name, _, _ in records_of(batches)] == names
    assert [b.first for b in batches] == np.cumsum([1, *map(len, batches)])[: len(batches)].tolist()
    place = 0
    for b in batches[:-1]:
        place += len(b)
        assert len(b) == batch_size or (len(b) == batch_size + 1 and expected[place - 1] == 2)
        assert expected[place] != 2
    records = [(f"{name} {i}", "AC", "II" if fastq else None) for i, name in enumerate(names)]
    again = list(batch_records(records, batch_size=batch_size, interleaved=True))
    assert (mates_of(again), list(map(len, again))) == (expected, list(map(len, batches)))


def test_batch_of_pairs_ends_by_bases(fastq, tmp_path):
    paths = write_pair(tmp_path, fastq, fastq.replace(b"/1\n", b"/2\n"))
    batches = list(open_reads(paths[0], mates=paths[1], max_batch_bases=5000))
    assert all(5000 <= len(b.bases) < 5000 + 2 * 110 for b in batches[:-1])
    assert sum(map(len, batches)) == 6000


@pytest.mark.parametrize(
    ("ends", "numbers"), [(("/2", "/1"), (1, 2)), (("/1", "/1"), (1, 1)), ((" 2:N:0", "/2"), (2, 2))]
)
def test_interleaved_mates_in_disorder(ends, numbers):
    text = THREE + "".join(record(f"x{end}") for end in ends)
    expected = f"stdin: record 5 (x): marked as mate {numbers[0]}, the read of this name before it as mate {numbers[1]}"
    for size in PIECES:
        assert outcome(text.encode(), size, batch_size=size, interleaved=True) == expected


def test_two_pipes_filled_by_one_program(tmp_path):
    """It opens both, then writes a pair at a time: neither may be waited for before the other is open."""
    paths = tmp_path / "a", tmp_path / "b"
    for path in paths:
        os.mkfifo(path)
    code = (
        "import sys\na, b = (open(p, 'w', 1) for p in sys.argv[1:])\n"
        'for i in range(3000):\n  for f in a, b: f.write(f\'@r{i}\\n{"ACGT" * 25}\\n+\\n{"I" * 100}\\n\')'
    )
    with subprocess.Popen([sys.executable, "-c", code, *paths]) as writer:
        assert sum(map(len, open_reads(paths[0], mates=paths[1]))) == 6000
    assert writer.returncode == 0
