"""Places of single reads, one read at a time: what a batch of one gives, without the cost of a batch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from gassst._core.banded import instruction_sets
from gassst._core.one_read import OneRead
from gassst.index.seed_index import SeedIndex
from gassst.local.align import compiled_aligner
from gassst.local.mates import PAIR_BONUS
from gassst.model.params import MapParams
from gassst.model.presets import EXTRA_STRATA
from gassst.pairing.error_rate import UNKNOWN_LIBRARY
from gassst.reads.adapters import KNOWN, RULES
from gassst.search.filters import Cascade
from gassst.search.host import given_up
from gassst.search.plan import SearchPlan

T = TypeVar("T")
# Letters of a read that the compiled search takes as they are; others are for the rules for records.
LETTERS = b"ACGTUNacgtun"


class OneReadSearch:
    """Finds the places of single reads; any thread may ask, and each has memory of its own.

    The best places only, without ALT contigs, and with the whole index in memory: see `suits`. In mode "local" a read
    with 20 clipped bases is left to a batch.
    """

    def __init__(self, index: SeedIndex, plan: SearchPlan, cascade: Cascade, params: MapParams):
        self._params = params
        self._made_of = index, plan, cascade, params, instruction_sets()[0], EXTRA_STRATA
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
            params = self._params
            ends = compiled_aligner(params, PAIR_BONUS) if params.mode == "local" else None
            known = given_up(params), UNKNOWN_LIBRARY, (KNOWN, *RULES), ends
            search = self._of_thread.search = OneRead(*self._made_of, *known)
        try:
            return search.hits(bases, make)
        except IndexError:  # a batch says what is wrong with the index
            return None
