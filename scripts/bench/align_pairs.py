#!/usr/bin/env python3
"""Microseconds of CPU for an alignment with its path: gassst.align.pairs, parasail with traceback, edlib.

    scripts/bench/align_pairs.py
    scripts/bench/align_pairs.py --runs 6 --json pairs.json

One thread, the least of --runs runs that take turns. The targets are the queries with 5 % of their letters changed.
edlib counts differences of all of both sequences, with its path; it has no other scores.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import edlib
import numpy as np
import parasail
from harness import benchmark_parser, describe_machine, run, table, write_json

from gassst import align

COSTS = (10, 1)
SETS = {
    "DNA, 150 letters": ("NUC4.4", "ACGT", 150, 4000),
    "DNA, 1,000 letters": ("NUC4.4", "ACGT", 1000, 400),
    "protein, 360 letters": ("BLOSUM62", "ARNDCQEGHILKMFPSTWYV", 360, 1000),
}


def pairs_of(rng: np.random.Generator, letters: str, length: int, count: int) -> tuple[list[str], list[str]]:
    """Queries, and the same with changed letters."""
    alphabet = np.frombuffer(letters.encode(), np.uint8)
    queries = alphabet[rng.integers(0, len(letters), (count, length))]
    others = alphabet[rng.integers(0, len(letters), (count, length))]
    targets = np.where(rng.random((count, length)) < 0.05, others, queries)
    return [row.tobytes().decode() for row in queries], [row.tobytes().decode() for row in targets]


def programs(matrix: str, queries: list[str], targets: list[str]) -> dict[str, Callable[[], object]]:
    """What aligns all pairs, by name."""
    theirs = {"NUC4.4": parasail.nuc44, "BLOSUM62": parasail.blosum62}[matrix]
    gap = sum(COSTS), COSTS[1]
    found: dict[str, Callable[[], object]] = {}
    for mode, function in (
        ("local", parasail.sw_trace_striped_sat),
        ("global", parasail.nw_trace_striped_sat),
    ):
        found[f"gassst, {mode}"] = lambda mode=mode: align.pairs(
            queries, targets, mode, matrix=matrix, gap_open=COSTS[0], gap_extend=COSTS[1], threads=1
        )
        found[f"parasail striped, {mode}"] = lambda function=function: [
            function(query, target, *gap, theirs).cigar.seq
            for query, target in zip(queries, targets, strict=True)
        ]
    found["edlib, differences"] = lambda: [
        edlib.align(query, target, task="path") for query, target in zip(queries, targets, strict=True)
    ]
    return found


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--runs", type=int, default=3, help="of each, in turn [3]")
    args = parser.parse_args()
    print(describe_machine())
    rng = np.random.default_rng(1)
    results: dict[str, dict[str, float]] = {}
    for name, (matrix, letters, length, count) in SETS.items():
        tried = programs(matrix, *pairs_of(rng, letters, length, count))
        least = dict.fromkeys(tried, float("inf"))
        for _ in range(args.runs):
            for program, compute in tried.items():
                start = time.process_time()
                compute()
                least[program] = min(least[program], time.process_time() - start)
        results[name] = {program: 1e6 * seconds / count for program, seconds in least.items()}
    rows = [[program, *(f"{found[program]:.1f}" for found in results.values())] for program in tried]
    print(table(["microseconds a pair", *results], rows))
    write_json(args.json, {"microseconds": results})


if __name__ == "__main__":
    run(main)
