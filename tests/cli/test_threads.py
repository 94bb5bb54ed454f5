"""`gassst map` with several threads: the records of one, and one clear line where something fails."""

import gzip
import json

import pysam
import pytest
from test_cli import MANY, only_line

FOUR = ("-t", "4")
LAYOUTS = [("-t", "1"), ("-t", "3"), (*FOUR, "--batch-size", "70")]


def records_of(path, reference=None) -> list[str]:
    with pysam.AlignmentFile(str(path), check_sq=False, reference_filename=reference) as file:
        return [record.to_string() for record in file]


@pytest.fixture(scope="module")
def inputs(small_fastq, small_reads, tmp_path_factory):
    """The arguments for some inputs."""
    folder = tmp_path_factory.mktemp("inputs")

    def write(name, records):
        path = folder / name
        path.write_text("".join(f"@{n}\n{s}\n+\n{q}\n" for n, s, q in records))
        return path

    mates = [[(n, s[part], q[part]) for n, s, q in small_reads] for part in (slice(60), slice(-60, None))]
    one, two = (write(f"{mate}.fq", records) for mate, records in enumerate(mates, 1))
    pysam.tabix_compress(str(one), f"{one}.bgz")
    plain, fasta = write("plain.fq", small_reads), folder / "wrapped.fa"
    fasta.write_text("".join(f">{n}\n{s[:30]}\n{s[30:]}\n" for n, s, _ in small_reads))
    return {
        "single": [plain],
        "pairs": [one, two],
        "pairs of two kinds": [f"{one}.bgz", two],
        "files": ["--single", plain, fasta, small_fastq],
    }


@pytest.mark.parametrize(
    "options, memory",
    [
        (("out.sam",), []),
        (("out.cram",), []),
        (("out.bam",), []),
        (("out.bam",), ["--sort-memory", "1"]),
        (("out.bam",), ["--sort-memory", "60K"]),
    ],
    ids=["sam", "cram", "bam", "bam on disk", "bam partly on disk"],
)
def test_sorted_records_do_not_depend_on_threads(gassst_map, inputs, small_fasta, tmp_path, options, memory):
    found = []
    for layout in LAYOUTS:
        out = tmp_path / options[0]
        argv = (*inputs["pairs"], *layout, "-o", out, "--sort", *memory)
        assert gassst_map("-q", *argv)[0] == 0
        found.append(records_of(out, str(small_fasta)))
        if out.suffix != ".sam":
            with pysam.AlignmentFile(out, reference_filename=str(small_fasta)) as file:
                assert sum(1 for _ in file.fetch("two")) > 50
    assert found[1:] == found[:1] * (len(LAYOUTS) - 1)


def test_unmapped_reads_and_counts(gassst_map, inputs, tmp_path):
    found = []
    for layout in LAYOUTS:
        paths = tmp_path / "unmapped.fq.gz", tmp_path / "out.bam", tmp_path / "stats.json"
        argv = ("--unmapped", paths[0], "-o", paths[1], "--stats", paths[2], "-v")
        assert gassst_map(*inputs["pairs"], *layout, *argv)[0] == 0
        stats = json.loads(paths[2].read_text())
        counts = {
            name: value for name, value in stats.items() if name not in ("nanoseconds", "funnel", "run")
        }
        counts |= {name: stats["run"]["extension"][name] for name in ("calls", "pairs")}
        found.append((gzip.decompress(paths[0].read_bytes()), records_of(paths[1]), counts))
    assert found[0][0].count(b"\n") > 8 and found[0][2]["calls"] > 10
    assert found[0] == found[1]
    assert found[0][:2] == found[2][:2]  # counts of calls depend on the batches


@pytest.mark.parametrize("sort", [[], ["--sort"]], ids=["", "sort"])
def test_a_damaged_record_is_one_line(gassst_map, tmp_path, sort):
    reads = tmp_path / "reads.fq"
    reads.write_bytes(MANY + b"@bad\nACGT\n+\nIII\n" + MANY)
    code, _, error = gassst_map(reads, *FOUR, "--batch-size", "90", "-o", tmp_path / "out.bam", *sort)
    assert (code, only_line(error)) == (1, f"{reads}: record 5001 (bad): 4 bases but 3 qualities")
    assert list(tmp_path.iterdir()) == [reads]
