"""Fixtures of the whole suite.

unit/ tries one module at a time, property/ what must hold for any input, parity/ one computation on every backend.
Real data with a known outcome is in golden/, and cli/ runs the command line and the scripts as programs. The modules
beside this file hold the oracles and the small worlds that several tests share.

A test depends on no clock, on no load, on no order and on no number of cores. It finds an OpenCL device only if it has
the mark `device`; without it, it runs as where there is none. `pytest --shuffle 7` runs the modules,
and the tests of each, in another order.
"""

from __future__ import annotations

import fcntl
import gzip
import os
import pickle
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import brute_force as bf
import numpy as np
import opencl_devices
import pytest

from gassst._core import problems
from gassst.gpu import platforms


def pytest_addoption(parser):
    parser.addoption(
        "--shuffle", type=int, metavar="SEED", help="run modules, and tests of a module, in random order"
    )


def pytest_collection_modifyitems(config, items):
    seed = config.getoption("--shuffle")
    if seed is None:
        return
    rng = random.Random(seed)  # the same order for each worker of pytest-xdist
    modules: dict[Path, list[pytest.Item]] = {}
    for item in items:
        modules.setdefault(item.path, []).append(item)
    shuffled = list(modules.values())
    rng.shuffle(shuffled)
    for tests in shuffled:
        rng.shuffle(tests)
    items[:] = [item for tests in shuffled for item in tests]


def pytest_configure(config):
    # Of Picard, whose runs here are too short to gain by a compiler that optimises and by threads that collect.
    os.environ.setdefault("JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    config.addinivalue_line(
        "markers", "external(*programs): runs these programs; skipped where one is missing"
    )
    config.addinivalue_line(
        "markers", "device(kind): uses an OpenCL device (of a type or platform); skipped where none is usable"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Hides OpenCL devices from a test without the mark, its fixtures and the processes that it starts."""
    with pytest.MonkeyPatch.context() as patch:
        if item.get_closest_marker("device") is None:
            patch.setattr(platforms, "_platforms", lambda _: [])
            patch.setenv("OCL_ICD_VENDORS", os.devnull)
        return (yield)


def pytest_runtest_setup(item):
    programs = [name for mark in item.iter_markers("external") for name in mark.args]
    if missing := [name for name in programs if not shutil.which(name)]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    for mark in item.iter_markers("device"):
        if reason := opencl_devices.why_none(*mark.args):
            pytest.skip(reason)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory) -> Path:
    """A folder of this run that all workers of pytest-xdist see."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def made_once(shared_folder) -> Callable[[str, Callable[[], Any]], Any]:
    """(name, make) -> what `make` returns; the first worker that asks makes it, the others read it.

    Only for what no test changes: all tests of a worker share one copy.
    """
    copies: dict[str, Any] = {}

    def get(name: str, make: Callable[[], Any]) -> Any:
        if name not in copies:
            path = shared_folder / f"{name}.pickle"
            with open(shared_folder / f"{name}.lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not path.exists():
                    partial = path.with_suffix(".part")
                    partial.write_bytes(pickle.dumps(make(), protocol=5))
                    partial.rename(path)
            copies[name] = pickle.loads(path.read_bytes())
        return copies[name]

    return get


@pytest.fixture(scope="session")
def small_genome() -> dict[str, bytes]:
    """60 kb in three contigs, with repeats and a run of N."""
    rng = np.random.default_rng(11)
    one = bytearray(bf.repetitive_genome(rng, 40_000))
    one[5000:5060] = b"N" * 60
    return {"one": bytes(one), "two": bf.repetitive_genome(rng, 18_000), "three": bf.random_bases(rng, 2_000)}


@pytest.fixture(scope="session")
def small_fasta(small_genome, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("reference") / "small.fa"
    path.write_bytes(b"".join(b">%s\n%s\n" % (n.encode(), s) for n, s in small_genome.items()))
    return path


@pytest.fixture(scope="session")
def small_index(small_fasta) -> Path:
    import gassst

    path = small_fasta.with_suffix(".gsi")
    gassst.Index.build(small_fasta).save(path)
    return path


@pytest.fixture(scope="session")
def small_reads(small_genome) -> list[tuple[str, str, str]]:
    """400 reads of mixed lengths and errors from everywhere, some random, one too short to map."""
    rng = np.random.default_rng(5)
    reads = []
    for i in range(400):
        contig = small_genome[str(rng.choice(["one", "one", "two", "three"]))]
        length = int(rng.choice([36, 50, 75, 100, 150, 250]))
        at = int(rng.integers(len(contig) - length - 30))
        read = bf.mutate(rng, contig[at : at + length + 20], int(rng.integers(length // 10)))[:length]
        read = bf.random_bases(rng, length) if i % 40 == 0 else read
        read = bf.reverse_complement(read) if rng.random() < 0.5 else read
        quality = "".join(chr(33 + int(q)) for q in rng.integers(2, 41, len(read)))
        reads.append((f"read{i}", read.decode(), quality))
    return [*reads, ("short", "ACGTACGT", "IIIIIIII")]


@pytest.fixture(scope="session")
def small_fastq(small_reads, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("reads") / "small.fq.gz"
    with gzip.open(path, "wt") as file:
        file.writelines(f"@{n}\n{s}\n+\n{q}\n" for n, s, q in small_reads)
    return path


@pytest.fixture(params=problems.SETS)
def instruction_set(request, monkeypatch):
    """Dynamic programmes on each instruction set."""
    monkeypatch.setattr(problems, "SETS", [request.param])
