"""Whether two mappers that are both confident of a read say the same place, and how they differ where not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pysam

from gassst.model.sam_flags import UNMAPPED
from gassst.tools.truth import read_alignments

CONFIDENT = 20
TOLERANCE = 10
CLIPPED = 10
"""Clipped bases from which on a clip may be why two mappers differ."""
NOT_PRIMARY, SUPPLEMENTARY, SECOND = 0x900, 0x800, 0x80

Key = tuple[str, int]
Placements = dict[Key, tuple[str, int, int, int]]

CLASSES = {
    "clip": "same strand, overlapping, at least one of the two clips",
    "shift": "same strand, overlapping, nothing clipped: gaps or a tandem repeat",
    "strand": "overlapping on the other strand: an inverted repeat",
    "elsewhere, clip": "another place, one of the two clips: fewer errors may be fewer bases",
    "elsewhere, tie": "another place with as many errors: a repeat",
    "elsewhere, ours": "another place, ours has fewer errors",
    "elsewhere, theirs": "another place, theirs has fewer errors",
}


def placements(path: Path) -> Placements:
    """(contig, strand, start, end) of the confident primary alignments, by read name and mate."""
    found: Placements = {}
    for chunk in read_alignments(str(path)):
        confident = np.flatnonzero((chunk.flags & UNMAPPED == 0) & (chunk.mapq >= CONFIDENT))
        keys = zip((chunk.names[i] for i in confident), chunk.mate[confident].tolist(), strict=True)
        columns = (chunk.contigs, chunk.strand, chunk.start, chunk.end)
        found.update(zip(keys, zip(*(c[confident].tolist() for c in columns), strict=True), strict=True))
    return found


def is_same_place(a: tuple, b: tuple) -> bool:
    """Whether one end agrees: what is a clip for one mapper may be an insertion or a deletion for another."""
    return a[:2] == b[:2] and min(abs(a[2] - b[2]), abs(a[3] - b[3])) <= TOLERANCE


def differing(ours: Placements, theirs: Placements) -> list[Key]:
    """Reads that both are confident of, at different places."""
    return [k for k, place in ours.items() if k in theirs and not is_same_place(place, theirs[k])]


def agreement(ours: Placements, theirs: Placements) -> dict:
    """How many reads both are confident of, the share of these with the same place, and who else is."""
    both = sum(key in theirs for key in ours)
    same = both - len(differing(ours, theirs))
    alone = {"only_ours": len(ours) - both, "only_theirs": len(theirs) - both}
    return {"both": both, "same": same, "share": same / both if both else None, **alone}


@dataclass(frozen=True)
class Record:
    """What a human wants to see of a primary alignment; `start` and `end` are of the aligned bases, 1-based."""

    contig: str
    start: int
    end: int
    strand: str
    mapq: int
    cigar: str
    clipped: int
    errors: int | None
    score: int | None
    proper: bool
    insert: int
    split: bool

    def shown(self) -> list[str]:
        place = f"{self.contig}:{self.start}{self.strand}"
        rest = (
            self.mapq,
            self.cigar,
            self.errors,
            self.score,
            int(self.proper),
            self.insert,
            int(self.split),
        )
        return [place, *("" if value is None else str(value) for value in rest)]


COLUMNS = ("place", "mapq", "cigar", "nm", "as", "proper", "tlen", "split")


def _record(segment: pysam.AlignedSegment) -> Record:
    clips = sum(length for operation, length in segment.cigartuples or [] if operation in (4, 5))
    tag = {name: segment.get_tag(name) if segment.has_tag(name) else None for name in ("NM", "AS")}
    return Record(
        segment.reference_name or "*",
        segment.reference_start + 1,
        segment.reference_end or segment.reference_start,
        "-" if segment.is_reverse else "+",
        segment.mapping_quality,
        segment.cigarstring or "*",
        clips,
        tag["NM"],
        tag["AS"],
        segment.is_proper_pair,
        segment.template_length,
        segment.has_tag("SA"),
    )


def _records(path: Path, wanted: set[Key]) -> dict[Key, Record]:
    found = {}
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        for segment in file:
            mate = (2 if segment.flag & SECOND else 1) if segment.is_paired else 0
            key = (segment.query_name or "", mate)
            if key in wanted and not segment.flag & NOT_PRIMARY:
                found[key] = _record(segment)
    return found


def classify(ours: Record, theirs: Record) -> str:
    """One of CLASSES, for two places that differ."""
    clip = max(ours.clipped, theirs.clipped) >= CLIPPED
    if ours.contig == theirs.contig and ours.start <= theirs.end and theirs.start <= ours.end:
        if ours.strand != theirs.strand:
            return "strand"
        return "clip" if clip else "shift"
    if clip:
        return "elsewhere, clip"
    a, b = ours.errors or 0, theirs.errors or 0
    return "elsewhere, tie" if a == b else "elsewhere, ours" if a < b else "elsewhere, theirs"


@dataclass(frozen=True)
class Disagreement:
    """A read of which both are confident, with the record of each."""

    key: Key
    kind: str
    ours: Record
    theirs: Record

    def row(self) -> list[str]:
        return [self.key[0], str(self.key[1]), self.kind, *self.ours.shown(), *self.theirs.shown()]


def disagreements(ours: Path, theirs: Path, keys: Iterable[Key]) -> list[Disagreement]:
    """The reads `keys` in both files, class by class."""
    wanted = set(keys)
    a, b = _records(ours, wanted), _records(theirs, wanted)
    found = [Disagreement(key, classify(a[key], b[key]), a[key], b[key]) for key in wanted]
    return sorted(found, key=lambda one: (list(CLASSES).index(one.kind), one.key))


def counts(found: list[Disagreement]) -> dict[str, int]:
    """How many of each class that occurs."""
    kinds = Counter(one.kind for one in found)
    return {kind: kinds[kind] for kind in CLASSES if kinds[kind]}


def header() -> list[str]:
    """Columns of a TSV of disagreements: which run, the read, its class, and both records."""
    sides = [f"{column}_{side}" for side in ("ours", "theirs") for column in COLUMNS]
    return ["set", "ours", "theirs", "read", "mate", "class", *sides]
