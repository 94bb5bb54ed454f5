#!/usr/bin/env python3
"""What one call of `Mapper.map_one` takes, beside a batch of one and, where it is installed, mappy.

    scripts/bench/one_read.py REF.gsi READS.fq --fasta REF.fa

Each of the first --reads reads is mapped --repeat times in each way, in turn. A read's time is its least one, in us of
wall clock in this thread. The table has the least, the median, the mean and the 99th percentile of the reads. Mappy
(`Aligner(preset="sr")`) builds its index of --fasta first.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import dnaio
import numpy as np
from harness import benchmark_parser, describe_machine, run, table, write_json

import gassst
from gassst.reads.in_memory import batch_of_records


def ways(args: argparse.Namespace) -> dict[str, Callable[[str], Any]]:
    """What is measured, by name: each takes a sequence."""
    mappers = {
        mode: gassst.Mapper(args.index, threads=1, device="none", mode=mode) for mode in ("global", "local")
    }
    found: dict[str, Callable[[str], Any]] = {
        "map_one": mappers["global"].map_one,
        "map_one, local": mappers["local"].map_one,
        "a batch of one": lambda read: mappers["global"]._engine.map_batch(batch_of_records([read])),
        "map": lambda read: list(mappers["global"].map([read])),
    }
    if args.fasta:
        import mappy

        aligner = mappy.Aligner(args.fasta, preset="sr", n_threads=1)
        buffer = mappy.ThreadBuffer()
        found["mappy"] = lambda read: list(aligner.map(read, buf=buffer))
    return found


def least(call: Callable[[str], Any], reads: list[str], before: np.ndarray) -> np.ndarray:
    """float64[n]: us of each read, or what it took before if that is less."""
    times = np.empty(len(reads))
    for i, read in enumerate(reads):
        began = time.perf_counter()
        call(read)
        times[i] = time.perf_counter() - began
    return np.minimum(times * 1e6, before)


def parse_args() -> argparse.Namespace:
    parser = benchmark_parser(__doc__)
    parser.add_argument("index")
    parser.add_argument("reads_path", metavar="reads")
    parser.add_argument("--fasta", help="for mappy")
    parser.add_argument("--reads", type=int, default=300)
    parser.add_argument("--repeat", type=int, default=6)
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    print(describe_machine(), end="\n\n")
    with dnaio.open(args.reads_path) as records:
        reads = [record.sequence for record, _ in zip(records, range(args.reads), strict=False)]
    calls = ways(args)
    times = {name: np.full(len(reads), np.inf) for name in calls}
    for _ in range(args.repeat):
        for name, call in calls.items():
            times[name] = least(call, reads, times[name])
    columns = {
        "least": np.min,
        "median": np.median,
        "mean": np.mean,
        "99 %": lambda each: np.quantile(each, 0.99),
    }
    results = {name: {c: float(of(each)) for c, of in columns.items()} for name, each in times.items()}
    print(table(["us a call", *columns], [[name, *row.values()] for name, row in results.items()]))
    write_json(args.json, {"us": results, "reads": len(reads), "repeat": args.repeat})


if __name__ == "__main__":
    run(main)
