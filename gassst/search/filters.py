"""The ordered filters between seeds and extension, each with its counts (Rizk 4.6.5).

No filter loses an alignment: where one with at most `limit` errors and at most `gaps` gap bases goes through
the seed of a candidate, that candidate passes, or, at the `duplicate` stage, one that stands for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst._core import filters as _filters
from gassst.errors import UsageError


@dataclass(frozen=True)
class Candidates:
    """Error-free seeds on diagonals, sorted by (read_strand, diagonal, offset).

    `read_strand` uint32[n]; `diagonal` uint32[n], the concatenated coordinate that read base 0 of that strand
    faces; `offset` uint16[n] and `length` uint16[n]: read bases offset..offset+length-1 are the seed.
    """

    read_strand: NDArray[np.uint32]
    diagonal: NDArray[np.uint32]
    offset: NDArray[np.uint16]
    length: NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.read_strand)

    def take(self, index: Any) -> Candidates:
        """The candidates at `index`: integers, a slice or a mask."""
        columns = self.read_strand, self.diagonal, self.offset, self.length
        return Candidates(*(column[index] for column in columns))


class Batch(NamedTuple):
    """What filters look at besides the candidates."""

    limits: NDArray[np.uint16]
    packed: Any
    reference_planes: NDArray[np.uint64]
    gaps: int
    shift: int = 0
    verified: NDArray[np.uint64] | None = None


def _tnw4_4(candidates: Candidates, batch: Batch) -> Candidates:
    return Candidates(*_filters.tnw4_4(candidates, *batch[:3]))


def _frequency_distance(candidates: Candidates, batch: Batch) -> Candidates:
    return Candidates(*_filters.frequency_distance(candidates, *batch[:3]))


def _duplicate(candidates: Candidates, batch: Batch) -> Candidates:
    return Candidates(*_filters.duplicate(candidates, *batch[:3], batch.shift, batch.verified))


def _tnw4_16(candidates: Candidates, batch: Batch) -> Candidates:
    return Candidates(*_filters.tnw4_16(candidates, *batch[:4]))


def _tnw5_full(candidates: Candidates, batch: Batch) -> Candidates:
    return Candidates(*_filters.tnw5_full(candidates, *batch[:4]))


# In the order of Rizk's cascade.
FILTERS: dict[str, Callable[[Candidates, Batch], Candidates]] = {
    "tnw4-4": _tnw4_4,
    "fd": _frequency_distance,
    "duplicate": _duplicate,
    "tnw4-16": _tnw4_16,
    "tnw5-full": _tnw5_full,
}


@dataclass
class Stage:
    """Candidates in and out of one stage, and the nanoseconds it took."""

    entered: int = 0
    left: int = 0
    nanoseconds: int = 0

    def __iadd__(self, other: Stage) -> Stage:
        self.entered += other.entered
        self.left += other.left
        self.nanoseconds += other.nanoseconds
        return self


def _percent_filtered(left: int, entered: int) -> float:
    return 100 * (1 - left / entered) if entered else 0.0


@dataclass
class Funnel:
    """Counts of the stages in the order in which they ran; funnels of batches add up with `+=`."""

    stages: dict[str, Stage] = field(default_factory=dict)

    def count(self, name: str, entered: int, left: int, nanoseconds: int) -> None:
        """Adds to the stage of that name, which becomes the last one when it is new."""
        stage = self.stages.setdefault(name, Stage())
        stage += Stage(entered, left, nanoseconds)

    def __iadd__(self, other: Funnel) -> Funnel:
        for name, stage in other.stages.items():
            self.count(name, stage.entered, stage.left, stage.nanoseconds)
        return self

    def as_dict(self) -> dict[str, dict[str, float]]:
        """Stage name -> in, out, nanoseconds, ns_per_candidate, step_percent and total_percent filtered."""
        first = next(iter(self.stages.values()), Stage()).entered
        return {
            name: {
                "in": stage.entered,
                "out": stage.left,
                "nanoseconds": stage.nanoseconds,
                "ns_per_candidate": stage.nanoseconds / max(1, stage.entered),
                "step_percent": _percent_filtered(stage.left, stage.entered),
                "total_percent": _percent_filtered(stage.left, first),
            }
            for name, stage in self.stages.items()
        }

    def __str__(self) -> str:
        """A table like Rizk's Table 4.3, with counts and time."""
        rows = [f"{'filter':<12}{'in':>14}{'out':>14}{'step %':>8}{'total %':>9}{'ns each':>9}"]
        rows += [
            f"{name:<12}{row['in']:>14,}{row['out']:>14,}{row['step_percent']:>8.1f}"
            f"{row['total_percent']:>9.1f}{row['ns_per_candidate']:>9.1f}"
            for name, row in self.as_dict().items()
        ]
        return "\n".join(rows)


class Cascade:
    """Filters run one after another, in the order given.

    `names` from `FILTERS`; `gaps`, the most gap bases an alignment may have; `shift`: a bucket of the
    `duplicate` stage is `2**shift` diagonals. Raises UsageError for an unknown name.
    """

    def __init__(self, names: Iterable[str], gaps: int, shift: int = 0):
        self.names = tuple(names)
        self.gaps = gaps
        self.shift = shift
        for name in self.names:
            if name not in FILTERS:
                raise UsageError(f"unknown filter {name!r}; known are {', '.join(FILTERS)}")

    def run(
        self,
        candidates: Candidates,
        limits: NDArray[np.uint16],
        packed: Any,
        reference_planes: NDArray[np.uint64],
        verified: NDArray[np.uint64] | None = None,
        counters: Funnel | None = None,
    ) -> Candidates:
        """The candidates that pass all filters, in their order.

        `limits` uint16[n_reads]: most errors of each read. `packed`: the PackedReads. `verified`: sorted
        uint64 of `read_strand << 32 | diagonal >> shift`, the buckets whose bands have been scored.
        Counts are added to `counters`.
        """
        batch = Batch(limits, packed, reference_planes, self.gaps, self.shift, verified)
        for name in self.names:
            entered, start = len(candidates), perf_counter_ns()
            candidates = FILTERS[name](candidates, batch)
            if counters is not None:
                counters.count(name, entered, len(candidates), perf_counter_ns() - start)
        return candidates
