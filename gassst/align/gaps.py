"""What gaps cost."""

from __future__ import annotations

import operator
from typing import NamedTuple

from gassst.errors import UsageError

MAX_COST = 1 << 14


class Gaps(NamedTuple):
    """A gap of K letters costs `open + K * extend`, as in BLAST and bwa; with `open` 0 gaps are linear.

    parasail and EMBOSS count otherwise: their cost of opening is `open + extend` here.
    """

    open: int
    extend: int

    @property
    def first(self) -> int:
        """Cost of the first letter of a gap."""
        return self.open + self.extend


def gap_costs(gap_open: int, gap_extend: int) -> Gaps:
    """Verified costs. Raises UsageError unless both are integers, 0 <= open and 1 <= extend, each at most 16384."""
    try:
        gaps = Gaps(operator.index(gap_open), operator.index(gap_extend))
    except TypeError:
        raise UsageError(f"costs of gaps must be integers, not {gap_open!r} and {gap_extend!r}") from None
    if not (0 <= gaps.open <= MAX_COST and 1 <= gaps.extend <= MAX_COST):
        raise UsageError(
            f"gap_open {gaps.open}, gap_extend {gaps.extend}: costs are positive, at most {MAX_COST}; "
            "only gap_open may be 0"
        )
    return gaps
