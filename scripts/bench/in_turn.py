#!/usr/bin/env python3
"""Whole runs of `gassst map` with other options, in turn: wall and CPU seconds by the number of reads.

    scripts/bench/in_turn.py REF.gsi READS.fq[,MATES.fq] -n 1M,4M,20M -- "--device none" "--device auto"
    scripts/bench/in_turn.py REF.gsi R1.fq,R2.fq -n 4M -- "-t 4 --processes 1" "-t 4 --processes 4"

The first reads of the FASTQ files are cut into files of the work folder, which should be in memory; of pairs -n counts
mates. What stands behind `--` are the options of one variant each. They take turns, round after round, and SAM goes to
/dev/null. The least wall time is compared, and all are listed. With `--cold` caches of compiled kernels are empty in
each run.
"""

from __future__ import annotations

import argparse
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from harness import benchmark_parser, describe_machine, run, table, write_json
from startup import CACHES

from gassst.errors import GassstError

UNITS = {"k": 1_000, "M": 1_000_000}


class Seconds(NamedTuple):
    wall: float
    cpu: float


def count(text: str) -> int:
    """4000000 of "4M"."""
    factor = UNITS.get(text[-1:], 1)
    return int(text[:-1] if factor > 1 else text) * factor


def cut(files: list[str], reads: int, folder: Path) -> list[str]:
    """The first `reads` of FASTQ files, of all together, as files in `folder`. GassstError where there are fewer."""
    paths, each = [], 4 * reads // len(files)
    for number, name in enumerate(files, 1):
        paths.append(str(folder / f"{reads}_{number}.fq"))
        with open(name, "rb") as source, open(paths[-1], "wb") as target:
            written = 0
            for line in islice(source, each):
                target.write(line)
                written += 1
        if written < each:
            raise GassstError(f"{name}: {written // 4} reads of {each // 4}")
    return paths


def measured(index: str, files: list[str], options: str, cold: bool) -> Seconds:
    """One run. GassstError where it fails."""
    command = [sys.executable, "-m", "gassst", "map", index, *files, "-q", "-o", "/dev/null"]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        if cold:
            environment |= dict.fromkeys(CACHES, folder)
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            [*command, *shlex.split(options)], env=environment, capture_output=True, text=True
        )
        wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise GassstError(f"{options}: {done.stderr.strip()}")
    return Seconds(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def rows_of(reads: int, runs: dict[str, list[Seconds]]) -> list[list[object]]:
    """One for each variant, with its wall time relative to the first one."""
    least = {options: min(runs[options]) for options in runs}
    first = next(iter(least.values()))
    return [
        [
            options, reads, best.wall, best.cpu, best.wall / first.wall,
            " ".join(f"{one.wall:.2f}" for one in runs[options]),
        ]
        for options, best in least.items()
    ]  # fmt: skip


def main() -> None:
    own = sys.argv[1:]
    behind = own.index("--") if "--" in own else len(own)
    parser = benchmark_parser(__doc__)
    parser.add_argument("index", metavar="REF.gsi")
    parser.add_argument("reads", metavar="READS.fq[,MATES.fq]")
    parser.add_argument("-n", "--number", metavar="N,..", default="1M", help="reads (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="(default: %(default)s)")
    parser.add_argument("--work", default="/dev/shm", help="folder for the reads (default: %(default)s)")
    parser.add_argument("--cold", action="store_true", help="empty caches of compiled kernels in each run")
    args, variants = parser.parse_args(own[:behind]), own[behind + 1 :]
    if not variants:
        raise GassstError("name the options of each variant behind --")
    print(describe_machine(), flush=True)
    found = {}
    for reads in map(count, args.number.split(",")):
        found[reads] = in_turn(args, variants, reads)
        header = ["options", "reads", "wall s", "CPU s", "to the first", "all wall s"]
        print(table(header, rows_of(reads, found[reads])), flush=True)
    write_json(args.json, {"runs": found, "cold": args.cold})


def in_turn(args: argparse.Namespace, variants: list[str], reads: int) -> dict[str, list[Seconds]]:
    """All runs on so many reads, by variant."""
    runs: dict[str, list[Seconds]] = {options: [] for options in variants}
    with tempfile.TemporaryDirectory(dir=args.work) as folder:
        files = cut(args.reads.split(","), reads, Path(folder))
        for _ in range(args.rounds):
            for options in variants:
                runs[options].append(measured(args.index, files, options, args.cold))
    return runs


if __name__ == "__main__":
    run(main)
