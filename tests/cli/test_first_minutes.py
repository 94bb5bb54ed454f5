"""What a new user sees first: which index is used, the closing summary, versions, the names in the package."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pysam
import pytest
from log_start import behind_start

import gassst
from gassst.cli.summary import summary
from gassst.model.stats import Stats
from gassst.tools.report_numbers import STAGES

# --- the index beside a FASTA -------------------------------------------------------------------------------


@pytest.fixture
def fasta(small_fasta, small_index, tmp_path) -> Path:
    """A FASTA and its index, as old as each other."""
    path = tmp_path / "ref.fa"
    path.write_bytes(small_fasta.read_bytes())
    path.with_suffix(".gsi").write_bytes(small_index.read_bytes())
    for file in (path, path.with_suffix(".gsi")):
        os.utime(file, ns=(10**18, 10**18))
    return path


@pytest.fixture
def first_line(run, small_fastq, small_index):
    """The first message of a run on a FASTA, after a check that its records are those of the index."""

    def records(text: str) -> list[str]:
        return [line for line in text.splitlines() if not line.startswith("@PG")]

    expected = records(run("map", small_index, small_fastq, "--device", "none")[1])

    def first_line(fasta: Path) -> str:
        code, out, error = run("map", fasta, small_fastq, "--device", "none")
        assert code == 0
        assert records(out) == expected
        return error.splitlines()[0]

    return first_line


def test_fresh_index_beside_a_fasta_is_used(first_line, fasta, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("an index was built")

    monkeypatch.setattr(gassst.Index, "build", refuse)
    assert first_line(fasta) == f"gassst: {fasta}: its index {fasta.with_suffix('.gsi')} is used"


def test_index_older_than_its_fasta_is_not_used(first_line, fasta):
    os.utime(fasta, ns=(10**18 + 1, 10**18 + 1))
    index = fasta.with_suffix(".gsi")
    line = first_line(fasta)
    assert line.startswith(f"gassst: {index} is not used: it is older than the FASTA. ")
    assert line.endswith(f"`gassst index {fasta}` renews the index")


def test_index_of_another_fasta_is_not_used(first_line, fasta):
    """Its time says nothing: files that are copied or unpacked keep theirs."""
    size = fasta.stat().st_size
    with open(fasta, "a") as file:
        file.write("\n")
    os.utime(fasta, ns=(10**17, 10**17))
    assert f"it was made from a FASTA of {size:,} bytes, not {size + 1:,}. " in first_line(fasta)


def test_index_that_does_not_know_the_size_of_its_fasta_is_used(first_line, small_fasta, tmp_path):
    """Made of a reference in memory, or by version 0.1."""
    fasta = tmp_path / "ref.fa"
    fasta.write_bytes(small_fasta.read_bytes())
    index = gassst.Index.build(gassst.Index.build(small_fasta).reference)
    assert index.fasta_bytes is None
    index.save(tmp_path / "ref.gsi")
    os.utime(fasta, ns=(10**17, 10**17))
    assert first_line(fasta).endswith("ref.gsi is used")


def test_damaged_index_beside_a_fasta_is_not_used(first_line, fasta):
    index = fasta.with_suffix(".gsi")
    index.write_bytes(index.read_bytes()[:-1])
    assert f"{index} is not used: it is unusable (truncated index: " in first_line(fasta)


def test_unreadable_index_beside_a_fasta_is_not_used(first_line, fasta):
    index = fasta.with_suffix(".gsi")
    index.unlink()
    index.mkdir()
    assert f"{index} is not used: it cannot be read (Is a directory)" in first_line(fasta)


def test_fasta_without_an_index(first_line, fasta):
    fasta.with_suffix(".gsi").unlink()
    expected = (
        f"gassst: {fasta} has no index: indexed for this run only; `gassst index {fasta}` keeps the index"
    )
    assert first_line(fasta) == expected


def test_index_of_a_gzipped_fasta(run, small_fasta, small_fastq, tmp_path):
    fasta = tmp_path / "ref.fa.gz"
    fasta.write_bytes(gzip.compress(small_fasta.read_bytes()))
    assert run("index", fasta)[0] == 0
    assert gassst.Index.open(tmp_path / "ref.gsi").fasta_bytes == fasta.stat().st_size
    assert f"{tmp_path / 'ref.gsi'} is used" in run("map", fasta, small_fastq, "--device", "none")[2]


# --- summary ------------------------------------------------------------------------------------------------

LEARNED = {"pairs": 5987, "mean": 350.4, "sd": 39.6}


def counted(**more) -> Stats:
    return Stats(reads=2000, mapped=1900, confident=1800, occurrences=77, candidates=55, scored=44, **more)


def test_summary_of_single_reads():
    assert summary(counted(), 12.5).splitlines() == [
        "reads                  2,000",
        "mapped                 1,900  95.00 %",
        "MAPQ >= 20             1,800  90.00 %",
        "mapping time         12.50 s  160 reads/s",
    ]


def test_summary_of_pairs():
    lines = summary(counted(pairs=1000, proper=900, run={"insert": LEARNED}), 3723).splitlines()
    assert lines[3:] == [
        "pairs                  1,000",
        "proper pairs             900  90.00 %",
        "insert size        350 +- 40  learned from 5,987 pairs",
        "mapping time         1:02:03  1 reads/s",
    ]


def test_internals_are_shown_with_v_only(run, small_index, small_fastq, tmp_path):
    argv = ("map", small_index, small_fastq, "--device", "none", "-o", tmp_path / "out.bam")
    filters = ("--filters", "fd")
    words = ("seed occurrences", "anchors made of them", "bands scored", "traced back", "filter ")
    code, _, plain = run(*argv, *filters)
    assert code == 0
    assert "mapped" in plain and "reads/s" in plain and not any(word in plain for word in words)
    verbose = run(*argv, *filters, "-v")[2]
    assert all(word in verbose for word in words)
    assert "band32" in run(*argv, "-v")[2]
    assert "filter" not in behind_start(run(*argv, "--filters", "none", "-v")[2])
    assert run(*argv, "-q")[2] == ""


def test_every_stage_of_a_run_is_explained_in_the_report(run, small_index, small_reads, tmp_path):
    reads = tmp_path / "pairs.fq"
    reads.write_text("".join(f"@r{i // 2}\n{s}\n+\n{q}\n" for i, (_, s, q) in enumerate(small_reads[:400])))
    stats = tmp_path / "stats.json"
    argv = ("map", "-q", small_index, reads, "--interleaved", "--device", "none", "-o", tmp_path / "o.bam")
    assert run(*argv, "--filters", "fd", "--stats", stats)[0] == 0
    assert set(json.loads(stats.read_text())["nanoseconds"]) <= set(STAGES)


# --- outputs ------------------------------------------------------------------------------------------------


def test_level_of_compression(run, small_index, small_fastq, tmp_path):
    sizes = {}
    for level in (0, 1, 9):
        path = tmp_path / f"{level}.bam"
        argv = ("map", "-q", small_index, small_fastq, "--device", "none", "-o", path, "--level", level)
        assert run(*argv)[0] == 0
        sizes[level] = path.stat().st_size
        with pysam.AlignmentFile(path) as file:
            assert sum(1 for _ in file) == 401
    assert sizes[0] > sizes[1] > sizes[9]


def test_statistics_to_stdout(run, small_index, small_fastq, tmp_path):
    argv = ("map", "-q", small_index, small_fastq, "--device", "none", "--stats", "-")
    code, out, _ = run(*argv, "-o", tmp_path / "out.bam")
    assert (code, json.loads(out)["reads"]) == (0, 401)
    code, out, error = run(*argv)
    assert (code, out) == (2, "")
    assert "standard output: named twice" in error


# --- versions and names -------------------------------------------------------------------------------------


def test_version_names_what_decides_about_results_and_speed(run):
    code, out, error = run("--version")
    assert (code, error) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"gassst {gassst.__version__}"
    assert f"pysam {pysam.__version__} with htslib {pysam.version.__htslib_version__}" in lines
    assert any(line.startswith("pyopencl ") for line in lines)
    from gassst._core.stages import instruction_sets

    assert lines[-1] == f"CPU code path: {instruction_sets()[0]}"


@pytest.mark.parametrize("argv", [["map", "--help"], ["index", "--help"], ["--help"]])
def test_help_imports_nothing_heavy(argv):
    code = (
        "import sys\n"
        "from gassst.cli.main import main\n"
        f"assert main({argv!r}) == 0\n"
        "heavy = {'numpy', 'pysam', 'pyopencl', 'matplotlib', 'shtab', 'importlib.metadata'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    path = os.pathsep.join([str(Path(gassst.__file__).parents[1]), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


@pytest.mark.parametrize(
    ("options", "is_said"), [(["--sort"], True), (["--sort", "-O", "sam"], False), ([], False)]
)
def test_sorted_records_on_stdout_are_said_to_be_sam(run, small_index, small_fastq, options, is_said):
    code, text, error = run("map", small_index, small_fastq, "--device", "none", *options)
    assert code == 0 and text.startswith("@HD")
    assert ("standard output is SAM; -O bam writes BAM" in error) == is_said
