"""The filters of a run by name: lower bounds on the errors of candidates, which discard no good one (Rizk 4.6)."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from gassst._core import stages as _stages
from gassst.errors import UsageError
from gassst.model.params import AUTO, MapParams
from gassst.search.plan import DEFAULT_MAX_GAPS, SearchPlan

_THESIS = "tnw4-4", "fd", "duplicate", "tnw4-16", "tnw5-full"
FILTERS = (*_THESIS, "band32")
"""In the order of Rizk's cascade."""

BAND_LEAD = DEFAULT_MAX_GAPS + 1
"""Diagonals of the narrow band before the candidate's own. It decides where no alignment leaves it by so many gaps."""

# What "auto" stands for. A narrow band costs a third of a band and rejects three in five to nineteen in twenty
# (lab/sensitivity.md).
AUTO_FILTERS = ("band32",)


def filter_of(name: str, gaps: int) -> _stages.Filter:
    """The compiled filter of this name. No default runs one of the thesis, so these are loaded where one is named."""
    of: Any = import_module("gassst._core.thesis_filters") if name in _THESIS else _stages
    return of.filter_of(name, gaps)


class Cascade:
    """Filters run one after another, in the order given.

    `names` from `FILTERS`, or "auto" for `AUTO_FILTERS`; `gaps`, the most gap bases an alignment may have. Raises
    UsageError for an unknown name.
    """

    def __init__(self, names: Iterable[str], gaps: int):
        self.names = tuple(n for name in names for n in (AUTO_FILTERS if name == AUTO else (name,)))
        self.gaps = gaps
        for name in self.names:
            if name not in FILTERS:
                raise UsageError(f"unknown filter {name!r}; known are {', '.join(FILTERS)} and {AUTO}")

    def compiled(self) -> list[_stages.Filter]:
        """The filters as compiled code takes them."""
        return [filter_of(name, self.gaps) for name in self.names]

    @classmethod
    def of_run(cls, params: MapParams, plan: SearchPlan) -> Cascade:
        """The filters that the parameters ask for."""
        return cls(params.filters, plan.gaps)
