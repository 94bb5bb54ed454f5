#!/usr/bin/env python3
"""Microseconds for an alignment with its path: gassst.align.pairs, parasail with traceback, edlib.

    scripts/bench/align_pairs.py
    scripts/bench/align_pairs.py --runs 6 --sets "DNA, 150" --json pairs.json

The least of --runs runs that take turns: CPU time of one thread, then wall clock of --threads threads. The targets are
the queries with 5 % of their letters changed. parasail is called pair by pair, and its CIGAR is asked for. edlib
counts differences of all of both sequences, with its path; it has no other scores.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import edlib
import numpy as np
import parasail
from harness import benchmark_parser, describe_machine, run, table, write_json

from gassst import align
from gassst._core.pairwise import instruction_sets
from gassst.align.gaps import Gaps
from gassst.align.modes import mode_flags
from gassst.align.scoring import prepare
from gassst.align.traced import trace

COSTS = (10, 1)
AMINO = "ARNDCQEGHILKMFPSTWYV"
SETS = {
    "DNA, 25 letters": ("NUC4.4", "ACGT", 25, 4000),
    "DNA, 150": ("NUC4.4", "ACGT", 150, 1500),
    "DNA, 1,000": ("NUC4.4", "ACGT", 1000, 50),
    "protein, 300": ("BLOSUM62", AMINO, 300, 400),
}
MODES = {"local": "sw", "global": "nw", "semiglobal": "sg"}
KINDS = ("striped_sat", "striped_16", "scan_16")
THREADED = ("gassst", "parasail scan_16")
Strings = list[str]


def pairs_of(rng: np.random.Generator, letters: str, length: int, count: int) -> tuple[Strings, Strings]:
    """Queries, and the same with changed letters."""
    alphabet = np.frombuffer(letters.encode(), np.uint8)
    queries = alphabet[rng.integers(0, len(letters), (count, length))]
    others = alphabet[rng.integers(0, len(letters), (count, length))]
    targets = np.where(rng.random((count, length)) < 0.05, others, queries)
    return [row.tobytes().decode() for row in queries], [row.tobytes().decode() for row in targets]


def ours(name: str | None, mode: str, matrix: str, queries: Strings, targets: Strings, threads: int) -> None:
    """All pairs by `pairs`, or by an instruction set."""
    if name is None:
        align.pairs(queries, targets, mode, matrix=matrix, gap_open=10, gap_extend=1, threads=threads)
        return
    both = prepare(queries, targets, align.substitution_matrix(matrix), Gaps(*COSTS), mode_flags(mode))
    each = np.arange(len(queries))
    trace(*both, np.stack([each, each], axis=1), threads, None, name)


def theirs(kind: str, mode: str, matrix: str, queries: Strings, targets: Strings, threads: int) -> None:
    """All pairs by a function of parasail, which holds no lock of Python."""
    function = getattr(parasail, f"{MODES[mode]}_trace_{kind}")
    scores = {"NUC4.4": parasail.nuc44, "BLOSUM62": parasail.blosum62}[matrix]

    def some(start: int) -> None:
        for i in range(start, len(queries), threads):
            function(queries[i], targets[i], sum(COSTS), COSTS[1], scores).cigar.seq  # noqa: B018

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(some, range(threads)))


def edits(mode: str, matrix: str, queries: Strings, targets: Strings, threads: int) -> None:
    """All pairs by edlib."""
    for query, target in zip(queries, targets, strict=True):
        edlib.align(query, target, task="path")


def programs() -> dict[str, Callable[[str, str, Strings, Strings, int], None]]:
    """What aligns all pairs, by name."""
    found: dict[str, Callable[[str, str, Strings, Strings, int], None]] = {"gassst": partial(ours, None)}
    found |= {f"gassst, {name}": partial(ours, name) for name in instruction_sets()}
    found |= {f"parasail {kind}": partial(theirs, kind) for kind in KINDS}
    return found


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--runs", type=int, default=3, help="of each, in turn [3]")
    parser.add_argument("--threads", type=int, default=2, help="of the runs by wall clock [2]")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS), help="[all]")
    args = parser.parse_args()
    print(describe_machine())
    results: dict[str, dict[str, float]] = {}
    for name in args.sets:
        matrix, letters, length, count = SETS[name]
        both = pairs_of(np.random.default_rng(1), letters, length, count)
        tried = {
            f"{program}, {mode}": partial(compute, mode, matrix, *both)
            for mode in MODES
            for program, compute in programs().items()
        }
        tried["edlib, differences"] = partial(edits, "global", matrix, *both)
        least = dict.fromkeys(tried, float("inf"))
        wall = {f"{program}, {mode}": float("inf") for program in THREADED for mode in MODES}
        for _ in range(args.runs):
            for program, compute in tried.items():
                start = time.process_time()
                compute(1)
                least[program] = min(least[program], time.process_time() - start)
            for program in wall:
                start = time.perf_counter()
                tried[program](args.threads)
                wall[program] = min(wall[program], time.perf_counter() - start)
        results[name] = {program: 1e6 * seconds / count for program, seconds in least.items()}
        for program, seconds in wall.items():
            results[name][f"{program}, {args.threads} threads"] = 1e6 * seconds / count
    columns = list(results.values())
    rows = [[program, *(f"{found[program]:.2f}" for found in columns)] for program in columns[0]]
    print(table(["microseconds a pair", *results], rows))
    write_json(args.json, {"microseconds": results})


if __name__ == "__main__":
    run(main)
