"""A sheet whose run has died goes on where it was: samples that are complete are skipped."""

from __future__ import annotations

import os

import pysam
import pytest

from gassst.cli import resume

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


def test_another_command_or_version_is_mapped_again(sheet, mapped, monkeypatch):
    sheet()
    assert mapped()[0] == 0
    assert mapped("--skip-existing", "-k", "2")[2] == "abc"
    assert mapped("--skip-existing", "-k", "2")[2] == ""
    monkeypatch.setattr(resume, "__version__", "0.0.1")
    assert mapped("--skip-existing", "-k", "2")[2] == "abc"


def test_reports_tell_of_what_is_mapped(sheet, mapped):
    sheet()
    assert mapped("--stats", "all.json")[0] == 0
    os.remove("c.bam")
    code, error, new = mapped("--stats", "all.json", "--skip-existing")
    assert (code, new) == (0, "c")
    assert "--stats, --report and --multiqc cover the samples of this run only" in error
