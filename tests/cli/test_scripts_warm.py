"""The script that times the samples of a process after the first: which of them count, and what is written."""

import gzip
import json
import sys

import pytest
import warm
from places import environment


@pytest.fixture
def run(small_index, small_fastq, tmp_path, monkeypatch):
    """The JSON of a run on 40 reads with these arguments."""
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    reads = tmp_path / "r.fq"
    lines = gzip.decompress(small_fastq.read_bytes()).splitlines(keepends=True)
    mates = tmp_path / "m.fq"
    for path in (reads, mates):
        path.write_bytes(b"".join(lines[:160]))

    def run(*arguments):
        found = tmp_path / "found.json"
        command = ["warm.py", str(small_index), f"one={reads}", f"two={reads},{mates}", "-t", "1"]
        monkeypatch.setattr(sys, "argv", [*command, "--json", str(found), *arguments])
        assert warm.main() == 0
        return json.loads(found.read_text())

    return run


def test_neither_the_first_sample_nor_the_last_counts(run):
    found = run("--devices", "none", "--samples", "3", "--thread-seconds", "--", "--mode", "global")
    assert found["options"] == ["--mode", "global"] and found["threads"] == 1
    single, pairs = found["sets"]
    assert (single["reads"], pairs["reads"]) == (40, 80) and pairs["name"] == "two"
    (one,) = single["runs"]["none"]
    assert len(one["warm_seconds"]) == 1 and one["searched"] == [] and "seeds" in one["thread_seconds"]
    assert single["times"] == {"none": 1} and single["warm_reads_a_second"]["none"] > 0
