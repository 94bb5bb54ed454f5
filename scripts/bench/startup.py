#!/usr/bin/env python3
"""What a run costs before it maps: time to the first record, 100 reads in all, memory, opening the index.

    scripts/bench/startup.py REF.gsi [READS.fq] --device none,auto

Each run is a process of its own: `gassst map` of the first --reads-limit reads (cut from the reference where
no file is given) to a pipe. `cold` has empty caches of compiled kernels (PoCL's, NVIDIA's, pyopencl's, in a
temporary folder), `warm` finds what the cold run left there. The index itself is in the page cache in all
but perhaps the first. Wall clock in seconds, the median of --repeat warm runs; memory: peak resident set,
which counts the pages of the index that were touched, where it is above that of this script (a child's
counter begins with its parent's).
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from harness import benchmark_parser, describe_machine, run, table, write_json

from gassst.errors import GassstError
from gassst.index.seed_index import SeedIndex
from gassst.reads.input import open_reads

CACHES = "POCL_CACHE_DIR", "CUDA_CACHE_PATH", "XDG_CACHE_HOME"
READ_LENGTH = 100
Record: TypeAlias = "tuple[str, bytes, bytes | None]"  # name, bases, quality
OPEN_INDEX = "import sys; from gassst.index.seed_index import SeedIndex; SeedIndex.open(sys.argv[1])"
FLOORS = {
    "python": ["-c", "pass"],
    "import numpy, pysam": ["-c", "import numpy, pysam"],
    "import gassst.api.mapper": ["-c", "import gassst.api.mapper"],
    "gassst --version": ["-m", "gassst", "--version"],
}


@dataclass
class Run:
    """One process: seconds to the first record (None without one) and to its end; peak memory in bytes, None
    where it stayed below this script's."""

    first_record: float | None
    total: float
    memory: int | None


def run_process(arguments: Sequence[str | Path], caches: Path) -> Run:
    """Run python with `arguments`, its stdout read as SAM. GassstError when it fails."""
    environment = os.environ | {name: str(caches / name.lower()) for name in CACHES}
    for name in CACHES:
        (caches / name.lower()).mkdir(exist_ok=True)
    began, first = time.perf_counter(), None
    with tempfile.TemporaryFile() as errors:
        command = [sys.executable, *map(str, arguments)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment)
        assert process.stdout is not None
        for line in process.stdout:
            if first is None and not line.startswith(b"@"):
                first = time.perf_counter() - began
        _, status, usage = os.wait4(process.pid, 0)
        total = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise GassstError(f"{' '.join(command)}: {errors.read().decode(errors='replace').strip()}")
    scale = 1 if sys.platform == "darwin" else 1024
    known = usage.ru_maxrss > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Run(first, total, usage.ru_maxrss * scale if known else None)


def write_fastq(path: Path, records: list[Record]) -> None:
    with path.open("wb") as file:
        for name, bases, quality in records:
            file.write(b"@%s\n%s\n+\n%s\n" % (name.encode(), bases, quality or b"I" * len(bases)))


def some_reads(index: SeedIndex, reads: str | None, n: int) -> list[Record]:
    """The first `n` reads of a file, or `n` pieces of the reference without N."""
    if reads is not None:
        batch = next(iter(open_reads([reads], n)))
        return [(batch.name(i), batch.sequence(i), batch.quality(i)) for i in range(min(n, len(batch)))]
    reference, rng = index.reference, np.random.default_rng(1)
    found: list[Record] = []
    contig = int(np.argmax(reference.lengths))
    if reference.lengths[contig] < READ_LENGTH:
        raise GassstError(f"no contig of {READ_LENGTH} bases to cut reads from")
    for _ in range(1000 * n):
        start = int(rng.integers(reference.lengths[contig] - READ_LENGTH + 1))
        bases = reference.sequence(contig, start, start + READ_LENGTH)
        if b"N" not in bases:
            found.append((f"piece{len(found)}", bases, None))
        if len(found) == n:
            break
    return found


def _warm(arguments: Sequence[str | Path], caches: Path, repeat: int) -> Run:
    runs = [run_process(arguments, caches) for _ in range(repeat)]
    firsts = [r.first_record for r in runs if r.first_record is not None]
    middle = statistics.median(firsts) if firsts else None
    return Run(
        middle,
        statistics.median(r.total for r in runs),
        max((r.memory for r in runs if r.memory), default=None),
    )


def measure(index: str, fastq: Path, devices: Sequence[str], repeat: int) -> dict[str, Run]:
    """Runs by name."""
    runs = {}
    with tempfile.TemporaryDirectory() as folder:
        caches = Path(folder)
        for name, arguments in FLOORS.items():
            runs[name] = _warm(arguments, caches, repeat)
        runs["open the index"] = _warm(["-c", OPEN_INDEX, index], caches, repeat)
    for device in devices:
        choice = [] if device == "auto" else ["--device", device]
        command = ["-m", "gassst", "map", index, str(fastq), "-q", *choice]
        with tempfile.TemporaryDirectory() as folder:
            runs[f"map, {device}, cold"] = run_process(command, Path(folder))
            runs[f"map, {device}, warm"] = _warm(command, Path(folder), repeat)
    return runs


def open_seconds(path: str, repeat: int) -> float:
    """Seconds to open the index in a process that has everything imported; the median."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        SeedIndex.open(path)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def report(runs: dict[str, Run]) -> str:
    rows = [[name, r.first_record, r.total, r.memory and r.memory / 2**20] for name, r in runs.items()]
    return table(["process", "first record s", "in all s", "peak MiB"], rows)


def build_parser() -> argparse.ArgumentParser:
    p = benchmark_parser(__doc__)
    p.add_argument("index", metavar="REF.gsi")
    p.add_argument("reads", nargs="?", metavar="READS.fq", help="(default: cut from the reference)")
    p.add_argument("--reads-limit", type=int, default=100, metavar="N", help="first reads (%(default)s)")
    p.add_argument("--device", default="auto,none", metavar="D,..", help="(default: %(default)s)")
    p.add_argument("--repeat", type=int, default=5, metavar="N", help="warm runs (%(default)s)")
    return p


def main(argv: Sequence[str] | None = None) -> None:
    args = build_parser().parse_args(argv)
    print(describe_machine(), end="\n\n")
    opened = open_seconds(args.index, args.repeat)
    with tempfile.TemporaryDirectory() as folder:
        fastq = Path(folder) / "reads.fq"
        records = some_reads(SeedIndex.open(args.index), args.reads, args.reads_limit)
        write_fastq(fastq, records)
        runs = measure(args.index, fastq, args.device.split(","), args.repeat)
    print(f"{len(records)} reads; opening the index alone takes {1e3 * opened:.2f} ms\n")
    print(report(runs))
    results: dict[str, Any] = {"runs": {name: asdict(r) for name, r in runs.items()}}
    write_json(args.json, {**results, "reads": len(records), "open_index_s": opened})


if __name__ == "__main__":
    run(main)
