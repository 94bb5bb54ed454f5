"""Libraries with adapters: gassst and the mappers on PATH, judged by the true places of simulated reads.

    python scripts/bench/adapters.py human13.fa human13.gsi --bwa-mem2 IDX --minibwa IDX -n 20000 --keep out

Three libraries of 2x150 bases: inserts of 40 to 145 bases that run into an adapter; the same with bad tails and
poly-G; and a clean one. For each mapper: reads wrong at MAPQ >= 20, Q20 sensitivity, reads right at any MAPQ, the
share of reads with MAPQ 60, and CPU seconds. A peer takes part where its index is given.

With `--sets 5` five libraries of each kind are made, of one seed after another. Wrong is then their sum, the shares
are means with their standard errors, and CPU is the median.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from turns import timed

from gassst.tools import evaluate

GASSST = (sys.executable, "-m", "gassst")
CONFIDENT = 20
LIBRARIES = {
    "adapters": ("--inserts", "40,145", "--adapter", "nextera"),
    "bad ends": ("--inserts", "40,400", "--adapter", "truseq", "--bad-tails", "0.1", "--poly-g", "0.05"),
    "clean": ("--pairs", "350,50"),
}


def simulate(args: argparse.Namespace, name: str, seed: int, folder: Path) -> list[Path]:
    """The FASTQ files of a library, made where they are not there yet."""
    stem = f"{name.replace(' ', '_')}_{seed}"
    paths = [folder / f"{stem}_{mate}.fq" for mate in (1, 2)]
    if not all(path.exists() for path in paths):
        size = "-n", str(args.number), "-l", "150", "-e", "0.005", "--seed", str(seed)
        outputs = [word for path in paths for word in ("-o", str(path))]
        subprocess.run([*GASSST, "simulate", args.reference, *size, *LIBRARIES[name], *outputs], check=True)
    return paths


def commands(args: argparse.Namespace, reads: list[Path]) -> dict[str, list[str]]:
    """The command of every mapper that takes part, for pairs and for the first mates alone."""
    pairs, single = [str(path) for path in reads], [str(reads[0])]
    own = [*GASSST, "map", "-t", "1", "--device", "none", "-q", args.index]
    found = {"gassst pairs": [*own, *pairs], "gassst single": [*own, "--mode", "local", *single]}
    for tool, index in (("bwa-mem2", args.bwa_mem2), ("minibwa", args.minibwa)):
        if index:
            command = [tool, "mem" if tool == "bwa-mem2" else "map", "-t", "1", index]
            found |= {f"{tool} pairs": [*command, *pairs], f"{tool} single": [*command, *single]}
    return {name: command for name, command in found.items() if args.single or "pairs" in name}


def row(sam: Path) -> tuple[int, list[float]]:
    """Wrong at MAPQ 20 or more; shares in % of all reads: right at MAPQ 20, right, and with MAPQ 60."""
    tally = evaluate.tally(str(sam))
    mapped, total = tally.mapped.sum(axis=0), float(tally.records.sum())
    counts = mapped[CONFIDENT:, 1].sum(), mapped[:, 1].sum(), mapped[60:].sum()
    return int(mapped[CONFIDENT:, 0].sum()), [100 * float(count) / total for count in counts]


def share(values: tuple[float, ...]) -> str:
    """The mean of one share over the sets, and its standard error if there are several."""
    if len(values) == 1:
        return f"{values[0]:18.3f}"
    error = statistics.stdev(values) / len(values) ** 0.5
    return f"{statistics.mean(values):9.3f} +- {error:.3f}"


def compare(args: argparse.Namespace, name: str, folder: Path) -> None:
    """Map all sets of a library with every mapper, and print a line for each."""
    found: dict[str, list[tuple[int, list[float], float]]] = {}
    for seed in range(args.seed, args.seed + args.sets):
        for tool, command in commands(args, simulate(args, name, seed, folder)).items():
            sam = folder / f"{name}_{tool}.sam".replace(" ", "_")
            seconds = timed(command, sam)["cpu"]
            found.setdefault(tool, []).append((*row(sam), seconds))
    for tool, sets in found.items():
        wrong, shares, seconds = zip(*sets, strict=True)
        figures = "".join(map(share, zip(*shares, strict=True)))
        print(f"{name:11} {tool:18} {sum(wrong):9d}{figures} {statistics.median(seconds):7.2f}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("reference", help="FASTA")
    parser.add_argument("index", help="the gassst index of it")
    parser.add_argument("--bwa-mem2", metavar="IDX", help="prefix of its index")
    parser.add_argument("--minibwa", metavar="IDX", help="prefix of its index")
    parser.add_argument("-n", "--number", type=int, default=20_000, help="pairs of a library [20000]")
    parser.add_argument("--library", choices=LIBRARIES, action="append", help="[all]")
    parser.add_argument("--single", action="store_true", help="map the first mates as single reads, too")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--sets", type=int, default=1, metavar="N", help="libraries of each kind [1]")
    parser.add_argument("--keep", type=Path, help="folder of reads and mappings")
    args = parser.parse_args()
    os.environ.setdefault("GASSST_OPENCL", "0")
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        headings = "".join(f"{heading:>18}" for heading in ("right Q20 %", "right %", "MAPQ 60 %"))
        print(f"{'library':11} {'mapper':18} {'wrong Q20':>9}{headings} {'CPU s':>7}")
        for name in args.library or LIBRARIES:
            compare(args, name, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
