#!/usr/bin/env python3
"""How long seeds may be: alignments they miss (Rizk Figure 4.3), and how often they occur in a real index.

    scripts/bench/seeds.py -m 200
    scripts/bench/seeds.py REF.gsi -m 100

An alignment is missed by a seed length when its errors leave no error-free run of that length. The share is
computed by the model (Rizk 4.6.7) and counted among --samples alignments with errors at random places.
Occurrences are those of seeds drawn from the indexed sequence, as reads draw them: a seed that occurs twice
as often is drawn twice as often.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from harness import (
    benchmark_parser,
    describe_machine,
    numbers,
    run,
    table,
    write_json,
)

from gassst.errors import UsageError
from gassst.index.choice import load_index
from gassst.index.miss_model import longest_seed
from gassst.index.seed_index import SeedIndex
from gassst.model.params import MapParams
from gassst.search.plan import SearchPlan
from gassst.workers.thread_count import usable_threads

RNG_SEED = 1
LEVELS = range(5)  # of -s; 5 caps nothing


def miss_probability(m: int, r: int, w: int) -> float:
    """Share of alignments of `m` bases with `r` errors that hold no error-free run of `w` bases (Rizk 4.6.7).

    The errors are spread uniformly; inclusion and exclusion over the r + 1 runs between them. In whole numbers, thus
    exact and slow.
    """
    if w > m:
        return 1.0
    runs = range(min(r + 1, (m - r) // w) + 1)
    total = sum((-1) ** i * math.comb(r + 1, i) * math.comb(m - i * w, r) for i in runs)
    return total / math.comb(m, r)


def longest_runs(m: int, r: int, samples: int, rng: np.random.Generator) -> np.ndarray:
    """int[samples]: longest error-free run in alignments of `m` bases with `r` errors at random places."""
    if r == 0:
        return np.full(samples, m)
    errors = np.sort(np.argpartition(rng.random((samples, m)), r - 1, axis=1)[:, :r], axis=1)
    bounds = np.pad(errors, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, m)))
    return np.diff(bounds, axis=1).max(axis=1) - 1


def missed(m: int, errors: Sequence[int], lengths: Sequence[int], samples: int) -> dict[str, Any]:
    """Shares of missed alignments, model and simulation, as [seed length][errors] in %."""
    rng = np.random.default_rng(RNG_SEED)
    runs = [longest_runs(m, r, samples, rng) for r in errors]
    return {
        "read_length": m,
        "errors": list(errors),
        "seed_lengths": list(lengths),
        "samples": samples,
        "model_percent": [[100 * miss_probability(m, r, w) for r in errors] for w in lengths],
        "simulated_percent": [[100 * float(np.mean(run < w)) for run in runs] for w in lengths],
        "certain_seed": [m // (r + 1) for r in errors],
        "longest_seed": [longest_seed(m, r, 0.01) for r in errors],
    }


def codes_at(index: SeedIndex, coordinates: np.ndarray, w: int) -> np.ndarray:
    """uint64: codes of the seeds of `w` bases at these coordinates, but for those with a masked base."""
    codes = np.zeros(len(coordinates), np.uint64)
    masked = np.zeros(len(coordinates), np.uint64)
    one = np.uint64(1)
    for base in range(w):
        at = coordinates.astype(np.uint64) + np.uint64(base)
        low, high, mask = (
            index.reference.planes[at >> np.uint64(6)] >> (at & np.uint64(63))[:, None] & one
        ).T
        codes = codes << np.uint64(2) | high << one | low
        masked |= mask
    return codes[masked == 0]


def occurrences(index: SeedIndex, w: int, samples: int) -> dict[str, Any]:
    """Occurrences of `samples` seeds of `w` bases drawn from the index."""
    rng = np.random.default_rng(RNG_SEED)
    coordinates = index.positions[np.sort(rng.integers(0, len(index.positions), samples))]
    lo, hi = index.lookup(codes_at(index, coordinates, w), w)
    counts = (hi - lo).astype(np.int64)
    if not len(counts):
        raise UsageError(f"no seed of {w} bases without a masked base in the sample")
    plans = {
        level: SearchPlan(MapParams(sensitivity=level), index.plan_k, index.reference.unmasked)
        for level in LEVELS
    }
    caps = {level: plan.occurrence_cap(w) for level, plan in plans.items()}
    return {
        "seed_length": w,
        "mean": counts.mean(),
        "median": np.median(counts),
        "p90": np.percentile(counts, 90),
        "p99": np.percentile(counts, 99),
        "max": counts.max(),
        "unique_percent": 100 * np.mean(counts == 1),
        "caps": caps,
        "above_cap_percent": {level: 100 * np.mean(counts > cap) for level, cap in caps.items()},
    }


def missed_tables(result: dict[str, Any]) -> str:
    """Model and simulation in one cell, and the seed lengths that miss nothing or at most 1 %."""
    pairs = zip(result["model_percent"], result["simulated_percent"], strict=True)
    rows = [
        [w, *(f"{a:.2f}/{b:.2f}" for a, b in zip(model, counted, strict=True))]
        for w, (model, counted) in zip(result["seed_lengths"], pairs, strict=True)
    ]
    rows.append(["misses none", *result["certain_seed"]])
    rows.append(["misses <= 1 %", *result["longest_seed"]])
    header = ["seed \\ errors", *map(str, result["errors"])]
    title = f"missed alignments of {result['read_length']} bases, %, model/simulated"
    return table(header, rows, title)


def occurrence_table(results: list[dict[str, Any]]) -> str:
    columns = ("seed_length", "mean", "median", "p90", "p99", "max", "unique_percent")
    rows = [[*(r[c] for c in columns), *(r["above_cap_percent"][level] for level in LEVELS)] for r in results]
    header = [
        "seed",
        "mean",
        "median",
        "90 %",
        "99 %",
        "max",
        "unique %",
        *(f"> -s {level} %" for level in LEVELS),
    ]
    return table(header, rows, "occurrences of a seed drawn from the index; share above the cap of each -s")


def build_parser() -> argparse.ArgumentParser:
    p = benchmark_parser(__doc__)
    p.add_argument("index", nargs="?", metavar="REF.gsi", help="index, or a FASTA, for the occurrences")
    p.add_argument("-m", "--read-length", type=int, default=200, metavar="M", help="(default: %(default)s)")
    p.add_argument("-e", "--errors", type=numbers, metavar="E,..", help="(default: up to 20 %% of the read)")
    p.add_argument("-w", "--seed-lengths", type=numbers, metavar="W,..", help="(default: 8 to 30)")
    p.add_argument("--samples", type=int, default=10_000, metavar="N", help="alignments (%(default)s)")
    p.add_argument("--seeds", type=int, default=200_000, metavar="N", help="seeds looked up (%(default)s)")
    return p


def main(argv: Sequence[str] | None = None) -> None:
    args = build_parser().parse_args(argv)
    m = args.read_length
    errors = args.errors or tuple(range(0, m // 5 + 1, max(1, m // 50)))
    lengths = args.seed_lengths or tuple(range(8, min(m, 30) + 1, 2))
    if max(errors) > m or min(errors) < 0 or min(lengths) < 1:
        raise UsageError(f"errors are from 0 to {m}, seeds of at least 1 base")
    print(describe_machine(), end="\n\n")
    result, counted = missed(m, errors, lengths, args.samples), []
    print(missed_tables(result))
    if args.index:
        index = load_index(args.index, usable_threads())
        counted = [occurrences(index, w, args.seeds) for w in lengths if w <= index.k + 16]
        print(occurrence_table(counted))
    write_json(args.json, {"missed": result, "occurrences": counted})


if __name__ == "__main__":
    run(main)
