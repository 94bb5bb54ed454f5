"""Edit distances: how many letters must be changed, put in or taken out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gassst._core.pairwise import Comparison, instruction_sets
from gassst.align.alphabets import DNA, Alphabet
from gassst.align.gaps import Gaps
from gassst.align.matrices import Matrix
from gassst.align.numbers import integer_from
from gassst.align.products import exceeds_memory, verified_pairs
from gassst.align.scoring import costs_of
from gassst.align.sequences import MAX_LETTERS_EACH, read_sequences
from gassst.errors import UsageError
from gassst.workers.tasks import SMALL_CELLS, Progress, ProgressBar, run_all, thread_count

DISTANCE_MODES = ("global", "semiglobal")
TASK_CELLS = 1e9


def edit_distance(
    queries: Any,
    targets: Any,
    band: int | None = None,
    *,
    mode: Literal["global", "semiglobal"] = "global",
    alphabet: Alphabet = DNA,
    pairs: ArrayLike | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> NDArray[np.int32]:
    """Edit distances (Levenshtein) of every query to every target, or of given pairs, bit-parallel (Myers 1999).

    Letters are equal if they are the same: N equals N only.

    Parameters
    ----------
    queries, targets : path, iterable, Sequences
        As `read_sequences` takes them.
    band : int, optional
        Distances beyond it are -1, and take less time to tell.
    mode : str
        "global", or "semiglobal": the letters of a target before and behind the query cost nothing (primers, barcodes).
    alphabet : Alphabet
        Of both sides; DNA by default.
    pairs : int[n, 2], optional
        Indexes of a query and a target each.
    threads, progress
        As `scores` takes them.

    Returns
    -------
    int32[queries, targets], or int32[n] of pairs.

    Raises
    ------
    UsageError, InputError
        As `scores`.
    """
    if mode not in DISTANCE_MODES:
        raise UsageError(f"mode {mode!r} must be one of {', '.join(DISTANCE_MODES)}")
    limit, count = -1 if band is None else _limit(band), thread_count(threads)
    if not isinstance(alphabet, Alphabet):
        raise UsageError(f"alphabet: {alphabet!r} is not an Alphabet")
    first, second = (
        read_sequences(queries, alphabet, "queries"),
        read_sequences(targets, alphabet, "targets"),
    )
    size = len(first) * len(second)
    if pairs is None and exceeds_memory(4 * size):
        raise UsageError(f"{len(first):,} x {len(second):,} distances take {size / 2**28:.1f} GiB of memory")
    if pairs is None:
        order = np.arange(0)
        target = np.arange(len(second))
        runs = [(q, target, q * len(second)) for q in range(len(first))]
        found = np.empty(size, np.int32)
    else:
        chosen = verified_pairs(pairs, len(first), len(second))
        order = np.lexsort((chosen[:, 1], chosen[:, 0]))
        query, target = chosen[order].T
        edges = np.flatnonzero(np.diff(query)) + 1
        begins, ends = [0, *edges.tolist()], [*edges.tolist(), len(query)]
        runs = [(int(query[a]), target[a:b], a) for a, b in zip(begins, ends, strict=True) if a < b]
        found = np.empty(len(chosen), np.int32)
    letters = len(alphabet)
    costs = costs_of(Matrix(np.zeros((letters, letters), np.int16), alphabet), Gaps(0, 1), 0)
    job = Comparison(first, second, costs.planes(), costs, instruction_sets()[0])
    m, n = first.lengths.astype(float), second.lengths.astype(float)
    infix = mode == "semiglobal"

    def tasks() -> Iterator[tuple[float, Any]]:
        for q, these, at in runs:
            step = max(1, int(TASK_CELLS / (m[q] * n.max() + 64)))
            for i in range(0, len(these), step):
                part = np.ascontiguousarray(these[i : i + step])
                whole = np.array([0, len(part)])
                out = found[at + i : at + i + len(part)]
                work = float(m[q] * n[part].sum())
                yield work, partial(job.distances, np.array([q]), whole, part, limit, infix, out)

    total = float(m.sum() * n.sum()) if pairs is None else float((m[query] * n[target]).sum())
    bar = ProgressBar(progress, total)
    run_all(tasks(), count, job.stop, bar, SMALL_CELLS)
    bar.finish()
    if pairs is None:
        return found.reshape(len(first), len(second))
    back = np.empty_like(found)
    back[order] = found
    return back


def _limit(band: int) -> int:
    """A verified band; no distance is larger than the longest of all sequences."""
    limit = integer_from(0, band)
    if limit is None:
        raise UsageError(f"band {band!r}: must be an integer of 0 or more")
    return min(limit, MAX_LETTERS_EACH)
