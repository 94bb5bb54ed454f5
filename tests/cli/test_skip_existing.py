"""A sheet whose run has died goes on where it was: samples that are complete are skipped."""

from __future__ import annotations

import dataclasses
import os
import shutil
import threading
from pathlib import Path

import pysam
import pytest

from gassst.cli import resume
from gassst.cli.parser import build_parser, subparser_of
from gassst.model import options
from gassst.model.params import MapParams
from gassst.records.options import OutputOptions

GOOD = "@r\n" + "ACGGTTCATG" * 6 + "\n+\n" + "I" * 60 + "\n"


@pytest.fixture
def sheet(tmp_path, small_reads, monkeypatch):
    """Three samples; the reads of the second are damaged."""
    monkeypatch.chdir(tmp_path)
    for i, name in enumerate("abc"):
        reads = small_reads[40 * i : 40 * i + 40]
        (tmp_path / f"{name}.fq").write_text("".join(f"@{n}\n{s}\n+\n{q}\n" for n, s, q in reads))
    good = (tmp_path / "b.fq").read_text()
    (tmp_path / "b.fq").write_text(good + "@bad\nACGT\n+\nI\n")
    rows = [f"{name},1,{name}.fq,,{name}.bam" for name in "abc"]
    (tmp_path / "sheet.csv").write_text("\n".join(["sample,lane,R1,R2,output", *rows]) + "\n")
    return lambda: (tmp_path / "b.fq").write_text(good)


@pytest.fixture
def mapped(run, small_index):
    """Maps the sheet; gives exit code and stderr, and which outputs are new."""

    def mapped(*more):
        before = {name: os.stat(f"{name}.bam").st_ino for name in "abc" if os.path.exists(f"{name}.bam")}
        argv = ("map", small_index, "--sheet", "sheet.csv", "--device", "none", "--sort", *more)
        code, _, error = run(*argv)
        after = {name: os.stat(f"{name}.bam").st_ino for name in "abc" if os.path.exists(f"{name}.bam")}
        return code, error, "".join(name for name in after if after[name] != before.get(name))

    return mapped


def test_a_run_that_died_goes_on(sheet, mapped):
    code, error, new = mapped()
    assert (code, new) == (1, "a") and "record 41 (bad)" in error
    sheet()
    code, error, new = mapped("--skip-existing")
    assert (code, new) == (0, "bc") and "gassst: --skip-existing: 1 of 3 samples are complete" in error
    assert [len(list(pysam.AlignmentFile(f"{name}.bam"))) for name in "abc"] == [40, 40, 40]
    code, error, new = mapped("--skip-existing")
    assert (code, new) == (0, "") and "3 of 3 samples are complete" in error
    assert mapped()[::2] == (0, "abc")


@pytest.mark.parametrize("fault", ["gone", "cut", "index", "empty", "text"])
def test_what_is_not_complete_is_mapped_again(sheet, mapped, fault):
    sheet()
    assert mapped()[0] == 0
    if fault == "gone":
        os.remove("b.bam")
    elif fault == "cut":
        os.truncate("b.bam", os.path.getsize("b.bam") - 10)
    elif fault == "index":
        os.remove("b.bam.bai")
    else:
        with open("b.bam", "w") as file:
            file.write(GOOD if fault == "text" else "")
    assert mapped("--skip-existing")[::2] == (0, "b")
    assert len(list(pysam.AlignmentFile("b.bam"))) == 40


def test_another_option_or_version_is_mapped_again(sheet, mapped, monkeypatch):
    sheet()
    assert mapped()[0] == 0
    more = ["-k", "2", "-C", "--mismatch", "3", "--no-pairing"]
    code, error, new = mapped("--skip-existing", *more)
    assert (code, new) == (0, "abc")
    said = [line for line in error.splitlines() if "b.bam is mapped again" in line]
    assert [set(line.partition(": different ")[2].split(", ")) for line in said] == [{"-k", "-C", "-B", "-P"}]
    assert mapped("--skip-existing", *more)[2] == ""
    monkeypatch.setattr(resume, "__version__", "0.0.1")
    code, error, new = mapped("--skip-existing", *more)
    assert (code, new) == (0, "abc") and "c.bam is mapped again: different version\n" in error


def test_what_changes_no_record_repeats_nothing(sheet, mapped):
    sheet()
    assert mapped()[0] == 0
    same = ["-t", "1", "-q", "--report", "r.html", "--batch-size", "7", "--sort-memory", "9M", "--no-check"]
    assert mapped("--skip-existing", *same)[::2] == (0, "")
    assert mapped("--skip-existing", "-v", "-k", "1")[::2] == (0, "")


def test_the_options_of_the_machine_are_the_ones_of_its_group_in_the_help():
    """One table says which options decide what is written; what it says must be what users read."""
    parser = subparser_of(build_parser("map"), "map")
    [group] = [group for group in parser._action_groups if group.title == "machine"]
    shown = {action.dest for action in group._group_actions}
    fields = {each.name for kind in (MapParams, OutputOptions) for each in dataclasses.fields(kind)}
    deciding = {*options.deciding(MapParams()), *options.deciding(OutputOptions())}
    assert fields - deciding == fields & shown


def edit_sheet(old, new):
    text = Path("sheet.csv").read_text()
    assert old in text
    Path("sheet.csv").write_text(text.replace(old, new))


def swap_reads():
    """Swaps two bases of a file, which keeps its size and its time."""
    text, info = Path("b.fq").read_text(), os.stat("b.fq")
    Path("b.fq").write_text(text.replace("A", "t", 1).replace("T", "A", 1).replace("t", "T", 1))
    os.utime("b.fq", ns=(info.st_atime_ns, info.st_mtime_ns))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda: edit_sheet("b,1,b.fq", "b,1,c.fq"), "reads"),
        (lambda: edit_sheet("b,1,b.fq", "t,1,b.fq"), "read groups"),
        (lambda: edit_sheet("b,1,b.fq,,", "b,1,a.fq,b.fq,"), "reads"),
        (swap_reads, "reads"),
        (lambda: os.utime("b.fq", ns=(0, 0)), "reads"),
    ],
)
def test_other_reads_of_a_row_are_mapped(sheet, mapped, change, why):
    sheet()
    Path("a.fq").write_text(Path("b.fq").read_text())
    assert mapped()[0] == 0
    change()
    code, error, new = mapped("--skip-existing")
    assert (code, new) == (0, "b") and f"b.bam is mapped again: different {why}\n" in error
    assert mapped("--skip-existing")[::2] == (0, "")


def test_another_index_maps_all_again(sheet, run, mapped, small_index, tmp_path):
    sheet()
    other = str(tmp_path / "moved.gsi")
    shutil.copyfile(small_index, other)
    assert mapped()[0] == 0
    argv = ("map", other, "--sheet", "sheet.csv", "--device", "none", "--sort", "--skip-existing")
    assert "3 of 3 samples" in run(*argv)[2]  # a copy is the same index
    (tmp_path / "other.fa").write_text(">other\n" + "ACGGTTCATGCCATTGACGA" * 40 + "\n")
    assert run("index", tmp_path / "other.fa", "-o", other)[0] == 0
    code, _, error = run(*argv)
    assert code == 0 and "a.bam is mapped again: different index\n" in error and "0 of 3 samples" in error


def test_a_fasta_counts_with_its_list_of_alt_contigs(sheet, run, tmp_path):
    sheet()
    (tmp_path / "ref.fa").write_text(">one\n" + "ACGGTTCATGCCATTGACGA" * 40 + "\n")
    argv = ("map", tmp_path / "ref.fa", "--sheet", "sheet.csv", "--device", "none", "--skip-existing")
    assert run(*argv)[0] == 0 and "3 of 3 samples" in run(*argv)[2]
    (tmp_path / "ref.fa.alt").write_text("")
    assert "different index" in run(*argv)[2]


def test_reads_of_a_pipe_are_never_the_same(sheet, mapped, tmp_path):
    sheet()
    edit_sheet("c,1,c.fq", "c,1,pipe")
    os.mkfifo("pipe")

    def feed():
        Path("pipe").write_text(Path("c.fq").read_text())

    for _ in range(2):
        feeder = threading.Thread(target=feed, daemon=True)
        feeder.start()
        code, _, new = mapped("--skip-existing")
        feeder.join(60)
        assert code == 0 and "c" in new
    assert new == "c"


def test_outputs_of_an_input_that_says_something_itself(sheet, mapped):
    """The header of an output that is mapped again does not speak for what comes of it."""
    sheet()
    assert mapped()[0] == 0
    shutil.copyfile("c.bam", "in.bam")
    edit_sheet("c,1,c.fq", "c,1,in.bam")
    code, error, new = mapped("--skip-existing")
    assert (code, new) == (0, "c") and "different reads\n" in error
    assert mapped("--skip-existing")[2] == ""
