"""Names that SAM cannot hold are changed and counted; one odd record ends no run."""

from __future__ import annotations

import pytest

from gassst.cli.main import main
from gassst.reads.input import open_reads

NAMES = {
    b"n" * 254: "n" * 254, b"n" * 255: "n" * 254, b"n" * 5000: "n" * 254, b"n" * 253 + b"/1": "n" * 253,
    b"n" * 300 + b"/1": "n" * 254, b"@foo": "_foo", b"@": "_", b"a@b": "a@b", "naïve".encode(): "na__ve",
    b"na\xefve": "na_ve", b"a\x7fb": "a_b", b"a\x80": "a_", b"!~": "!~",
}  # fmt: skip
CHANGED = [name for name, given in NAMES.items() if name.removesuffix(b"/1").decode("latin-1") != given]


def fastq(names, suffix=b""):
    return b"".join(b"@" + name + suffix + b" comment\nACGT\n+\nIIII\n" for name in names)


@pytest.mark.parametrize("as_fasta", [False, True])
@pytest.mark.parametrize("buffer_size", [1, 7, 1 << 18])
def test_names_from_a_file(tmp_path, buffer_size, as_fasta):
    path = tmp_path / "reads"
    path.write_bytes(b"".join(b">" + name + b"\nACGT\n" for name in NAMES) if as_fasta else fastq(NAMES))
    batches = list(open_reads(path, 3, buffer_size=buffer_size))
    assert [batch.name(i) for batch in batches for i in range(len(batch))] == list(NAMES.values())
    assert sum(batch.renamed for batch in batches) == len(CHANGED)


@pytest.mark.parametrize("suffix", ["sam", "bam"])
def test_a_run_goes_on_and_says_how_many(small_index, small_reads, tmp_path, capfd, suffix):
    reads, output, stats = tmp_path / "reads.fq", tmp_path / f"out.{suffix}", tmp_path / "stats.json"
    reads.write_bytes(b"".join(b"@%s\n%s\n+\n%s\n" % (name, bases.encode(), quality.encode())
                               for name, (_, bases, quality) in zip(NAMES, small_reads, strict=False)))  # fmt: skip
    command = ["map", str(small_index), str(reads), "-t", "1", "--batch-size", "2", "-o", str(output)]
    assert main([*command, "--stats", str(stats), "--device", "none"]) == 0
    warning = f"gassst: {len(CHANGED)} reads have names that SAM cannot hold: cut at 254 characters"
    assert capfd.readouterr().err.count(warning) == 1
    assert f'"renamed": {len(CHANGED)}' in stats.read_text()
    with gassst_records(output) as records:
        primary = [r.query_name for r in records if not r.is_secondary and not r.is_supplementary]
    assert primary == list(NAMES.values())


def gassst_records(path):
    import pysam

    return pysam.AlignmentFile(str(path), check_sq=False)
