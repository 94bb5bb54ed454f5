#!/usr/bin/env python3
"""Fits the quality profile that `gassst simulate --profile` uses to real reads; writes counts only, no read.

    scripts/fit/illumina_profile.py --source "E. coli, HiSeq 2x150, BSD-3-Clause" --alignments END_TO_END.bam
        -o gassst/tools/data/illumina.json R1.fastq.gz R2.fastq.gz

The model is a first-order Markov chain: qualities of the first base, and for every bin of cycles how often
quality j follows quality i. The first bins are one cycle wide, because the machine's own calibration
changes from cycle to cycle there. How often a base of quality q is wrong is counted in alignments of the
same reads to their genome, without clipping (`bwa mem -L 1000`), because Phred values promise something
else: quality 2, "do not use", is wrong in 6 to 10 % of bases, not 63 %. JSON: `source`, `reads`, `cycles`,
`bins` (first cycle of each), `first` {q: count}, `transitions`, one {q: {next: count}} a bin, and `errors`
{q: [bases, wrong bases]}.
"""

import argparse
import json

import numpy as np
import pysam
from xopen import xopen

SINGLE_CYCLES = 16
BIN = 10
LEVELS = 64


def quality_matrix(paths: list[str]) -> np.ndarray:
    """Phred qualities uint8[reads, cycles] of all files; 255 past the end of a shorter read."""
    lines = []
    for path in paths:
        with xopen(path, "rb") as file:
            lines += file.read().split(b"\n")[3::4]
    cycles = max(map(len, lines))
    matrix = np.frombuffer(b"".join(line.ljust(cycles, b" ") for line in lines), dtype=np.uint8)
    return matrix.reshape(len(lines), cycles) - 33


def counts(pairs: np.ndarray) -> dict:
    """{quality: {next: count}} of a LEVELS x LEVELS table, zeros left out."""
    rows = {q: row for q, row in enumerate(pairs) if row.any()}
    return {q: {int(after): int(row[after]) for after in np.flatnonzero(row)} for q, row in rows.items()}


def fit(matrix: np.ndarray) -> dict:
    """The model of `matrix`, without its `source`."""
    first = np.bincount(matrix[:, 0], minlength=LEVELS)
    cycles = matrix.shape[1]
    bins = [*range(1, min(SINGLE_CYCLES, cycles)), *range(SINGLE_CYCLES, cycles, BIN)]
    transitions = []
    for start, end in zip(bins, [*bins[1:], cycles], strict=True):
        into = np.arange(start, end)
        before, after = matrix[:, into - 1].ravel().astype(int), matrix[:, into].ravel().astype(int)
        both = after < LEVELS
        pairs = np.bincount(before[both] * LEVELS + after[both], minlength=LEVELS * LEVELS)
        transitions.append(counts(pairs.reshape(LEVELS, LEVELS)))
    return {
        "reads": len(matrix),
        "cycles": cycles,
        "bins": bins,
        "first": {int(q): int(first[q]) for q in np.flatnonzero(first)},
        "transitions": transitions,
    }


def errors_by_quality(path: str) -> dict:
    """{quality: [aligned bases, mismatches]} of the sure alignments of `path`, which need MD tags."""
    counted = np.zeros((LEVELS, 2), dtype=int)
    with pysam.AlignmentFile(path) as file:
        for record in file:
            if record.flag & 0x904 or record.mapping_quality < 30:
                continue
            qualities = record.query_qualities or ()
            for at, _, base in record.get_aligned_pairs(matches_only=True, with_seq=True):
                counted[qualities[at]] += 1, base.islower()
    return {q: [int(n), int(wrong)] for q, (n, wrong) in enumerate(counted) if n}


def main() -> None:
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--source", required=True, help="where the reads come from, and their licence")
    parser.add_argument("--alignments", required=True, help="SAM or BAM of the reads, end to end, with MD")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("reads", nargs="+", metavar="FASTQ")
    args = parser.parse_args()
    model = {"source": args.source, **fit(quality_matrix(args.reads))}
    model["errors"] = errors_by_quality(args.alignments)
    with open(args.output, "w") as file:
        json.dump(model, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
