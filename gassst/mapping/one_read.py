"""Places of single reads, one read at a time: what a batch of one gives, without the cost of a batch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gassst._core.banded import instruction_sets
from gassst._core.one_read import OneRead
from gassst.bands.base import WIDTHS, doubled
from gassst.index.seed_index import SeedIndex
from gassst.local.align import breaking_cost, leaving_cost
from gassst.model.array_types import I64
from gassst.model.params import MIN_READ_LENGTH, SPECIFIC_LENGTH, MapParams
from gassst.pairing.error_rate import UNKNOWN_LIBRARY, ErrorRate
from gassst.reads.adapters import KNOWN, RULES
from gassst.search.filters import Cascade
from gassst.search.plan import EXTRA_STRATA, SearchPlan

T = TypeVar("T")
# Letters of a read that the compiled search takes as they are; others are for the rules for records.
LETTERS = b"ACGTUNacgtun"


@dataclass(frozen=True, eq=False, repr=False)
class Rules:
    """What the modules of the search say of a read, for the compiled search of one read.

    Attributes
    ----------
    plan : SearchPlan
    is_local : bool
        Ends may be clipped. Then the search is for clear reads: no other alignment is as good, which holds of itself
        for one that loses less than `breaking`.
    longest : int
        Bases of a read.
    match, error_cost : int
        Score of a base, and what an error takes from that of a read without any: 0 and 1 for whole reads.
    least_score : int
        Least score that is reported.
    any_perfect : bool
        A read without an error is reported whatever it scores.
    perfect_ends : int
        Bonus of a read of which both ends are aligned.
    costs : int16[7]
        As the local kernel takes them.
    leaving : int64[widths, 2]
        Widths of bands, and what an alignment loses at least that leaves them.
    adapters : tuple
        Codes of the known ones, uint8[a, b], and `reads.adapters.RULES`: a read with one of them is not clear.
    """

    plan: SearchPlan
    is_local: bool
    longest: int
    breaking: int
    match: int
    error_cost: int
    least_score: int
    any_perfect: bool
    perfect_ends: int
    costs: NDArray[np.int16]
    leaving: I64
    adapters: tuple[NDArray[np.uint8], int, int, int] = (KNOWN, *RULES)
    specific: int = SPECIFIC_LENGTH
    shortest: int = MIN_READ_LENGTH
    margin: int = EXTRA_STRATA
    library: ErrorRate = UNKNOWN_LIBRARY

    @classmethod
    def of(cls, plan: SearchPlan, params: MapParams) -> Rules:
        """The rules of a search by this plan."""
        scoring, is_local = params.scoring, params.mode == "local"
        return cls(
            plan,
            is_local,
            params.longest_read,
            breaking=breaking_cost(scoring),
            match=scoring.match if is_local else 0,
            error_cost=scoring.match + scoring.mismatch if is_local else 1,
            least_score=scoring.least_score,
            any_perfect=scoring.min_score is None,
            perfect_ends=2 * scoring.clip,
            costs=doubled(scoring),
            leaving=np.array([(width, leaving_cost(scoring, width)) for width in WIDTHS], np.int64),
        )


class OneReadSearch:
    """Finds the places of single reads; any thread may ask, and each has memory of its own.

    The best places only, without ALT contigs, and with the whole index in memory: see `suits`. In mode "local" it
    places reads that need no clipping.
    """

    def __init__(self, index: SeedIndex, plan: SearchPlan, cascade: Cascade, params: MapParams):
        rules = Rules.of(plan, params)
        self._made_of = index, plan, cascade, rules, instruction_sets()[0], params.max_hits
        self._of_thread = threading.local()

    @staticmethod
    def suits(index: SeedIndex, params: MapParams) -> bool:
        """Whether single reads can be searched so, by the parameters for these; else they are for the batches."""
        # Where ends may be clipped, further places are looked for once more.
        best = not params.exhaustive and index.reference.alt is None
        best &= params.mode != "local" or params.most_hits == 1
        whole = params.memory is None and not index.parts and not index.converted
        return best and whole and params.min_length is None and params.strand is None

    def places(self, bases: bytes, make: Callable[[tuple[Any, ...]], T]) -> list[T] | None:
        """What `make` returns of each place, as `_core.one_read.OneRead.hits`; None where a batch must be asked."""
        if bases.translate(None, LETTERS):
            return None
        try:
            search = self._of_thread.search
        except AttributeError:
            search = self._of_thread.search = OneRead(*self._made_of)
        try:
            return search.hits(bases, make)
        except IndexError:  # a batch says what is wrong with the index
            return None
