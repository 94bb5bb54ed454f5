"""`gassst gather` takes the records that were mapped, and no others."""

from __future__ import annotations

import re

import pysam
import pytest
from shard_bam import apart, mapped_shard, put_together, write_reads

from gassst.cli.main import main
from gassst.reads.shards import ShardOfRun

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
