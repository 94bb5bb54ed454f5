"""What each filter of a chain rejects and costs, on the candidates that the mapper really makes: for thesis.py.

One run of the mapper with the filters of `record`, in one thread, tells up to how many errors matter to each read.
Every chain then runs on the same candidates, those of the first stage of seeds; with `all` there is no other. Times are
CPU times of the thread, the least of `repeat` runs. What is left goes to the extender as distinct bands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from harness import (
    Elapsed,
    share,
    timed,
)

from gassst._core.stages import passed
from gassst.api.mapper import Mapper
from gassst.gpu.bands import CpuExtender
from gassst.mapping.batch_mapper import BatchMapper
from gassst.model.params import MAX_READ_LENGTH
from gassst.model.read_batch import PackedReads, ReadBatch
from gassst.model.stats import Stats
from gassst.reads.in_memory import batch_of_records
from gassst.reads.input import open_reads
from gassst.search.arrays import Candidates
from gassst.search.context import BatchContext
from gassst.search.filters import FILTERS, filter_of
from gassst.search.host import HostBackend


@dataclass
class Call:
    """What filters are given. `limits`: the errors that matter to each read."""

    candidates: Candidates
    limits: np.ndarray
    packed: PackedReads
    reference_planes: np.ndarray
    shift: int

    def bands(self, candidates: Candidates, words: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, int]]:
        """(read_strand, band_start, words) of the buckets of `candidates`, by words (docs/pipeline.md)."""
        read_strand, bucket = candidates.read_strand, candidates.diagonal >> self.shift
        new = np.append(True, (np.diff(bucket) != 0) | (read_strand[1:] != read_strand[:-1]))[: len(bucket)]
        read_strand, bucket = read_strand[new], bucket[new]
        of_band = words[self.packed.lengths[read_strand >> 1]].astype(np.int64)
        start = (bucket << self.shift) - (32 * of_band - (1 << self.shift >> 1))
        rows = ((int(w), of_band == w) for w in np.unique(of_band))
        return [(read_strand[at], start[at], w) for w, at in rows]

    @classmethod
    def of(cls, mapper: BatchMapper, batch: ReadBatch) -> Call:
        """The candidates of the first stage of seeds of a batch, and the limits that its search ends with."""
        packed = batch.pack()
        searched = mapper.index, mapper.parts, mapper.plan, mapper.cascade, mapper.params.for_single()
        context = BatchContext.of(*searched, packed)
        backend, rows = HostBackend(context, None, Stats()), mapper.plan.rows(0)
        _, limit, *_ = backend.placed()[0].states
        reads = np.flatnonzero(rows.number[packed.lengths]).astype(np.uint32)
        seeds = SimpleNamespace(rows=lambda: rows, caps=lambda plan: plan.caps)
        anchors = backend.look_densely(reads, seeds).anchors
        return cls(anchors, limit, packed, mapper.index.reference.planes, context.shift)


def first_reads(path: str, most: int, batch_size: int) -> Iterator[ReadBatch]:
    """Batches of the first `most` reads of a file."""
    left = most
    for batch in open_reads([path], batch_size, max_length=MAX_READ_LENGTH):
        if len(batch) > left:
            names = ((batch.name(i), batch.sequence(i), batch.quality(i)) for i in range(left))
            batch = batch_of_records(names, MAX_READ_LENGTH)
        yield batch
        left -= len(batch)
        if left <= 0:
            return


@dataclass
class StepResult:
    """One stage of a chain, summed over calls."""

    name: str
    entered: int = 0
    left: int = 0
    elapsed: Elapsed = field(default_factory=Elapsed)

    @property
    def filtered(self) -> float:
        return share(self.entered - self.left, self.entered)

    @property
    def each(self) -> float:
        """CPU nanoseconds for one that entered."""
        return self.elapsed.cpu / max(1, self.entered)

    def as_dict(self) -> dict[str, Any]:
        return {
            "in": self.entered, "out": self.left, "step_percent": self.filtered, "cpu_ns_each": self.each,
            "wall_ns_each": self.elapsed.wall / max(1, self.entered),
        }  # fmt: skip


class Experiment:
    """Recorded calls of one read file, and the filters, chains and kernels run on them."""

    def __init__(self, mapper: BatchMapper, calls: list[Call], repeat: int):
        self.calls, self.repeat = calls, repeat
        self.filters = {name: filter_of(name, mapper.plan.gaps) for name in FILTERS}
        self.words = mapper.plan.words
        self.cpu = CpuExtender(mapper.index.reference.planes)
        self.candidates = sum(len(call.candidates) for call in calls)

    def _filter(self, name: str, candidates: Candidates, call: Call) -> tuple[Candidates, Elapsed]:
        seen = call.limits, call.packed, call.reference_planes
        runs = [timed(passed, self.filters[name], candidates, *seen) for _ in range(self.repeat)]
        return Candidates(*runs[0][0][0]), min(elapsed for _, elapsed in runs)

    def chain(self, names: Sequence[str]) -> tuple[list[StepResult], list[Candidates]]:
        """Counts and times of every stage, and the survivors of every call."""
        steps = [StepResult(name) for name in names]
        survivors = []
        for call in self.calls:
            left = call.candidates
            for step in steps:
                step.entered += len(left)
                left, elapsed = self._filter(step.name, left, call)
                step.left += len(left)
                step.elapsed += elapsed
            survivors.append(left)
        return steps, survivors

    def score(self, survivors: list[Candidates]) -> StepResult:
        """The bands of survivors, scored by the CPU backend in this thread; those within their limits are left."""
        step = StepResult("score")
        for call, left in zip(self.calls, survivors, strict=True):
            with self.cpu.open_reads(call.packed) as reads:
                for read_strand, start, words in call.bands(left, self.words):
                    runs = [timed(reads.score, read_strand, start, words) for _ in range(self.repeat)]
                    best = runs[0][0][0]
                    step.entered += len(best)
                    step.left += int(np.count_nonzero(best <= call.limits[read_strand >> 1]))
                    step.elapsed += min(elapsed for _, elapsed in runs)
        return step


def map_batches(mapper: BatchMapper, batches: list[ReadBatch]) -> Stats:
    """The mapper's own counts and times, batch after batch in this thread."""
    total = Stats()
    for batch in batches:
        total += mapper.map_batch(batch)[1]
    return total


def _mean_limit(calls: list[Call]) -> float:
    """Errors allowed to a candidate, on average."""
    limits = sum(int(c.limits[c.candidates.read_strand >> 1].sum(dtype=np.int64)) for c in calls)
    return limits / max(1, sum(len(call.candidates) for call in calls))


def run_dataset(path: str, index: Any, args: Any) -> dict[str, Any]:
    """Everything measured on one read file."""
    options = {
        "threads": 1, "device": "none", "batch_size": args.batch_size, "min_identity": args.min_identity,
        "gaps": args.gaps, "sensitivity": args.sensitivity, "seed_length": args.seed_length,
        "all_hits": args.all, "mode": "global",
    }  # fmt: skip
    batches = list(first_reads(path, args.reads_limit, args.batch_size))
    mapper = Mapper(index, filters=args.record, **options)._engine
    recorded, calls = map_batches(mapper, batches), [Call.of(mapper, batch) for batch in batches]
    experiment = Experiment(mapper, calls, args.repeat)
    score = experiment.score([call.candidates for call in calls])
    return {
        "n_reads": recorded.reads, "candidates": experiment.candidates, "band_ns": score.each,
        "mean_length": recorded.bases / max(1, recorded.reads), "mean_limit": _mean_limit(calls),
        "chain": run_chain(args.order, experiment, score.each),
    }  # fmt: skip


def run_chain(order: tuple[str, ...], experiment: Experiment, band_ns: float) -> dict[str, Any]:
    """One chain on the recorded candidates: its steps, the bands it leaves, and what it costs with them."""
    steps, survivors = experiment.chain(order)
    score = experiment.score(survivors)
    filters = sum(step.elapsed.cpu for step in steps)
    return {
        "order": order, "steps": {step.name: step.as_dict() for step in steps},
        "left": sum(map(len, survivors)), "score": score.as_dict(),
        "cpu_ns_filters": filters, "cpu_ns_in_all": filters + score.entered * band_ns,
    }  # fmt: skip
