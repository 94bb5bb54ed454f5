"""All copies of a read in repeats: whether they are listed, and what polishing by Polypolish's rules makes of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import groupby
from pathlib import Path

import numpy as np
import pysam
from donors import Edit, changed, complement, edit_of, edited, fragments, write_reads
from field import Data, Figure, Row, World, reference_in

LENGTH, INSERT, COVERAGE = 150, (400, 40), 30
FAMILY, COPIES = 1_500, 12
MOST_ERRORS, LEAST_DEPTH, VALID, INVALID = 10, 5, 0.5, 0.2
"""The defaults of Polypolish 0.6 (Wick and Holt 2022)."""
WINDOW = 25


def repeats(data: Data, folder: Path) -> World:
    """A draft of 150,000 bases with 12 copies of a family, no two the same, and an error every 400 bases.

    The truth: the errors, as edits of the draft that mend it, and where the copies lie.
    """
    rng = np.random.default_rng(51)
    bases = next(iter(data.ecoli.values()))[1_000_000:1_132_000].copy()
    family, parts, starts = bases[:FAMILY], [], []
    for number, chunk in enumerate(np.split(bases[FAMILY:], range(10_000, 10_000 * COPIES, 10_000))):
        copy = np.where(rng.random(FAMILY) < 0.002 * number, changed(rng, family), family)
        starts.append(sum(map(len, parts)) + len(chunk))
        parts += [chunk, edited(copy, [edit_of(rng, copy, 700, "deletion", 5)]) if number % 3 == 2 else copy]
    genome = np.concatenate(parts)
    kinds = (("SNP", 1), ("deletion", 1), ("insertion", 1))
    errors = [edit_of(rng, genome, at, *kinds[rng.integers(3)]) for at in range(300, len(genome) - 300, 400)]
    draft, shift, truth = edited(genome, errors), 0, []
    for at, gone, put, _ in errors:
        truth.append(Edit(at + shift, len(put), genome[at : at + gone].tobytes()))
        shift += len(put) - gone
    made = fragments(rng, [genome], COVERAGE * len(genome) // (2 * LENGTH), LENGTH, INSERT)
    for mate, bases in enumerate(made.mates):
        # Polypolish wants the mates mapped as single reads.
        write_reads(rng, [folder / "1.fq"], [bases], (f"{mate}:{n}" for n in range(len(bases))))
    return World(reference_in(folder, {"draft": draft}), (folder / "1.fq",), (truth, starts))


def alignments(bam: Path):
    """The mapped records of each read, with the bases of the primary one."""
    with pysam.AlignmentFile(str(bam)) as file:
        for _, records in groupby(file, lambda r: r.query_name):
            some = [r for r in records if not r.is_unmapped]
            first = next((r for r in some if not r.flag & 0x900), None)
            if first is not None:
                forward = np.frombuffer(first.get_forward_sequence().encode(), np.uint8)
                yield some, forward


def bases_by_place(record: pysam.AlignedSegment, read: np.ndarray) -> list[bytes]:
    """For each base of the reference those of the read, without the last homopolymer and the base before it."""
    text, found, at = (complement(read) if record.is_reverse else read).tobytes(), [], 0
    for operation, size in record.cigartuples:
        if operation == pysam.CINS:
            found[-1] += text[at : at + size]
        else:
            found += [b"" if operation == pysam.CDEL else text[at + n : at + n + 1] for n in range(size)]
        at += size * (operation != pysam.CDEL)
    last = found[-1]
    while found and found[-1] == last:
        found.pop()
    return found[:-1]


def polished(draft: np.ndarray, bam: Path) -> list[bytes]:
    """The bases for each of the draft: a change needs one valid choice, and all others invalid.

    Alignments count that reach both ends of their read with at most 10 errors; the depth of one is its share of them.
    """
    counts: dict[int, Counter[bytes]] = defaultdict(Counter)
    depth = np.zeros(len(draft))
    for records, read in alignments(bam):
        ends = ({r.cigartuples[n][0] for n in (0, -1)} for r in records)
        whole = [
            r
            for r, kinds in zip(records, ends, strict=True)
            if r.get_tag("NM") <= MOST_ERRORS and kinds == {0}
        ]
        for r in whole:
            for at, bases in enumerate(bases_by_place(r, read), r.reference_start):
                counts[at][bases] += 1
                depth[at] += 1 / len(whole)
    result = [bytes([base]) for base in draft]
    for at, seen in counts.items():
        least, unlikely = max(LEAST_DEPTH, round(VALID * depth[at])), INVALID * depth[at]
        valid = [bases for bases, number in seen.items() if number >= least]
        unsure = [bases for bases, number in seen.items() if number >= unlikely]
        if len(valid) == 1 and unsure == valid:
            result[at] = valid[0]
    return result


def polish(world: World, bam: Path, folder: Path) -> list[Figure]:
    """Errors whose window became that of the genome; and bases changed elsewhere."""
    with pysam.FastaFile(str(world.reference)) as file:
        draft = np.frombuffer(file.fetch("draft").encode(), np.uint8)
    result, near, mended = polished(draft, bam), set(), 0
    for edit in world.truth[0]:
        low, high = edit.at - WINDOW, edit.at + WINDOW
        near |= set(range(low, high))
        mended += b"".join(result[low:high]) == edited(draft, [edit], low=low, high=high).tobytes()
    wrong = sum(result[at] != draft[at : at + 1].tobytes() for at in range(len(draft)) if at not in near)
    return [Figure("errors of the draft", len(world.truth[0]), mended, wrong)]


def listed(world: World, bam: Path, folder: Path) -> list[Figure]:
    """Reads within a copy of the family: the copies that their records lie in, of all 12."""
    starts, reads, found = world.truth[1], 0, 0
    for records, _ in alignments(bam):
        within = [
            next(
                (
                    n
                    for n, at in enumerate(starts)
                    if at - 20 <= r.reference_start and r.reference_end <= at + FAMILY
                ),
                -1,
            )
            for r in records
        ]
        if within[0] >= 0:
            reads, found = reads + COPIES, found + len(set(within) - {-1})
    return [Figure("copies of reads in a repeat", reads, found)]


ROWS = [
    Row("polish", "errors mended by Polypolish's rules", (), repeats, polish, options=("--all --mode local", "-a"),
        sort=False),
    Row("polish-k", "the same with -k 100", (), repeats, polish, options=("-k 100", "-a"), sort=False),
    Row("copies", "copies listed, of 12 in a repeat", (), repeats, listed, options=("-k 100", "-a"), sort=False),
]  # fmt: skip
