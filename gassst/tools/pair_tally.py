"""Counts of whole pairs: how many have both mates right, are called proper, and are rightly so."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gassst.errors import InputError
from gassst.model.sam_flags import PROPER_PAIR, UNMAPPED
from gassst.tools.truth import PrimaryRecords

MAPPED, IS_PROPER, CORRECT = 1, 2, 4


@dataclass
class PairTally:
    """`both[bits]`: pairs by what is true of both mates, int64[8]; `one_right`: pairs with one mate right.

    A mate waits in `waiting` (name to mate and bits) until the other comes: records may be in any order.
    """

    both: np.ndarray = field(default_factory=lambda: np.zeros(8, dtype=np.int64))
    one_right: int = 0
    waiting: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, found: PrimaryRecords, correct: np.ndarray, source: str) -> None:
        """Counts the primary records of mates. Raises InputError, naming `source`, for two of one mate."""
        is_mapped = (found.flags & UNMAPPED) == 0
        proper = is_mapped & ((found.flags & PROPER_PAIR) != 0)
        bits = MAPPED * is_mapped + IS_PROPER * proper + CORRECT * (is_mapped & correct)
        mates = found.mate
        for i in np.flatnonzero(mates).tolist():
            self._add_mate(found.names[i], int(mates[i]), int(bits[i]), source)

    def _add_mate(self, name: str, mate: int, bits: int, source: str) -> None:
        if name.endswith(("/1", "/2")):
            name = name[:-2]
        other = self.waiting.pop(name, None)
        if other is None:
            self.waiting[name] = mate, bits
            return
        if other[0] == mate:
            raise InputError(f"{source}: two primary records of read {name!r}, mate {mate}")
        self.both[bits & other[1]] += 1
        self.one_right += bool((bits ^ other[1]) & CORRECT)

    @property
    def pairs(self) -> int:
        """Pairs of which at least one mate was seen."""
        return int(self.both.sum()) + len(self.waiting)

    def _with(self, wanted: int) -> int:
        return int(sum(self.both[bits] for bits in range(8) if bits & wanted == wanted))

    def figures(self, total: int) -> dict[str, Any]:
        """Counts and shares of `total` pairs; `proper_accuracy` is of the proper ones. None: of nothing."""
        alone = sum(bool(bits & CORRECT) for _, bits in self.waiting.values())
        counts = {
            "both_mapped": self._with(MAPPED),
            "both_right": self._with(CORRECT),
            "one_right": self.one_right + alone,
            "proper": self._with(IS_PROPER),
            "proper_right": self._with(IS_PROPER | CORRECT),
        }
        shares = {f"{name}_share": count / total if total else None for name, count in counts.items()}
        accuracy = counts["proper_right"] / counts["proper"] if counts["proper"] else None
        return {"pairs": total, **counts, **shares, "proper_accuracy": accuracy}
