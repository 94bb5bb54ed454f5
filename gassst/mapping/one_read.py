"""Places of reads and pairs, one at a time: what a batch of one gives, without the cost of a batch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from gassst._core.read_search import OneRead
from gassst._core.stages import PairStages, Stages, instruction_sets
from gassst.index.seed_index import SeedIndex
from gassst.local.align import PAIR_BONUS, compiled_aligner
from gassst.model.params import SPECIFIC_LENGTH, MapParams
from gassst.model.presets import EXTRA_STRATA
from gassst.pairing.insert_size import InsertModel
from gassst.reads.adapters import KNOWN, RULES
from gassst.search.context import WHOLE_READS, PairContext
from gassst.search.filters import Cascade
from gassst.search.host import MATES, SPLIT, given_up
from gassst.search.plan import SearchPlan

T = TypeVar("T")
# Letters of a read that the compiled search takes as they are; others are for the rules for records.
LETTERS = b"ACGTUNacgtun"


class OneReadSearch:
    """Finds the places of single reads, or of pairs; any thread may ask, and each has memory of its own.

    The best places only, without ALT contigs, and with the whole index in memory: see `suits`.

    Parameters
    ----------
    index, plan, cascade
        As `BatchContext` has them.
    params : MapParams
        Of single reads, or of pairs.
    insert : InsertModel
        Of the library. Its `errors` are those of single reads, too.
    are_pairs : bool
    """

    def __init__(
        self,
        index: SeedIndex,
        plan: SearchPlan,
        cascade: Cascade,
        params: MapParams,
        insert: InsertModel,
        are_pairs: bool,
    ):
        self.index, self.plan, self._cascade = index, plan, cascade
        self.params, self._insert, self._are_pairs = params, insert, are_pairs
        self.reference = self.index.reference
        self._of_thread = threading.local()

    @staticmethod
    def suits(index: SeedIndex, params: MapParams, are_pairs: bool) -> bool:
        """Whether reads, or pairs, can be searched so, by the parameters for these; else they are for the batches."""
        # Where ends may be clipped, further places are looked for once more.
        best = not params.exhaustive and index.reference.alt is None
        best &= params.mode != "local" or params.most_hits == 1
        best &= not are_pairs or (params.mode == "local" and params.pairing)
        whole = params.memory is None and not index.parts and not index.converted
        return best and whole and params.min_length is None and params.strand is None

    def places(self, make: Callable[[tuple[Any, ...]], T], *reads: bytes) -> list[list[T]] | None:
        """What `make` returns of each place of each read, as `OneRead.hits`; None where a batch must be
        asked."""
        if b"".join(reads).translate(None, LETTERS):
            return None
        try:
            search = self._of_thread.search
        except AttributeError:
            search = self._of_thread.search = self._made()
        try:
            return search.hits(make, *reads)
        except IndexError:  # a batch says what is wrong with the index
            return None

    def _made(self) -> OneRead:
        index, plan, params, insert = self.index, self.plan, self.params, self._insert
        kind = PairStages if self._are_pairs else Stages
        stages = kind(index, None, self._cascade, plan, EXTRA_STRATA, instruction_sets()[0])
        ends = compiled_aligner(params, PAIR_BONUS)
        mates = np.array([1, 2], np.uint8)
        pairs = PairContext.of(self, mates, insert) if self._are_pairs else None
        known = given_up(params), insert.errors
        adapters = KNOWN, *RULES, SPECIFIC_LENGTH
        wholes = WHOLE_READS and params.reports_whole_reads and not self._are_pairs
        return OneRead(stages, ends, plan, params, *known, adapters, SPLIT, wholes, pairs, MATES)
