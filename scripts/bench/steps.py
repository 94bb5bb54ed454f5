#!/usr/bin/env python3
"""What an index of every second or fourth base costs and keeps: size, memory, time per read, what is placed right.

    scripts/bench/steps.py genome.fa --reads 200K --json steps.json

For each step the genome is indexed and three sets are mapped: single reads of 100 bases with 2 % errors, of 50 bases
with 5 %, and pairs of 100 bases with 2 %. Every run is a process of its own (timed.py): CPU and wall seconds, peak
resident set, which counts the pages of the mapped index that were touched. Steps take turns, and the least CPU counts.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import make_genome
from harness import benchmark_parser, describe_machine, run, table, write_json
from peers import CONFIDENT, TOLERANCE, timed

from gassst.model.params import INDEX_STEPS
from gassst.tools.evaluate import evaluate

GASSST = [sys.executable, "-m", "gassst"]
SETS = {
    "100 bp 2 %": ["-l", "100", "-e", "0.02"],
    "50 bp 5 %": ["-l", "50", "-e", "0.05"],
    "2 x 100 bp 2 %": ["-l", "100", "-e", "0.02", "--pairs", "400,50"],
}


def simulate(fasta: str, work: Path, name: str, number: int) -> list[str]:
    """The files of a set of reads."""
    paired = "--pairs" in SETS[name]
    files = [str(work / f"{name.replace(' ', '_')}_{i}.fq") for i in range(1 + paired)]
    outputs = [word for file in files for word in ("-o", file)]
    count = ["-n", str(number // (1 + paired))]
    subprocess.run([*GASSST, "simulate", fasta, *count, *SETS[name], *outputs], check=True)
    return files


def measure(fasta: str, work: Path, number: int, threads: int, rounds: int) -> list[dict[str, Any]]:
    """One row for each step: the build, and by set the least CPU, the peak memory and the share placed right."""
    rows = []
    for step in INDEX_STEPS:
        index, log = work / f"step{step}.gsi", work / "log"
        options = ["-o", str(index), "-t", str(threads), "--step", str(step)]
        built = timed([*GASSST, "index", fasta, *options], log)
        rows.append({"step": step, "bytes": index.stat().st_size, "index": built, "sets": {}})
    for name in SETS:
        files = simulate(fasta, work, name, number)
        for _ in range(rounds):
            for row in rows:
                one = map_reads(work, row["step"], files, number, threads)
                best = row["sets"].get(name, one)
                row["sets"][name] = min(best, one, key=lambda usage: usage["cpu"])
    return rows


def map_reads(work: Path, step: int, files: list[str], number: int, threads: int) -> dict[str, Any]:
    sam, index = work / "out.sam", work / f"step{step}.gsi"
    command = [
        *GASSST,
        "map",
        "-q",
        str(index),
        *files,
        *(["--mode", "global"] if len(files) == 1 else []),
        "-t",
        str(threads),
        "--device",
        "none",
        "-o",
        str(sam),
    ]
    usage = timed(command, work / "log")
    found = evaluate(str(sam), TOLERANCE, CONFIDENT, number)["all"]
    return {**usage, "right": found["placed_right"]}


def lines(rows: list[dict[str, Any]], number: int) -> list[list[str]]:
    """The table's cells."""
    cells = []
    for row in rows:
        for name, used in row["sets"].items():
            first = rows[0]["sets"][name]["cpu"]
            cells.append(
                [
                    str(row["step"]),
                    f"{row['bytes'] / 1e9:.2f}",
                    f"{row['index']['rss'] / 1e9:.2f}",
                    name,
                    f"{used['cpu'] / number * 1e6:.1f}",
                    f"{used['cpu'] / first:.2f}",
                    f"{used['rss'] / 1e9:.2f}",
                    f"{100 * used['right']:.3f}",
                ]
            )
    return cells


HEADER = [
    "step",
    "file, GB",
    "build peak, GB",
    "reads",
    "CPU us per read",
    "to step 1",
    "map peak, GB",
    "right %",
]


def main(argv: Sequence[str] | None = None) -> None:
    p = benchmark_parser(__doc__)
    p.add_argument("fasta", metavar="GENOME.fa")
    p.add_argument("--reads", type=make_genome.bases, default=100_000, help="in a set (default: %(default)s)")
    p.add_argument("--threads", type=int, default=1, metavar="N", help="(default: %(default)s)")
    p.add_argument("--rounds", type=int, default=2, metavar="N", help="runs of each (default: %(default)s)")
    p.add_argument("--work", metavar="DIR", help="where the files go while needed (default: the system's)")
    args = p.parse_args(argv)
    print(describe_machine(), end="\n\n")
    with tempfile.TemporaryDirectory(prefix="gassst-steps-", dir=args.work) as work:
        rows = measure(args.fasta, Path(work), args.reads, args.threads, args.rounds)
    write_json(args.json, {"reads": args.reads, "threads": args.threads, "steps": rows})
    print(table(HEADER, lines(rows, args.reads)))


if __name__ == "__main__":
    run(main)
