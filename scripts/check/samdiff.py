"""What changed between two mappings of the same reads: which became mapped, moved, better, surer, or right.

    python scripts/check/samdiff.py before.bam after.bam --list 5

Primary alignments only. The two files may hold the reads in different orders; in the same order, none but the current
read is in memory. Clipped bases are added back to positions; `better` and `worse` compare NM, at the same place or
another. Where read names hold the truth, as for `gassst evaluate`, `nearer` and `farther` count every change of the
distance to it, `became_right` and `became_wrong` those that cross the tolerance.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import pysam

from gassst.errors import InputError
from gassst.tools.truth import NameFormat, PrimaryRecords, detect

CONFIDENT = 20
TOLERANCE = 10  # bases: still the same place, or right
FAR = 1 << 40  # unmapped, or on another contig or strand
NOT_PRIMARY = 0x900
CLIPS = (pysam.CSOFT_CLIP, pysam.CHARD_CLIP)
KINDS = (
    "only_in_a", "only_in_b", "became_mapped", "became_unmapped", "moved", "realigned", "better", "worse",
    "mapq_up", "mapq_down", "became_confident", "became_doubtful", "nearer", "farther", "became_right",
    "became_wrong",
)  # fmt: skip


class Primary(NamedTuple):
    """A primary record: 1-based `start` and `end` with clipped bases; `edits` is NM, None without."""

    key: tuple[str, int]
    """Name and mate, 0 if not of a pair."""
    is_mapped: bool
    where: tuple[str, bool] = ("", False)
    """Contig, and whether it is on the reverse strand."""
    start: int = 0
    end: int = 0
    cigar: str = "*"
    mapq: int = 0
    edits: int | None = None

    def __str__(self) -> str:
        if not self.is_mapped:
            return "unmapped"
        edits = "" if self.edits is None else f" NM {self.edits}"
        return f"{self.where[0]}:{self.start}{'+-'[self.where[1]]} {self.cigar}{edits} MAPQ {self.mapq}"


class Change(NamedTuple):
    """A read before and after, how it changed, and its distances to the truth, if that is known."""

    before: Primary | None
    after: Primary | None
    kinds: list[str]
    off: list[int]

    @property
    def key(self) -> tuple[str, int]:
        return (self.before or self.after).key

    def __str__(self) -> str:
        off = [f" ({'far' if off == FAR else off} off)" for off in self.off] or ["", ""]
        return f"{self.key[0]}: {self.before or 'absent'}{off[0]} -> {self.after or 'absent'}{off[1]}"


def clipped(runs) -> int:
    """Clipped bases before the first run that is none."""
    bases = 0
    for operation, length in runs:
        if operation not in CLIPS:
            break
        bases += length
    return bases


def primary(record: pysam.AlignedSegment) -> Primary:
    key = record.query_name, record.flag >> 6 & 3 if record.is_paired else 0
    if record.is_unmapped:
        return Primary(key, False)
    runs = record.cigartuples or []
    start = record.reference_start + 1 - clipped(runs)
    end = (record.reference_end or record.reference_start) + clipped(reversed(runs))
    edits = record.get_tag("NM") if record.has_tag("NM") else None
    where = record.reference_name, record.is_reverse
    return Primary(key, True, where, start, end, record.cigarstring or "*", record.mapping_quality, edits)


def primaries(path: str) -> Iterator[Primary]:
    """Primary records of a SAM, BAM or CRAM file. Raises OSError and ValueError."""
    with pysam.AlignmentFile(path, check_sq=False) as file:
        yield from (primary(record) for record in file if not record.flag & NOT_PRIMARY)


def pairs(a: Iterator[Primary], b: Iterator[Primary]) -> Iterator[tuple[Primary | None, Primary | None]]:
    """Records of the same read; at the end those that only one side has, with None for the other."""
    waiting: tuple[dict, dict] = ({}, {})
    sides = [a, b]
    while any(sides):
        for side in (0, 1):
            record = next(sides[side], None) if sides[side] else None
            if record is None:
                sides[side] = None
                continue
            other = waiting[1 - side].pop(record.key, None)
            if other is not None:
                yield (other, record) if side else (record, other)
            elif record.key in waiting[side]:
                raise ValueError(f"two primary records of read {record.key[0]!r}, mate {record.key[1]}")
            else:
                waiting[side][record.key] = record
    yield from ((record, None) for record in waiting[0].values())
    yield from ((None, record) for record in waiting[1].values())


def compare(a: Primary | None, b: Primary | None) -> list[str]:
    """How `b` differs from `a`; a read that a file leaves out is not mapped there."""
    mapped = (a is not None and a.is_mapped, b is not None and b.is_mapped)
    kinds = [kind for kind, record in (("only_in_b", a), ("only_in_a", b)) if record is None]
    if mapped == (False, False):
        return kinds
    if mapped != (True, True):
        return [*kinds, "became_mapped" if mapped[1] else "became_unmapped"]
    if a.where != b.where or min(abs(a.start - b.start), abs(a.end - b.end)) > TOLERANCE:
        kinds.append("moved")
    elif (a.start, a.end, a.cigar) != (b.start, b.end, b.cigar):
        kinds.append("realigned")
    if a.edits is not None and b.edits is not None and a.edits != b.edits:
        kinds.append("better" if b.edits < a.edits else "worse")
    if a.mapq != b.mapq:
        kinds.append("mapq_up" if b.mapq > a.mapq else "mapq_down")
    if (a.mapq >= CONFIDENT) != (b.mapq >= CONFIDENT):
        kinds.append("became_confident" if b.mapq >= CONFIDENT else "became_doubtful")
    return kinds


def distance(record: Primary | None, form: NameFormat) -> int:
    """Bases between a record and the truth in its name; FAR if unmapped, or on another contig or strand."""
    if record is None or not record.is_mapped:
        return FAR
    (name, mate), (contig, is_reverse) = record.key, record.where
    columns = (np.array([value]) for value in (mate << 6, contig, record.start, record.end, record.mapq))
    truth = form.truth(PrimaryRecords([name], *columns), "alignments")
    if truth.contig[0] != contig or truth.strand[0] not in (0, -1 if is_reverse else 1):
        return FAR
    by_end = truth.strand[0] == 0 and is_reverse
    return abs(int(record.end - truth.end[0] if by_end else record.start - truth.start[0]))


def changes(a: str, b: str) -> Iterator[Change]:
    """Every read of either file, changed or not. Raises OSError and ValueError."""
    form: NameFormat | None = None
    for number, both in enumerate(pairs(primaries(a), primaries(b))):
        if number == 0:
            with suppress(InputError):
                form = detect((both[0] or both[1]).key[0], "")
        kinds = compare(*both)
        off = [distance(record, form) for record in both] if form and both[0] != both[1] else []
        if off and off[0] != off[1]:
            kinds.append("nearer" if off[1] < off[0] else "farther")
            if (off[0] <= TOLERANCE) != (off[1] <= TOLERANCE):
                kinds.append("became_right" if off[1] <= TOLERANCE else "became_wrong")
        yield Change(*both, kinds, off)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("a", metavar="A.bam", help="SAM, BAM or CRAM before")
    parser.add_argument("b", metavar="B.bam", help="and after")
    parser.add_argument("--list", type=int, default=0, metavar="N", help="show N reads of each kind [0]")
    args = parser.parse_args(argv)
    pysam.set_verbosity(0)
    total, counts, examples = 0, Counter(), {kind: [] for kind in KINDS}
    try:
        for change in changes(args.a, args.b):
            total += 1
            counts.update(change.kinds or ["same"])
            for kind in change.kinds:
                examples[kind] += [str(change)] * (len(examples[kind]) < args.list)
    except (OSError, ValueError) as error:
        sys.exit(f"samdiff: {error}")
    for kind in ("same", *KINDS):
        if counts[kind] or kind == "same":
            print(f"{kind:16} {counts[kind]:9}  {100 * counts[kind] / max(total, 1):7.3f} %")
            print("".join(f"    {text}\n" for text in examples.get(kind, ())), end="")
    print(f"{'reads':16} {total:9}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
