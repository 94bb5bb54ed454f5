"""Wrong mates beside what MAPQ promises, bin by bin, over a million mates a row, and which bins are really off.

    python scripts/bench/mapq_bins.py human13.fa human13.gsi --json out.json
    python scripts/bench/mapq_bins.py --show out.json [more.json ..]

Simulates sets of pairs for every rate of errors and length, each with a seed of its own, and maps them with gassst.
Both mates of a pair are wrong together, so the standard error of the wrong mates of a bin counts pairs: it is the root
of the sum of the squares of how many mates of each are wrong there. A bin is off where twice what is promised, or half
of it, lies more than two standard errors away. MAPQ 60 promises one wrong mate in 20,000 at most (docs/mapq.md). A row
that the JSON file holds already is not computed again.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import mapq_tables
import numpy as np
from harness import run, write_json
from mapq_tables import BINS, MOST, cell_name

from gassst.tools.evaluate import is_correct
from gassst.tools.truth import detect, read_alignments

FACTOR = 2  # within which a bin keeps its promise
BORDERS = np.array([low for low, _ in BINS])
TITLES = [f"{low}-{high}" if low < high else f"{low}" for low, high in BINS]
PROMISED = 10 ** (-np.arange(MOST + 1) / 10)
PROMISED[MOST] = 1 / 20_000  # of tables from when 43 and more were written as 60


class Bin(NamedTuple):
    """Of one of the BINS: `wrong` mates, their standard error, those `promised`, and `every` mate."""

    wrong: int
    error: float
    promised: float
    every: int

    @property
    def is_too_sure(self) -> bool:
        return self.wrong - FACTOR * self.promised > 2 * self.error

    @property
    def is_too_careful(self) -> bool:
        # Where two pairs are expected none is wrong in one of seven cases.
        return self.promised / FACTOR - self.wrong > 2 * max(self.error, 2.0)


def counts_of(sam: Path) -> dict[str, list[int]]:
    """Of mates by MAPQ: the wrong and the right ones. By bin: pairs both of whose mates are wrong there."""
    mates, both = np.zeros((MOST + 1, 2), np.int64), np.zeros(len(BINS) + 1, np.int64)
    form = None
    for found in read_alignments(str(sam)):
        form = form or detect(found.names[0], str(sam))
        correct = is_correct(found, form.truth(found, str(sam)), 10)
        np.add.at(mates, (found.mapq, correct.astype(np.int64)), 1)
        # Mates are neighbours, and a chunk has an even number of records.
        bins = np.where(correct, -1, np.searchsorted(BORDERS, found.mapq, side="right")).reshape(-1, 2)
        both += np.bincount(bins[(bins[:, 0] == bins[:, 1]) & (bins[:, 0] >= 0), 0], minlength=len(both))
    return {"wrong": mates[:, 0].tolist(), "right": mates[:, 1].tolist(), "both": both[1:].tolist()}


def bins_of(sets: Sequence[dict[str, Any]]) -> list[Bin]:
    """The BINS of some sets together."""
    wrong, right, both = (np.sum([one[name] for one in sets], axis=0) for name in ("wrong", "right", "both"))
    found = []
    for (low, high), pairs in zip(BINS, both.tolist(), strict=True):
        own = slice(low, high + 1)
        number, every = int(wrong[own].sum()), wrong[own] + right[own]
        promised = float(every @ PROMISED[own])
        found.append(Bin(number, float(np.sqrt(number + 2 * pairs)), promised, int(every.sum())))
    return found


def is_off(title: str, one: Bin) -> bool:
    """The highest MAPQ may keep more than it promises."""
    return one.is_too_sure or (one.is_too_careful and title != TITLES[-1])


def table(cells: dict[str, Any]) -> str:
    """Markdown: a row of bins for each cell, wrong / promised; then the bins that are off."""
    lines = [f"| reads | million mates | {' | '.join(TITLES)} |", "|---|" + "--:|" * (len(BINS) + 1)]
    off = []
    for name, cell in cells.items():
        bins = list(zip(TITLES, bins_of(cell["sets"]), strict=True))
        shown = []
        for title, one in bins:
            mark = "**" if is_off(title, one) else ""
            shown.append(f"{mark}{one.wrong}/{one.promised:.1f}{mark}" if one.every else "")
            if mark:
                off.append(f"| {name} | {title} | {one.wrong} ± {one.error:.1f} | {one.promised:.1f} |")
        mates = 2e-6 * cell["pairs"] * len(cell["sets"])
        lines.append(f"| {name} | {mates:.1f} | {' | '.join(shown)} |")
    if not off:
        return "\n".join([*lines, "", "No bin is off."])
    return "\n".join([*lines, "", "| off | MAPQ | wrong | promised |", "|---|--:|--:|--:|", *off])


def measure(args: argparse.Namespace, cells: dict[str, Any]) -> None:
    """Fill `cells`, changed in place, and save them after each."""
    rows = [(length, error) for error in args.errors for length in args.lengths]
    for row, (length, error) in enumerate(rows):
        name = cell_name(args, length, error)
        if name in cells and not args.again:
            continue
        first = cells[name]["first_seed"] if name in cells else args.seed + row * args.sets
        sets = [counts_of_set(args, length, error, seed) for seed in range(first, first + args.sets)]
        cells[name] = {"pairs": args.number, "first_seed": first, "insert": args.pairs, "sets": sets}
        print(table({name: cells[name]}), flush=True)
        write_json(args.json, {"cells": cells})


def counts_of_set(args: argparse.Namespace, length: int, error: float, seed: int) -> dict[str, list[int]]:
    """`counts_of` a set that is simulated and mapped."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        sam = folder / "out.sam"
        mapq_tables.map_to(
            sam,
            mapq_tables.commands(args)["gassst"],
            mapq_tables.simulate(args, length, error, seed, folder),
        )
        return counts_of(sam)


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("reference", nargs="?", help="FASTA")
    p.add_argument("index", nargs="?", help="the gassst index of it")
    p.add_argument("-n", "--number", type=int, default=250_000, help="pairs of a set [250000]")
    p.add_argument("--sets", type=int, default=2, help="of each length and rate of errors [2]")
    p.add_argument(
        "--seed", type=int, default=880_001, help="of the first set; the next ones follow [880001]"
    )
    p.add_argument("--lengths", type=int, nargs="+", default=[50, 100, 150])
    p.add_argument("--errors", type=float, nargs="+", default=[0.05, 0.02, 0.01, 0.005])
    p.add_argument("--pairs", default="300,30", metavar="MEAN,SD", help="insert size [300,30]")
    p.add_argument("--again", action="store_true", help="map the sets of the rows in the JSON file again")
    p.add_argument("-t", "--threads", type=int, default=1)
    p.add_argument("--json", metavar="FILE", help="counts of every set, kept up to date")
    p.add_argument(
        "--show", nargs="+", type=Path, metavar="FILE", help="print the table of such files, and do no more"
    )
    p.set_defaults(single=False, mode=None, bwa=None, bwa_mem2=None, minibwa=None)
    return p


def main(argv: Sequence[str] | None = None) -> None:
    mapq_tables.show_or_measure(parser().parse_args(argv), measure, table)


if __name__ == "__main__":
    run(main)
