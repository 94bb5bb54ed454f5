"""`gassst info` says what a file of ours is, and what made it."""

from __future__ import annotations

import os


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
