#!/usr/bin/env python3
"""What seeds cost: the number by which a search chooses its stages (`COPIES` in `gassst/search/plan.py`).

    scripts/bench/seed_costs.py human133.gsi

Random reads, which have no place in the genome, are mapped with plans of one stage. Their CPU time is fitted by what
was done: lookups of a seed on both strands, places that these led to, bands scored, and one stage for each read. How
often seeds of the genome occur beside their own place and those of chance tells what repeats add. All is printed in
lookups.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from harness import benchmark_parser, describe_machine, numbers, run, table, write_json
from seeds import codes_at

import gassst
from gassst.index.miss_model import Stage
from gassst.model.read_batch import ReadBatch
from gassst.search.plan import SearchPlan

RNG_SEED = 1
BASES = np.frombuffer(b"ACGT", np.uint8)


def random_batch(n: int, m: int) -> ReadBatch:
    """`n` reads of `m` random bases."""
    bases = np.random.default_rng(RNG_SEED).choice(BASES, n * m)
    offsets = np.arange(n + 1, dtype=np.uint32)
    return ReadBatch(np.full(n, ord("r"), np.uint8), offsets, bases, None, offsets * np.uint32(m))


def stages(plan: SearchPlan, m: int) -> list[Stage]:
    """Disjoint seeds of several lengths, and overlapping ones of those that chance finds about once."""
    disjoint = [Stage(w, m // w, True) for w in range(plan.affordable, plan.k + 17, 3) if w <= m]
    dense = [Stage(plan.affordable + more, m - plan.affordable - more + 1, False) for more in range(3)]
    return disjoint + [stage._replace(every=every) for stage in dense for every in (1, 2, 4, 8)]


def work_of(index: gassst.Index, batch: ReadBatch, stage: Stage, rounds: int) -> list[float]:
    """Nanoseconds of a read, the least of some rounds; its lookups, their places, and bands scored."""
    mapper = gassst.Mapper(index, threads=1, device="none", mode="global")
    mapper.plan._stages = lambda m, errors: [stage]  # type: ignore[method-assign]
    least, n = float("inf"), len(batch.offsets) - 1
    for _ in range(rounds):
        began = time.thread_time()
        stats = mapper.map_batch(batch)[1]
        least = min(least, time.thread_time() - began)
    return [least * 1e9 / n, float(stage.looked_up), stats.occurrences / n, stats.scored / n]


def copies(index: gassst.Index, plan: SearchPlan, samples: int) -> list[list[float]]:
    """By length of seeds of the genome: the mean number of their other places that a search would look at, without
    those of chance; and the same times their bases."""
    rng = np.random.default_rng(RNG_SEED)
    at = index.positions[np.sort(rng.integers(0, len(index.positions), samples))]
    rows = []
    for w in range(plan.affordable + 1, plan.k + 17):
        lo, hi = index.lookup(codes_at(index, at, w), w)
        count = (hi - lo).astype(np.int64)
        others = float(np.where(count > plan.caps[w], 0, count - 1).mean() - plan.by_chance(w))
        rows.append([w, others, others * w])
    return rows


def main(argv: Sequence[str] | None = None) -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("index", metavar="REF.gsi")
    parser.add_argument("-m", "--lengths", type=numbers, default=[50, 100, 150], help="of reads (50,100,150)")
    parser.add_argument("-n", "--number", type=int, default=10_000, metavar="N", help="reads (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="(%(default)s)")
    args = parser.parse_args(argv)
    index = gassst.Index.open(args.index)
    plan = gassst.Mapper(index, threads=1, device="none").plan
    print(describe_machine(), end="\n\n")
    rows = [
        work_of(index, random_batch(args.number, m), stage, args.rounds)
        for m in args.lengths
        for stage in stages(plan, m)
    ]
    work = np.array(rows)
    done = np.column_stack([work[:, 1:], np.ones(len(work))])
    # Weighed so that every plan counts alike.
    solved, *_ = np.linalg.lstsq(done / work[:, :1], np.ones(len(work)), rcond=None)
    lookup, place, band, stage = solved.tolist()
    beside = copies(index, plan, 4 * args.number)
    print(table(["seed", "other places", "times its bases"], beside))
    fitted = {
        "lookup_ns": lookup,
        "COPIES": float(np.mean([row[2] for row in beside])),
        "lookups of a place": place / lookup,
        "lookups of a stage": (stage + band) / lookup,
    }
    print(table(["number", "value"], [[name, value] for name, value in fitted.items()]))
    write_json(args.json, {"costs": fitted, "work": rows, "copies": beside})


if __name__ == "__main__":
    run(main)
