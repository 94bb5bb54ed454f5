"""Reference against naive parsing and naive packing, plain Python throughout; and genomes of very many contigs."""

from __future__ import annotations

import gzip
import hashlib
import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gassst.errors import InputError, UsageError
from gassst.files.sam_header import Header
from gassst.index.seed_index import SeedIndex
from gassst.model.reference import FRONT, GAP, TAIL, Reference
from gassst.records import writer as sam

BASES = "ACGT"


def fasta(contigs, width=60, end="\n"):
    lines = []
    for name, sequence in contigs:
        lines.append(f">{name}")
        lines += [sequence[i : i + width] for i in range(0, len(sequence), width)]
    return (end.join(lines) + end).encode()


def padded(contigs):
    """The concatenated text, '.' for padding."""
    body = ("." * GAP).join(sequence.upper().replace("U", "T") for _, sequence in contigs)
    return "." * FRONT + body + "." * TAIL


def planes_of(text):
    rows = np.zeros((-(-len(text) // 64), 3), object)
    for i in range(len(rows) * 64):
        code = BASES.find(text[i]) if i < len(text) else -1
        bits = (0, 0, 1) if code < 0 else (code & 1, code >> 1, 0)
        for plane, bit in enumerate(bits):
            rows[i // 64, plane] |= bit << i % 64
    return rows.astype(np.uint64)


def bgzf(data, block=100):
    """BGZF from the specification: gzip members with their size in an extra field, an empty one last."""
    out = b""
    for piece in [data[i : i + block] for i in range(0, len(data), block)] + [b""]:
        deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
        body = deflate.compress(piece) + deflate.flush()
        header = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + struct.pack("<H", len(body) + 25)
        out += header + body + struct.pack("<II", zlib.crc32(piece), len(piece))
    return out


def write(tmp_path, data, name="genome.fa"):
    path = tmp_path / name
    path.write_bytes(data)
    return path


def assert_same(reference, contigs):
    text = padded(contigs)
    assert reference.names == [name.split()[0] for name, _ in contigs]
    assert reference.lengths.tolist() == [len(sequence) for _, sequence in contigs]
    assert reference.total == len(text)
    assert np.array_equal(reference.planes, planes_of(text))
    for i, (_, sequence) in enumerate(contigs):
        upper = sequence.upper()
        assert reference.contigs.lines()[i].split("\tM5:")[1] == hashlib.md5(upper.encode()).hexdigest()
        assert reference.sequence(i) == upper.replace("U", "T").encode()
        start = int(reference.starts[i])
        assert text[start : start + len(upper)] == upper.replace("U", "T")
    assert reference.unmasked == sum(letter in BASES for letter in text)


@pytest.fixture
def contigs():
    rng = np.random.default_rng(7)

    def draw(n, letters):
        return "".join(rng.choice(list(letters), n))

    return [
        ("chr1 a description > with sign", draw(1000, "ACGT") + "N" * 130 + draw(77, "acgtn")),
        ("chr2", draw(64, "ACGT")),
        ("chr3\tx", draw(333, "ACGTUNRYSWKMBDHVacgtunryswkmbdhv")),
        ("N_only", "N" * 65),
        ("one", "g"),
    ]


@pytest.mark.parametrize("width", [1, 7, 60, 10**6])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines(tmp_path, contigs, width, end):
    assert_same(Reference.from_fasta(write(tmp_path, fasta(contigs, width, end))), contigs)


def two_members(data):
    return gzip.compress(data[:99]) + gzip.compress(data[99:])


@pytest.mark.parametrize("pack", [gzip.compress, bgzf, two_members])
@pytest.mark.parametrize("name", ["genome.fa", "genome.fa.gz"])
def test_compressed_by_content_not_by_name(tmp_path, contigs, pack, name):
    assert_same(Reference.from_fasta(write(tmp_path, pack(fasta(contigs)), name)), contigs)
    assert_same(Reference.from_fasta(write(tmp_path, fasta(contigs), name)), contigs)


letters = st.text(alphabet="ACGTNacgtnRyKu", min_size=1, max_size=200)


@settings(max_examples=60, deadline=None)
@given(st.lists(letters, min_size=1, max_size=4))
def test_from_sequences(sequences):
    contigs = [(f"c{i}", sequence) for i, sequence in enumerate(sequences)]
    assert_same(Reference.from_sequences((name, text.encode()) for name, text in contigs), contigs)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="ACGTNNNNNR", min_size=1, max_size=200), st.data())
def test_part_of_sequence(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    reference = Reference.from_sequences([("before", b"NNN"), ("a", text.encode()), ("behind", b"RRR")])
    assert reference.sequence(1, start, end) == text[start:end].encode()


@pytest.mark.parametrize(
    "data, complaint",
    [
        (b"", "no contig"), (b"\n\n", "no contig"),
        (b"ACGT\n>a\nACGT\n", "line 1: text before the first '>'"),
        (b"@r\nACGT\n+\nIIII\n", "text before the first '>'"), (b">a\n>b\nACGT\n", "contig a: no sequence"),
        (b">a\nAC\n>b\n\n", "contig b: no sequence"),
        (b">a\nAC\n> \nAC\n", "line 3: a contig without a name"),
        (b">\xc3\xa9\nAC\n", "line 1: contig 'é': SAM does not allow this name"),
        (b">a x\nAC\n>b\nAC\n>a y\nAC\n", "contig a: two contigs"),
        (b">a\nACGT\n>b\nAC\nA*\n", "contig b: line 5: '*'"),
        (b">a\r\nACGT\r\nAC-T\r\n", "contig a: line 3: '-'"), (b">a\nAC1\n", "contig a: line 2: '1'"),
        (b">a\nAC>\n", "contig a: line 2: '>'"), (b">a\nACX\n", "contig a: line 2: 'X'"),
        (b">a\nAC\0\n", "contig a: line 2: '\\x00'"), (b">a\nAC\xe9\n", "contig a: line 2"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("block", [3, 1 << 22])
def test_bad_text(tmp_path, monkeypatch, data, complaint, block):
    monkeypatch.setattr("gassst.files.fasta._BLOCK", block)
    path = write(tmp_path, data)
    with pytest.raises(InputError) as error:
        Reference.from_fasta(path)
    message = str(error.value)
    assert message.startswith(str(path)) and complaint in message and "\n" not in message


@pytest.mark.parametrize("pack", [gzip.compress, bgzf])
def test_damaged_gzip(tmp_path, contigs, pack):
    data = pack(fasta(contigs))
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 0x55
    cut = [data[:n] for n in (2, 20, len(data) // 2, len(data) - 1)]
    for damaged in (*cut, bytes(flipped), data + b"garbage"):
        path = write(tmp_path, damaged)
        with pytest.raises(InputError, match="genome.fa") as error:
            Reference.from_fasta(path)
        assert "\n" not in str(error.value)


N = 20_000


@pytest.fixture(scope="module")
def draft(tmp_path_factory):
    rng = np.random.default_rng(11)
    path = tmp_path_factory.mktemp("many") / "draft.fa"
    letters = np.frombuffer(b"ACGT", np.uint8)
    rows = (letters[rng.integers(0, 4, 40 + i % 41)].tobytes().decode() for i in range(N))
    path.write_text("".join(f">NODE_{i}|cov.{i % 7} x\n{bases}\n" for i, bases in enumerate(rows)))
    return path


@pytest.fixture(scope="module")
def draft_index(draft):
    SeedIndex.build(draft, threads=1).save(draft.with_suffix(".gsi"))
    return draft.with_suffix(".gsi")


def names_in(draft):
    return [line[1:].split()[0] for line in draft.read_text().splitlines() if line.startswith(">")]


def test_opening_and_a_header_take_no_object_for_each_contig(draft_index):
    SeedIndex.open(draft_index)  # what is imported or made once is there now
    tracemalloc.start()
    try:
        opened = SeedIndex.open(draft_index)
        header = sam.header_of(opened.reference)
        assert len(header.contigs.names) == N
        assert tracemalloc.get_traced_memory()[1] < 80 * N
    finally:
        tracemalloc.stop()


def test_names_are_those_of_the_fasta(draft, draft_index):
    names, expected = SeedIndex.open(draft_index).reference.names, names_in(draft)
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
