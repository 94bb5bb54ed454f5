"""Reads placed right, Q20 sensitivity and accuracy, and bins of MAPQ, with standard errors over several sets.

    python scripts/bench/mapq_tables.py human13.fa human13.gsi --bwa-mem2 IDX --minibwa IDX --json out.json
    python scripts/bench/mapq_tables.py human13.fa human13.gsi --libraries adapters --lengths 150 --errors 0.005
    python scripts/bench/mapq_tables.py --show out.json [more.json ..]

Simulates sets of pairs, or of single reads with --single, for every length and rate of errors, each with a seed of its
own. All mappers map the same sets, and are judged by the true places. The standard error is that of the mean over the
sets. `ahead` is the mean difference to gassst; its standard error is smaller, as both mapped the same reads. A cell
that the JSON file holds already is not computed again, so a run that was stopped goes on. Peers are on PATH.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from harness import run, write_json

from gassst.errors import UsageError
from gassst.tools import evaluate

GASSST = (sys.executable, "-m", "gassst")
CONFIDENT, MOST = 20, 60
# Bins of MAPQ of which wrong and promised alignments are counted.
BINS = ((1, 4), (5, 9), (10, 14), (15, 19), (20, 24), (25, 29), (30, 34), (35, 39), (40, 59), (60, 60))
LIBRARIES = {
    "clean": (),
    "adapters": ("--inserts", "40,145", "--adapter", "nextera"),
    "bad ends": ("--inserts", "40,400", "--adapter", "truseq", "--bad-tails", "0.1", "--poly-g", "0.05"),
}
"""Options of `gassst simulate`: inserts that run into an adapter, and bad tails and poly-G besides."""
FIGURES = {
    "right": "right %",
    "sensitivity": "right at Q20 %",
    "accuracy": "accuracy at Q20 %",
    "q60": "MAPQ 60 %",
}


def simulate(
    args: argparse.Namespace, library: str, length: int, error: float, seed: int, folder: Path
) -> list[str]:
    """The FASTQ files of one set."""
    files = [str(folder / f"reads_{mate}.fq") for mate in ((1,) if args.single else (1, 2))]
    size = ["-n", str(args.number), "-l", str(length), "-e", str(error)]
    size += LIBRARIES[library] or ([] if args.single else ["--pairs", args.pairs])
    outputs = [word for file in files for word in ("-o", file)]
    subprocess.run([*GASSST, "simulate", args.reference, *size, "--seed", str(seed), *outputs], check=True)
    return files


def commands(args: argparse.Namespace) -> dict[str, list[str]]:
    """The command of every mapper that takes part, without the reads."""
    threads = str(args.threads)
    mode = [] if args.mode is None else ["--mode", args.mode]
    found = {"gassst": [*GASSST, "map", "-q", "-t", threads, "--device", "none", *mode, args.index]}
    if args.bwa_mem2:
        found["bwa-mem2"] = ["bwa-mem2", "mem", "-t", threads, args.bwa_mem2]
    if args.bwa:
        found["bwa"] = ["bwa", "mem", "-t", threads, args.bwa]
    if args.minibwa:
        found["minibwa"] = ["minibwa", "map", "-t", threads, args.minibwa]
    return found


def map_to(sam: Path, command: Sequence[str], reads: Sequence[str]) -> None:
    """Writes the records of a mapper."""
    with sam.open("wb") as out:
        subprocess.run([*command, *reads], stdout=out, stderr=subprocess.DEVNULL, check=True)


def counts_of(command: Sequence[str], reads: Sequence[str], sam: Path) -> dict[str, Any]:
    """What a mapper makes of a set: reads, and of every MAPQ the wrong and the right ones."""
    map_to(sam, command, reads)
    tally = evaluate.tally(str(sam))
    sam.unlink()
    mapped = tally.mapped.sum(axis=0)[: MOST + 1]
    return {"reads": int(tally.records.sum()), "wrong": mapped[:, 0].tolist(), "right": mapped[:, 1].tolist()}


def figures(counts: dict[str, Any]) -> dict[str, float]:
    """FIGURES of one set, in %."""
    wrong, right = np.array(counts["wrong"]), np.array(counts["right"])
    sure = right[CONFIDENT:].sum()
    return {
        "right": 100 * float(right.sum() / counts["reads"]),
        "sensitivity": 100 * float(sure / counts["reads"]),
        "accuracy": 100 * float(sure / max(1, sure + wrong[CONFIDENT:].sum())),
        "q60": 100 * float((right[MOST] + wrong[MOST]) / counts["reads"]),
    }


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error; 0 for a single value."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return float(np.mean(values)), float(error)


def calibration(sets: Sequence[dict[str, Any]]) -> list[tuple[int, float, int]]:
    """Of each of the BINS: wrong alignments, those that MAPQ promises, and all."""
    wrong = np.sum([one["wrong"] for one in sets], axis=0)
    every = wrong + np.sum([one["right"] for one in sets], axis=0)
    promised = every * 10 ** (-np.arange(MOST + 1) / 10)
    return [
        (
            int(wrong[low : high + 1].sum()),
            float(promised[low : high + 1].sum()),
            int(every[low : high + 1].sum()),
        )
        for low, high in BINS
    ]


def verdict(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """How far a peer is ahead of gassst, and "worse" where that is more than two standard errors."""
    ahead, error = mean_and_error(np.subtract(theirs, ours).tolist())
    return f"{ahead:+.3f} ± {error:.3f}" + (" **worse**" if ahead > 2 * error else "")


def table(cells: dict[str, Any]) -> str:
    """Markdown: a row for each cell and mapper; then the bins of gassst, summed up over the sets of a cell."""
    names = list(FIGURES)
    lines = [
        "| reads | mapper | "
        + " | ".join(FIGURES.values())
        + " | wrong at Q20 | ahead: right | at Q20 | accuracy |"
    ]
    lines.append("|---|---|" + "--:|" * (len(names) + 4))
    for name, cell in cells.items():
        by_tool = {tool: [figures(one) for one in sets] for tool, sets in cell["tools"].items()}
        for tool, rows in by_tool.items():
            columns = {figure: [row[figure] for row in rows] for figure in names}
            shown = ["{:.3f} ± {:.3f}".format(*mean_and_error(columns[figure])) for figure in names]
            shown.append(str(sum(sum(one["wrong"][CONFIDENT:]) for one in cell["tools"][tool])))
            own = by_tool["gassst"]
            shown += [
                "" if tool == "gassst" else verdict([row[figure] for row in own], columns[figure])
                for figure in names[:3]
            ]
            lines.append(f"| {name} | {tool} | " + " | ".join(shown) + " |")
    lines += ["", "| reads, gassst | " + " | ".join(f"{a}-{b}" if a < b else f"{a}" for a, b in BINS) + " |"]
    lines.append("|---|" + "--:|" * len(BINS))
    for name, cell in cells.items():
        bins = [
            f"{wrong}/{promised:.1f}" if every else ""
            for wrong, promised, every in calibration(cell["tools"]["gassst"])
        ]
        lines.append(f"| {name} | " + " | ".join(bins) + " |")
    return "\n".join(lines)


def at_q20(cells: dict[str, Any]) -> str:
    """Markdown: a row for each cell and peer, with what both place confidently, rightly and wrongly."""
    lines = ["| reads | mapper | at Q20 %, gassst | ahead | wrong at Q20, gassst | wrong at Q20 |"]
    lines.append("|---|---|--:|--:|--:|--:|")
    for name, cell in cells.items():
        shares = {tool: [figures(one)["sensitivity"] for one in sets] for tool, sets in cell["tools"].items()}
        wrong = {
            tool: sum(sum(one["wrong"][CONFIDENT:]) for one in sets) for tool, sets in cell["tools"].items()
        }
        own = shares.pop("gassst")
        for tool, theirs in shares.items():
            row = (f"{mean_and_error(own)[0]:.2f}", verdict(own, theirs), wrong["gassst"], wrong[tool])
            lines.append(f"| {name} | {tool} | " + " | ".join(map(str, row)) + " |")
    return "\n".join(lines)


def cell_name(args: argparse.Namespace, library: str, length: int, error: float) -> str:
    kind = "" if library == "clean" else f", {library}"
    return f"{Path(args.reference).stem} {'' if args.single else '2x'}{length} {100 * error:g} %{kind}"


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("reference", nargs="?", help="FASTA")
    p.add_argument("index", nargs="?", help="the gassst index of it")
    p.add_argument("--bwa-mem2", metavar="IDX", help="prefix of its index")
    p.add_argument("--bwa", metavar="IDX", help="prefix of its index; bwa mem has the records of bwa-mem2")
    p.add_argument("--minibwa", metavar="IDX", help="prefix of its index")
    p.add_argument("-n", "--number", type=int, default=20_000, help="pairs or single reads of a set [20000]")
    p.add_argument("--single", action="store_true", help="single reads")
    p.add_argument("--sets", type=int, default=10, help="of each length and rate of errors [10]")
    p.add_argument("--seed", type=int, default=7001, help="of the first set; the next ones follow [7001]")
    p.add_argument("--lengths", type=int, nargs="+", default=[50, 100, 150])
    p.add_argument("--errors", type=float, nargs="+", default=[0.005, 0.01, 0.02, 0.05])
    p.add_argument("--libraries", nargs="+", choices=LIBRARIES, default=["clean"])
    p.add_argument("--pairs", default="300,30", metavar="MEAN,SD", help="insert size [300,30]")
    p.add_argument(
        "--again", action="store_true", help="gassst alone maps the sets of the cells in the JSON file again"
    )
    p.add_argument("-t", "--threads", type=int, default=1)
    p.add_argument("--mode", choices=("global", "local"), help="of gassst (default: that of gassst map)")
    p.add_argument("--json", metavar="FILE", help="counts of every set, kept up to date")
    p.add_argument(
        "--show", nargs="+", type=Path, metavar="FILE", help="print the table of such files, and do no more"
    )
    return p


def saved(file: Path) -> dict[str, Any]:
    """The cells of a JSON file."""
    return json.loads(file.read_text())["cells"]


def measure(args: argparse.Namespace, cells: dict[str, Any]) -> None:
    """Fill `cells`, changed in place, and save them after each."""
    for library, length, error in itertools.product(args.libraries, args.lengths, args.errors):
        name = cell_name(args, library, length, error)
        tools, known = commands(args), cells.get(name)
        if known and not args.again:
            continue
        if known:
            args.number, args.seed, args.pairs = known["pairs"], known["first_seed"], known["insert"]
            args.sets, tools = len(known["tools"]["gassst"]), {"gassst": tools["gassst"]}
        found: dict[str, list[dict[str, Any]]] = {tool: [] for tool in tools}
        for seed in range(args.seed, args.seed + args.sets):
            with tempfile.TemporaryDirectory() as scratch:
                folder = Path(scratch)
                reads = simulate(args, library, length, error, seed, folder)
                for tool, command in tools.items():
                    found[tool].append(counts_of(command, reads, folder / "out.sam"))
        cells[name] = {
            "pairs": args.number,
            "first_seed": args.seed,
            "insert": args.pairs,
            "tools": (known or {"tools": {}})["tools"] | found,
        }
        print(table({name: cells[name]}), flush=True)
        write_json(args.json, {"cells": cells})


def main(argv: Sequence[str] | None = None) -> None:
    args = parser().parse_args(argv)
    if args.show:
        print(table({name: cell for file in args.show for name, cell in saved(file).items()}))
        return
    if not args.index:
        raise UsageError("give a FASTA file and its index, or --show FILE")
    os.environ.setdefault("GASSST_OPENCL", "0")
    cells = saved(Path(args.json)) if args.json and Path(args.json).exists() else {}
    measure(args, cells)
    print(table(cells))


if __name__ == "__main__":
    run(main)
