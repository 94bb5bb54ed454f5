"""The numbers of a run as the reports need them: of the right types, whatever file they came from."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gassst.errors import InputError, unreadable
from gassst.model.funnel import count_of
from gassst.model.stats import CYCLE_COUNTS, damage_table

COUNTS = ("reads", "bases", "mapped", "confident", "capped")
LATER_COUNTS = ("pairs", "proper", "duplicates")  # which older files may lack
WORK = {
    "occurrences": "seed occurrences",
    "candidates": "anchors made of them",
    "scored": "bands scored",
    "traced": "alignments traced back",
}
STAGES = {
    "parse": "text to records",
    "pack": "reads to bit planes",
    "upload": "reads to the device",
    "seeds": "seeds looked up in the index",
    "candidates": "seed occurrences to candidates and buckets",
    "filters": "the cascade of filters",
    "score": "errors of bands",
    "pairs": "mates looked for beside each other, pairs scored",
    "select": "best places chosen",
    "align": "tracebacks and CIGARs",
    "local": "local alignments at the places found",
    "cycles": "errors counted by cycle",
    "encode": "records made",
    "write": "records written",
}
LEAST_DAMAGE = 0.01  # share of the bases at an end, beyond the share inside
FUNNEL = {
    "in": "in",
    "out": "out",
    "step_percent": "rejected, %",
    "total_percent": "so far, %",
    "ns_per_candidate": "ns each",
}


@dataclass(frozen=True)
class Numbers:
    """The numbers of a run, of the right types; what a run did not count is empty.

    Attributes
    ----------
    counts, work : dict of str to int
        `COUNTS` with `LATER_COUNTS`, and `WORK`.
    errors, mapq : dict of int to int
        Value -> reads, ascending.
    nanoseconds : dict of str to int
        By stage in the order of the pipeline, the filters as one.
    funnel : dict of str to dict
        As of `Funnel.as_dict()`.
    cycles : int64[c, 4]
        Columns `CYCLE_COUNTS`.
    damage : int64[d, 2, 4]
        As of `Stats`.
    inserts : dict of int to int
        Template length -> pairs, ascending.
    windows, contigs : int64[w], int64[c]
        Aligned bases by window of the reference and by contig.
    run : dict
        `Stats.run`, without the samples.
    samples : dict of str to Numbers
        Those of a sheet, by output.
    """

    counts: dict[str, int]
    work: dict[str, int]
    errors: dict[int, int]
    mapq: dict[int, int]
    nanoseconds: dict[str, int]
    funnel: dict[str, dict[str, float]]
    cycles: np.ndarray
    damage: np.ndarray
    inserts: dict[int, int]
    windows: np.ndarray
    contigs: np.ndarray
    run: dict[str, Any]
    samples: dict[str, Numbers] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, stats: dict[str, Any], source: str = "statistics") -> Numbers:
        """From `Stats.as_dict()`; raises InputError, with `source` as its subject, for anything else."""
        try:
            funnel = stats.get("funnel", {})
            return cls(
                {
                    name: count_of(stats[name] if name in COUNTS else stats.get(name, 0))
                    for name in COUNTS + LATER_COUNTS
                },
                {name: count_of(stats[name]) for name in WORK if name in stats},
                _histogram(stats.get("errors", {})),
                _histogram(stats.get("mapq", {})),
                _stage_times(stats.get("nanoseconds", {}), funnel),
                {name: _funnel_row(row) for name, row in funnel.items()},
                _cycle_table(stats.get("cycles", {})),
                damage_table(stats["damage"]) if "damage" in stats else np.zeros((0, 2, 4), np.int64),
                _histogram(stats.get("inserts", {})),
                *_coverage(stats.get("coverage", {}), stats.get("run", {}).get("reference", {})),
                _run(stats.get("run", {})),
                cls._samples(stats.get("run", {}).get("samples", {}), source),
            )
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise InputError(f"{source}: not what `gassst map --stats` writes ({error!r})") from None

    @classmethod
    def _samples(cls, samples: dict[str, Any], source: str) -> dict[str, Numbers]:
        return {
            str(output): cls.from_dict({**one, "run": {"read_groups": one["read_groups"]}}, source)
            for output, one in samples.items()
        }

    @property
    def sample(self) -> str:
        """The samples of the read groups, "" where there are none."""
        names = [group.get("SM", "") for group in self.run.get("read_groups", [])]
        return ", ".join(dict.fromkeys(filter(None, names)))

    @property
    def reference_bases(self) -> int:
        """Of all contigs, 0 where they are not known."""
        return sum(self.run.get("reference", {}).get("lengths", []))

    @property
    def mean_coverage(self) -> float:
        """Aligned bases for each base of the reference."""
        return int(self.windows.sum()) / self.reference_bases if self.reference_bases else 0.0

    @property
    def edits_per_read(self) -> float:
        """Errors of a mapped read."""
        edits = sum(value * count for value, count in self.errors.items())
        return edits / self.counts["mapped"] if self.counts["mapped"] else 0.0

    @property
    def damage_percent(self) -> np.ndarray:
        """Shares C>T and G>A in percent, float64[d, 2, 2], by distance from the 5' and from the 3' end."""
        return 100 * self.damage[:, :, 1::2] / np.maximum(self.damage[:, :, ::2], 1)

    @property
    def is_damaged(self) -> bool:
        """Whether more bases are deaminated at an end of the reads than inside: C>T at either, or G>A at the 3' end."""
        inside = self.damage[len(self.damage) // 2 :].sum(0)
        for end, kind in ((0, 0), (1, 0), (1, 1)):
            of, changed = self.damage[:1, end, 2 * kind : 2 * kind + 2].sum(0).tolist()
            usual, among = int(inside[end, 2 * kind + 1]), max(int(inside[end, 2 * kind]), 1)
            expected = of * usual / among
            if changed - expected > max(LEAST_DAMAGE * of, 5 * (expected + 1) ** 0.5):
                return True
        return False

    @property
    def median_insert(self) -> int:
        """Of the template lengths that were counted, 0 where there are none."""
        half = (sum(self.inserts.values()) + 1) // 2
        for length, n in self.inserts.items():
            half -= n
            if half <= 0:
                return length
        return 0


def _histogram(counts: dict[str, int]) -> dict[int, int]:
    return dict(sorted((count_of(value), count_of(n)) for value, n in counts.items()))


def _stage_times(nanoseconds: dict[str, int], funnel: dict[str, dict[str, float]]) -> dict[str, int]:
    times = {name: count_of(ns) for name, ns in nanoseconds.items()}
    if funnel:
        times["filters"] = sum(count_of(row["nanoseconds"]) for row in funnel.values())
    order = {name: place for place, name in enumerate(STAGES)}
    return dict(sorted(times.items(), key=lambda item: (order.get(item[0], len(order)), item[0])))


def _cycle_table(cycles: dict[str, list[int]]) -> np.ndarray:
    columns = [cycles[name] for name in CYCLE_COUNTS] if cycles else [[]] * len(CYCLE_COUNTS)
    return np.array(columns, np.int64).T


def _funnel_row(row: dict[str, float]) -> dict[str, float]:
    return {key: float(count_of(row[key]) if key in ("in", "out") else row[key]) for key in FUNNEL}


def _coverage(
    coverage: dict[str, list[int]], reference: dict[str, list[Any]]
) -> tuple[np.ndarray, np.ndarray]:
    windows, contigs = ([count_of(n) for n in coverage.get(name, [])] for name in ("windows", "contigs"))
    if windows and reference and len(contigs) != len(reference["names"]):
        raise ValueError("coverage of other contigs")
    return np.array(windows, np.int64), np.array(contigs, np.int64)


def _run(run: dict[str, Any]) -> dict[str, Any]:
    """A copy, once the parts that are looked into are of the right types."""
    reference, groups = run.get("reference", {}), run.get("read_groups", [])
    names, lengths = list(reference.get("names", [])), [count_of(n) for n in reference.get("lengths", [])]
    if len(names) != len(lengths):
        raise ValueError("contigs without a length")
    groups = [{str(key): str(value) for key, value in group.items()} for group in groups]
    known: dict[str, Any] = {"read_groups": groups}
    known |= {name: dict(run.get(name, {})) for name in ("parameters", "effective")}
    if isinstance(extension := run.get("extension"), dict):
        counts = {name: count_of(n) for name, n in extension.items() if isinstance(n, int)}
        known["extension"] = extension | counts
    if reference:
        known["reference"] = {"names": list(map(str, names)), "lengths": lengths}
    if isinstance(run.get("extension"), dict):
        known["extension"] = {
            name: count_of(value) if isinstance(value, int) else value
            for name, value in run["extension"].items()
        }
    if "seconds" in run:
        known["seconds"] = float(run["seconds"])
    found = {**run, **{name: value for name, value in known.items() if name in run}}
    return {name: value for name, value in found.items() if name != "samples"}


def read_stats(path: str | os.PathLike[str]) -> Numbers:
    """The numbers in a file of `gassst map --stats`. Raises InputError."""
    try:
        with open(path, encoding="utf-8") as file:
            stats = json.load(file)
    except OSError as error:
        raise unreadable(path, error) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error})") from None
    return Numbers.from_dict(stats, str(path))
