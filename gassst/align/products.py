"""Scores of all queries against all targets, or of given pairs, in vectors of pairs on all cores.

One query is aligned with a vector of targets of like lengths at once (Rognes 2011; the size classes of CLSW 5.1). A
score starts in the narrowest lanes that may hold it. What overflows is done again in wider ones.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gassst._core.pairwise import OVERFLOW, Comparison, instruction_sets
from gassst.align.gaps import gap_costs
from gassst.align.groups import SPARSE_SHARE, Groups, pair_groups, split_groups
from gassst.align.matrices import MatrixLike, substitution_matrix, table_of
from gassst.align.modes import mode_flags
from gassst.align.scoring import Costs, prepare
from gassst.align.sequences import Sequences
from gassst.errors import OutputError, UsageError
from gassst.workers.allocator import available_memory
from gassst.workers.tasks import (
    LEAST_CELLS,
    SMALL_CELLS,
    THREAD_TASKS,
    Progress,
    ProgressBar,
    is_device,
    run_all,
    run_problems,
    thread_count,
)

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

TASK_CELLS = 4e8  # of a task: some hundredths of a second
BLOCK_BYTES = 256 << 20  # of scores between two looks for those that overflowed
TRIAL_QUERIES = 8  # of the first block, which shows whether lanes of 8 bits are worth their time
SAMPLE, LEAST_SAMPLED = 128, 1024  # likewise of given pairs, where there are so many
MANY_OVERFLOWS = 0.3  # share from which they are not
ROW_BYTES, COLUMN_BYTES = 256, 64  # that a thread keeps for each letter of the longest query and target
SURELY_THERE = 4 << 20  # bytes of memory: to ask for what there is takes as long as to align a pair
SWAP_LENGTH = 1 << 14  # letters of a target that may take the place of a query: its column stays in the cache


def scores(
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
    device: str | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | bool | None = None,
) -> I32:
    """Scores of optimal alignments, of every query with every target or of given pairs.

    Parameters
    ----------
    queries, targets : path, iterable, Sequences
        As `read_sequences` takes them; queries may be a list of `PSSM` instead.
    mode : str
        "local" (Smith-Waterman), "global" (Needleman-Wunsch) or "semiglobal".
    matrix : str, path, array or Matrix
        As `substitution_matrix` takes it. It sets the alphabet.
    gap_open, gap_extend : int
        A gap of K letters costs `gap_open + K * gap_extend`.
    free_ends : str
        Of semiglobal alignments. "query": letters of the query before and behind the alignment cost nothing. "target":
        those of the target. "both" (parasail's `sg`): those of either.
    pairs : int[n, 2], optional
        Indexes of a query and a target each.
    threads : int, optional
        All cores by default.
    device : str, optional
        An OpenCL device, as `gassst map --device` names it; with ":all" behind it all of its kind. By default compiled
        code does the work.
    out : path, optional
        Write the scores to this .npy file, and return them mapped into memory, read-only. It appears when it is
        complete.
    progress : callable or bool, optional
        Is called with the share that is done, 0 to 1; True shows a line on stderr.

    Returns
    -------
    int32[queries, targets], or int32[n] of pairs.

    Raises
    ------
    UsageError
        For parameters that make no sense; where scores may pass 32 bits, or the result does not fit into memory.
    InputError
        For sequences that are empty or have letters without scores.
    OutputError
        When `out` cannot be written.
    DeviceError
        For a device that is not there or fails.
    """
    gaps, flags = gap_costs(gap_open, gap_extend), mode_flags(mode, free_ends)
    count, on_device = thread_count(threads), is_device(device)
    first, second, costs = prepare(queries, targets, substitution_matrix(matrix), gaps, flags)
    costs.verify(int(first.lengths.max()), int(second.lengths.max()))
    chosen = None if pairs is None else verified_pairs(pairs, len(first), len(second))
    shape = (len(first), len(second)) if chosen is None else (len(chosen),)
    with _Result(shape, out) as result:
        if on_device:
            from gassst.align.opencl import DeviceProduct

            DeviceProduct(first, second, costs, str(device), count).run(result.scores, chosen, progress)
        elif chosen is None:
            Product(first, second, costs, count).run(result.scores, progress)
        else:
            Product(first, second, costs, count).run_pairs(result.scores, chosen, progress)
        return result.finish()


def verified_pairs(
    pairs: ArrayLike, queries: int, targets: int, sides: tuple[str, str] = ("queries", "targets")
) -> I64:
    """int64[n, 2]. Raises UsageError for anything but indexes of both sides, of so many sequences."""
    wanted = f"pairs: an array of n x 2 integers is wanted, indexes of {sides[0]} and {sides[1]}"
    array = table_of(pairs, wanted)
    if array.size == 0:
        return np.empty((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise UsageError(wanted)
    if array.min() < 0 or array[:, 0].max() >= queries or array[:, 1].max() >= targets:
        raise UsageError(f"pairs: an index is not within {queries} {sides[0]} and {targets} {sides[1]}")
    return array.astype(np.int64, copy=False)


def exceeds_memory(size: float) -> bool:
    """Whether so many bytes are more than `available_memory`, which is asked only where there is doubt."""
    return size > SURELY_THERE and size > available_memory()


class _Result:
    """The scores, in memory or in a file that takes its name when they are complete."""

    def __init__(self, shape: tuple[int, ...], out: str | os.PathLike[str] | None):
        size = 4 * math.prod(shape)
        self._destination = None
        if out is None:
            if exceeds_memory(size):
                raise UsageError(
                    f"{' x '.join(f'{n:,}' for n in shape)} scores take {size / 2**30:.1f} GiB of memory: out= writes "
                    "them to a file"
                )
            self.scores: I32 = np.empty(shape, np.int32)
            return
        from gassst.files.destination import Destination

        self._destination = Destination(out)
        if self._destination.is_stream:
            raise UsageError(
                f"{self._destination.name}: out= must be a regular file, which is mapped into memory"
            )
        self._destination.begin()
        try:
            with self._destination.errors():
                self._reserve(self._destination.working, size)
                self.scores = np.lib.format.open_memmap(
                    self._destination.working, mode="w+", dtype=np.int32, shape=shape
                )
        except BaseException:
            self._destination.discard()
            raise

    @staticmethod
    def _reserve(path: str, size: int) -> None:
        """Room on the disk: a write to mapped memory could not tell that there is none."""
        with open(path, "wb") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size + 128)

    def __enter__(self) -> _Result:
        return self

    def finish(self) -> I32:
        """The scores; those of a file read-only."""
        if self._destination is None:
            return self.scores
        assert isinstance(self.scores, np.memmap)
        with self._destination.errors():
            self.scores.flush()
        del self.scores
        self._destination.commit()
        try:
            return np.load(self._destination.final, mmap_mode="r")
        except OSError as error:
            raise OutputError(f"{self._destination.name}: {error.strerror or error}") from error

    def __exit__(self, *exception: object) -> None:
        if self._destination is not None:
            self._destination.discard()


class Product:
    """Scores by compiled code. `instruction_set` is the fastest one by default."""

    def __init__(
        self,
        queries: Sequences,
        targets: Sequences,
        costs: Costs,
        threads: int,
        instruction_set: str | None = None,
    ):
        self._queries, self._targets, self._costs, self._threads = queries, targets, costs, threads
        self._m, self._n = queries.lengths, targets.lengths
        needed = threads * (ROW_BYTES * int(self._m.max()) + COLUMN_BYTES * int(self._n.max()))
        if exceeds_memory(needed):
            raise UsageError(
                f"sequences of {self._m.max():,} and {self._n.max():,} letters take {needed / 2**30:.1f} GiB of memory "
                f"on {threads} threads: use fewer threads"
            )
        self._job = Comparison(
            queries, targets, costs.planes(), costs, instruction_set or instruction_sets()[0]
        )

    def run(self, out: I32, progress: Progress | bool | None = None) -> None:
        """All against all, into int32[queries, targets]."""
        lanes = self._job.lanes[0]
        bar = ProgressBar(progress, float(self._m.sum()) * float(self._n.sum()))
        if len(self._targets) * 2 >= lanes or self._costs.profiles:
            self._run_blocks(out, bar)
        elif len(self._queries) > len(self._targets) and self._n.max() <= SWAP_LENGTH:
            Product(self._targets, self._queries, self._costs.transposed(), self._threads)._run_blocks(
                out, bar, swapped=True
            )
        else:
            query, target = np.divmod(np.arange(out.size), len(self._targets))
            self._run_list(out.reshape(-1), np.arange(out.size), query, target, bar)
        bar.finish()

    def run_pairs(self, out: I32, pairs: I64, progress: Progress | bool | None = None) -> None:
        """Given pairs int64[n, 2], into int32[n]."""
        query, target = pairs.T
        bar = ProgressBar(progress, float((self._m[query].astype(float) * self._n[target]).sum()))
        self._run_list(out, np.arange(len(pairs)), query, target, bar)
        bar.finish()

    def _run_blocks(self, out: I32, bar: ProgressBar, swapped: bool = False) -> None:
        """All against all, a block of queries at a time. With `swapped` the rows of `out` are the targets."""
        order = np.argsort(self._n, kind="stable")[::-1]
        step = max(TRIAL_QUERIES, BLOCK_BYTES // (4 * len(self._targets)))
        at, narrowest = 0, 0
        flat = out.reshape(-1)
        while at < len(self._queries):
            end = min(len(self._queries), at + (step if at else TRIAL_QUERIES))
            groups = self._block(at, end, order, narrowest, out.shape[1] if swapped else 0)
            self._run_groups(groups, flat, bar)
            block = out[:, at:end] if swapped else out[at:end]
            narrow = [width for width, _ in groups]
            rows, columns = np.nonzero(block == OVERFLOW)
            query, target = (columns + at, rows) if swapped else (rows + at, columns)
            if min(narrow) == 0 and len(rows) > MANY_OVERFLOWS * block.size:
                narrowest = 1
            slot = target * out.shape[1] + query if swapped else query * out.shape[1] + target
            self._run_list(flat, slot, query, target, None, min(narrow) + 1)
            at = end

    def _block(
        self, at: int, end: int, order: I64, narrowest: int, swapped_stride: int
    ) -> list[tuple[int, Groups]]:
        """(width, groups) of all targets with the queries at .. end - 1, in parts."""
        found = []
        m = self._m[at:end]
        longest = np.array([m.max()])
        for width in range(3):
            lanes, start = self._job.lanes[width], 0
            chosen = order[
                np.maximum(
                    self._costs.widths(np.broadcast_to(longest, order.shape), self._n[order]), narrowest
                )
                == width
            ]
            while start < len(chosen):
                lane = chosen[start : start + lanes]
                start += lanes
                columns = self._n[lane].max(keepdims=True)
                queries = max(1, int(TASK_CELLS / (float(columns[0]) * float(m.mean()) * lanes)))
                for first in range(at, end, queries):
                    last = min(end, first + queries)
                    found.append(
                        (
                            width,
                            Groups(
                                np.array([0, len(lane)]),
                                lane,
                                lane * swapped_stride if swapped_stride else lane,
                                self._costs.bases(width, self._costs.lowest(longest, columns)),
                                first=np.array([first]),
                                last=np.array([last]),
                                stride=1 if swapped_stride else len(self._n),
                                cells=float(self._m[first:last].sum()) * float(self._n[lane].sum()),
                            ),
                        )
                    )
        return found

    def _run_list(
        self, out: I32, slot: I64, query: I64, target: I64, bar: ProgressBar | None, narrowest: int = 0
    ) -> None:
        """Pairs, into `out[slot]`; those that overflow again, in wider lanes."""
        while len(slot):
            if len(slot) < SPARSE_SHARE * min(self._job.lanes):
                self._run_each(out, slot, query, target, bar)
                return
            m, n = self._m[query], self._n[target]
            width = np.maximum(self._costs.widths(m, n), narrowest)
            if self._mostly_overflows(query[width == 0], target[width == 0]):
                narrowest = 1
                width = np.maximum(width, narrowest)
            groups = []
            for these in range(3):
                mine = np.flatnonzero(width == these)
                lanes = self._job.lanes[these]
                if len(mine) < SPARSE_SHARE * lanes:
                    chosen = mine
                else:
                    pairs = slot[mine], query[mine], m[mine], target[mine], n[mine]
                    found, alone = pair_groups(self._costs, these, lanes, pairs)
                    share = sum(group.cells for group in found) / (THREAD_TASKS * self._threads)
                    cells = min(TASK_CELLS, max(LEAST_CELLS, share))
                    groups += [(these, part) for group in found for part in split_groups(group, cells)]
                    chosen = mine[alone]
                self._run_each(out, slot[chosen], query[chosen], target[chosen], bar)
            self._run_groups(groups, out, bar or ProgressBar(None, 1))
            over = np.flatnonzero(out[slot] == OVERFLOW)
            narrowest = int(width.min()) + 1
            slot, query, target, bar = slot[over], query[over], target[over], None

    def _mostly_overflows(self, query: I64, target: I64) -> bool:
        """Whether lanes of 8 bits are too narrow for most pairs, by a sample of them."""
        if len(query) < LEAST_SAMPLED:
            return False
        sample = np.linspace(0, len(query) - 1, SAMPLE).astype(np.int64)
        q, t, slot = query[sample], target[sample], np.arange(SAMPLE)
        pairs = slot, q, self._m[q], t, self._n[t]
        groups, _ = pair_groups(self._costs, 0, self._job.lanes[0], pairs)
        found = np.zeros(SAMPLE, np.int32)
        self._run_groups([(0, group) for group in groups], found, ProgressBar(None, 1))
        return float((found == OVERFLOW).mean()) > MANY_OVERFLOWS

    def _run_each(self, out: I32, slot: I64, query: I64, target: I64, bar: ProgressBar | None) -> None:
        """Pairs into `out[slot]`, one at a time."""
        if not len(slot):
            return
        slot, query, target = map(np.ascontiguousarray, (slot, query, target))
        cells = np.multiply(self._m[query], self._n[target], dtype=np.float64)

        def run(a: int, b: int) -> None:
            self._job.score_each(self._costs.table, query[a:b], target[a:b], slot[a:b], out)

        run_problems(cells, run, self._threads, self._job.stop, bar or ProgressBar(None, 1))

    def _run_groups(self, groups: list[tuple[int, Groups]], out: I32, bar: ProgressBar) -> None:
        def tasks() -> Iterator[tuple[float, Any]]:
            for width, group in groups:
                yield group.cells, partial(self._job.run, width, group, out)

        run_all(tasks(), self._threads, self._job.stop, bar, SMALL_CELLS)
