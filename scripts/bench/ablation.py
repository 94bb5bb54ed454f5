"""What every optional rule of the core is worth: each is switched off, on simulated reads.

    python scripts/bench/ablation.py genome.fa --foreign other.fa -n 100000 --rounds 3 --json ablation.json
    python scripts/bench/ablation.py genome.fa --rules dense-seeds,wide-windows

Reads are of this genome, except those of --foreign. A rule and the release are mapped in turn, each run a process of
its own with one thread. A row is one rule on one set. It has CPU time without the rule over CPU time with it, the least
of --rounds. The change of correct reads follows in points, in all and with MAPQ 20 or more, and wrong reads there with
and without the rule. Then comes the change at thresholds of MAPQ where at most one read in 10,000 is wrong. The last
column counts records with another position. Sets on which a rule changes no record and no more than a quarter of the
time are left out of the table.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from harness import benchmark_parser, describe_machine, markdown, measured, plural, run, simulated, write_json
from timed import timed

import gassst.api.mapper  # registers all rules
from gassst.cli.main import main as command
from gassst.errors import UsageError
from gassst.model.rules import PURPOSES, VARIABLE
from gassst.tools import truth
from gassst.tools.evaluate import is_correct

assert gassst.api.mapper
PAIRED = ("--pairs", "350,50")
SHORT = ("--inserts", "40,400", "--bad-tails", "0.2")
SETS = {
    "50 b 5 %": ("-l", "50", "-e", "0.05"),
    "100 b 2 %": ("-l", "100", "-e", "0.02"),
    "100 b 10 %": ("-l", "100", "-e", "0.1"),
    "150 b adapters": ("-l", "150", "-e", "0.02", *SHORT, "--adapter", "truseq"),
    "2x50 b 5 %": ("-l", "50", "-e", "0.05", *PAIRED),
    "2x100 b 2 %": ("-l", "100", "-e", "0.02", *PAIRED),
    "2x100 b 10 %": ("-l", "100", "-e", "0.1", *PAIRED),
    "2x150 b adapters": ("-l", "150", "-e", "0.02", *SHORT, "--adapter", "nextera"),
}  # fmt: skip
FOREIGN = {
    "100 b foreign": ("-l", "100", "-e", "0.01"),
    "2x100 b foreign": ("-l", "100", "-e", "0.01", *PAIRED),
}
SEED = "--seed", "90210"
CONFIDENT = 20
MOST_WRONG = 1e-4
LEAST_CHANGE = 0.25


@dataclass
class Mapped:
    """What one version made of one set: CPU seconds of the fastest round; by read where it lies, its mapping quality
    and whether it is correct."""

    seconds: float
    place: np.ndarray
    quality: np.ndarray
    correct: np.ndarray

    @property
    def right(self) -> float:
        return 100 * float(self.correct.mean())

    @property
    def confident(self) -> float:
        return 100 * float((self.correct & (self.quality >= CONFIDENT)).mean())

    @property
    def wrong(self) -> int:
        return int(np.count_nonzero(~self.correct & (self.quality >= CONFIDENT)))

    @property
    def on_the_curve(self) -> float:
        """Correct reads in percent above the lowest mapping quality with no more than `MOST_WRONG` of them wrong."""
        best = 0
        for least in range(1, 61):
            above = self.quality >= least
            right = int(np.count_nonzero(self.correct & above))
            if np.count_nonzero(above) - right <= MOST_WRONG * max(right, 1):
                best = max(best, right)
        return 100 * best / len(self.correct)


def mapped(index: str, reads: list[str], rule: str | None, output: Path) -> float:
    """CPU seconds of a run without a rule."""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    if rule:
        environment[VARIABLE] = rule
    program = [sys.executable, "-m", "gassst", "map", "-q", "-t", "1", "--device", "none"]
    command = [*program, index, *reads, "-o", str(output)]
    return timed(command, output.with_suffix(".log"), environment=environment)["user"]


def judged(path: Path, seconds: float, is_foreign: bool) -> Mapped:
    """The primary alignments of a SAM file. No place of a foreign read is correct."""
    chunks = list(truth.read_alignments(str(path)))
    columns: dict[str, list[np.ndarray]] = {"place": [], "quality": [], "correct": []}
    for found in chunks:
        is_mapped = found.flags & 4 == 0
        correct = np.zeros(len(found.names), bool)
        if not is_foreign:
            expected = truth.detect(found.names[0], str(path)).truth(found, str(path))
            correct = is_correct(found, expected, 10) & is_mapped
        place = np.where(is_mapped, (found.start << 1) | (found.flags >> 4 & 1), -1)
        for name, column in (
            ("place", place),
            ("quality", np.where(is_mapped, found.mapq, -1)),
            ("correct", correct),
        ):
            columns[name].append(column)
    return Mapped(seconds, *(np.concatenate(columns[name]) for name in ("place", "quality", "correct")))


def compared(with_it: Mapped, without: Mapped) -> dict[str, Any]:
    """What a rule is worth."""
    return {
        "cpu": without.seconds / with_it.seconds,
        "right": without.right - with_it.right,
        "confident": without.confident - with_it.confident,
        "wrong": [with_it.wrong, without.wrong],
        "curve": without.on_the_curve - with_it.on_the_curve,
        "places": int(np.count_nonzero(with_it.place != without.place)),
        "qualities": int(np.count_nonzero(with_it.quality != without.quality)),
    }


def measure(args: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """A row for each rule and set; as many sets as there are jobs are measured side by side."""
    chosen = args.rules.split(",") if args.rules else sorted(PURPOSES)
    if unknown := [rule for rule in chosen if rule not in PURPOSES]:
        raise UsageError(f"--rules: there is no rule {unknown[0]!r}")
    index = str(folder / "genome.gsi")
    command(["index", "-q", args.genome, "-o", index])
    sets = {name: (args.genome, options) for name, options in SETS.items()}
    if args.foreign:
        sets |= {name: (args.foreign, options) for name, options in FOREIGN.items()}
    stems = {name: name.replace(" ", "_").replace("%", "") for name in sets}
    files = {
        name: simulated(
            genome, stems[name], (*options, *SEED), args.number, 2 if name.startswith("2x") else 1, folder
        )
        for name, (genome, options) in sets.items()
    }

    def rows_of(name: str) -> list[dict[str, Any]]:
        reads, output = files[name], folder / f"{stems[name]}.sam"
        best, found = dict[str, float](), dict[str, Mapped]()
        for _ in range(args.rounds):
            for rule in ("", *chosen):
                seconds = mapped(index, reads, rule, output)
                best[rule] = min(seconds, best.get(rule, seconds))
                if rule not in found:
                    found[rule] = judged(output, seconds, name in FOREIGN)
                found[rule].seconds = best[rule]
        print(f"{name}: {best['']:.2f} CPU s, {found[''].right:.2f} % correct", file=sys.stderr)
        return [{"rule": rule, "set": name, **compared(found[""], found[rule])} for rule in chosen]

    with ThreadPoolExecutor(args.jobs) as pool:
        return [row for rows in pool.map(rows_of, sets) for row in rows]


HEADER = ["without", "reads", "CPU", "correct", "Q20", "wrong at Q20", "curve", "places", "MAPQ"]


def shown(rows: list[dict[str, Any]]) -> list[list[str]]:
    """The rows in which something changes, rule by rule, as text."""
    return [
        [
            row["rule"], row["set"], f"{row['cpu']:.2f}", f"{row['right']:+.3f}", f"{row['confident']:+.2f}",
            "{} -> {}".format(*row["wrong"]), f"{row['curve']:+.2f}", f"{row['places']:,}", f"{row['qualities']:,}",
        ]
        for row in sorted(rows, key=lambda row: row["rule"])
        if row["places"] or row["qualities"] or abs(row["cpu"] - 1) > LEAST_CHANGE
    ]  # fmt: skip


def page(result: dict[str, Any]) -> str:
    """The table for lab/ablation.md, and how it was measured."""
    how = f"{result['number']:,} reads or pairs a set, the least of {plural(result['rounds'], 'round')}"
    return f"{measured(result)}; {how}.\n\n{markdown(HEADER, shown(result['rows']))}"


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("genome", metavar="GENOME.fa")
    parser.add_argument(
        "--foreign", metavar="OTHER.fa", help="also map reads of this genome, which have no place"
    )
    parser.add_argument("-n", "--number", type=int, default=100_000, help="reads or pairs of a set [100000]")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1, help="sets that are measured side by side [1]")
    parser.add_argument("--rules", metavar="NAME,..", help="only these")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(args, Path(folder))
    print(f"{describe_machine()}\n\n{markdown(HEADER, shown(rows))}")
    write_json(args.json, {"number": args.number, "rounds": args.rounds, "rows": rows})


if __name__ == "__main__":
    run(main)
