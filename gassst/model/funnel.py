"""Candidates into and out of every filter of a run, and the time each filter took."""

from __future__ import annotations

from typing import Any

from gassst.frozen import field, mutable


def count_of(value: Any) -> int:
    """A number of things, from JSON. Raises TypeError, ValueError, OverflowError for a value that cannot be one."""
    count = int(value)
    if not 0 <= count < 1 << 63:
        raise ValueError("no count")
    return count


@mutable()
class FilterCounts:
    """Candidates into and out of one filter, and the nanoseconds it took."""

    entered: int = 0
    left: int = 0
    nanoseconds: int = 0

    def __iadd__(self, other: FilterCounts) -> FilterCounts:
        self.entered += other.entered
        self.left += other.left
        self.nanoseconds += other.nanoseconds
        return self


def _percent_filtered(left: int, entered: int) -> float:
    return 100 * (1 - left / entered) if entered else 0.0


@mutable()
class Funnel:
    """Counts of the stages in the order in which they ran; funnels of batches add up with `+=`."""

    stages: dict[str, FilterCounts] = field(default_factory=dict)

    def count(self, name: str, entered: int, left: int, nanoseconds: int) -> None:
        """Adds to the stage of that name, which becomes the last one when it is new."""
        stage = self.stages.setdefault(name, FilterCounts())
        stage += FilterCounts(entered, left, nanoseconds)

    def __iadd__(self, other: Funnel) -> Funnel:
        for name, stage in other.stages.items():
            self.count(name, stage.entered, stage.left, stage.nanoseconds)
        return self

    def as_dict(self) -> dict[str, dict[str, float]]:
        """Stage name -> in, out, nanoseconds, ns_per_candidate, step_percent and total_percent filtered."""
        first = next(iter(self.stages.values()), FilterCounts()).entered
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

    @classmethod
    def from_dict(cls, values: dict[str, dict[str, float]]) -> Funnel:
        """The funnel of which `as_dict` has made this. Raises KeyError, and as `count_of`."""
        funnel = cls()
        for name, stage in values.items():
            funnel.count(name, *(count_of(stage[key]) for key in ("in", "out", "nanoseconds")))
        return funnel

    def __str__(self) -> str:
        """A table like Rizk's Table 4.3, with counts and time."""
        rows = [f"{'filter':<12}{'in':>14}{'out':>14}{'step %':>8}{'total %':>9}{'ns each':>9}"]
        rows += [
            f"{name:<12}{row['in']:>14,}{row['out']:>14,}{row['step_percent']:>8.1f}"
            f"{row['total_percent']:>9.1f}{row['ns_per_candidate']:>9.1f}"
            for name, row in self.as_dict().items()
        ]
        return "\n".join(rows)
