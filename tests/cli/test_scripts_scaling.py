"""The scripts that measure runs of many threads: what they count, on runs that take no time."""

from __future__ import annotations

import gzip
import json

import pytest
import scaling
import timeline
from places import environment
from scaling import Bench, Row

READ = "@r{i}\n{bases}\n+\n{bases}\n"


def text_of(reads: int) -> str:
    return "".join(READ.format(i=i, bases="A" * 30) for i in range(reads))


@pytest.fixture
def bench(small_fasta, tmp_path, monkeypatch):
    """Two sets: 64 single reads, mapped twice over, and 40 pairs."""
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    (tmp_path / "work").mkdir()
    bench = Bench(tmp_path / "work", None, 2)
    files = [tmp_path / name for name in ("s.fq.gz", "1.fq", "2.fq")]
    files[0].write_bytes(gzip.compress(text_of(64).encode()))
    for file in files[1:]:
        file.write_text(text_of(40))
    bench.add("single", small_fasta, files[:1], 2)
    bench.add("pairs", small_fasta, files[1:], 1)
    return bench


def test_runs_with_few_threads_get_few_reads(bench):
    assert {name: total for name, (_, _, total) in bench.sets.items()} == {"single": 128, "pairs": 80}
    for row, reads in ((Row("single", "gassst", 4), 32), (Row("pairs", "gassst", 32), 80)):
        job, n = bench.job(row)
        assert n == reads and len(job.fastq) == (2 if row.reads == "pairs" else 1)
        for file in job.fastq:
            with open(file) as lines:
                assert sum(1 for _ in lines) == 4 * reads // len(job.fastq)


def test_every_row_is_measured_and_told(bench, monkeypatch, tmp_path, capsys):
    """Speeds are beyond start-up, and in multiples of one thread."""
    took = {1: 5.0, 16: 2.0}
    monkeypatch.setattr(
        Bench,
        "measured",
        lambda self, row, reads=None: (
            {"wall": 1.0 if reads else took[row.threads], "cpu": 7.0, "rss": 1.0},
            1_000_000 * row.threads,
        ),
    )
    monkeypatch.setattr(Bench, "peak_pss", lambda self, row: 3_000_000)
    rows = scaling.rows_of(bench, [1, 16], [16], ["minibwa"])
    assert [row.reads for row in rows[:2]] == ["pairs", "pairs"]  # the most telling first
    saved = []
    scaling.run(
        bench, rows, 2, 1e9, lambda: saved.append(json.dumps([row.medians() for row in rows if row.runs]))
    )
    assert all(len(row.runs) == 2 for row in rows) and len(saved) == 3
    scaling.print_table(rows)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(rows)
    first, many = (
        next(line for line in lines if line.split()[:4] == ["single", "gassst", "sam", n])
        for n in ("1", "16")
    )
    assert first.split()[-2:] == ["1.0", "3"] and many.split()[-2:] == ["64.0", "3"]
    assert sum("gassst x 16" in line for line in lines) == 2


def test_a_timeline_ends_as_its_command_does(tmp_path, capsys):
    code = timeline.main(["--json", str(tmp_path / "t.json"), "--", "sh", "-c", "exit 3"])
    assert code == 3 and "wall" in capsys.readouterr().out
    assert json.loads((tmp_path / "t.json").read_text())["slices"]
