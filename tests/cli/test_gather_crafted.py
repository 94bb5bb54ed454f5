"""Shards whose records are not what their own lengths say: one line, and no output."""

from __future__ import annotations

import re
import struct

import pytest
from log_start import behind_start
from shard_bam import apart, mapped_shard, put_together, write_reads

from gassst.cli.main import main

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
    folder = tmp_path_factory.mktemp("crafted")
    path = mapped_shard(small_index, write_reads(folder / "r.fq", small_genome, 30), folder / "p.bam")
    head, records = apart(path)
    size = struct.unpack_from("<i", head, 4)[0]
    text, removed = re.subn(rb", \d+ records", b"", head[8 : 8 + size])
    assert removed == 1
    return head[:4] + struct.pack("<i", len(text)) + text + head[8 + size :], b"".join(records)


@pytest.fixture
def refused(tmp_path, capsys):
    """The one line with which `gassst gather` refuses a file of these texts; it writes none."""

    def refused(head, records, *how):
        path, output = tmp_path / "p.bam", tmp_path / "o.bam"
        put_together(path, head + records)
        assert main(["gather", str(path), *how, "-o", str(output)]) == 1
        error = behind_start(capsys.readouterr().err)
        assert error.count("\n") == 1 and not output.exists()
        assert error.startswith(f"gassst: {path}: ")
        return error

    return refused


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("how", HOW, ids=["copied", "sorted", "marked"])
def test_crafted_records_are_refused(shard, refused, field, how):
    at, kind, value = FIELDS[field]
    head, records = shard
    second = 4 + struct.unpack_from("<i", records)[0]
    crafted = bytearray(records)
    struct.pack_into(kind, crafted, second + at, value)
    refused(head, bytes(crafted), *how)


@pytest.mark.parametrize(
    "tag",
    [
        b"XXZabc", b"XXBi\xff\xff\xff\x7f", b"XXi\1", b"XXq\1\0\0\0", b"XX", b"XXBA\1\0\0\0a", b"X\nc\1",
        b"XXZa\nb\0", b"XXA\1", b"XXHABC\0",
    ],
)  # fmt: skip
def test_tags_end_with_their_record(shard, refused, tag):
    head, records = shard
    size = struct.unpack_from("<i", records)[0]
    crafted = struct.pack("<i", size + len(tag)) + records[4 : 4 + size] + tag + records[4 + size :]
    assert "damaged record" in refused(head, crafted, "--sort")


def test_qualities_that_sam_cannot_write(shard, refused):
    head, records = shard
    size = struct.unpack_from("<i", records)[0]
    name, _, _, runs, _, length = struct.unpack_from("<BBHHHi", records, 12)
    at = 36 + name + 4 * runs + (length + 1) // 2
    assert records[at : at + 3] == b"\x28" * 3 and at + length < size
    assert "damaged record" in refused(head, records[: at + 2] + b"\xe9" + records[at + 3 :], "--sort")


def test_a_cigar_that_readers_take_from_a_tag(shard, refused):
    """htslib takes CG for the CIGAR where the first run clips all bases: so none of it was checked."""
    head, records = shard
    size = struct.unpack_from("<i", records)[0]
    name, _, _, runs, _, length = struct.unpack_from("<BBHHHi", records, 12)
    at, tag = 36 + name, b"CGBI" + struct.pack("<iI", 1, 7 << 4 | 15)
    body = records[4:at] + struct.pack("<II", length << 4 | 4, 9 << 4 | 3) + records[at + 4 * runs : 4 + size]
    body = body[:12] + struct.pack("<H", 2) + body[14:] + tag
    assert "damaged record" in refused(
        head, struct.pack("<i", len(body)) + body + records[4 + size :], "--sort"
    )


@pytest.mark.parametrize(
    "line", [b"@SQ\tSN:more\n", b"@SQ\tLN:9\n", b"@SQ\tSN:more\tLN:-9\n", b"@SQ\tSN:more\tLN:9\tx\n"]
)
@pytest.mark.parametrize("how", [(), ("--sort",)], ids=["copied", "sorted"])
def test_a_crafted_header_is_refused(shard, refused, line, how):
    head, records = shard
    size = struct.unpack_from("<i", head, 4)[0]
    crafted = struct.pack("<i", size + len(line)) + head[8 : 8 + size] + line + head[8 + size :]
    assert refused(head[:4] + crafted, records, *how).endswith(": its header is damaged\n")


@pytest.mark.parametrize("flag", [0x100, 0x800])
def test_marking_begins_with_a_primary_record(shard, refused, flag):
    head, records = shard
    crafted = bytearray(records)
    struct.pack_into("<H", crafted, 18, flag)
    assert "first of them primary" in refused(head, bytes(crafted), "--sort", "--markdup")
