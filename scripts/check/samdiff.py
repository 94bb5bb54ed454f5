"""What changed between two mappings of the same reads: which became mapped, moved, better, surer, or right.

    python scripts/check/samdiff.py before.bam after.bam --list 5

Primary alignments only. The two files may hold the reads in different orders; in the same order, none but the
current read is in memory. Places are those of `gassst evaluate`, with clipped bases added back; `better`
and `worse` compare NM, at the same place or another. Where read names hold the truth, `nearer` and `farther`
count every change of the distance to it, `became_right` and `became_wrong` those that cross the tolerance.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pysam

from gassst.errors import GassstError, InputError
from gassst.tools.truth import NameFormat, PrimaryRecords, detect

CONFIDENT = 20
NOT_PRIMARY, UNMAPPED, REVERSE = 0x900, 0x4, 0x10
FAR = 1 << 40
CLIPS = (pysam.CSOFT_CLIP, pysam.CHARD_CLIP)


@dataclass(frozen=True)
class Primary:
    """A primary record: 1-based `start` and `end` with clipped bases; `edits` is NM, None without."""

    name: str
    flag: int
    contig: str
    start: int
    end: int
    mapq: int
    edits: int | None
    cigar: str

    @property
    def key(self) -> tuple[str, int]:
        """Name and mate, 0 if not of a pair."""
        return self.name, self.flag >> 6 & 3 if self.flag & 1 else 0

    @property
    def is_mapped(self) -> bool:
        return not self.flag & UNMAPPED

    def __str__(self) -> str:
        if not self.is_mapped:
            return "unmapped"
        strand = "-" if self.flag & REVERSE else "+"
        edits = "" if self.edits is None else f" NM {self.edits}"
        return f"{self.contig}:{self.start}{strand} {self.cigar}{edits} MAPQ {self.mapq}"


def clipped(runs) -> int:
    """Clipped bases before the first run that is none."""
    bases = 0
    for operation, length in runs:
        if operation not in CLIPS:
            break
        bases += length
    return bases


def primary(record: pysam.AlignedSegment) -> Primary:
    name, flag = record.query_name, record.flag
    if flag & UNMAPPED:
        return Primary(name, flag, "", 0, 0, 0, None, "*")
    runs = record.cigartuples or []
    start = record.reference_start + 1 - clipped(runs)
    end = (record.reference_end or record.reference_start) + clipped(reversed(runs))
    edits = record.get_tag("NM") if record.has_tag("NM") else None
    cigar = record.cigarstring or "*"
    return Primary(name, flag, record.reference_name, start, end, record.mapping_quality, edits, cigar)


def primaries(path: str) -> Iterator[Primary]:
    """Primary records of a SAM, BAM or CRAM file. Raises InputError."""
    verbosity = pysam.set_verbosity(0)
    try:
        with pysam.AlignmentFile(path, check_sq=False) as file:
            yield from (primary(record) for record in file if not record.flag & NOT_PRIMARY)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    finally:
        pysam.set_verbosity(verbosity)


def pairs(a: Iterator[Primary], b: Iterator[Primary]) -> Iterator[tuple[Primary | None, Primary | None]]:
    """Records of the same read; at the end those that only one side has, with None for the other."""
    waiting: tuple[dict, dict] = ({}, {})
    sides = [a, b]
    while sides[0] or sides[1]:
        for side in (0, 1):
            record = next(sides[side], None) if sides[side] else None
            if record is None:
                sides[side] = None
                continue
            other = waiting[1 - side].pop(record.key, None)
            if other is not None:
                yield (other, record) if side else (record, other)
            elif record.key in waiting[side]:
                raise InputError(f"two primary records of read {record.name!r}, mate {record.key[1]}")
            else:
                waiting[side][record.key] = record
    yield from ((record, None) for record in waiting[0].values())
    yield from ((None, record) for record in waiting[1].values())


def distance(record: Primary | None, form: NameFormat) -> int:
    """Bases between a record and the truth in its name; FAR if unmapped, or on another contig or strand."""
    if record is None or not record.is_mapped:
        return FAR
    strand = -1 if record.flag & REVERSE else 1
    columns = (record.flag, record.contig, record.start, record.end, record.mapq)
    one = PrimaryRecords([record.name], *(np.array([value]) for value in columns))
    truth = form.truth(one, "alignments")
    if truth.contig[0] != record.contig or truth.strand[0] not in (0, strand):
        return FAR
    by_end = truth.strand[0] == 0 and strand == -1
    return abs(int(record.end - truth.end[0] if by_end else record.start - truth.start[0]))


@dataclass(frozen=True)
class Change:
    """A read before and after, how it changed, and its distances to the truth (None if not known)."""

    before: Primary | None
    after: Primary | None
    kinds: list[str]
    off: tuple[int | None, int | None] = (None, None)

    @property
    def key(self) -> tuple[str, int]:
        return (self.before or self.after).key


def same_place(a: Primary, b: Primary, tolerance: int) -> bool:
    same = a.contig == b.contig and not (a.flag ^ b.flag) & REVERSE
    return same and min(abs(a.start - b.start), abs(a.end - b.end)) <= tolerance


def compare(a: Primary | None, b: Primary | None, tolerance: int) -> list[str]:
    """How `b` differs from `a`; a read that a file leaves out is not mapped there."""
    mapped = (a is not None and a.is_mapped, b is not None and b.is_mapped)
    kinds = [kind for kind, record in (("only_in_b", a), ("only_in_a", b)) if record is None]
    if mapped == (False, False):
        return kinds
    if mapped != (True, True):
        return [*kinds, "became_mapped" if mapped[1] else "became_unmapped"]
    if not same_place(a, b, tolerance):
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


def compare_truth(off: tuple[int, int], tolerance: int) -> list[str]:
    kinds = []
    if off[0] != off[1]:
        kinds.append("nearer" if off[1] < off[0] else "farther")
    right = (off[0] <= tolerance, off[1] <= tolerance)
    if right[0] != right[1]:
        kinds.append("became_right" if right[1] else "became_wrong")
    return kinds


def changes(a: str, b: str, tolerance: int) -> Iterator[Change]:
    """Every read of either file, changed or not. Raises InputError."""
    form: NameFormat | None = None
    for number, (before, after) in enumerate(pairs(primaries(a), primaries(b))):
        if number == 0:
            form = known_form((before or after).name)
        kinds = compare(before, after, tolerance)
        if form is None:
            yield Change(before, after, kinds)
        elif before == after:
            yield Change(before, after, kinds, (distance(before, form),) * 2)
        else:
            off = distance(before, form), distance(after, form)
            yield Change(before, after, kinds + compare_truth(off, tolerance), off)


def known_form(name: str) -> NameFormat | None:
    try:
        return detect(name, "")
    except InputError:
        return None


KINDS = (
    "only_in_a", "only_in_b", "became_mapped", "became_unmapped", "moved", "realigned", "better", "worse",
    "mapq_up", "mapq_down", "became_confident", "became_doubtful", "nearer", "farther", "became_right",
    "became_wrong",
)  # fmt: skip


def example(change: Change) -> str:
    off = ["" if off is None else f" ({'far off' if off == FAR else f'{off} off'})" for off in change.off]
    before, after = (str(side or "absent") for side in (change.before, change.after))
    return f"    {change.key[0]}: {before}{off[0]} -> {after}{off[1]}"


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("a", metavar="A.bam", help="SAM, BAM or CRAM before")
    add("b", metavar="B.bam", help="and after")
    add("--tolerance", type=int, default=10, metavar="BASES", help="still the same place, or right [10]")
    add("--list", type=int, default=0, metavar="N", help="show the first N reads of each kind of change")
    return parser.parse_args(argv)


def report(args: argparse.Namespace) -> tuple[int, Counter, dict[str, list[str]]]:
    """Reads, how many show each kind of change, and the examples asked for."""
    total, counts, examples = 0, Counter(), {kind: [] for kind in KINDS}
    for change in changes(args.a, args.b, args.tolerance):
        total += 1
        counts.update(change.kinds or ["same"])
        for kind in change.kinds if args.list else ():
            if len(examples[kind]) < args.list:
                examples[kind].append(example(change))
    return total, counts, examples


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    try:
        total, counts, examples = report(args)
    except GassstError as error:
        sys.exit(f"samdiff: {error}")
    for kind in ("same", *KINDS):
        if counts[kind] or kind == "same":
            print(f"{kind:16} {counts[kind]:9}  {100 * counts[kind] / max(total, 1):7.3f} %")
            print(*examples.get(kind, ()), sep="\n", end="\n" if examples.get(kind) else "")
    print(f"{'reads':16} {total:9}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
