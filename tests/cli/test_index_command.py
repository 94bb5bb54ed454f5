"""`gassst index` and `gassst info`: sizes before the sort, progress, names of contigs, what a file is."""

from __future__ import annotations

import io
import os
import shlex
import shutil
from collections import namedtuple

import numpy as np
import pysam
import pytest

import gassst
from gassst.cli import index as index_command
from gassst.cli import progress
from gassst.cli.console import ERASE_LINE, Console
from gassst.cli.main import main
from gassst.index.build_parts import build_parts
from gassst.model.stats import Stats
from gassst.version import __version__

Usage = namedtuple("Usage", "total used free")


@pytest.fixture(scope="module")
def fasta(tmp_path_factory):
    """300,000 bases, some of them N."""
    path = tmp_path_factory.mktemp("sizes") / "ref.fa"
    bases = np.random.default_rng(3).choice(list("ACGT"), 300_000)
    bases[1000:9000] = "N"
    path.write_text(f">one\n{''.join(bases[:200_000])}\n>two\n{''.join(bases[200_000:])}\n")
    return path


@pytest.mark.parametrize("step", [1, 2, 4])
@pytest.mark.parametrize("parts", [None, 3])
def test_the_size_is_that_of_the_files(fasta, tmp_path, step, parts):
    """But for pages that are filled, and what parts say of themselves."""
    heard, path = [], tmp_path / "ref.gsi"
    if parts is None:
        gassst.Index.build(fasta, 1, None, step, heard.append, lambda *size: heard.append(size)).save(path)
    else:
        build_parts(fasta, path, parts, None, 1, None, step, heard.append, lambda *size: heard.append(size))
    (size,) = (one for one in heard if not isinstance(one, str))
    at = heard.index(size)
    assert not any("sorted" in one for one in heard[:at])
    assert any("sorted" in one for one in heard[at + 1 :])
    written = sum(os.path.getsize(tmp_path / name) for name in os.listdir(tmp_path))
    assert size[0] == pytest.approx(written, abs=(parts or 1) * 16 * 4096)
    # A genome this small keeps all positions at step 2.
    seeds = 300_000 * {1: 5, 2: 5, 4: 6 / 4}[step] / (parts or 1)
    assert size[1] - 40_000_000 > seeds * 0.9


def free(monkeypatch, disk, memory):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(0, 0, disk))
    monkeypatch.setattr(index_command, "available_memory", lambda: memory)


@pytest.mark.parametrize(
    "disk, memory, short",
    [
        (10**6, 10**12, ["1.0 MB of disk"]),
        (10**12, 2 * 10**6, ["2.0 MB of memory"]),
        (10**6, 2 * 10**6, ["1.0 MB of disk", "2.0 MB of memory"]),
    ],
)
def test_a_warning_says_what_is_too_small(fasta, tmp_path, monkeypatch, caplog, disk, memory, short):
    """It is no error: the system may give more than it says."""
    free(monkeypatch, disk, memory)
    assert main(["index", str(fasta), "-o", str(tmp_path / "a.gsi"), "-q"]) == 0
    (line,) = (record.message for record in caplog.records if record.levelname == "WARNING")
    assert f"; {' and '.join(short)} are free (--step 4 makes it smaller, --parts takes less memory)" in line


def rows(run, path):
    code, out, error = run("info", path)
    assert (code, error) == (0, "")
    return [tuple(line.split("\t", 1)) for line in out.splitlines()]


def test_of_an_index(run, tmp_path):
    (tmp_path / "a.fa").write_text(">one x\nACGTTGCANN\n>two\n" + "GATTACA" * 9 + "\n")
    (tmp_path / "a.fa.alt").write_text("two\n")
    assert run("index", "-q", tmp_path / "a.fa", "--step", "2")[0] == 0
    index = str(tmp_path / "a.gsi")
    found = rows(run, index)
    assert found[0] == ("file", index) and ("step", "2") in found
    assert ("bytes", str(os.path.getsize(index))) in found
    assert ("FASTA", str(tmp_path / "a.fa")) in found
    assert [value for name, value in found if name == "contig"] == ["one\t10", "two\t63\tALT"]
    assert {"format", "made by", "k", "parts", "contigs", "bases", "ALT contigs"} <= {
        name for name, _ in found
    }


def test_of_a_run(run, small_index, small_fastq, tmp_path):
    out, stats = tmp_path / "a.bam", tmp_path / "a.json"
    group = r"@RG\tID:g\tSM:s"
    argv = (
        "map", "-q", small_index, small_fastq, "-R", group, "--sort", "--markdup", "-o", out, "--stats",
        stats,
    )  # fmt: skip
    assert run(*argv, "--device", "none")[0] == 0
    of_bam, of_stats = rows(run, out), dict(rows(run, stats))
    command = next(value for name, value in of_bam if name == "command")
    assert command.startswith("gassst map -q ") and command == of_stats["command"]
    assert ("kind", "BAM") in of_bam and ("order", "coordinate") in of_bam
    assert ("note", "duplicates marked within each library") in of_bam
    assert ("read group", "ID:g\tSM:s") in of_bam
    assert of_stats["reads"] and of_stats["mapped"].endswith(" %")


def test_of_another_file(run, small_fasta, tmp_path):
    for path, text in ((small_fasta, "neither an index, nor alignments"), (tmp_path / "x", "No such file")):
        code, out, error = run("info", path)
        assert code != 0 and out == "" and text in error and error.count("\n") == 1


NAMES = ["ok", "a,b", "a_b", "a,b", "a(b", "*x", "=y", "caf\u00e9", "a_b_2", "ok", "\u00e9", "\u00e8", "x*=y"]
RENAMED = ["ok", "a_b", "a_b_2", "a_b_3", "a_b_4", "_x", "_y", "caf_", "a_b_2_2", "ok_2", "_", "__2", "x*=y"]
BASES = ["ACGTTGCA", "GGATCCTA", "TTGACATG", "CCGTAATC", "GATTACAG", "CATGGTAC", "AACCGTTA", "TGCATTGC"]


def write(path, names):
    contigs = (BASES[i % 8] * 3 + BASES[i // 8] * 3 + BASES[(5 * i + 3) % 8] for i in range(len(names)))
    path.write_text("".join(f">{name} more\n{bases}\n" for name, bases in zip(names, contigs, strict=True)))
    return path


@pytest.mark.parametrize("command", ["index", "map", "mem"])
@pytest.mark.parametrize("names", [["a,b"], ["*"], ["x", "x"], ["\u00e9"]])
def test_the_error_names_the_option(run, small_fastq, tmp_path, command, names):
    fasta = write(tmp_path / "a.fa", names)
    code, out, error = run(command, fasta, *([] if command == "index" else [small_fastq]))
    assert (code, out) == (1, "")
    assert error.splitlines()[-1].endswith("; `gassst index --rename` changes it")
    assert [path.name for path in tmp_path.iterdir()] == ["a.fa"]


@pytest.mark.parametrize("more", [[], ["--parts", "2"], ["--meth"]])
def test_names_are_changed_on_demand(run, tmp_path, more):
    fasta = write(tmp_path / "a.fa", NAMES)
    code, _, error = run("index", fasta, "--rename", *more)
    assert code == 0
    assert "11 of 13 contigs renamed: a,b is a_b" in error
    index = gassst.Index.open(tmp_path / ("a.meth.gsi" if "--meth" in more else "a.gsi"))
    assert index.reference.names == RENAMED


def test_records_and_files_have_the_new_names(run, tmp_path, small_genome):
    sequences = [bases.decode() for bases in small_genome.values()]
    names = ["one,1", "two", "thr[ee]"]
    fasta, reads = tmp_path / "a.fa", tmp_path / "r.fa"
    fasta.write_text("".join(f">{name}\n{bases}\n" for name, bases in zip(names, sequences, strict=True)))
    reads.write_text("".join(f">{i}\n{bases[900:1000]}\n" for i, bases in enumerate(sequences)))
    assert run("index", "-q", fasta, "--rename")[0] == 0
    out = tmp_path / "o.bam"
    assert run("map", "-q", fasta, reads, "--device", "none", "-o", out)[0] == 0
    with pysam.AlignmentFile(out) as file:
        assert file.references == ("one_1", "two", "thr_ee_")
        assert [record.reference_name for record in file] == list(file.references)


def test_a_list_of_alt_contigs_may_have_the_old_names(run, tmp_path):
    fasta = write(tmp_path / "a.fa", ["x", "HLA,1"])
    (tmp_path / "a.fa.alt").write_text("HLA,1\n")
    assert run("index", "-q", fasta, "--rename")[0] == 0
    assert "contig\tHLA_1\t56\tALT" in run("info", tmp_path / "a.gsi")[1]


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
