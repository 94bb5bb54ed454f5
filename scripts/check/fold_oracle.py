"""Energies and structures of windows of genomes, by gassst.fold and by ViennaRNA (PyPI).

    python scripts/check/fold_oracle.py ecoli.fa.gz yeast.fa.gz chr20.fa.gz --windows 100000 --processes 16

Windows of 18 to 300 bases are drawn from all genomes and folded with each of ViennaRNA's parameter files in turn. Exits
with 1 where energies differ, or where ViennaRNA gives one of our structures another energy.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import RNA

from gassst.align.alphabets import DNA
from gassst.align.sequences import each_text
from gassst.fold import fold

FILES = "Turner2004", "Turner1999", "Andronescu2007"
TASK = 200  # windows


def drawn(text: str, count: int, rng: random.Random) -> list[str]:
    """Windows without other letters than A, C, G and T."""
    found: list[str] = []
    while len(found) < count:
        length = rng.randint(18, 300)
        at = rng.randrange(len(text) - length)
        window = text[at : at + length]
        if not set(window) - set("ACGT"):
            found.append(window.replace("T", "U"))
    return found


def compared(task: tuple[str, list[str]]) -> Counter[str]:
    """How many windows there are, and how many differ."""
    name, windows = task
    found = Counter[str](windows=len(windows), energies=0, structures=0)
    getattr(RNA, f"params_load_RNA_{name}")()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "x.par")
        RNA.params_save(path)
        for window, own in zip(windows, fold(windows, path, threads=1), strict=True):
            theirs = RNA.fold_compound(window)
            found["energies"] += round(100 * own.energy) != round(100 * theirs.mfe()[1])
            found["structures"] += round(100 * own.energy) != round(
                100 * theirs.eval_structure(own.structure)
            )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("genomes", nargs="+")
    parser.add_argument(
        "--windows", type=int, default=1000, help="of all genomes and parameter files [1,000]"
    )
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1, help="of the windows that are drawn [1]")
    args = parser.parse_args()
    rng, tasks = random.Random(args.seed), []
    for genome in args.genomes:
        text = "".join(sequence.decode().upper() for _, sequence in each_text(genome, DNA, genome))
        several = drawn(text, -(-args.windows // len(args.genomes)), rng)
        parts = [several[at : at + TASK] for at in range(0, len(several), TASK)]
        tasks += [(FILES[k % len(FILES)], part) for k, part in enumerate(parts)]
    with multiprocessing.Pool(args.processes) as pool:
        total = sum(pool.imap_unordered(compared, tasks), Counter[str]())
    energies, structures = total["energies"], total["structures"]
    print(
        f"{total['windows']:,} windows: {energies:,} energies differ, {structures:,} structures have another one"
    )
    return int(energies + structures > 0)


if __name__ == "__main__":
    sys.exit(main())
