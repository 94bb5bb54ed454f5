"""Shards that are damaged or crafted are refused: one line, and no output."""

from __future__ import annotations

import re
import struct

import pysam
import pytest
from log_start import behind_start
from shard_bam import apart, mapped_shard, put_together, write_reads

from gassst.cli.main import main
from gassst.reads.shards import ShardOfRun

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


IN_A_BLOCK = 5  # records
SPREAD = ("-t", "4", "--batch-size", "12")


@pytest.fixture(scope="module")
def mapped(small_index, small_genome, tmp_path_factory):
    """Makes the only shard of a run, by its name and options."""
    folder = tmp_path_factory.mktemp("sums")
    reads = write_reads(folder / "r.fq", small_genome, 40)

    def mapped(name, *options):
        return mapped_shard(small_index, reads, folder / name, *options)

    return mapped


@pytest.fixture
def gathered(tmp_path, capsys):
    """Exit status and errors of `gassst gather`, and the path of its output."""

    def gathered(path, *options, output="out.bam"):
        code = main(["gather", str(path), *options, "-q", "-o", str(tmp_path / output)])
        return code, capsys.readouterr().err, tmp_path / output

    return gathered


def blocks_of(path):
    """The header of a shard in BAM, and its records in blocks of whole ones, as lists of records."""
    head, records = apart(path)
    return head, [records[i : i + IN_A_BLOCK] for i in range(0, len(records), IN_A_BLOCK)]


DAMAGE = {
    "dropped block": lambda blocks: blocks[:2] + blocks[3:],
    "doubled block": lambda blocks: [*blocks[:3], *blocks[2:]],
    "cut, and ended": lambda blocks: blocks[:-1],
    "no record": lambda blocks: [],
    "record removed": lambda blocks: [blocks[0][1:], *blocks[1:]],
    "record twice": lambda blocks: [[blocks[0][0], *blocks[0]], *blocks[1:]],
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize(
    "mapping, options, output",
    [
        ((), (), "o.bam"), ((), ("--sort",), "o.bam"), ((), (), "o.sam"), ((), ("--sort", "--markdup"), "o.bam"),
        (("--sort",), (), "o.bam"),
    ],
)  # fmt: skip
def test_damaged_parts_are_refused(mapped, gathered, tmp_path, damage, mapping, options, output):
    head, blocks = blocks_of(mapped("p.bam", *mapping))
    put_together(tmp_path / "p.bam", head, *map(b"".join, DAMAGE[damage](blocks)))
    code, error, path = gathered(tmp_path / "p.bam", *options, output=output)
    assert (
        code == 1 and re.search(r"p.bam: shard 1/1 has \d+ of 40 records: ", error) and error.count("\n") == 1
    )
    assert not path.exists()


@pytest.mark.parametrize("options, output", [((), "o.sam"), (("--sort",), "o.bam"), ((), "o.bam")])
def test_damaged_parts_in_sam(mapped, gathered, tmp_path, options, output):
    text = mapped("p.sam").read_bytes()
    assert gathered(mapped("p.sam"), *options, output=output)[0] == 0
    lines = text.splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if not line.startswith(b"@"))
    head, records = lines[:first], lines[first:]
    for damaged in (records[1:], records[:-1], [records[0], *records]):
        (tmp_path / "p.sam").write_bytes(b"".join(head + damaged))
        code, error, path = gathered(tmp_path / "p.sam", *options, output="bad-" + output)
        assert code == 1 and f"p.sam: shard 1/1 has {len(damaged)} of 40 records" in error
        assert error.count("\n") == 1 and not path.exists()


def test_parts_that_other_programs_have_written(mapped, gathered, tmp_path):
    """The same records are taken, in other blocks or sorted; what pysam leaves out is missed."""
    shard = mapped("p.bam")
    expected = blocks_of(gathered(shard)[2])[1]
    pysam.view("-b", "-o", str(tmp_path / "view.bam"), str(shard), catch_stdout=False)
    code, error, path = gathered(tmp_path / "view.bam", output="a.bam")
    assert (code, error) == (0, "") and blocks_of(path)[1] == expected
    pysam.sort("-o", str(tmp_path / "sort.bam"), str(shard))
    in_order = blocks_of(gathered(shard, "--sort", output="b.bam")[2])[1]
    code, error, path = gathered(tmp_path / "sort.bam", output="c.bam")
    assert (code, error) == (0, "") and blocks_of(path)[1] == in_order
    for suffix in (".sam", ".cram"):
        form = suffix[1:] + (",no_ref=1" if suffix == ".cram" else "")
        pysam.view("-h", "-O", form, "-o", str(tmp_path / f"x{suffix}"), str(shard), catch_stdout=False)
        assert gathered(tmp_path / f"x{suffix}", output=f"d{suffix}.bam")[0] == 0
    with (
        pysam.AlignmentFile(str(shard)) as source,
        pysam.AlignmentFile(str(tmp_path / "less.bam"), "wb", template=source) as target,
    ):
        for i, record in enumerate(source):
            if i != 7:
                target.write(record)
    code, error, path = gathered(tmp_path / "less.bam", output="e.bam")
    assert code == 1 and "39 of 40 records" in error and not path.exists()


@pytest.mark.parametrize("options", [(), ("--level", "0"), SPREAD, ("--sort",), (*SPREAD, "--sort")])
def test_the_header_says_how_many_records_there_are(mapped, options):
    path = mapped("p.bam", *options)
    assert ShardOfRun.in_header(blocks_of(path)[0].decode("latin-1")).records == 40
    pysam.quickcheck(str(path))
