#!/usr/bin/env python3
"""Cells per second of gassst.align.scores, beside parasail and SSW, all in one run.

    scripts/bench/align_gcups.py
    scripts/bench/align_gcups.py --threads 16 --device gpu --large --skip-others --json align.json

GCUPS: 1e9 cells (letters of the query x letters of the target) a second. Figures of one thread are by CPU time, the
least of --runs runs that take turns; those of --threads and of a device are by wall clock: reading and coding the
sequences and all transfers included. A device gets ten times the queries. Every instruction set that this processor
has is measured. parasail: striped, with a profile of each query made once. SSW (the package ssw-py) aligns DNA only,
with its own path turned off by a cutoff that no score reaches. Random sequences: "protein" has lengths as in
Swiss-Prot (a gamma distribution, mean 360).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import benchmark_parser, describe_machine, run, table, write_json

from gassst import align
from gassst._core.pairwise import instruction_sets
from gassst.align.gaps import Gaps
from gassst.align.modes import mode_flags
from gassst.align.products import Product
from gassst.align.scoring import prepare
from gassst.workers.thread_count import usable_threads

AMINO = "ARNDCQEGHILKMFPSTWYV"
FUNCTIONS = {"local": "sw", "global": "nw", "semiglobal": "sg"}
THEIR_QUERIES, THEIR_TARGETS = 6, 400  # fewer: a pair of theirs takes longer
DEVICE_QUERIES = 10  # times as many: a GPU does the rest in milliseconds
COSTS = (10, 1)


def random_sequences(rng: np.random.Generator, letters: str, lengths: np.ndarray) -> list[str]:
    text = np.frombuffer(letters.encode(), np.uint8)[rng.integers(0, len(letters), int(lengths.sum()))]
    ends = np.cumsum(lengths)
    whole = text.tobytes().decode()
    return [whole[end - length : end] for length, end in zip(lengths.tolist(), ends.tolist(), strict=True)]


def workloads(large: bool) -> dict[str, tuple[str, list[str], list[str]]]:
    """Name: matrix, queries, targets."""
    rng = np.random.default_rng(1)
    factor = 20 if large else 1
    swissprot = np.clip(rng.gamma(2.2, 360 / 2.2, 1000 * factor), 30, 3000).astype(int)
    each = {
        "protein": ("BLOSUM62", AMINO, swissprot[:40], swissprot),
        "DNA 150 x 150": ("NUC4.4", "ACGT", np.full(100, 150), np.full(2000 * factor, 150)),
        "DNA 25 x 1000": ("NUC4.4", "ACGT", np.full(200, 25), np.full(500 * factor, 1000)),
    }
    return {
        name: (matrix, random_sequences(rng, letters, m), random_sequences(rng, letters, n))
        for name, (matrix, letters, m, n) in each.items()
    }


def letters_of(sequences: list[str]) -> float:
    return float(sum(map(len, sequences)))


def ours(work: tuple[str, list[str], list[str]], mode: str, name: str) -> tuple[float, Callable[[], object]]:
    """Cells, and what computes them on one thread."""
    matrix, queries, targets = work
    both = prepare(queries, targets, align.substitution_matrix(matrix), Gaps(*COSTS), mode_flags(mode))
    out = np.empty((len(queries), len(targets)), np.int32)
    return letters_of(queries) * letters_of(targets), lambda: Product(*both, 1, name).run(out)


def of_parasail(
    work: tuple[str, list[str], list[str]], mode: str, bits: str
) -> tuple[float, Callable[[], object]]:
    """As `ours`, by the striped kernels."""
    import parasail

    matrix, queries, targets = work
    queries, targets = queries[:THEIR_QUERIES], targets[:THEIR_TARGETS]
    theirs = {"BLOSUM62": parasail.blosum62, "NUC4.4": parasail.nuc44}[matrix]
    make = getattr(parasail, f"profile_create_{bits}")
    profiles = [make(query, theirs) for query in queries]
    function = getattr(parasail, f"{FUNCTIONS[mode]}_striped_profile_{bits}")
    gap = sum(COSTS), COSTS[1]

    def compute() -> None:
        for profile in profiles:
            for target in targets:
                function(profile, target, *gap)

    return letters_of(queries) * letters_of(targets), compute


def of_ssw(work: tuple[str, list[str], list[str]]) -> tuple[float, Callable[[], object]]:
    """As `ours`, local alignment of DNA by ssw-py."""
    import ssw

    _, queries, targets = work
    queries, targets = queries[:THEIR_QUERIES], targets[:THEIR_TARGETS]
    manager = ssw.AlignmentMgr(match_score=5, mismatch_penalty=4)
    options = {"gap_open": sum(COSTS), "gap_extension": COSTS[1], "score_cutoff": 65_000}
    options["bitwise_flag"] = ssw.BitwiseAlignmentFlag.score_filter

    def compute() -> None:
        for query in queries:
            manager.set_read(query)
            for target in targets:
                manager.set_reference(target)
                manager.align(**options)

    return letters_of(queries) * letters_of(targets), compute


def on_one_thread(work: tuple[str, list[str], list[str]], mode: str, runs: int) -> dict[str, float]:
    """GCUPS by program."""
    tried: dict[str, tuple[float, Callable[[], object]]] = {}
    for name in instruction_sets():
        tried[f"gassst {name}"] = ours(work, mode, name)
    for bits in ("8", "16", "sat"):
        tried[f"parasail striped {bits}"] = of_parasail(work, mode, bits)
    if mode == "local" and work[0] == "NUC4.4":
        try:
            tried["SSW"] = of_ssw(work)
        except ImportError:
            print("ssw-py is not installed")
    least = dict.fromkeys(tried, float("inf"))
    for _ in range(runs):
        for name, (_, compute) in tried.items():
            start = time.process_time()
            compute()
            least[name] = min(least[name], time.process_time() - start)
    return {name: cells / least[name] / 1e9 for name, (cells, _) in tried.items()}


def by_wall_clock(work: tuple[str, list[str], list[str]], mode: str, runs: int, **options: Any) -> float:
    """GCUPS of a whole call, reading and coding the sequences included."""
    matrix, queries, targets = work
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        align.scores(queries, targets, mode, matrix=matrix, gap_open=COSTS[0], gap_extend=COSTS[1], **options)
        best = min(best, time.perf_counter() - start)
    return letters_of(queries) * letters_of(targets) / best / 1e9


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--runs", type=int, default=3, help="of each, in turn [3]")
    parser.add_argument("--threads", type=int, default=usable_threads(), help="[all]")
    parser.add_argument("--device", help="also an OpenCL device")
    parser.add_argument("--large", action="store_true", help="twenty times the targets: a device needs them")
    parser.add_argument("--skip-others", action="store_true", help="threads and device only")
    args = parser.parse_args()
    print(describe_machine())
    results: dict[str, dict[str, float]] = {}
    for name, work in workloads(args.large).items():
        for mode in FUNCTIONS:
            found = {} if args.skip_others else on_one_thread(work, mode, args.runs)
            found[f"gassst, {args.threads} threads"] = by_wall_clock(
                work, mode, args.runs, threads=args.threads
            )
            if args.device:
                many = (work[0], work[1] * DEVICE_QUERIES, work[2])
                found[f"gassst, {args.device}"] = by_wall_clock(many, mode, args.runs, device=args.device)
            results[f"{name}, {mode}"] = found
    programs = list(dict.fromkeys(program for found in results.values() for program in found))
    rows = [
        [program, *(f"{found[program]:.1f}" if program in found else "" for found in results.values())]
        for program in programs
    ]
    print(table(["GCUPS", *results], rows))
    write_json(args.json, {"gcups": results})


if __name__ == "__main__":
    run(main)
