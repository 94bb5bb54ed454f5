"""Whether reads over one gap score as much as parasail (PyPI) finds where they come from.

    python scripts/check/gap_oracle.py ecoli.fa.gz chr20.fa.gz --reads 10000

Reads of 100, 150 and 250 bases lie over a deletion or insertion of 1 to 100 bases, at least 20 bases from both ends.
They are mapped as single reads, and as mates of reads without a gap. The score of a record counts the bonus of each end
that is not clipped. Says which records score less than the read does at its origin. Exits with 1 where one of these is
a whole read there with a gap of at most 60 bases.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import parasail

import gassst
from gassst.align.alphabets import DNA
from gassst.align.sequences import each_text
from gassst.model.reference import Reference

BASES = np.frombuffer(b"ACGT", np.uint8)
SCORES = parasail.matrix_create("ACGT", 1, -4)
CLIP, GAP = 5, (7, 1)
"""The bonus of an end; what the first base of a gap costs, and any other one."""
LENGTHS, LONGEST, PROMISED = (100, 150, 250), 100, 60
TEMPLATE, MARGIN = (400.0, 45.0), 150
LEAST = 40
"""Score with both bonuses of a read that is reported for certain: above `-T`."""


class Read(NamedTuple):
    """Bases of a read and its mate, and of the reference around it, all of one strand but those of the mate."""

    bases: str
    mate: str
    origin: str
    gap: int
    """Bases; below 0 of a deletion."""


def complement(bases: np.ndarray) -> np.ndarray:
    return BASES[3 - np.searchsorted(BASES, bases)][::-1]


def text(bases: np.ndarray) -> str:
    return bases.tobytes().decode()


def reads_over_gaps(genome: np.ndarray, count: int, rng: np.random.Generator) -> Iterator[Read]:
    """With 0 to 2 % of other bases. `genome`: uint8[n], ASCII."""
    while count:
        length, gap = int(rng.choice(LENGTHS)), int(rng.integers(1, LONGEST + 1))
        bases, at = max(length, int(rng.normal(*TEMPLATE))), int(rng.integers(20, length - 19))
        start = int(rng.integers(len(genome) - bases - gap - 2 * MARGIN))
        around = genome[start : start + bases + gap + 2 * MARGIN]
        if not np.isin(around, BASES).all():
            continue
        made = around[MARGIN : MARGIN + bases + gap]
        if rng.random() < 0.5:
            made, gap = np.delete(made, np.s_[at : at + gap]), -gap
        else:
            made = np.insert(made, at, rng.choice(BASES, gap))[:bases]
        made = np.where(rng.random(bases) < rng.integers(3) / 100, rng.choice(BASES, bases), made)
        origin = around[: 2 * MARGIN + length + LONGEST]
        yield Read(text(made[:length]), text(complement(made)[:length]), text(origin), gap)
        count -= 1


def scores(read: Read) -> tuple[int, int]:
    """The best one at the origin with both ends of the read, and of any part of it, without a bonus."""
    args = read.bases, read.origin, *GAP, SCORES
    return parasail.sg_dx_striped_16(*args).score + 2 * CLIP, parasail.sw_striped_16(*args).score


def record_score(record: Any) -> int:
    ends = record.cigartuples[0][0], record.cigartuples[-1][0]
    return record.get_tag("AS") + CLIP * sum(operation != 4 for operation in ends)


def too_low(index: gassst.Index, reads: list[Read], threads: int, paired: bool) -> Iterator[tuple[Read, str]]:
    """The reads with a record that scores less, and what is to be said of each."""
    sides = ([read.bases for read in reads], [read.mate for read in reads])
    files = [[(str(n), bases, None) for n, bases in enumerate(side)] for side in sides[: 1 + paired]]
    insert = {"insert": TEMPLATE} if paired else {}
    mapper = gassst.Mapper(index, device="none", threads=threads, **insert)
    for record in mapper.map(*files):
        read = reads[int(record.query_name)]
        if record.flag & 0x980:  # another part or place, or the mate
            continue
        whole, clipped = scores(read)
        found = 0 if record.is_unmapped else record_score(record)
        if found < max(whole, clipped) >= LEAST:
            kind = "whole" if whole >= clipped else "clipped"
            yield (
                read,
                f"{kind}, gap {read.gap}, {len(read.bases)} bases: {record.cigarstring} MAPQ {record.mapq}"
                f" scores {found}, its origin {max(whole, clipped)}",
            )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("genomes", nargs="+")
    parser.add_argument("--reads", type=int, default=1000, help="of each genome [1,000]")
    parser.add_argument("--bases", type=int, default=10_000_000, help="of each genome [10,000,000]")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1, help="of the reads that are drawn [1]")
    args = parser.parse_args()
    broken = 0
    for genome in args.genomes:
        letters = b"".join(sequence.upper() for _, sequence in each_text(genome, DNA, genome))
        bases = np.frombuffer(letters.lstrip(b"N")[: args.bases], np.uint8)
        index = gassst.Index.build(Reference.from_sequences([("genome", bases.tobytes())]))
        reads = list(reads_over_gaps(bases, args.reads, np.random.default_rng(args.seed)))
        for paired in (False, True):
            low = list(too_low(index, reads, args.threads, paired))
            for _, line in low:
                print(f"  {line}")
            within = sum(abs(read.gap) <= PROMISED and line.startswith("whole") for read, line in low)
            kind = "mates" if paired else "single reads"
            print(
                f"{genome}: {len(low):,} of {len(reads):,} {kind}, {within:,} whole with a gap of at most 60"
            )
            broken += within
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
