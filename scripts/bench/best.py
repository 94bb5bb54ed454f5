#!/usr/bin/env python3
"""Cells per second of `gassst.align.best`, by instruction set, threads and device.

    python scripts/bench/best.py
    python scripts/bench/best.py --shapes 1000x10000000 1000000x1000000 --device gpu --json best.json
    python scripts/bench/best.py --query contig.fa --target chromosome.fa

GCUPS: 1e9 cells (letters of the query x letters of the target) per second of wall clock, and of CPU. `pass` is the
pass over the whole matrix, `all` also the tracing of K alignments. Sequences are random DNA with ten planted copies of
400 letters, or come from files. Instruction sets other than the best run on the first shape alone.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from harness import benchmark_parser, describe_machine, run, table, write_json

from gassst._core.best import Tiles, instruction_sets
from gassst.align import match_matrix, read_sequences
from gassst.align.alphabets import DNA
from gassst.align.best_device import device_pass
from gassst.align.blocks import BlockMatrix, Geometry, compiled_pass
from gassst.align.gaps import Gaps
from gassst.align.waterman_eggert import WatermanEggert
from gassst.errors import UsageError
from gassst.workers.thread_count import usable_threads

COPY = 400


def shape(text: str) -> tuple[int, int]:
    """'1000x10000000'."""
    try:
        rows, columns = map(int, text.split("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not ROWSxCOLUMNS") from None
    return rows, columns


def random_pair(rows: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """uint8[rows], uint8[columns]; ten places of the target are copies of parts of the query, with 5 % errors."""
    rng = np.random.default_rng(seed)
    query, target = rng.integers(0, 4, rows).astype(np.uint8), rng.integers(0, 4, columns).astype(np.uint8)
    length = min(COPY, rows, columns)
    for begin in np.linspace(0, columns - length, 10).astype(int):
        source = int(rng.integers(0, rows - length + 1))
        wrong = rng.random(length) < 0.05
        target[begin : begin + length] = (query[source : source + length] + wrong) % 4
    return query, target


def measure(
    query: np.ndarray, target: np.ndarray, k: int, how: str, threads: int, device: str | None
) -> dict[str, Any]:
    """One row of the table."""
    matrix, gaps = match_matrix(2, -3), Gaps(5, 2)
    name = instruction_sets()[0] if device else how
    scores_of_letters = np.ascontiguousarray(matrix.scores, np.int32)
    tiles = Tiles(scores_of_letters, gaps.first, gaps.extend, name)
    wall, cpu = time.perf_counter(), time.process_time()
    if device:
        filled = device_pass(query, target, gaps, matrix.scores, tiles, device, threads)
    else:
        geometry = Geometry.of(len(query), len(target), gaps, 2, threads)
        filled = BlockMatrix(query, target, gaps, tiles, geometry)
        compiled_pass(filled, threads, lambda cells: None)
    passed, passed_cpu = time.perf_counter() - wall, time.process_time() - cpu
    scores: list[int] = []
    with WatermanEggert(filled, threads) as alignments:
        while len(scores) < k and (path := alignments.next_path(1)) is not None:
            scores.append(path.score)
    total = time.perf_counter() - wall
    cells = len(query) * len(target) / 1e9
    return {
        "shape": f"{len(query):,} x {len(target):,}",
        "how": device or how,
        "threads": threads,
        "pass_seconds": passed,
        "pass_gcups": cells / passed,
        "cpu_gcups": cells / max(passed_cpu, 1e-9),
        "all_gcups": cells / total,
        "scores": scores,
    }


def build_parser() -> argparse.ArgumentParser:
    p = benchmark_parser(__doc__)
    add = p.add_argument
    add("--shapes", nargs="+", type=shape, default=[(1000, 10**7), (100_000, 100_000)], metavar="ROWSxCOLUMNS",
        help="[1000x10000000 100000x100000]")  # fmt: skip
    add("--query", type=Path, help="FASTA with one sequence, instead of random ones")
    add("--target", type=Path, help="likewise")
    add("-k", type=int, default=10, help="alignments [10]")
    add("--threads", type=int, default=usable_threads(), help="[all cores]")
    add("--device", help="also on this OpenCL device")
    add("--seed", type=int, default=1, help="[1]")
    return p


def main(argv: list[str] | None = None) -> None:
    args = build_parser().parse_args(argv)
    if (args.query is None) != (args.target is None):
        raise UsageError("--query and --target go together")
    if args.query:
        pairs = [tuple(read_sequences(path, DNA)[0] for path in (args.query, args.target))]
    else:
        pairs = [random_pair(rows, columns, args.seed) for rows, columns in args.shapes]
    print(describe_machine(), end="\n\n")
    rows = []
    for number, (query, target) in enumerate(pairs):
        for name in instruction_sets() if number == 0 else instruction_sets()[:1]:
            rows.append(measure(query, target, args.k, name, args.threads, None))
        if args.device:
            rows.append(measure(query, target, args.k, "", args.threads, args.device))
        if any(row["scores"] != rows[-1]["scores"] for row in rows if row["shape"] == rows[-1]["shape"]):
            raise UsageError("scores differ")
    keys = ("shape", "how", "threads", "pass_seconds", "pass_gcups", "cpu_gcups", "all_gcups")
    header = ("cells", "by", "threads", "pass s", "pass GCUPS", "per CPU s", "all GCUPS")
    shown = [[f"{row[key]:.2f}" if isinstance(row[key], float) else row[key] for key in keys] for row in rows]
    print(table(header, shown))
    write_json(args.json, {"k": args.k, "rows": rows})


if __name__ == "__main__":
    run(main)
