"""Deaminated bases of ancient DNA in simulated reads: C becomes U, which a sequencer reads as T.

Deamination is strongest at the overhanging ends of fragments. In the single-stranded protocol both ends of a read show
C as `T`. The double-stranded one fills in the other strand at the 3' end, so that G shows as A there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gassst.errors import UsageError

A, C, G, T = range(4)
PROTOCOLS = ("double", "single")
FORM = "double or single, then possibly END,DECAY,INSIDE from 0 to 1, for example double,0.3,0.3,0.01"


@dataclass(frozen=True)
class Damage:
    """How often bases are deaminated.

    Attributes
    ----------
    protocol : str
        One of `PROTOCOLS`.
    end : float
        Probability at the last base of a fragment.
    decay : float
        Share of the difference to `inside` that each further base loses.
    inside : float
        Probability far from the ends.
    """

    protocol: str
    end: float = 0.3
    decay: float = 0.3
    inside: float = 0.01

    def rates(self, distance: np.ndarray) -> np.ndarray:
        """Probabilities at these distances from an end, 0 at the last base; float32 of the same shape."""
        return (self.inside + (self.end - self.inside) * (1 - self.decay) ** distance).astype(np.float32)

    def deaminate(
        self, rng: np.random.Generator, codes: np.ndarray, template: np.ndarray, fragment: np.ndarray
    ) -> np.ndarray:
        """The bases of reads once some are deaminated.

        Parameters
        ----------
        rng : numpy.random.Generator
        codes : uint8[n, length]
            A, C, G, T as 0 to 3; the first base is the 5' end of its fragment.
        template : int32[n, length]
            Offset in the fragment of the base that each copies.
        fragment : int64[n]
            Bases of each fragment.

        Returns
        -------
        uint8[n, length]
        """
        five, three = self.rates(template), self.rates(np.maximum(fragment[:, None] - 1 - template, 0))
        drawn = rng.random(codes.shape, dtype=np.float32)
        if self.protocol == "single":
            return np.where((codes == C) & (drawn < np.maximum(five, three)), np.uint8(T), codes)
        read_as_t, read_as_a = (codes == C) & (drawn < five), (codes == G) & (drawn < three)
        return np.where(read_as_t, np.uint8(T), np.where(read_as_a, np.uint8(A), codes))


def open_damage(text: str) -> Damage:
    """What `--damage` asks for. Raises UsageError."""
    protocol, *numbers = text.split(",")
    try:
        values = [float(number) for number in numbers]
    except ValueError:
        values = [-1.0]
    if protocol not in PROTOCOLS or len(values) not in (0, 3) or not all(0 <= x <= 1 for x in values):
        raise UsageError(f"--damage {text}: must be {FORM}")
    return Damage(protocol, *values)
