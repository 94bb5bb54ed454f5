"""Progress: one line that renews itself on a terminal, rare plain lines elsewhere, the share done and the time left."""

from __future__ import annotations

import io
import shlex

import pytest

from gassst.cli import progress
from gassst.cli.console import ERASE_LINE, Console
from gassst.cli.main import main
from gassst.model.stats import Stats
from gassst.version import __version__


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class HalfDone:
    """Inputs of 122,000 reads."""

    def share_done(self, reads: int) -> float:
        return reads / 122_000


@pytest.fixture
def shown(monkeypatch):
    """What is shown in 61 seconds of 1000 reads each, three quarters of them mapped."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")

    def shown(stream: io.StringIO, inputs=None, quiet: bool = False) -> str:
        clock = iter(range(100))
        monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
        with progress.Progress(inputs, quiet, Console(stream)) as update:
            for second in range(1, 62):
                update(Stats(reads=1000 * second, mapped=750 * second))
        return stream.getvalue()

    return shown


def test_terminal_line_renews_itself_and_is_removed(shown):
    text = shown(Terminal(), HalfDone())
    lines = text.split(ERASE_LINE)[1:]
    assert len(lines) == 62 and "\n" not in text
    assert lines[29] == "gassst: 24 %, 1:32 left, 30,000 reads, 1,000 reads/s, 75.00 % mapped"
    assert lines[60:] == ["gassst: 50 %, 1:01 left, 61,000 reads, 1,000 reads/s, 75.00 % mapped", ""]


def test_elsewhere_there_is_a_plain_line_now_and_then(shown):
    text = shown(io.StringIO(), HalfDone())
    assert text.isascii() and text.replace("\n", "").isprintable()
    assert text.splitlines() == [
        "gassst: 24 %, 1:32 left, 30,000 reads, 1,000 reads/s, 75.00 % mapped",
        "gassst: 49 %, 1:02 left, 60,000 reads, 1,000 reads/s, 75.00 % mapped",
    ]


def test_a_run_shows_the_share_that_is_mapped(monkeypatch, capfd, small_index, small_fastq, tmp_path):
    monkeypatch.setattr(progress.Progress, "PLAIN_SECONDS", 0)
    argv = ["map", str(small_index), str(small_fastq), "--device", "none", "-o", str(tmp_path / "o.bam")]
    assert main([*argv, "--batch-size", "200", "-t", "1"]) == 0
    lines = [line for line in capfd.readouterr().err.splitlines() if " left, " in line]
    assert [line.split(" left, ")[1].split(" reads, ")[0] for line in lines] == ["200", "400", "401"]
    assert lines[-1].startswith("gassst: 100 %, 0:00 left, ")


def test_an_index_says_how_far_it_is(monkeypatch, capfd, small_fasta, tmp_path):
    monkeypatch.setattr(progress.Progress, "PLAIN_SECONDS", -1.0)
    for more in ([], ["--parts", "3"]):
        assert main(["index", str(small_fasta), "-o", str(tmp_path / "x.gsi"), "-t", "2", *more]) == 0
        lines = capfd.readouterr().err.splitlines()
        assert "gassst: 0 MB of FASTA read, 0:00 so far" in lines
        shares = [int(line.split()[1]) for line in lines if "% of the seeds sorted, 0:00 so far" in line]
        assert shares == sorted(shares) and shares[-1] == 100
        assert main(["index", str(small_fasta), "-o", str(tmp_path / "x.gsi"), "-q", *more]) == 0
        assert capfd.readouterr().err == ""


# --- the start of the log -------------------------------------------------------------------------------------


@pytest.mark.parametrize("reference", ["index", "FASTA"])
def test_the_log_begins_with_what_runs(run, small_index, small_fasta, small_fastq, tmp_path, reference):
    fasta = tmp_path / "own.fa"
    fasta.write_bytes(small_fasta.read_bytes())
    named, used = (small_index, small_index) if reference == "index" else (fasta, "in memory")
    command = ["map", named, small_fastq, "-o", tmp_path / "out 1.sam", "-t", "2", "--device", "none"]
    lines = [line for line in run(*command)[2].splitlines() if "has no index" not in line]
    assert lines[:2] == [
        f"gassst: version {__version__}: {shlex.join(['gassst', *map(str, command)])}",
        f"gassst: 2 threads, index {used}: 3 contigs, 60,000 bases",
    ]
