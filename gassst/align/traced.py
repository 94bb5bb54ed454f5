"""Alignments with their paths, of many pairs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gassst._core.pairwise import Comparison, instruction_sets
from gassst.align.gaps import gap_costs
from gassst.align.matrices import MatrixLike, substitution_matrix
from gassst.align.modes import LOCAL, TARGET_BEGIN, mode_flags
from gassst.align.products import exceeds_memory, verified_pairs
from gassst.align.scoring import Costs, prepare
from gassst.align.sequences import Sequences
from gassst.errors import UsageError
from gassst.workers.tasks import Progress, ProgressBar, run_problems, thread_count

I64 = NDArray[np.int64]
OPERATIONS = "MIDNSHP=X"
LANES = 64  # the most of any vector, as LANES_MOST of ext/pairwise/lanes.h
LINE_BYTES, LETTER_BYTES = 8, 4  # for a column: between blocks, and in a kernel
ROW_BYTES = 160  # for a row in a kernel


class Limits(NamedTuple):
    """How much of a pair is kept. Alignments do not depend on it."""

    whole_bytes: int = 1 << 25
    """Bytes of directions, half a byte a cell, up to which all of them are."""
    block_rows: int = 1024
    """Rows at least of the blocks that a larger pair is cut into: their state stays in the cache."""


LIMITS = Limits()


@dataclass(frozen=True, eq=False)
class Alignments:
    """Alignments of pairs of a query and a target; begins count from 0, ends are behind the last letter."""

    query: I64 = field(repr=False)
    target: I64 = field(repr=False)
    """int64[n], indexes of the sequences."""
    score: NDArray[np.int32]
    """int32[n]."""
    query_begin: I64 = field(repr=False)
    query_end: I64 = field(repr=False)
    target_begin: I64 = field(repr=False)
    target_end: I64 = field(repr=False)
    """int64[n]."""
    runs: NDArray[np.uint32] = field(repr=False)
    """uint32[r], runs of all CIGARs as in BAM: length << 4 | operation."""
    run_start: I64 = field(repr=False)
    """int64[n + 1], where the runs of each begin."""

    def __len__(self) -> int:
        return len(self.score)

    def __repr__(self) -> str:
        return f"<Alignments: {len(self):,}>"

    def cigar(self, i: int) -> str:
        """Of one: M a letter of either, I one of the query alone, D one of the target alone; "" without letters.

        Raises IndexError.
        """
        return "".join(f"{run >> 4}{OPERATIONS[run & 15]}" for run in self.runs_of(i).tolist())

    def runs_of(self, i: int) -> NDArray[np.uint32]:
        """uint32[runs] of one. Raises IndexError."""
        i = range(len(self))[i]
        return self.runs[self.run_start[i] : self.run_start[i + 1]]


def pairs(
    queries: Any,
    targets: Any,
    mode: Literal["local", "global", "semiglobal"] = "local",
    *,
    matrix: MatrixLike = "NUC4.4",
    gap_open: int = 10,
    gap_extend: int = 1,
    free_ends: Literal["both", "query", "target"] = "both",
    pairs: ArrayLike | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Alignments:
    """Optimal alignments of pairs: score, begin and end on both sequences, CIGAR.

    Without `pairs` query i is aligned with target i; where one side has one sequence only, that with all of the
    other. Ties are broken by the end in the query, then by the end in the target. The traceback from there prefers a
    pair of letters to a gap, a gap in the target to one in the query, and a short gap to a long one. Beyond 2**26
    cells only some rows of a pair are kept, and the path is found block by block.

    Parameters
    ----------
    queries, targets, mode, matrix, gap_open, gap_extend, free_ends, threads, progress
        As `scores` takes them.
    pairs : int[n, 2], optional
        Indexes of a query and a target each.

    Returns
    -------
    Alignments

    Raises
    ------
    UsageError, InputError
        As `scores`; also without `pairs` for other numbers of queries and targets.
    """
    gaps, flags, count = gap_costs(gap_open, gap_extend), mode_flags(mode, free_ends), thread_count(threads)
    first, second, costs = prepare(queries, targets, substitution_matrix(matrix), gaps, flags)
    costs.verify(int(first.lengths.max()), int(second.lengths.max()))
    if pairs is not None:
        chosen = verified_pairs(pairs, len(first), len(second))
    elif len(first) == len(second) or 1 in (len(first), len(second)):
        each = np.arange(max(len(first), len(second)))
        chosen = np.empty((len(each), 2), np.int64)
        chosen[:, 0], chosen[:, 1] = each % len(first), each % len(second)
    else:
        raise UsageError(f"{len(first)} queries and {len(second)} targets: pairs= says which belong together")
    return trace(first, second, costs, chosen, count, progress)


def trace(
    queries: Sequences,
    targets: Sequences,
    costs: Costs,
    chosen: I64,
    threads: int,
    progress: Progress | bool | None = None,
    instruction_set: str | None = None,
    limits: Limits = LIMITS,
) -> Alignments:
    """As `pairs`, of what is prepared: `chosen` int64[n, 2]."""
    m, n = queries.lengths[chosen[:, 0]].astype(float), targets.lengths[chosen[:, 1]].astype(float)
    cells = m * n
    if len(chosen):
        _check_memory(costs, m, n, threads, limits)
    job = Comparison(queries, targets, costs.planes(), costs, instruction_set or instruction_sets()[0])
    parts: dict[int, tuple[I64, NDArray[np.uint32], I64]] = {}

    def run(start: int, end: int) -> None:
        parts[start] = job.trace(costs.table, chosen[start:end], *limits)

    bar = ProgressBar(progress, float(cells.sum()))
    run_problems(cells, run, threads, job.stop, bar)
    bar.finish()
    found = [parts[start] for start in sorted(parts)]
    ends = np.concatenate([part[0] for part in found]) if found else np.zeros((0, 5), np.int64)
    counts = [np.diff(part[2]) for part in found]
    run_start = np.zeros(len(chosen) + 1, np.int64)
    np.cumsum(np.concatenate(counts) if counts else np.zeros(0, np.int64), out=run_start[1:])
    runs = np.concatenate([part[1] for part in found]) if found else np.zeros(0, np.uint32)
    score, query_begin, query_end, target_begin, target_end = ends.T
    places = query_begin, query_end, target_begin, target_end
    return Alignments(chosen[:, 0], chosen[:, 1], score.astype(np.int32), *places, runs, run_start)


def _check_memory(
    costs: Costs, m: NDArray[np.float64], n: NDArray[np.float64], threads: int, limits: Limits
) -> None:
    """Raises UsageError where the largest pairs take more than there is."""
    span = n
    if costs.flags & (LOCAL | TARGET_BEGIN):  # as trace_span there; no score is below that of a gap
        span = np.minimum(
            n, m + (np.minimum(m, n) * costs.highest + costs.first + m * costs.extend) / costs.extend
        )
    directions = (m + LANES) * (span + LANES) / 2
    is_whole = directions <= limits.whole_bytes
    rows = np.minimum(m, np.maximum(limits.block_rows, 4 * np.sqrt(m) + LANES))
    blocks = (rows + LANES) * (span + LANES) / 2 + LINE_BYTES * span * (m / rows + 1)
    needed = np.where(is_whole, directions, blocks) + (LINE_BYTES + LETTER_BYTES) * n + ROW_BYTES * rows
    most = float(np.sort(needed)[-threads:].sum())
    if exceeds_memory(most):
        at = int(needed.argmax())
        raise UsageError(
            f"the path of {m[at]:,.0f} x {n[at]:,.0f} letters takes {needed[at] / 2**30:.1f} GiB of memory on each of "
            f"{threads} threads, too much; scores alone take less"
        )
