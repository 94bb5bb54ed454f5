"""Batches of random hits that make every kind of record, and the reference that they lie on."""

import numpy as np
import pysam

from gassst.model.layouts import HIT, NO_SUBOPTIMAL, READ_SUMMARY
from gassst.model.read_batch import ReadBatch
from gassst.model.reference import Reference
from gassst.reads.in_memory import batch_of_records
from gassst.records import writer as sam

M, I, D, S = 0, 1, 2, 4  # noqa: E741
UNMAPPED, REVERSE, SECONDARY, SUPPLEMENTARY, PROPER = 0x4, 0x10, 0x100, 0x800, 0x2


def make_reference():
    rng = np.random.default_rng(1)
    letters = np.frombuffer(b"ACGT", np.uint8)
    one, two = (bytearray(rng.choice(letters, n).tobytes()) for n in (5000, 3000))
    one[200:230] = b"N" * 30
    two[1000:1003] = b"RYN"
    return Reference.from_sequences([("one", bytes(one)), ("HLA*two:01", bytes(two))])


def arrays_of(reference):
    return sam.ReferenceArrays(reference.planes, reference.starts, reference.lengths, *reference.exceptions)


def header_of(reference, read_group):
    return sam.header(reference.contigs, read_group, "1", "test").text


def aligned_segments(text, builder):
    """What htslib reads in lines of SAM."""
    header = pysam.AlignmentHeader.from_text(builder.header.text)
    return [pysam.AlignedSegment.fromstring(line, header) for line in text.splitlines()]


def to_aligned_segments(reads, hits, summaries, cigars, builder):
    return aligned_segments("\n".join(sam.sam_lines(reads, hits, summaries, cigars, builder)), builder)


def random_cigar(rng, length, clipped):
    """Runs of M, I, D and, if clipped, S at the ends, that take `length` bases of the read."""
    clips = rng.integers(0, length // 3 + 1, 2) if clipped else (0, 0)
    left = length - sum(clips)
    runs = [(clips[0], S)] if clips[0] else []
    while left:
        n = int(rng.integers(1, left + 1))
        runs.append((n, M))
        left -= n
        gap = int(rng.integers(1, 9))
        if left > gap and rng.random() < 0.5:
            runs.append((gap, I))
            left -= gap
        elif left:
            runs.append((gap, D))
    runs += [(clips[1], S)] if clips[1] else []
    return [int(n) << 4 | op for n, op in runs]


class Rows:
    """Hits and CIGARs of a batch, in growing lists."""

    def __init__(self, rng, reference):
        self.rng, self.reference = rng, reference
        self.hits, self.cigars = [], []

    def add(self, read, length, flag, clipped=False):
        if flag & UNMAPPED:
            self.hits.append((read, 0, len(self.cigars), 0, 0, flag, 0, 0, 0, 0, 0))
            return
        runs = random_cigar(self.rng, length, clipped)
        span = sum(run >> 4 for run in runs if run & 15 in (M, D))
        contig = int(self.rng.integers(2))
        start = int(self.rng.integers(0, self.reference.lengths[contig] - span))
        reverse = REVERSE * int(self.rng.integers(2))
        edits, mapq = int(self.rng.choice([0, 3, 255, 256, 65535])), int(self.rng.integers(61))
        score = int(self.rng.choice([-40000, -129, -128, -1, 0, 70, 300, 70000]))
        position = int(self.reference.starts[contig]) + start
        row = (
            read, position, len(self.cigars), len(runs), edits, flag | reverse, mapq, reverse != 0, score, 0,
            0,
        )  # fmt: skip
        self.hits.append(row)
        self.cigars += runs


def random_batch(reference, seed, n=120, quals=True):
    """Reads single and paired, mapped and not, in one place, many or parts; names and bases of all kinds."""
    rng = np.random.default_rng(seed)
    mate = []
    while len(mate) < n:
        mate += [0] if rng.random() < 0.3 else [1, 2]
    rows, reads = Rows(rng, reference), []
    for read, which in enumerate(mate):
        length = int(rng.choice([1, 2, 63, 64, 65, 100, 151]))
        size = int(rng.choice([1, 2, 3, 4, 5, 20, 254]))
        name = reads[-1][0] if which == 2 else "".join(chr(c) for c in rng.integers(65, 127, size))
        bases = rng.choice(list("ACGT" * 8 + "acgtNRYU"), length)
        quality = "".join(chr(c) for c in rng.integers(33, 127, length)) if quals else None
        reads.append((name, "".join(bases), quality))
        proper = PROPER if which and rng.random() < 0.5 else 0
        if rng.random() < 0.25:
            rows.add(read, length, UNMAPPED)
            continue
        parts = int(rng.integers(0, 3)) if length > 60 and rng.random() < 0.3 else 0
        rows.add(read, length, proper, clipped=parts > 0)
        for _ in range(parts):
            rows.add(read, length, SUPPLEMENTARY, clipped=True)
        for _ in range(int(rng.choice([0, 0, 1, 4]))):
            rows.add(read, length, SECONDARY)
    summaries = np.zeros(len(reads), READ_SUMMARY)
    for field in ("n_best", "n_second", "n_reported"):
        summaries[field] = rng.choice([0, 1, 255, 256, 65536, 2**32 - 1], len(reads))
    summaries["suboptimal"] = rng.choice([NO_SUBOPTIMAL, -70000, -5, 0, 200], len(reads))
    batch = batch_of_records(reads)
    batch = ReadBatch(
        batch.names, batch.name_offsets, batch.bases, batch.quals, batch.offsets,
        mate=np.array(mate, np.uint8),
    )  # fmt: skip
    return batch, np.array(rows.hits, HIT), summaries, np.array(rows.cigars, np.uint32)
