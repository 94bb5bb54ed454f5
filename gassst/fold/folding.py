"""`gassst.fold.fold`, `probabilities` and `zuker`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst._core.problems import Job
from gassst.errors import InputError, UsageError
from gassst.files.batches import joined, odd_letter
from gassst.fold.parameters import KT, Parameters
from gassst.workers.allocator import aligned, available_memory
from gassst.workers.tasks import ProgressBar, Shown, is_device, run_problems, run_shown, thread_count

LANE_BASES = 1000  # of a sequence that shares a vector: longer ones would take too much memory at once
MOST_BASES = 30_000
OVERFLOW = np.iinfo(np.int32).min  # the energy of a lane that is too narrow
CELL_COST = 30  # of a cell of the triangle, beside an alignment's
OUTSIDE_COST = 40 * CELL_COST  # where its loops are looked at one by one
MOST_RANGE = 1000.0
CODES = np.full(256, 4, np.uint8)
for _bases, _code in (("Aa", 0), ("Cc", 1), ("Gg", 2), ("UuTt", 3)):
    CODES[np.frombuffer(_bases.encode(), np.uint8)] = _code
ADVICE = (
    "parameters: an RNAfold parameter file is wanted; ViennaRNA writes one: "
    "python -c \"import RNA; RNA.params_save('turner2004.par')\""
)
Strings = Iterable[str | bytes]
Given = Parameters | str | os.PathLike[str] | None


class Fold(NamedTuple):
    """A structure."""

    energy: float
    """In kcal/mol, at 37 degrees."""
    structure: str
    """Dots and brackets; empty where none was asked for."""


class Ensemble(NamedTuple):
    """All structures of a sequence, each weighted by its energy."""

    energy: float
    """The free energy of all together, in kcal/mol, at 37 degrees."""
    pairs: NDArray[np.float64]
    """float64[n, n], the probability that bases i < j pair; 0 elsewhere."""


def fold(
    sequences: Strings,
    parameters: Given = None,
    structures: bool = True,
    *,
    threads: int | None = None,
    progress: Shown = None,
    device: str | None = None,
) -> list[Fold]:
    """The least free energy of each sequence, and one structure that has it.

    The model is that of `RNAfold -d2`, and so are the energies. Of several structures with one energy any may be
    returned.

    Parameters
    ----------
    sequences : iterable of str or bytes
        RNA or DNA of at most 30,000 bases each: A, C, G, and U or T, in capitals or not.
    parameters : path or Parameters
        An RNAfold parameter file 2.0.
    structures : bool
        Whether structures are wanted.
    threads : int, optional
        All cores by default.
    progress : callable or bool, optional
        Is called with the share that is done, 0 to 1; True shows a line on stderr.
    device : str, optional
        Compute energies on this OpenCL device, as `gassst map --device` names it; structures are the host's.

    Raises
    ------
    DeviceError
        Where there is no such device, or it lacks memory.
    UsageError
        For no parameters, structures of a device, threads that make no sense, and too little memory.
    InputError
        For a parameter file that is missing, cut short or damaged; for a sequence that is too long, or has another
        letter.
    """
    if structures and is_device(device):
        raise UsageError("device: computes energies alone; take structures=False")
    energies, (codes, offsets) = _given(parameters), encoded(sequences)
    found, brackets = fold_codes(codes, offsets, energies, structures, threads, progress, device=device)
    text, at = brackets.tobytes().decode("ascii"), offsets.tolist()
    return [Fold(e / 100, text[a:b]) for e, a, b in zip(found.tolist(), at, at[1:], strict=False)]


def probabilities(
    sequences: Strings, parameters: Given = None, *, threads: int | None = None, progress: Shown = None
) -> list[Ensemble]:
    """Pair probabilities of each sequence, and its ensemble free energy, as of `RNAfold -p -d2`.

    Parameters are those of `fold`. Raises UsageError and InputError as `fold` does.
    """
    energies, count, (codes, offsets) = _given(parameters), thread_count(threads), encoded(sequences)
    lengths = np.diff(offsets)
    at = np.append(0, np.cumsum(lengths**2))
    least, _ = fold_codes(codes, offsets, energies, False, threads, None)
    whole, pairs = np.empty(len(lengths)), np.empty(at[-1])
    weights = KT, *energies.weights(int(lengths.max(initial=0)) + 1)
    job = Job(
        "ensemble", *_tables(energies, codes, offsets[:-1], lengths), least, None, *weights, whole, pairs, at
    )
    _check_memory(job.memory(0, len(lengths)) * count + pairs.nbytes)
    run_shown(lengths.astype(float) ** 2 * OUTSIDE_COST, job.run, count, job.stop, progress)
    parts = [pairs[a : a + n * n].reshape(n, n) for a, n in zip(at.tolist(), lengths.tolist(), strict=False)]
    return [Ensemble(energy / 100, one) for energy, one in zip(whole.tolist(), parts, strict=True)]


def zuker(sequence: str | bytes, parameters: Given = None, energy_range: float = 1.0) -> list[Fold]:
    """For each pair of bases, a best structure that has it, within `energy_range` kcal/mol of the best of all.

    These are Zuker's suboptimal structures (1989), as of `RNAsubopt -z`: few, and unlike one another. Each is listed
    once, the best first, and for pairs that no structure before it has. There is none where no bases pair. A sequence
    has 1 to 1,000 bases. Raises UsageError for a range that is not from 0 to 1,000, InputError as `fold` does.
    """
    energies = _given(parameters)
    if not 0 <= energy_range <= MOST_RANGE:
        raise UsageError(f"the range of energies must be from 0 to {MOST_RANGE:,.0f} kcal/mol")
    codes, offsets = encoded([sequence])
    n = len(codes)
    if not 1 <= n <= LANE_BASES:
        raise InputError(f"sequence 1: has {n:,} bases; suboptimal structures are of 1 to {LANE_BASES:,}")
    text, seen, least = np.empty(n, np.uint8), np.zeros((n, n), np.uint8), np.empty((n, n), np.int32)
    members = *_tables(energies, codes, offsets[:-1], np.diff(offsets)), np.empty(1, np.int32), text
    memory = aligned((Job("zuker", *members, None, least, None, None).memory(0, 1),), np.uint8)
    Job("zuker", *members, memory, least, None, None).run(0, 1)
    order = np.argwhere(least <= members[-2] + round(100 * energy_range)).astype(np.int32)
    order = order[np.argsort(least[tuple(order.T)], kind="stable")]
    around, found = Job("around", *members, memory, least, order, seen), list[Fold]()
    for k, (i, j) in enumerate(order.tolist()):
        if not seen[i, j]:
            around.run(k, k + 1)
            found.append(Fold(int(least[i, j]) / 100, text.tobytes().decode("ascii")))
    return found


def fold_codes(
    codes: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    parameters: Parameters,
    structures: bool,
    threads: int | None,
    progress: Shown,
    device: str | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Energies in .01 kcal/mol, and brackets as bytes beside `codes`, of sequences of codes 0 to 3.

    No brackets without `structures`, and of a device.
    """
    count, lengths = thread_count(threads), np.diff(offsets)
    order = np.argsort(lengths, kind="stable")
    energy, brackets = np.empty(len(order), np.int32), np.empty(len(codes) if structures else 0, np.uint8)
    tables = _tables(parameters, codes, offsets[:-1][order], lengths[order])
    narrow, wide = (
        Job(name, *tables, energy, brackets if structures else None) for name in ("fold", "fold wide")
    )
    cost = lengths[order].astype(float) ** 2 * CELL_COST
    bar = ProgressBar(progress, 2 * float(cost.sum()))
    there, shared = 0, int(np.searchsorted(lengths[order], LANE_BASES, "right"))
    _check_memory(count * max(narrow.memory(0, shared), wide.memory(shared, len(order))))
    if device is not None and is_device(device):
        from gassst.fold.device import energies, longest_of

        there = min(shared, int(np.searchsorted(lengths[order], longest_of(device, count), "right")))
        energy[:there] = energies(tables, cost[:there], device, count, bar)

    def in_lanes(first: int, last: int) -> None:
        narrow.run(there + first, there + last)

    run_problems(cost[there:shared], in_lanes, count, narrow.stop, bar, narrow.lanes)
    again = np.append(np.flatnonzero(energy[:shared] == OVERFLOW), np.arange(shared, len(order)))

    def alone(first: int, last: int) -> None:
        for k in again[first:last].tolist():
            wide.run(k, k + 1)

    run_problems(cost[again] * narrow.lanes, alone, count, wide.stop, bar)
    bar.finish()
    found = np.empty_like(energy)
    found[order] = energy
    return found, brackets


def encoded(sequences: Strings) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Codes 0 to 3 of all sequences, and their offsets."""
    text, offsets = joined(sequences, MOST_BASES)
    codes = CODES[text]
    if codes.max(initial=0) > 3:
        raise odd_letter(text, offsets[:-1], codes > 3, "ACGU")
    return codes, offsets


def _given(parameters: Given) -> Parameters:
    if parameters is None:
        raise UsageError(ADVICE)
    return parameters if isinstance(parameters, Parameters) else Parameters(parameters)


def _tables(
    parameters: Parameters, codes: NDArray[np.uint8], begins: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[NDArray[Any], ...]:
    """What a job of folding begins with: energies, those of hairpins, codes 0 to 3, and where sequences lie."""
    return parameters.table, parameters.hairpins(int(lengths.max(initial=0)) + 1), codes, begins, lengths


def _check_memory(needed: int) -> None:
    if needed > available_memory():
        raise UsageError(
            f"sequences as long as these take {needed / 2**30:.1f} GiB of memory: use fewer threads"
        )
