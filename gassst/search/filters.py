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

# What the one pass of `flanks` counts: candidates that its bounds leave, one after another.
FLANK_STEPS = ("flanks-tnw4", "flanks-fd", "flanks-nw16")


class Batch(NamedTuple):
    """What filters look at besides the candidates, and what they tell besides those that pass.

    `rejected` takes the diagonals that `band32` rejects, `steps` what each step of a filter with several leaves.
    """

    limits: NDArray[np.uint16]
    packed: Any
    reference_planes: NDArray[np.uint64]
    gaps: int
    shift: int
    verified: NDArray[np.uint64] | None
    rejected: list[Diagonals] | None
    steps: dict[str, int] | None


Filter = Callable[[Candidates, Batch], Candidates]


def _thesis() -> Any:
    """The compiled filters of the thesis: no default runs one, so they are loaded where one is named."""
    return import_module("gassst._core.thesis_filters")


def _of_thesis(name: str, candidates: Candidates, batch: Batch) -> Candidates:
    return Candidates(*_thesis().passed(name, candidates, *batch[:6]))


def _flanks(candidates: Candidates, batch: Batch) -> Candidates:
    kept, (passed, *rejected) = _filters.flanks(candidates, *batch[:3])
    if batch.steps is not None:
        batch.steps.update(_flank_steps(passed, rejected))
    return Candidates(*kept)


def _flank_steps(passed: int, rejected: list[int]) -> dict[str, int]:
    """How many candidates each of `FLANK_STEPS` leaves, from how many pass and how many each step rejects."""
    left = passed + sum(rejected) - np.cumsum(rejected)
    return dict(zip(FLANK_STEPS, left.tolist(), strict=True))


def _count(counters: Funnel, steps: dict[str, int], entered: int, elapsed: int) -> None:
    """Count the steps of one pass, each with how many it leaves. They share its time, which stands with the first."""
    for step, left in steps.items():
        counters.count(step, entered, left, elapsed)
        entered, elapsed = left, 0


def _band32(candidates: Candidates, batch: Batch) -> Candidates:
    kept, rejected = _filters.band32(candidates, *batch[:4])
    if batch.rejected is not None:
        batch.rejected.append(Diagonals(*rejected))
    return Candidates(*kept)


_THESIS = "tnw4-4", "fd", "duplicate", "tnw4-16", "tnw5-full"
# In the order of Rizk's cascade.
FILTERS: dict[str, Filter] = {
    **{name: partial(_of_thesis, name) for name in _THESIS},
    "flanks": _flanks,
    "band32": _band32,
}


BAND_LEAD = DEFAULT_MAX_GAPS + 1
"""Diagonals of the narrow band before the candidate's own. It decides where no alignment leaves it by so many gaps."""

# What "auto" stands for where the best places are wanted. A narrow band costs a third of a band and rejects three in
# five to nineteen in twenty. Looking at the flanks before costs as much (lab/sensitivity.md).
AUTO_FILTERS = ("band32",)
# Where all places are wanted, limits are tight and chance has led to 98 in 100 candidates or more.
AUTO_FILTERS_OF_ALL = ("flanks", "band32")


class Cascade:
    """Filters run one after another, in the order given.

    `names` from `FILTERS`, or "auto" for those of `auto`; `gaps`, the most gap bases an alignment may have;
    `shift`: a bucket of the `duplicate` stage is `2**shift` diagonals. Raises UsageError for an unknown name.
    """

    def __init__(self, names: Iterable[str], gaps: int, shift: int = 0, auto: tuple[str, ...] = AUTO_FILTERS):
        self.names = tuple(n for name in names for n in (auto if name == AUTO else (name,)))
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
        for name, (entered, left, elapsed, passed, *rejected) in zip(self.names, passes, strict=True):
            steps = _flank_steps(passed, rejected) if name == "flanks" else {name: left}
            _count(counters, steps, entered, elapsed)

    @classmethod
    def of_run(cls, params: MapParams, plan: SearchPlan) -> Cascade:
        """The filters that the parameters ask for."""
        auto = AUTO_FILTERS_OF_ALL if params.exhaustive and params.meth is None else AUTO_FILTERS
        return cls(params.filters, plan.gaps, plan.shift, auto)

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
        steps: dict[str, int] = {}
        seen = limits, packed, reference_planes, self.gaps, self.shift, verified
        batch = Batch(*seen, rejected, steps)
        for name in self.names:
            entered, start = len(candidates), perf_counter_ns()
            candidates = FILTERS[name](candidates, batch)
            elapsed = perf_counter_ns() - start
            if counters is not None:
                _count(counters, steps or {name: len(candidates)}, entered, elapsed)
            steps.clear()
        return candidates
