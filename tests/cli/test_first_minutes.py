"""What a new user sees first: which index is used and the closing summary; and what a run may not do."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from log_start import behind_start

import gassst
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


def test_damaged_index_beside_a_fasta_is_not_used(first_line, fasta):
    index = fasta.with_suffix(".gsi")
    index.write_bytes(index.read_bytes()[:-1])
    assert f"{index} is not used: it is unusable (truncated index: " in first_line(fasta)


def test_index_of_a_gzipped_fasta(run, small_fasta, small_fastq, tmp_path):
    fasta = tmp_path / "ref.fa.gz"
    fasta.write_bytes(gzip.compress(small_fasta.read_bytes()))
    assert run("index", fasta)[0] == 0
    assert gassst.Index.open(tmp_path / "ref.gsi").fasta_bytes == fasta.stat().st_size
    assert f"{tmp_path / 'ref.gsi'} is used" in run("map", fasta, small_fastq, "--device", "none")[2]


# --- summary ------------------------------------------------------------------------------------------------


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


def test_statistics_to_stdout(run, small_index, small_fastq, tmp_path):
    argv = ("map", "-q", small_index, small_fastq, "--device", "none", "--stats", "-")
    code, out, _ = run(*argv, "-o", tmp_path / "out.bam")
    assert (code, json.loads(out)["reads"]) == (0, 401)
    code, out, error = run(*argv)
    assert (code, out) == (2, "")
    assert "standard output: named twice" in error


# --- versions and names -------------------------------------------------------------------------------------


def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from gassst.cli.main import main\n"
        "assert not any(main(argv) for argv in (['map', '--help'], ['index', '--help'], ['--help']))\n"
        "heavy = {'numpy', 'pysam', 'pyopencl', 'matplotlib', 'shtab', 'importlib.metadata'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    path = os.pathsep.join([str(Path(gassst.__file__).parents[1]), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_an_index_in_memory_goes_to_no_process(small_fasta):
    with pytest.raises(TypeError, match="save it, and open the file"):
        pickle.dumps(gassst.Mapper(gassst.Index.build(small_fasta), device="none"))


def test_interrupt_while_the_command_line_is_loaded():
    """Python's own handler would print a traceback."""
    program = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored where a shell began it in the background
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'gassst.cli.parser':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "from gassst.__main__ import run\n"
        "run()\n"
    )
    done = subprocess.run([sys.executable, "-c", program, "devices"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
