"""Energies and structures of `gassst.fold` beside ViennaRNA, on windows of genomes and three parameter files.

    python scripts/check/fold_oracle.py human.fa yeast.fa coli.fa --windows 100000 -t 16

Ends with 1 where an energy differs, or ViennaRNA gives a structure another energy; without ViennaRNA it does nothing.
100,000 windows of 18 to 300 bases take about an hour of CPU time, nearly all of it ViennaRNA's.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from gassst.align.alphabets import DNA
from gassst.align.sequences import each_text
from gassst.fold import fold

PARAMETERS = "Turner2004", "Turner1999", "Andronescu2007"
SHORTEST, LONGEST = 18, 300


def windows_of(genome: str, count: int, rng: random.Random) -> list[str]:
    """Random windows of all A, C, G and T."""
    contigs = [text.decode().upper() for _, text in each_text(genome, DNA, genome) if len(text) >= LONGEST]
    found: list[str] = []
    while len(found) < count:
        (contig,) = rng.choices(contigs, list(map(len, contigs)))
        begin = rng.randrange(len(contig) - LONGEST + 1)
        window = contig[begin : begin + rng.randint(SHORTEST, LONGEST)]
        if not set(window) - set("ACGT"):
            found.append(window.replace("T", "U"))
    return found


def wrong_among(name: str, several: list[str]) -> int:
    """How many windows have another energy by ViennaRNA, or a structure of another."""
    import RNA

    getattr(RNA, f"params_load_RNA_{name}")()
    with tempfile.NamedTemporaryFile(suffix=".par") as file:
        RNA.params_save(file.name)
        folds = fold(several, file.name, threads=1)
    wrong = 0
    for window, one in zip(several, folds, strict=True):
        compound, energy = RNA.fold_compound(window), round(100 * one.energy)
        theirs = compound.mfe()[1], compound.eval_structure(one.structure)
        wrong += any(round(100 * found) != energy for found in theirs)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("genomes", nargs="+", type=Path, metavar="GENOME.fa")
    parser.add_argument("--windows", type=int, default=1500, help="of all genomes and parameters [1,500]")
    parser.add_argument("-t", "--threads", type=int, default=1, help="processes [1]")
    args = parser.parse_args()
    try:
        import RNA  # noqa: F401
    except ImportError:
        print("ViennaRNA is not installed: nothing is compared")
        return 0
    rng, each, wrong = random.Random(1), -(-args.windows // (len(args.genomes) * len(PARAMETERS))), 0
    with ProcessPoolExecutor(args.threads) as pool:
        for genome in args.genomes:
            for name in PARAMETERS:
                several = windows_of(str(genome), each, rng)
                parts = [several[k :: args.threads] for k in range(args.threads)]
                found = sum(pool.map(partial(wrong_among, name), parts))
                print(f"{genome.name}, {name}: {found} of {each:,} windows differ", flush=True)
                wrong += found
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
