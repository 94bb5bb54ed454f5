"""More than one structure of a sequence: `probabilities` and `zuker`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst._core.problems import Job
from gassst.errors import InputError, UsageError
from gassst.fold.folding import CELL_COST, LANE_BASES, Fold, encoded, fold_codes, given, tables_of
from gassst.fold.parameters import KT, Parameters
from gassst.workers.allocator import aligned, available_memory
from gassst.workers.tasks import Shown, run_shown, thread_count

OUTSIDE_COST = 40 * CELL_COST  # of a cell of the triangle, whose loops are looked at one by one
MOST_RANGE = 1000.0
ROWS = 256  # FOLD_ROWS of fold.h


class Ensemble(NamedTuple):
    """All structures of a sequence, each weighted by its energy."""

    energy: float
    """The free energy of all together, in kcal/mol, at 37 degrees."""
    pairs: NDArray[np.float64]
    """float64[n, n], the probability that bases i < j pair; 0 elsewhere."""


def probabilities(
    sequences: Iterable[str | bytes],
    parameters: Parameters | str | os.PathLike[str] | None = None,
    *,
    threads: int | None = None,
    progress: Shown = None,
) -> list[Ensemble]:
    """Pair probabilities of each sequence, and its ensemble free energy, as of `RNAfold -p -d2`.

    Parameters are those of `fold`. Raises UsageError and InputError as `fold` does.
    """
    energies, count = given(parameters), thread_count(threads)
    codes, offsets = encoded(sequences)
    lengths = np.diff(offsets)
    at = np.append(0, np.cumsum(lengths**2))
    cost = lengths.astype(float) ** 2 * OUTSIDE_COST
    least, _ = fold_codes(codes, offsets, energies, False, threads, None)
    whole, pairs = np.empty(len(lengths)), np.empty(at[-1])
    weights = KT, *energies.weights(int(lengths.max(initial=0)) + 1)
    job = Job("ensemble", *tables_of(energies, codes, offsets), least, None, *weights, whole, pairs, at)
    needed = job.memory(0, len(lengths)) * count + pairs.nbytes
    if needed > available_memory():
        raise UsageError(f"probabilities of these sequences take {needed / 2**30:.1f} GiB of memory")
    run_shown(cost, job.run, count, job.stop, progress)
    parts = [pairs[a : a + n * n].reshape(n, n) for a, n in zip(at.tolist(), lengths.tolist(), strict=False)]
    return [Ensemble(energy / 100, one) for energy, one in zip(whole.tolist(), parts, strict=True)]


def zuker(
    sequence: str | bytes,
    parameters: Parameters | str | os.PathLike[str] | None = None,
    energy_range: float = 1.0,
) -> list[Fold]:
    """For each pair of bases, a best structure that has it, within `energy_range` kcal/mol of the best of all.

    These are Zuker's suboptimal structures (1989), as of `RNAsubopt -z`: few, and unlike one another. Each is listed
    once, the best first, and for pairs that no structure before it has. There is none where no bases pair.

    Parameters
    ----------
    sequence : str or bytes
        RNA or DNA of 1 to 1,000 bases.
    parameters : path or Parameters
        An RNAfold parameter file 2.0.
    energy_range : float
        From 0 to 1,000 kcal/mol.

    Raises
    ------
    UsageError
        For a range that makes no sense.
    InputError
        As `fold` does.
    """
    energies = given(parameters)
    if not 0 <= energy_range <= MOST_RANGE:
        raise UsageError(f"the range of energies must be from 0 to {MOST_RANGE:,.0f} kcal/mol")
    codes, offsets = encoded([sequence])
    if not 1 <= len(codes) <= LANE_BASES:
        raise InputError(
            f"sequence 1: has {len(codes):,} bases; suboptimal structures are of 1 to {LANE_BASES:,}"
        )
    n = len(codes)
    texts, seen, least = np.empty((ROWS, n), np.uint8), np.zeros((n, n), np.uint8), np.empty((n, n), np.int32)
    members = *tables_of(energies, codes, offsets), np.empty(1, np.int32), texts
    memory = aligned((Job("zuker", *members, None, least, None, None, None).memory(0, 1),), np.uint8)
    Job("zuker", *members, memory, least, None, None, None).run(0, 1)
    order = np.argwhere(least <= members[4] + round(100 * energy_range)).astype(np.int32)
    order = order[np.argsort(least[tuple(order.T)], kind="stable")]
    found, is_written = list[Fold](), np.zeros(len(order), np.uint8)
    around = Job("around", *members, memory, least, order, seen, is_written)
    for first in range(0, len(order), ROWS):
        around.run(first, min(first + ROWS, len(order)))
        for k in np.flatnonzero(is_written[first : first + ROWS]).tolist():
            energy = int(least[tuple(order[first + k])])
            found.append(Fold(energy / 100, texts[k].tobytes().decode("ascii")))
    return found
