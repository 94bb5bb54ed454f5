"""Ends of simulated reads that are not of the genome: adapters, poly-G, and tails of low quality.

An insert that is shorter than its read leaves the sequencer to read on: first the adapter, and behind it whatever the
flow cell holds there. A two-colour instrument calls G where it sees nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gassst.errors import UsageError

OWN = 0xFF
"""Stands for a base of the genome where the others are foreign."""

ADAPTERS = {
    "nextera": ("CTGTCTCTTATACACATCTCCGAGCCCACGAGAC", "CTGTCTCTTATACACATCTGACGCTGCCGACGA"),
    "truseq": ("AGATCGGAAGAGCACACGTCTGAACTCCAGTCA", "AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGT"),
}
"""What the mates of Illumina's two usual kits run into, by the name of the kit."""

G = 2
BAD_QUALITY = 33 + 2
BAD_ERROR = 0.5
"""Share of wrong bases in a tail of quality 2; Phred promises 0.63."""


def open_adapters(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Codes, uint8[], of what the first and the last mate run into.

    `text` is a name in ADAPTERS, one sequence for both mates, or two with a comma between them. Raises UsageError.
    """
    sequences = ADAPTERS.get(text.lower()) or tuple(text.upper().split(","))
    if len(sequences) > 2 or not all(s and set(s) <= set("ACGT") for s in sequences):
        raise UsageError(
            f"--adapter {text}: must be one or two sequences of A, C, G, T or {', '.join(ADAPTERS)}"
        )
    first, last = (np.array(["ACGT".index(base) for base in s], np.uint8) for s in (sequences * 2)[:2])
    return first, last


@dataclass(frozen=True)
class ForeignEnds:
    """What reads end in.

    Attributes
    ----------
    adapters : (uint8[], uint8[]) or None
        Codes of the adapter of each mate; None: no insert is shorter than its read.
    bad_tails, poly_g : float
        Shares of reads with a tail of quality 2, and with one of G alone. Both begin in the second half of the read.
    """

    adapters: tuple[np.ndarray, np.ndarray] | None
    bad_tails: float
    poly_g: float

    @property
    def shortens(self) -> bool:
        """Whether inserts may be shorter than reads."""
        return self.adapters is not None

    def spoil(
        self, rng: np.random.Generator, quality: np.ndarray, rate: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Qualities uint8[n, length] and error probabilities float32[n, length] with bad tails."""
        bad = self._tails(rng, quality.shape, self.bad_tails)
        return np.where(bad, np.uint8(BAD_QUALITY), quality), np.where(bad, BAD_ERROR, rate).astype(
            np.float32
        )

    def draw(
        self, rng: np.random.Generator, mate: int, template: np.ndarray, insert: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Foreign bases of reads, and how many bases before them are of the genome.

        Parameters
        ----------
        rng : numpy.random.Generator
        mate : int
            0 or 1: which adapter follows.
        template : int32[n, length]
            Offset of the template base that each base copies (`simulate.Errors`).
        insert : int64[n]
            Bases of the insert.

        Returns
        -------
        codes : uint8[n, length]
            `OWN` for bases of the genome.
        own : int64[n]
            Bases of the genome, at least 1.
        """
        n, length = template.shape
        codes = np.full((n, length), OWN, np.uint8)
        if self.adapters is not None:
            adapter = self.adapters[mate]
            behind = np.where(
                rng.random((n, 1)) < 0.5, np.uint8(G), rng.integers(0, 4, (n, length), dtype=np.uint8)
            )
            past = template - insert[:, None]
            known = adapter[np.clip(past, 0, len(adapter) - 1)]
            codes = np.where(past < 0, codes, np.where(past < len(adapter), known, behind))
        codes[self._tails(rng, codes.shape, self.poly_g)] = G
        own = np.argmax(np.append(codes, np.zeros((n, 1), np.uint8), axis=1) != OWN, axis=1)
        return codes, np.maximum(own, 1)

    def _tails(self, rng: np.random.Generator, shape: tuple[int, ...], share: float) -> np.ndarray:
        """bool[n, length]: tails of that share of the reads. They begin anywhere in the second half."""
        n, length = shape
        begin = rng.integers(length // 2, max(length, 1), n)
        begin[rng.random(n) >= share] = length
        return np.arange(length) >= begin[:, None]
