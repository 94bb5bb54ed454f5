#!/usr/bin/env python3
"""What each filter rejects and costs, alone and in a chain, on the candidates that the mapper really makes.

    scripts/bench/filters.py REF.gsi READS.fq [READS.fq ..] --orders "tnw4-4,fd,duplicate;none"

Prints the share filtered and the time for one candidate, as Rizk's Tables 4.3 and 4.4 do. One run of the mapper with
--record's filters, in one thread, tells up to how many errors matter to each read. Every filter and every chain then
runs on the same candidates, those of the first stage of seeds; with --all there is no other. Times are CPU times of the
thread, the least of --repeat runs; wall-clock times are in the JSON. What is left goes to the extender as distinct
bands of diagonals, so a chain costs its filters and its bands.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from harness import (
    Elapsed,
    benchmark_parser,
    describe_machine,
    run,
    share,
    table,
    timed,
    write_json,
)

from gassst._core.filters import passed
from gassst.api.mapper import Mapper
from gassst.bands.cpu import CpuExtender
from gassst.cli.options import parse_filters
from gassst.errors import UsageError
from gassst.index.choice import load_index
from gassst.mapping.batch_mapper import BatchMapper
from gassst.model.params import MAX_READ_LENGTH
from gassst.model.read_batch import PackedReads, ReadBatch
from gassst.model.stats import Stats
from gassst.reads.in_memory import batch_of_records
from gassst.reads.input import open_reads
from gassst.search.arrays import Candidates
from gassst.search.context import BatchContext
from gassst.search.filters import AUTO_FILTERS, FILTERS, filter_of
from gassst.search.host import HostBackend
from gassst.workers.thread_count import usable_threads


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
        state, _ = backend.best_places()
        reads = np.flatnonzero(rows.number[packed.lengths]).astype(np.uint32)
        seeds, _, _ = backend.resolve(reads, rows, mapper.plan.caps)
        planes = mapper.index.reference.planes
        return cls(backend.gather(seeds, reads), state.limit, packed, planes, context.shift)


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
    """Everything measured on one read file, as written to JSON."""
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
    result: dict[str, Any] = {
        "reads": path, "n_reads": recorded.reads, "occurrences": recorded.occurrences, "band_ns": score.each,
        "candidates": experiment.candidates, "mean_length": recorded.bases / max(1, recorded.reads),
        "mean_limit": _mean_limit(calls),
        "alone": {name: experiment.chain([name])[0][0].as_dict() for name in FILTERS},
        "score": score.as_dict(),
    }  # fmt: skip
    result["chains"] = [run_chain(order, experiment, score.each) for order in args.orders]
    return result


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


def alone_table(result: dict[str, Any]) -> str:
    rows = [[name, r["step_percent"], r["cpu_ns_each"]] for name, r in result["alone"].items()]
    rows.append(["score (each band)", result["score"]["step_percent"], result["score"]["cpu_ns_each"]])
    return table(["filter alone", "rejected %", "CPU ns each"], rows)


def chain_table(result: dict[str, Any], chain: dict[str, Any]) -> str:
    """Tables 4.3 and 4.4 of one chain in one; the last row is the extender, counted in bands."""
    rows, first = [], result["candidates"]
    for name, r in chain["steps"].items():
        time_share = share(r["cpu_ns_each"] * r["in"], chain["cpu_ns_in_all"])
        total = share(first - r["out"], first)
        rows.append([name, r["in"], r["out"], r["step_percent"], total, r["cpu_ns_each"], time_share])
    score = chain["score"]
    time_share = share(score["in"] * result["band_ns"], chain["cpu_ns_in_all"])
    total = share(first - score["out"], first)
    counts = score["in"], score["out"], score["step_percent"], total
    rows.append(["score (bands)", *counts, score["cpu_ns_each"], time_share])
    header = ["filter step", "in", "out", "step %", "total %", "CPU ns each", "time %"]
    return table(header, rows, f"chain {','.join(chain['order']) or 'none'}")


def report(result: dict[str, Any]) -> str:
    head = (
        f"{result['reads']}: {result['n_reads']:,} reads of {result['mean_length']:.0f} bases, "
        f"{result['occurrences']:,} seed occurrences, {result['candidates']:,} candidates, "
        f"limit {result['mean_limit']:.1f} errors\n"
    )
    chains = (chain_table(result, chain) for chain in result["chains"])
    return "\n".join([head, alone_table(result), *chains])


def parse_orders(text: str) -> list[tuple[str, ...]]:
    """Filter orders of "tnw4-4,fd;none"."""
    orders = list(dict.fromkeys(parse_filters(order.strip()) for order in text.split(";")))
    for name in itertools.chain.from_iterable(orders):
        if name not in FILTERS:
            raise UsageError(f"unknown filter {name!r}; known are {', '.join(FILTERS)}")
    return orders


def build_parser() -> argparse.ArgumentParser:
    default = ";".join((",".join(AUTO_FILTERS), ",".join(FILTERS), "none"))
    p = benchmark_parser(__doc__)
    add = p.add_argument
    add("index", metavar="REF.gsi", help="index, or a FASTA")
    add("reads", nargs="+", metavar="READS.fq")
    add("--orders", default=default, metavar="A,B;C", help="orders of filters (%(default)s)")
    add(
        "--record",
        type=parse_filters,
        default=AUTO_FILTERS,
        metavar="A,B",
        help="filters of the recorded run",
    )
    add("--reads-limit", type=int, default=20_000, metavar="N", help="first reads of each file (%(default)s)")
    add("--repeat", type=int, default=3, metavar="N", help="the fastest of N runs counts (%(default)s)")
    add("--batch-size", type=int, default=16384, metavar="READS")
    add("-w", "--seed-length", type=int, metavar="W")
    add("-p", "--min-identity", type=float, metavar="P")
    add("-g", "--gaps", type=int, metavar="G")
    add("-s", "--sensitivity", type=int, default=2, metavar="0..5")
    add("--all", action="store_true", help="search for all alignments")
    return p


def main(argv: Sequence[str] | None = None) -> None:
    args = build_parser().parse_args(argv)
    args.orders = parse_orders(args.orders)
    index = load_index(args.index, usable_threads())
    print(describe_machine(), end="\n\n")
    results = []
    for path in args.reads:
        results.append(run_dataset(path, index, args))
        print(report(results[-1]), flush=True)
    write_json(args.json, {"data_sets": results})


if __name__ == "__main__":
    run(main)
