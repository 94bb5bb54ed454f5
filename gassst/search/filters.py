"""The ordered filters between seeds and extension, each with its counts (Rizk 4.6.5).

No filter loses an alignment. Take any with at most `limit` errors and at most `gaps` gap bases that goes through the
seed of a candidate. That candidate passes or, at the `duplicate` stage, one that stands for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst._core import filters as _filters
from gassst.errors import UsageError
from gassst.model.funnel import Funnel
from gassst.model.params import AUTO, MapParams
from gassst.search.arrays import Candidates, Diagonals
from gassst.search.plan import DEFAULT_MAX_GAPS, SearchPlan


class Batch(NamedTuple):
    """What filters look at besides the candidates. `rejected` takes the diagonals that `band32` rejects."""

    limits: NDArray[np.uint16]
    packed: Any
    reference_planes: NDArray[np.uint64]
    gaps: int
    shift: int
    verified: NDArray[np.uint64] | None
    rejected: list[Diagonals] | None


Filter = Callable[[Candidates, Batch], Candidates]


def _thesis() -> Any:
    """The compiled filters of the thesis: no default runs one, so they are loaded where one is named."""
    return import_module("gassst._core.thesis_filters")


def _of_thesis(name: str, candidates: Candidates, batch: Batch) -> Candidates:
    return Candidates(*_thesis().passed(name, candidates, *batch[:6]))


def _band32(candidates: Candidates, batch: Batch) -> Candidates:
    kept, rejected = _filters.band32(candidates, *batch[:4])
    if batch.rejected is not None:
        batch.rejected.append(Diagonals(*rejected))
    return Candidates(*kept)


_THESIS = "tnw4-4", "fd", "duplicate", "tnw4-16", "tnw5-full"
# In the order of Rizk's cascade.
FILTERS: dict[str, Filter] = {
    **{name: partial(_of_thesis, name) for name in _THESIS},
    "band32": _band32,
}


BAND_LEAD = DEFAULT_MAX_GAPS + 1
"""Diagonals of the narrow band before the candidate's own. It decides where no alignment leaves it by so many gaps."""

# What "auto" stands for where the best places are wanted. A narrow band costs a third of a band and rejects three in
# five to nineteen in twenty (lab/sensitivity.md).
AUTO_FILTERS = ("band32",)


class Cascade:
    """Filters run one after another, in the order given.

    `names` from `FILTERS`, or "auto" for `AUTO_FILTERS`; `gaps`, the most gap bases an alignment may have;
    `shift`: a bucket of the `duplicate` stage is `2**shift` diagonals. Raises UsageError for an unknown name.
    """

    def __init__(self, names: Iterable[str], gaps: int, shift: int = 0):
        self.names = tuple(n for name in names for n in (AUTO_FILTERS if name == AUTO else (name,)))
        self.gaps = gaps
        self.shift = shift
        for name in self.names:
            if name not in FILTERS:
                raise UsageError(f"unknown filter {name!r}; known are {', '.join(FILTERS)} and {AUTO}")

    def compiled(self) -> list[Any]:
        """The filters as compiled code takes them, a `_core.filters.Filter` each."""
        return [(_thesis() if n in _THESIS else _filters).filter_of(n, self.gaps) for n in self.names]

    def count(self, passes: list[list[int]], counters: Funnel) -> None:
        """Add what each filter has counted in compiled code, a row of `_core.stages.Stages.funnel` each."""
        for name, counts in zip(self.names, passes, strict=True):
            counters.count(name, *counts)

    @classmethod
    def of_run(cls, params: MapParams, plan: SearchPlan) -> Cascade:
        """The filters that the parameters ask for."""
        return cls(params.filters, plan.gaps, plan.shift)

    def run(
        self,
        candidates: Candidates,
        limits: NDArray[np.uint16],
        packed: Any,
        reference_planes: NDArray[np.uint64],
        verified: NDArray[np.uint64] | None = None,
        counters: Funnel | None = None,
        rejected: list[Diagonals] | None = None,
    ) -> Candidates:
        """The candidates that pass all filters, in their order.

        `limits` uint16[n_reads]: most errors of each read. `packed`: the PackedReads. `verified`: sorted
        uint64 of `read_strand << 32 | diagonal >> shift`, the buckets whose bands have been scored.
        Counts are added to `counters`; to `rejected`, the diagonals on which no seed leads to an alignment
        within the limit.
        """
        batch = Batch(limits, packed, reference_planes, self.gaps, self.shift, verified, rejected)
        for name in self.names:
            entered, start = len(candidates), perf_counter_ns()
            candidates = FILTERS[name](candidates, batch)
            elapsed = perf_counter_ns() - start
            if counters is not None:
                counters.count(name, entered, len(candidates), elapsed)
        return candidates
