"""A run closes what it opened when it ends, and not when the cyclic collector happens to run."""

from __future__ import annotations

import subprocess
import sys

import pysam
import pytest

import gassst

RUNS = 30
PROGRAM = """
import gc, os, sys
gc.disable()
import gassst

index, output, runs, *reads = sys.argv[1:]
mapper = gassst.Mapper(index, device="none", threads=8)

def held():
    return len(os.listdir("/proc/self/fd")), sorted(os.listdir("/dev/shm")), len(open("/proc/self/maps").readlines())

counts = []
for _ in range(int(runs)):
    mapper.map_file(reads[0], output, mates=reads[1] if len(reads) > 1 else None, sort=True)
    counts.append(held())
assert counts[0][0] == counts[-1][0], counts
assert "gassst" not in str(counts[-1][1]), counts
assert counts[-1][2] <= counts[1][2] + 20, counts
"""


@pytest.fixture(scope="module")
def inputs(small_index, small_reads, tmp_path_factory):
    """Reads in several forms, enough for several batches."""
    folder = tmp_path_factory.mktemp("many")
    text = "".join(f"@{i}\n{s}\n+\n{q}\n" for i, (_, s, q) in enumerate(small_reads * 8)).encode()
    (folder / "r.fq").write_bytes(text)
    with pysam.BGZFile(str(folder / "r.fq.gz"), "wb") as file:
        file.write(text)
    gassst.Mapper(small_index, device="none").map_file(folder / "r.fq", folder / "r.bam")
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="descriptors are counted in /proc")
@pytest.mark.parametrize("names", [["r.fq"], ["r.fq.gz"], ["r.bam"], ["r.fq", "r.fq.gz"]], ids="+".join)
def test_descriptors_and_mappings_do_not_add_up(small_index, inputs, tmp_path, names):
    arguments = [
        str(small_index),
        str(tmp_path / "o.bam"),
        str(RUNS),
        *(str(inputs / name) for name in names),
    ]
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
