"""Shards whose records are not what their own lengths say: one line, and no output."""

from __future__ import annotations

import gzip
import random
import re
import struct

import pytest
from log_start import behind_start

from gassst.cli.main import main
from gassst.files import bgzf

FIELDS = {  # byte of a record, and what is put there
    "tid": (4, "<i", 1 << 30),
    "negative tid": (4, "<i", -2),
    "position": (8, "<i", 1 << 30),
    "no position": (8, "<i", -1),
    "no name": (12, "<B", 0),
    "long name": (12, "<B", 255),
    "n_cigar": (16, "<H", 0xFFFF),
    "long sequence": (20, "<i", 1 << 30),
    "negative sequence": (20, "<i", -1),
    "mate's tid": (24, "<i", 1 << 30),
    "huge block": (0, "<i", 1 << 30),
    "short block": (0, "<i", 40),
    "negative block": (0, "<i", -1),
    "line end in the name": (37, "<c", b"\n"),
    "name as of a header": (36, "<c", b"@"),
}
HOW = [(), ("--sort",), ("--sort", "--markdup")]


@pytest.fixture(scope="module")
def shard(small_index, small_genome, tmp_path_factory):
    """(header text and contigs, records) of a run in one shard; it does not say what the records sum up to."""
    folder, draw = tmp_path_factory.mktemp("crafted"), random.Random(5)
    contig = max((s.decode().upper() for s in small_genome.values()), key=len)
    starts = [draw.randrange(len(contig) - 100) for _ in range(30)]
    reads = "".join(f"@r{i}\n{contig[at : at + 90]}\n+\n{'I' * 90}\n" for i, at in enumerate(starts))
    (folder / "r.fq").write_text(reads)
    assert not main(
        ["map", "-q", str(small_index), str(folder / "r.fq"), "--shard", "1/1", "-o", str(folder / "p.bam")]
    )
    data = gzip.decompress((folder / "p.bam").read_bytes())
    at = 8 + struct.unpack_from("<i", data, 4)[0]
    text, removed = re.subn(rb", \d+ records", b"", data[8:at])
    assert removed == 1
    data, at = data[:4] + struct.pack("<i", len(text)) + text + data[at:], 8 + len(text)
    contigs, at = struct.unpack_from("<i", data, at)[0], at + 4
    for _ in range(contigs):
        at += 8 + struct.unpack_from("<i", data, at)[0]
    return data[:at], data[at:]


def write(path, head: bytes, records: bytes) -> None:
    data, deflate = head + records, bgzf.deflater(1)
    pieces = [data[i : i + 60_000] for i in range(0, len(data), 60_000)]
    path.write_bytes(b"".join(bgzf.block(piece, deflate) for piece in pieces) + bgzf.END_OF_FILE)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("how", HOW, ids=["copied", "sorted", "marked"])
def test_crafted_records_are_refused(shard, tmp_path, capsys, field, how):
    at, kind, value = FIELDS[field]
    head, records = shard
    second = 4 + struct.unpack_from("<i", records)[0]
    crafted = bytearray(records)
    struct.pack_into(kind, crafted, second + at, value)
    write(tmp_path / "p.bam", head, bytes(crafted))
    output = tmp_path / "o.bam"
    assert main(["gather", str(tmp_path / "p.bam"), *how, "-o", str(output)]) == 1
    assert len(behind_start(capsys.readouterr().err).splitlines()) == 1 and not output.exists()


@pytest.mark.parametrize(
    "tag",
    [
        b"XXZabc", b"XXBi\xff\xff\xff\x7f", b"XXi\1", b"XXq\1\0\0\0", b"XX", b"XXBA\1\0\0\0a", b"X\nc\1",
        b"XXZa\nb\0", b"XXA\1", b"XXHABC\0",
    ],
)  # fmt: skip
def test_tags_end_with_their_record(shard, tmp_path, capsys, tag):
    head, records = shard
    size = struct.unpack_from("<i", records)[0]
    crafted = struct.pack("<i", size + len(tag)) + records[4 : 4 + size] + tag + records[4 + size :]
    write(tmp_path / "p.bam", head, crafted)
    assert main(["gather", str(tmp_path / "p.bam"), "--sort", "-o", str(tmp_path / "o.bam")]) == 1
    assert "damaged record" in capsys.readouterr().err and not (tmp_path / "o.bam").exists()


def test_qualities_that_sam_cannot_write(shard, tmp_path, capsys):
    head, records = shard
    size = struct.unpack_from("<i", records)[0]
    name, _, _, runs, _, length = struct.unpack_from("<BBHHHi", records, 12)
    at = 36 + name + 4 * runs + (length + 1) // 2
    assert records[at : at + 3] == b"\x28" * 3 and at + length < size
    write(tmp_path / "p.bam", head, records[: at + 2] + b"\xe9" + records[at + 3 :])
    assert main(["gather", str(tmp_path / "p.bam"), "--sort", "-o", str(tmp_path / "o.bam")]) == 1
    assert "damaged record" in capsys.readouterr().err and not (tmp_path / "o.bam").exists()


def test_a_cigar_that_readers_take_from_a_tag(shard, tmp_path, capsys):
    """htslib takes CG for the CIGAR where the first run clips all bases: so none of it was checked."""
    head, records = shard
    size = struct.unpack_from("<i", records)[0]
    name, _, _, runs, _, length = struct.unpack_from("<BBHHHi", records, 12)
    at, tag = 36 + name, b"CGBI" + struct.pack("<iI", 1, 7 << 4 | 15)
    body = records[4:at] + struct.pack("<II", length << 4 | 4, 9 << 4 | 3) + records[at + 4 * runs : 4 + size]
    body = body[:12] + struct.pack("<H", 2) + body[14:] + tag
    write(tmp_path / "p.bam", head, struct.pack("<i", len(body)) + body + records[4 + size :])
    assert main(["gather", str(tmp_path / "p.bam"), "--sort", "-o", str(tmp_path / "o.bam")]) == 1
    assert "damaged record" in capsys.readouterr().err and not (tmp_path / "o.bam").exists()


@pytest.mark.parametrize(
    "line", [b"@SQ\tSN:more\n", b"@SQ\tLN:9\n", b"@SQ\tSN:more\tLN:-9\n", b"@SQ\tSN:more\tLN:9\tx\n"]
)
@pytest.mark.parametrize("how", [(), ("--sort",)], ids=["copied", "sorted"])
def test_a_crafted_header_is_refused(shard, tmp_path, capsys, line, how):
    head, records = shard
    size = struct.unpack_from("<i", head, 4)[0]
    crafted = struct.pack("<i", size + len(line)) + head[8 : 8 + size] + line + head[8 + size :]
    path, output = tmp_path / "p.bam", tmp_path / "o.bam"
    write(path, head[:4] + crafted, records)
    assert main(["gather", str(path), *how, "-o", str(output)]) == 1
    assert (
        behind_start(capsys.readouterr().err) == f"gassst: {path}: its header is damaged\n"
        and not output.exists()
    )


@pytest.mark.parametrize("flag", [0x100, 0x800])
def test_marking_begins_with_a_primary_record(shard, tmp_path, capsys, flag):
    head, records = shard
    crafted = bytearray(records)
    struct.pack_into("<H", crafted, 18, flag)
    path, output = tmp_path / "p.bam", tmp_path / "o.bam"
    write(path, head, bytes(crafted))
    assert main(["gather", str(path), "--sort", "--markdup", "-o", str(output)]) == 1
    error = behind_start(capsys.readouterr().err)
    assert error.startswith(f"gassst: {path}: ") and "first of them primary" in error
    assert error.count("\n") == 1 and not output.exists()
