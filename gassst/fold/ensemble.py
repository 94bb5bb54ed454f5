"""More than one structure of a sequence: `probabilities` and `zuker`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst._core.fold import Folder, ensemble_memory, instruction_sets
from gassst.errors import InputError, UsageError
from gassst.fold.folding import CELL_COST, LANE_BASES, Fold, encoded, fold_codes, given
from gassst.fold.parameters import KT, Parameters
from gassst.workers.allocator import available_memory
from gassst.workers.tasks import Progress, ProgressBar, run_problems, thread_count

OUTSIDE_COST = 40 * CELL_COST  # of a cell of the triangle, whose loops are looked at one by one
MOST_RANGE = 1000.0


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
    progress: Progress | bool | None = None,
) -> list[Ensemble]:
    """Pair probabilities of each sequence, and its ensemble free energy, as of `RNAfold -p -d2`.

    Parameters are those of `fold`. Raises UsageError and InputError as `fold` does.
    """
    energies, count = given(parameters), thread_count(threads)
    codes, offsets = encoded(sequences)
    lengths = np.diff(offsets).astype(float)
    bar = ProgressBar(progress, float((lengths**2).sum()) * OUTSIDE_COST)
    if not len(codes):
        bar.finish()
        return [Ensemble(0.0, np.zeros((0, 0)))] * len(lengths)
    longest = int(lengths.max())
    needed = ensemble_memory(longest) * count + int((lengths**2).sum()) * 8
    if needed > available_memory():
        raise UsageError(f"probabilities of these sequences take {needed / 2**30:.1f} GiB of memory")
    least, _ = fold_codes(codes, offsets, energies, False, threads, None)
    folder = Folder(energies.table, energies.hairpins(longest + 1), codes, offsets, instruction_sets()[0])
    beside, hairpins = energies.weights(longest + 1)
    pairs = [np.zeros((int(n), int(n))) for n in lengths]
    found = np.zeros(len(pairs))

    def run(first: int, last: int) -> None:
        for k in (np.flatnonzero(lengths[first:last]) + first).tolist():
            found[k] = folder.ensemble(k, float(least[k]), KT, beside, hairpins, pairs[k])

    run_problems(lengths**2 * OUTSIDE_COST, run, count, folder.stop, bar)
    bar.finish()
    return [Ensemble(energy / 100, one) for energy, one in zip(found.tolist(), pairs, strict=True)]


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
    hairpins = energies.hairpins(len(codes) + 1)
    folder = Folder(energies.table, hairpins, codes, offsets, instruction_sets()[0])
    found = folder.zuker(round(100 * energy_range), *energies.weights(len(codes) + 1, True))
    return [Fold(e / 100, text.decode("ascii")) for text, e in found]
