"""`gassst bench` with mappers that are scripts of the test: what they need, take, say and do wrong."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from gassst.cli.main import main
from gassst.errors import WorkerError
from gassst.tools import bench, bench_page
from gassst.tools.bench import Kind, Usage, measured

# A mapper with the command line of bwa: an index is a file, and records are those of gassst.
GOOD = """#!{python}
import os, sys
command, *rest = sys.argv[1:] or ["version"]
if command == "index":
    open(rest[1], "w").write(rest[2])
elif command == "mem":
    reads = rest[3:]
    fasta = open(rest[2]).read()
    os.execv(sys.executable, [sys.executable, "-m", "gassst", "map", "-q", "-t", "1", fasta, *reads])
else:
    print("bwa 0.7.99", file=sys.stderr)
"""
BAD = "#!/bin/sh\necho 'first line' >&2\necho 'out of cheese' >&2\nexit 3\n"


@pytest.fixture
def on_path(tmp_path, monkeypatch):
    """Puts scripts on PATH, which has nothing else."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    monkeypatch.setenv("GASSST_OPENCL", "0")

    def add(name: str, text: str) -> None:
        (folder / name).write_text(text.replace("{python}", sys.executable))
        (folder / name).chmod(0o755)

    return add


@pytest.fixture
def undrawn(monkeypatch):
    """Pages without their plots, which one test draws."""
    monkeypatch.setattr(bench_page, "svg", lambda *_, **__: "")


def run(*argv) -> tuple[int, dict]:
    code = main(["bench", *map(str, argv)])
    return code, json.loads(Path(argv[-1]).read_text()) if code == 0 else {}


def test_mappers_are_compared_and_failures_named(on_path, small_fasta, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(bench, "KINDS", (Kind(80, 0.02), Kind(60, 0.01, True)))
    on_path("bwa", GOOD)
    on_path("minimap2", BAD)
    page, figures = tmp_path / "b.html", tmp_path / "b.json"
    asked = ["--tools", "bwa,minimap2,bowtie2", "-n", 200, "-t", 1, "--folder", tmp_path]
    code, result = run(small_fasta, *asked, "-o", page, "--json", figures)
    out, error = capfd.readouterr()
    head, names, *rows = out.splitlines()
    assert code == 0 and head.startswith("# reads within 10 bases of their origin")
    assert names.split() == ["reads", "gassst", "bwa", "minimap2"]
    right = [100 * result["sets"][0]["runs"][name]["right"] for name in ("gassst", "bwa")]
    assert [row[:13].rstrip() for row in rows] == ["80 bp 2 %", "2 x 60 bp 1 %"]
    assert rows[0][13:].split()[:3] == [f"{right[0]:.1f}", "%,", "1.0x"] and rows[0].endswith("  -")
    assert list(result["versions"]) == ["gassst", "bwa", "minimap2"] and result["versions"]["bwa"] == "0.7.99"
    assert result["not_run"] == {
        "bowtie2": "not on PATH (Debian: bowtie2)",
        "minimap2": "indexing: exit code 3: out of cheese",
    }
    assert all(
        any(name in line and why in line for line in error.splitlines())
        for name, why in result["not_run"].items()
    )
    assert [(one["name"], one["reads"]) for one in result["sets"]] == [
        ("80 bp 2 %", 200),
        ("2 x 60 bp 1 %", 200),
    ]
    for one in result["sets"]:
        assert list(one["runs"]) == ["gassst", "bwa"]
        assert one["runs"]["gassst"]["right"] == one["runs"]["bwa"]["right"] > 0.9
        assert one["runs"]["bwa"]["cpu"] > 0
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg ") == 1 and "out of cheese" in text and "not on PATH" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.html", "b.json", "bin"]


@pytest.mark.usefixtures("undrawn")
def test_sets_are_written_as_they_come(on_path, small_fasta, tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "KINDS", (Kind(80, 0.02), Kind(60, 0.01)))
    simulate = bench.Bench.simulate

    def fails(self, kind):
        if kind.length == 60:
            raise WorkerError("no more reads")
        return simulate(self, kind)

    monkeypatch.setattr(bench.Bench, "simulate", fails)
    page, figures = tmp_path / "b.html", tmp_path / "b.json"
    asked = ["--tools", "gassst", "-n", 100, "-t", 1, "--folder", tmp_path]
    assert run(small_fasta, *asked, "-o", page, "--json", figures)[0] == 1
    assert [one["name"] for one in json.loads(figures.read_text())["sets"]] == ["80 bp 2 %"]
    assert "80 bp 2 %" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "argv, message",
    [
        (["-n", "1"], "-n must be at least 2"),
        (["--tools", "bwa,star"], "--tools star: must be among gassst, bwa"),
        (["--meth", "--tools", "bwa"], "--tools bwa: must be among gassst, bwa-meth, minibwa, bismark"),
        (["--timeout", "0"], "--timeout must be positive"),
    ],
)
def test_wrong_usage(argv, message, small_fasta, tmp_path, capfd):
    assert main(["bench", str(small_fasta), "-o", str(tmp_path / "x.html"), *argv]) == 2
    lines = [line for line in capfd.readouterr().err.splitlines() if "not on PATH" not in line]
    assert len(lines) == 1 and message in lines[0]
    assert not list(tmp_path.iterdir())


def test_what_a_program_takes_and_says(tmp_path):
    work = "sum(i for i in range(2_000_000)); print('to stdout')"
    used = measured([sys.executable, "-c", work], tmp_path / "out", 60)
    assert used.failure == "" and used.cpu > 0 and used.wall > 0
    assert (tmp_path / "out").read_text() == "to stdout\n"
    assert measured(["/none/such"], tmp_path / "out", 60) == Usage(
        0.0, 0.0, "could not be started: No such file or directory"
    )
    assert (
        measured(["sh", "-c", "kill -9 $$"], tmp_path / "out", 60).failure == "ended by SIGKILL: no message"
    )
    assert measured(["sleep", "600"], tmp_path / "out", 0.1).failure == "ended after 0.1 s"
