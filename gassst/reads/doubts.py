"""What the first reads of a file leave in doubt: whether they are meant as they are read."""

from __future__ import annotations

import numpy as np

from gassst.model.params import MIN_READ_LENGTH
from gassst.model.read_batch import ReadBatch

LOOKED_AT = 256  # reads
# Letters of amino acids that are no code of nucleotides; they are a third of a protein.
AMINO_ACIDS = np.frombuffer(b"EFIJLOPQZ", np.uint8)
LEAST_AMINO_ACIDS = 0.05
# Solexa and Illumina wrote Phred+64 from ';' on, up to Phred 41 ('i'). As Phred+33 these are 26 to 72, and reads of
# short fragments have never been so good. Long reads with nothing but '~' have Phred 93.
LEAST_PHRED64, FAR_ABOVE_PHRED33, MOST_PHRED64 = ord(";"), ord("T"), ord("m")


def doubts_of(batch: ReadBatch) -> list[str]:
    """A line for each doubt; none for a batch that does not begin its file, as doubts are told once."""
    if batch.first != 1 or not len(batch):
        return []
    n = min(LOOKED_AT, len(batch))
    found = [_lengths(batch, n), _pairing(batch, n), _letters(batch, n), _qualities(batch, n)]
    return [f"{batch.path}: {doubt}" for doubt in found if doubt]


def _lengths(batch: ReadBatch, n: int) -> str:
    longest = int(np.diff(batch.offsets[: n + 1]).max())
    if longest >= MIN_READ_LENGTH or batch.mate is not None:
        return ""
    return f"none of its first {n} reads has {MIN_READ_LENGTH} bases, the fewest that are mapped"


def _pairing(batch: ReadBatch, n: int) -> str:
    """Whether mates seem to be read as single reads, or the other way round."""
    if batch.mate is not None:
        return "" if batch.mate.any() else "--interleaved finds no mates: no neighbouring reads have one name"
    names = [batch.name(i) for i in range(n - n % 2)]
    if not names or names[::2] != names[1::2]:
        return ""
    return "neighbouring reads have one name, as mates do; --interleaved maps them as pairs"


def _letters(batch: ReadBatch, n: int) -> str:
    bases = batch.bases[: batch.offsets[n]] & 0xDF  # upper case
    if np.count_nonzero(np.isin(bases, AMINO_ACIDS)) <= LEAST_AMINO_ACIDS * len(bases):
        return ""
    return "its letters are those of protein, and gassst maps DNA"


def _qualities(batch: ReadBatch, n: int) -> str:
    if batch.quals is None or not batch.offsets[n]:
        return ""
    quals = batch.quals[: batch.offsets[n]]
    if quals.min() < LEAST_PHRED64 or not FAR_ABOVE_PHRED33 <= quals.max() <= MOST_PHRED64:
        return ""
    return "its qualities seem to be Phred+64, and are read as Phred+33; `seqtk seq -Q64 -V` converts them"
