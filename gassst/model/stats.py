"""Counters of a run: mergeable with `+=`, written as JSON. `gassst.cli.summary` prints them for people."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from gassst._core import counts as _counts
from gassst._core.error_cycles import errors_by_cycle
from gassst.errors import InputError, unreadable
from gassst.files.whole_file import write_text
from gassst.frozen import asdict, field, mutable
from gassst.model.funnel import Funnel, count_of
from gassst.model.layouts import NO_SCORE
from gassst.model.params import LONGEST_TEMPLATE, MIN_READ_LENGTH
from gassst.model.reference import GAP
from gassst.model.times import Times

if TYPE_CHECKING:
    from gassst.model.reference import Reference

CONFIDENT = 20  # MAPQ from which a read counts as placed with confidence (Rizk Table 4.2)
CYCLE_COUNTS = ("reads", "mismatches", "insertions", "deletions")
ENDS = ("five_prime", "three_prime")
DAMAGE_COUNTS = ("C", "C>T", "G", "G>A")
TOTALS = (
    "reads",
    "bases",
    "mapped",
    "confident",
    "capped",
    "occurrences",
    "candidates",
    "scored",
    "traced",
    "rescued",
    "renamed",
    "too_long",
    "too_short",
    "trimmed",
    "copies",
    "copies_mapped",
    "left_out",
    "pairs",
    "proper",
    "duplicates",
)
WORK = ("occurrences", "candidates", "scored", "traced", "rescued")
COUNTERS = ("errors", "mapq", "inserts", "nanoseconds")
WINDOWS = 256  # of the reference, for a picture of coverage

OF_ONE_RUN = ("libraries", "insert", "read_groups")  # parts of `Stats.run` that a sum of runs has not


class _Timer:
    """Adds the time of a block to a counter of ns. A batch has two hundred blocks: a generator would cost more."""

    __slots__ = "_counter", "_stage", "_start"

    def __init__(self, counter: Counter[str], stage: str):
        self._counter, self._stage = counter, stage

    def __enter__(self) -> None:
        self._start = time.perf_counter_ns()

    def __exit__(self, *error: object) -> None:
        self._counter[self._stage] += time.perf_counter_ns() - self._start


@mutable()
class Stats:
    """What happened to the reads and where the time went.

    `cycles`, `damage`, `inserts`, `windows` and `contigs` are empty where a run was not asked for them.

    Attributes
    ----------
    reads, bases, mapped, confident, capped : int
        Reads seen; their bases; reads with an alignment; with MAPQ of 20 or more; with a seed passed over because
        it occurs too often.
    rescued : int
        Bands scored to look for a read beside its mate; they are among `scored`.
    renamed : int
        Reads whose names SAM could not hold, so that they were changed.
    left_out : int
        Fields of comments and names that should have been tags, but are none.
    too_long : int
        Reads of more bases than a search takes: left unmapped.
    too_short : int
        Reads of fewer bases than a search takes, as they are mapped: unmapped.
    trimmed : int
        Reads cut at an adapter before they were mapped.
    copies, copies_mapped : int
        Of collapsed reads: how many reads they stand for, and how many of these are mapped.
    duplicates : int
        Mapped reads flagged as duplicates, where these are marked; secondary and supplementary records do not count.
    pairs, proper : int
        Pairs seen; proper ones.
    errors : Counter
        Reads by edits of their best alignment.
    mapq : Counter
        Mapped reads by mapping quality.
    occurrences, candidates, scored, traced : int
        Seed occurrences looked at, the anchors that they form, bands scored, alignments traced back.
    inserts : Counter
        Pairs by template length, of mates that are both mapped with confidence, on one contig and in the orientation of
        the library.
    nanoseconds : Counter
        Time by stage, summed over worker threads.
    extension : Times
        What was done in bands; `run["extension"]` has it in files.
    funnel : Funnel
        Candidates into and out of every filter.
    cycles : int64[c, 4]
        By position in the reads as sequenced: mapped reads that have it; mismatches, inserted and
        deleted bases of their primary alignments there.
    damage : int64[d, 2, 4]
        Deaminated bases by distance from the 5' and the 3' end of the reads, in their direction. The columns are bases
        of primary alignments on C, of these T, on G, and of these A.
    windows : int64[WINDOWS]
        Aligned bases of the reference, of primary and supplementary alignments, in equal windows over all
        contigs; empty before the first batch.
    contigs : int64[c]
        The same by contig.
    run : dict
        What ran, as `Mapper.describe` says; of pairs also the insert sizes.
    doubts, libraries : list
        What the first batch of a file leaves in doubt, as text; and the library of so many reads, as
        `runs.libraries.Library`. Of one batch, not of sums, nor in files.
    """

    reads: int = 0
    bases: int = 0
    mapped: int = 0
    confident: int = 0
    capped: int = 0
    occurrences: int = 0
    candidates: int = 0
    scored: int = 0
    traced: int = 0
    rescued: int = 0
    renamed: int = 0
    too_long: int = 0
    too_short: int = 0
    trimmed: int = 0
    copies: int = 0
    copies_mapped: int = 0
    left_out: int = 0
    pairs: int = 0
    proper: int = 0
    duplicates: int = 0
    errors: Counter[int] = field(default_factory=Counter)
    mapq: Counter[int] = field(default_factory=Counter)
    inserts: Counter[int] = field(default_factory=Counter)
    nanoseconds: Counter[str] = field(default_factory=Counter)
    extension: Times = field(default_factory=Times, compare=False)
    funnel: Funnel = field(default_factory=Funnel)
    cycles: np.ndarray = field(default_factory=lambda: np.zeros((0, 4), np.int64), compare=False)
    damage: np.ndarray = field(default_factory=lambda: np.zeros((0, 2, 4), np.int64), compare=False)
    windows: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64), compare=False)
    contigs: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64), compare=False)
    run: dict[str, Any] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list, compare=False)
    libraries: list[Any] = field(default_factory=list, compare=False)

    def __repr__(self) -> str:
        return f"<Stats: {self.reads:,} reads, {self.mapped:,} mapped>"

    @classmethod
    def of_runs(cls, runs: dict[str, Stats]) -> Stats:
        """The sum of several runs of one mapper, by output; `run["samples"]` has the counts of each."""
        total = cls()
        for stats in runs.values():
            total += stats
            total.run = {key: value for key, value in stats.run.items() if key not in OF_ONE_RUN}
        total.run["seconds"] = sum(stats.run.get("seconds", 0.0) for stats in runs.values())
        total.run["extension"] = asdict(total.extension)
        total.run["samples"] = {output: stats._as_sample() for output, stats in runs.items()}
        return total

    def _as_sample(self) -> dict[str, Any]:
        """What `as_dict` of a sum says of one sample: its counts, read groups and insert sizes."""
        counts = self.as_dict()
        kept = {name: counts[name] for name in (*TOTALS, "errors", "mapq", "inserts", "cycles")}
        kept["coverage"] = {"windows": counts["coverage"]["windows"]}
        return kept | {"insert": self.run.get("insert"), "read_groups": self.run.get("read_groups", [])}

    def timed(self, stage: str) -> AbstractContextManager[None]:
        """A context that adds the time its block takes to a stage."""
        return _Timer(self.nanoseconds, stage)

    def count_bands(self, **done: int) -> None:
        """Add what was done in bands: fields of `Times`."""
        self.extension += Times(**done)

    def count_reads(
        self, hits: np.ndarray, summary: np.ndarray, lengths: np.ndarray, offsets: np.ndarray, longest: int
    ) -> None:
        """Count the reads of a batch: `hits` HIT[h], `summary` READ_SUMMARY[n]; `lengths` uint32[n], as they were
        searched, of at most `longest` bases; `offsets` uint32[n + 1] of their bases in the batch."""
        self.reads += len(lengths)
        self.bases += int(offsets[-1] - offsets[0])
        counted = _counts.count_reads(hits, summary, lengths, offsets, MIN_READ_LENGTH, longest, CONFIDENT)
        for name, number in zip(("too_short", "too_long", "mapped", "confident"), counted, strict=False):
            setattr(self, name, getattr(self, name) + number)
        _add(self.errors, counted[-2])
        _add(self.mapq, counted[-1])

    def count_copies(self, copies: np.ndarray | None, summary: np.ndarray) -> None:
        """Count what collapsed reads stand for: `copies` int64[n], `summary` READ_SUMMARY[n]."""
        if copies is not None:
            self.copies += int(copies.sum())
            self.copies_mapped += int(copies[summary["best"] != NO_SCORE].sum())

    def count_cycles(self, hits: np.ndarray, cigars: np.ndarray, planes: np.ndarray, packed: Any) -> None:
        """Count errors by cycle, and damage: `hits` and `cigars` of a `BatchResult`, `planes` of the reference."""
        with self.timed("cycles"):
            reads = packed.planes, packed.plane_start, packed.lengths
            cycles, damage = errors_by_cycle(hits, cigars, planes, *reads)
            self.cycles = _added(self.cycles, cycles)
            self.damage = _added(self.damage, damage)

    def count_places(
        self, hits: np.ndarray, cigars: np.ndarray, reference: Reference, mate: np.ndarray | None, insert: Any
    ) -> None:
        """Count aligned bases and, of pairs in the orientation of `insert` (InsertModel), template lengths.

        `mate` (uint8[n]) is that of the batch, the others are as for `count_cycles`.
        """
        starts, lengths = reference.starts, reference.lengths
        edges = np.linspace(0, lengths.sum(), WINDOWS + 1).astype(np.int64)
        self.windows, self.contigs = _grown(self.windows, WINDOWS), _grown(self.contigs, len(starts))
        _counts.count_coverage(hits, cigars, starts, GAP, edges, self.windows, self.contigs)
        if mate is not None:
            pairs = mate, starts, insert, CONFIDENT, LONGEST_TEMPLATE
            _add(self.inserts, _counts.count_templates(hits, cigars, *pairs))

    def add_work_of(self, other: Stats) -> None:
        """Add what was done and how long it took, not the reads for which it was done."""
        for name in WORK:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.nanoseconds.update(other.nanoseconds)
        self.extension += other.extension
        self.funnel += other.funnel

    def __iadd__(self, other: Stats) -> Stats:
        """Add the counts of another part of the run; `run` stays as it is."""
        for name in TOTALS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in COUNTERS:
            getattr(self, name).update(getattr(other, name))
        self.extension += other.extension
        self.funnel += other.funnel
        self.cycles = _added(self.cycles, other.cycles)
        self.damage = _added(self.damage, other.damage)
        self.windows = _added(self.windows, other.windows)
        self.contigs = _added(self.contigs, other.contigs)
        return self

    def as_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON has."""
        result = {name: getattr(self, name) for name in TOTALS}
        for name in COUNTERS:
            result[name] = {str(k): v for k, v in sorted(getattr(self, name).items())}
        result["cycles"] = dict(zip(CYCLE_COUNTS, self.cycles.T.tolist(), strict=True))
        result["damage"] = {
            end: dict(zip(DAMAGE_COUNTS, self.damage[:, i].T.tolist(), strict=True))
            for i, end in enumerate(ENDS)
        }
        result["coverage"] = {"windows": self.windows.tolist(), "contigs": self.contigs.tolist()}
        run = self.run
        if contigs := run.get("reference"):
            lists = {"names": list(contigs["names"]), "lengths": np.asarray(contigs["lengths"]).tolist()}
            run = run | {"reference": lists}
        return {**result, "opencl": self.on_device, "funnel": self.funnel.as_dict(), "run": run}

    @property
    def on_device(self) -> dict[str, float]:
        """Shares of the scored bands, and of tracebacks, that OpenCL kernels have made, and seconds of the device."""
        made = self.extension
        done = {"scored": made.device_scored, "traced": made.device_traced}
        shares = {name: round(n / max(getattr(self, name), 1), 4) for name, n in done.items()}
        spent = {"kernel": made.device_kernel, "upload": made.upload, "download": made.download}
        return shares | {f"{name}_seconds": round(ns / 1e9, 3) for name, ns in spent.items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Stats:
        """The counts of which `as_dict` has made this. Raises KeyError, and as `count_of`."""
        stats = cls(run=dict(values["run"]))
        if "seconds" in stats.run:
            stats.run["seconds"] = float(stats.run["seconds"])
        for name in TOTALS:
            setattr(stats, name, count_of(values[name]))
        for name in COUNTERS:
            numbers = {
                key if name == "nanoseconds" else count_of(key): count_of(n)
                for key, n in values[name].items()
            }
            getattr(stats, name).update(numbers)
        columns = [list(map(count_of, values["cycles"][name])) for name in CYCLE_COUNTS]
        stats.cycles = np.array(columns, np.int64).reshape(len(CYCLE_COUNTS), -1).T.copy()
        stats.damage = damage_table(values["damage"])
        coverage = values["coverage"]
        stats.windows = np.array(list(map(count_of, coverage["windows"])), np.int64)
        stats.contigs = np.array(list(map(count_of, coverage["contigs"])), np.int64)
        stats.funnel = Funnel.from_dict(values["funnel"])
        return stats

    @classmethod
    def read_json(cls, path: str | os.PathLike[str]) -> Stats:
        """The counts in a file that `write_json` has written. Raises InputError."""
        try:
            with open(path, encoding="utf-8") as file:
                return cls.from_dict(json.load(file))
        except OSError as error:
            raise unreadable(path, error) from error
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            raise InputError(f"{path}: not statistics that --stats wrote") from None

    @classmethod
    def of_parts(cls, parts: Sequence[Stats]) -> Stats:
        """The sum of what machines have counted of one input; `run` is that of the first, with the time of all."""
        total = cls()
        for part in parts:
            total += part
        total.run = {key: value for key, value in parts[0].run.items() if key != "shard"}
        total.run["seconds"] = round(sum(part.run.get("seconds", 0.0) for part in parts), 3)
        total.run["shards"] = len(parts)
        return total

    def as_json(self) -> str:
        """`as_dict()` as text."""
        return json.dumps(self.as_dict(), indent=1) + "\n"

    def write_json(self, path: str | os.PathLike[str]) -> None:
        """Write `as_json()`; "-" is standard output. Raises OutputError, and leaves no cut file behind."""
        write_text(path, self.as_json())


def damage_table(values: dict[str, dict[str, list[int]]]) -> np.ndarray:
    """int64[d, 2, 4] as of `Stats.damage`, of what `as_dict` has made of it. Raises KeyError, and as `count_of`."""
    columns = [[list(map(count_of, values[end][name])) for name in DAMAGE_COUNTS] for end in ENDS]
    return np.array(columns, np.int64).reshape(len(ENDS), len(DAMAGE_COUNTS), -1).transpose(2, 0, 1).copy()


def _added(counts: np.ndarray, more: np.ndarray) -> np.ndarray:
    """`counts` after `more` was added to its first rows: in place, unless `more` is longer."""
    counts = _grown(counts, len(more))
    counts[: len(more)] += more
    return counts


def _grown(counts: np.ndarray, rows: int) -> np.ndarray:
    """`counts` with so many rows, the new ones zero: itself, if it has as many."""
    if len(counts) >= rows:
        return counts
    grown = np.zeros((rows, *counts.shape[1:]), counts.dtype)
    grown[: len(counts)] = counts
    return grown


def _add(counter: Counter[int], counts: np.ndarray) -> None:
    """Add int64[k] counts, by their number."""
    counter.update({n: int(counts[n]) for n in np.flatnonzero(counts).tolist()})
