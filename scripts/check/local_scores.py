"""Every reported local alignment against an independent Gotoh (parasail): no better score near it, AS not below XS.

    python scripts/check/local_scores.py human13.fa human13.gsi -n 100000

Single reads of 150 bases from fragments of 40 to 400 bases: with adapters, poly-G, bad tails, 2 % errors. Around each
primary alignment 150 bases more on both sides are compared. The score with the bonus for each end that is reached must
be at least the best local score. AS must not be below XS. Nothing below -T is mapped, but reads that fit as a whole
and have no alignment that scores so much without the bonus for an end. That is so of a fragment, too, from the first
base of its read to where the adapter begins: its name tells how long it is.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import parasail
import pysam

from gassst.model.params import Scoring

GASSST = (sys.executable, "-m", "gassst")
SCORING = Scoring()
MARGIN = 150  # bases of the reference on both sides
SHIFT = 8  # bases by which insertions and deletions may move the end of a fragment
EXAMPLES = 5  # names of reads that are printed


def best_score(read: str, window: str) -> int:
    """The best local score of a read in a window, in our convention: the first base of a gap costs open + extend."""
    gap = SCORING.gap_open[0] + SCORING.gap_extend[0]
    matrix = parasail.matrix_create("ACGT", SCORING.match, -SCORING.mismatch)
    return parasail.sw_striped_16(read, window, gap, SCORING.gap_extend[0], matrix).score


def is_fragment(record: pysam.AlignedSegment) -> bool:
    """Whether all of the fragment is aligned, and nothing behind it."""
    _, _, start, end, *_ = record.query_name.split(",")
    first, last = (record.cigartuples[i] for i in ((-1, 0) if record.is_reverse else (0, -1)))
    bases = record.query_length - (last[1] if last[0] == pysam.CSOFT_CLIP else 0)
    return first[0] != pysam.CSOFT_CLIP and abs(bases - (int(end) - int(start) + 1)) <= SHIFT


def faults(record: pysam.AlignedSegment, reference: pysam.FastaFile) -> list[str]:
    """What is wrong with an alignment."""
    contig, score = record.reference_name, record.get_tag("AS")
    first = max(record.reference_start - MARGIN, 0)
    window = reference.fetch(contig, first, record.reference_end + MARGIN).upper()
    ends = (record.cigartuples[0][0], record.cigartuples[-1][0])
    total = score + SCORING.clip * sum(operation != pysam.CSOFT_CLIP for operation in ends)
    best = best_score(record.query_sequence, window)
    fits = pysam.CSOFT_CLIP not in ends or is_fragment(record)
    is_whole = fits and best < SCORING.least_score + SCORING.clip
    found = ["a better score beside it"] if total < best and not is_whole else []
    if record.has_tag("XS") and record.get_tag("XS") > score:
        found.append("XS above AS")
    if score < SCORING.least_score and not is_whole:
        found.append("below -T")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("reference", help="FASTA, plain")
    parser.add_argument("index", help="the gassst index of it")
    parser.add_argument("-n", "--number", type=int, default=100_000, help="reads [100000]")
    parser.add_argument("--seed", type=int, default=41)
    args = parser.parse_args()
    counts, names = Counter(), []
    with tempfile.TemporaryDirectory() as scratch, pysam.FastaFile(args.reference) as reference:
        reads, bam = Path(scratch) / "reads.fq", Path(scratch) / "mapped.bam"
        kind = "-l", "150", "-e", "0.02", "--inserts", "40,400", "--adapter", "truseq"
        tails = "--bad-tails", "0.2", "--poly-g", "0.1", "--seed", str(args.seed)
        size = "-n", str(args.number), "-o", str(reads)
        subprocess.run([*GASSST, "simulate", args.reference, *kind, *tails, *size], check=True)
        mode = "--mode", "local", "--device", "none", "-q"
        subprocess.run([*GASSST, "map", *mode, args.index, str(reads), "-o", str(bam)], check=True)
        with pysam.AlignmentFile(str(bam)) as records:
            for record in records:
                if record.flag & 0x904:
                    counts["unmapped"] += record.is_unmapped
                    continue
                counts["compared"] += 1
                found = faults(record, reference)
                counts.update(found)
                names += [f"{record.query_name}: {', '.join(found)}"] if found else []
    print(", ".join(f"{name} {count}" for name, count in counts.most_common()))
    print("\n".join(names[:EXAMPLES]))
    return int(bool(names))


if __name__ == "__main__":
    sys.exit(main())
