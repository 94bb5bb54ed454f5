#!/usr/bin/env python3
"""Wrong alignments beside what MAPQ promises, over genomes, error models, single reads and pairs.

    scripts/check/calibration.py genome.fa other.fa --reads folder --json new.json

Simulates reads of every genome that is named: by `gassst simulate` with uniform errors and with its Illumina profile,
and by dwgsim where that is installed. Maps them, single and as pairs, and counts right and wrong alignments by MAPQ.
The reads stay in the folder for the next run. Prints a row for each genome, model and kind: the log loss,
wrong/promised by bin, and right/wrong from some MAPQ on. A * marks a bin with at least ten promised or wrong alignments
that is off by more than two times. make_benchmarks.py makes the table of docs/benchmarks/mapping-quality.md from the
JSON file.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gassst.tools.evaluate import tally

sys.path.append(str(Path(__file__).resolve().parents[1] / "bench"))
from harness import benchmark_parser, by_dwgsim, markdown, measured, quietly, run, write_json  # noqa: E402

BINS = (0, 1, 5, 10, 15, 20, 25, 30, 40, 61)
THRESHOLDS = (1, 10, 20, 30, 40)
ENOUGH, FACTOR = 10, 2.0
MOST = 60
# A read of MAPQ 0 may lie in as many places as it likes: half of them are taken to be wrong.
PROMISED = np.minimum(10 ** (-np.arange(MOST + 1) / 10), 0.5)
SETS = (50, 0.02), (100, 0.05)
"""Bases of a read and errors per base."""
INSERT = 300, 30
MODELS = ("uniform", "illumina", "dwgsim")
KINDS = ("single", "pairs")


def simulate(
    model: str, kind: str, genome: Path, n: int, length: int, error: float, seed: int, to: Path
) -> list[Path]:
    """The files of `n` reads, or of n / 2 pairs, which are simulated unless they are there."""
    pairs = kind == "pairs"
    stem = f"{genome.name}.{model}.{kind}.{n}.{length}.{error}.{seed}"
    files = [to / f"{stem}.{mate}.fq" for mate in ((1, 2) if pairs else (0,))]
    if all(file.exists() for file in files):
        return files
    mean, sd = INSERT
    count = n // 2 if pairs else n
    if model == "dwgsim":
        given = ["-e", error, "-E", error, "-N", count, "-1", length, "-2", length if pairs else 0]
        by_dwgsim(genome, files, *given, "-d", mean, "-s", sd, "-z", seed)
        return files
    given = ["-n", count, "-l", length, "-e", error, "--seed", seed, "--profile", model]
    if pairs:
        given += ["--pairs", f"{mean},{sd}"]
    for file in files:
        given += ["-o", file]
    quietly(sys.executable, "-m", "gassst", "simulate", genome, *given)
    return files


def counts_of(sam: Path) -> list[list[int]]:
    """Wrong and right mapped reads by MAPQ."""
    counts = tally(str(sam)).mapped.sum(axis=0)
    counts[MOST] = counts[MOST:].sum(axis=0)
    return counts[: MOST + 1].tolist()


def row_of(name: str, counts: Any) -> list[str]:
    """What is printed of one set of counts."""
    wrong, right = np.asarray(counts, np.int64).reshape(MOST + 1, 2).T
    loss = -(wrong @ np.log(PROMISED) + right @ np.log1p(-PROMISED))
    cells = [name, f"{loss:,.0f}"]
    for low, end in zip(BINS[1:], BINS[2:], strict=False):
        observed, promised = int(wrong[low:end].sum()), float((wrong + right)[low:end] @ PROMISED[low:end])
        cells.append(f"{observed}/{promised:.1f}{'*' if is_off(observed, promised) else ''}")
    cells += [f"{right[q:].sum()}/{wrong[q:].sum()}" for q in THRESHOLDS]
    return cells


def is_off(wrong: int, promised: float) -> bool:
    """Whether a bin that tells something is off by more than a factor of two."""
    return max(wrong, promised) >= ENOUGH and not promised / FACTOR <= wrong <= promised * FACTOR


def show(cells: dict[str, Any]) -> str:
    """All cells, and the sum of each kind of read."""
    titles = [f"{low}-{end - 1}" for low, end in zip(BINS[1:], BINS[2:], strict=False)]
    rows = [row_of(name, counts) for name, counts in cells.items()]
    for word in KINDS:
        some = [counts for name, counts in cells.items() if word in name.split()]
        if some:
            rows.append(row_of(f"all {word}", np.sum(some, axis=0)))
    return markdown(["set", "log loss", *titles, *(f"from {q}" for q in THRESHOLDS)], rows)


def page_table(result: dict[str, Any]) -> str:
    """A sentence on where this is from and how many bins are off; then a row for each genome and for each model."""
    cells = {tuple(name.split()): np.array(counts) for name, counts in result["cells"].items()}
    genomes, models = (list(dict.fromkeys(name[i] for name in cells)) for i in (0, 1))
    bins = len(BINS) - 2
    rows, off = [], []
    for kind in KINDS:
        own = {name: counts for name, counts in cells.items() if name[2] == kind}
        off.append(sum(cell.endswith("*") for counts in own.values() for cell in row_of("", counts)))
        for word in (*genomes, *models, "all"):
            chosen = [counts for name, counts in own.items() if word in (*name, "all")]
            name, _, *shown = row_of(f"{word}, {kind}", np.sum(chosen, axis=0))
            bold = [f"**{cell[:-1]}**" if cell.endswith("*") else cell for cell in shown[:bins]]
            rows.append([name, *bold, shown[bins + THRESHOLDS.index(20)]])
    number = bins * len(genomes) * len(models)
    about = (
        f"{measured(result)}. A genome and an error model have {bins} bins. Of\n"
        f"these {number}, single reads have {off[0]} that are off by more than 2 times, and pairs {off[1]}."
    )
    titles = [f"{low}-{end - 1}" for low, end in zip(BINS[1:-2], BINS[2:], strict=False)]
    return about + "\n\n" + markdown(["reads", *titles, "40 and more", "right/wrong from 20"], rows)


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Counts by "genome model kind"."""
    folder = Path(args.reads)
    folder.mkdir(parents=True, exist_ok=True)
    mapper = sys.executable, "-m", "gassst"
    models = [model for model in args.models if model != "dwgsim" or shutil.which("dwgsim")]
    cells: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        for genome in map(Path, args.genomes):
            index, sam = Path(scratch) / "genome.gsi", Path(scratch) / "out.sam"
            quietly(*mapper, "index", "-q", genome, "-o", index)
            for model in models:
                for kind in KINDS:
                    total = np.zeros((MOST + 1, 2), np.int64)
                    for number, (length, error) in enumerate(SETS):
                        seed = args.seed + number
                        files = simulate(model, kind, genome, args.number, length, error, seed, folder)
                        quietly(*mapper, "map", "-q", "-t", args.threads, index, *files, "-o", sam)
                        total += counts_of(sam)
                    cells[f"{genome.name.split('.')[0]} {model} {kind}"] = total.tolist()
                    print(*row_of(*list(cells.items())[-1]), flush=True)
    return cells


def main(argv: Sequence[str] | None = None) -> None:
    parser = benchmark_parser(__doc__)
    add = parser.add_argument
    add("genomes", nargs="+", metavar="FASTA")
    add("--reads", default="calibration-reads", metavar="FOLDER", help="where the reads are kept")
    add("-n", "--number", type=int, default=100_000, help="reads of a set [100000]")
    add("--seed", type=int, default=4001)
    add("--models", nargs="+", choices=MODELS, default=MODELS)
    add("-t", "--threads", type=int, default=1)
    args = parser.parse_args(argv)
    cells = measure(args)
    write_json(args.json, {"cells": cells})
    print(show(cells))


if __name__ == "__main__":
    run(main)
