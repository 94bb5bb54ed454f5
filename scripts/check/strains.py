#!/usr/bin/env python3
"""Wrong alignments beside what MAPQ promises, for reads of a strain that is near one of several close references.

    scripts/check/strains.py ecoli.fa --json strains.json

The references are the genome and copies of it that differ from it by 1, 4 and 9 % of the bases. The strains lie some
way from the copies of 1 and of 4 %. Their reads have the Illumina profile, and are single or pairs. Rows are those of
`calibration.py`. Use a genome of some megabases: where many reads cover one base that brings a strain nearer to another
reference, all of them are wrong together, and a bin says little.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import calibration
import numpy as np
import pysam

sys.path.append(str(Path(__file__).resolve().parents[1] / "bench"))
from harness import run, write_json  # noqa: E402

BASES = np.frombuffer(b"ACGT", np.uint8)
COPIES = (0.01, 0.04, 0.09)
NEAR = (1, 2)
"""The references, the genome being number 0, that have a strain."""
AWAY = (0.005, 0.01, 0.02, 0.03)
LENGTHS = (72, 100)


def changed(rng: np.random.Generator, bases: np.ndarray, rate: float) -> np.ndarray:
    """Bases of which so many are replaced by others."""
    others = BASES[(np.searchsorted(BASES, bases) + rng.integers(1, 4, len(bases))) % 4]
    return np.where(rng.random(len(bases)) < rate, others, bases)


def write_fasta(path: Path, contigs: dict[str, np.ndarray]) -> None:
    path.write_text("".join(f">{name}\n{bases.tobytes().decode()}\n" for name, bases in contigs.items()))


def measure(args: argparse.Namespace, work: Path) -> dict[str, Any]:
    """Counts of right and wrong by "RATE LENGTH KIND"."""
    rng = np.random.default_rng(args.seed)
    with pysam.FastxFile(args.genome) as file:
        genome = np.frombuffer("".join(str(record.sequence) for record in file).upper().encode(), np.uint8)
    genome = genome[np.isin(genome, BASES)]
    contigs = {f"r{i}": changed(rng, genome, rate) for i, rate in enumerate((0, *COPIES))}
    references, strain, index, sam = (work / name for name in ("refs.fa", "strain.fa", "refs.gsi", "out.sam"))
    write_fasta(references, contigs)
    gassst = sys.executable, "-m", "gassst"
    calibration.run_quietly(*gassst, "index", "-q", references, "-o", index)
    cells: dict[str, Any] = {}
    for away in AWAY:
        write_fasta(strain, {f"r{i}": changed(rng, contigs[f"r{i}"], away) for i in NEAR})
        for length in LENGTHS:
            for kind in calibration.KINDS:
                files = [work / f"{mate}.fq" for mate in range(1 + (kind == "pairs"))]
                given = ["-n", args.number // len(files), "-l", length, "--profile", "illumina"]
                given += ["--seed", args.seed + length]
                given += ["--pairs", "{},{}".format(*calibration.INSERT)] if kind == "pairs" else []
                outputs = [word for file in files for word in ("-o", file)]
                calibration.run_quietly(*gassst, "simulate", strain, *given, *outputs)
                calibration.run_quietly(*gassst, "map", "-q", "-t", "1", index, *files, "-o", sam)
                cells[f"{100 * away:g} % {length} {kind}"] = calibration.counts_of(sam)
    return cells


def main(argv: Sequence[str] | None = None) -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("genome", metavar="FASTA")
    p.add_argument("-n", "--number", type=int, default=60_000, help="reads of a set [60000]")
    p.add_argument("--seed", type=int, default=7)
    p.add_argument("--json", metavar="FILE", help="keep the counts")
    args = p.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="strains-") as work:
        cells = measure(args, Path(work))
    write_json(args.json, {"cells": cells})
    print(calibration.show(cells))


if __name__ == "__main__":
    run(main)
