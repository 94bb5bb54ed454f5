"""`gassst.fold.fold`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst._core.problems import Job
from gassst.errors import UsageError
from gassst.files.batches import joined, odd_letter
from gassst.fold.parameters import Parameters
from gassst.workers.allocator import available_memory
from gassst.workers.tasks import ProgressBar, Shown, is_device, run_problems, thread_count

LANE_BASES = 1000  # of a sequence that shares a vector: longer ones would take too much memory at once
MOST_BASES = 30_000
OVERFLOW = np.iinfo(np.int32).min  # the energy of a lane that is too narrow
CELL_COST = 30  # of a cell of the triangle, beside an alignment's
CODES = np.full(256, 4, np.uint8)
for _bases, _code in (("Aa", 0), ("Cc", 1), ("Gg", 2), ("UuTt", 3)):
    CODES[np.frombuffer(_bases.encode(), np.uint8)] = _code
ADVICE = (
    "parameters: an RNAfold parameter file is wanted; ViennaRNA writes one: "
    "python -c \"import RNA; RNA.params_save('turner2004.par')\""
)


class Fold(NamedTuple):
    """A structure of least free energy."""

    energy: float
    """In kcal/mol, at 37 degrees."""
    structure: str
    """Dots and brackets; empty where none was asked for."""


def fold(
    sequences: Iterable[str | bytes],
    parameters: Parameters | str | os.PathLike[str] | None = None,
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
    energies = given(parameters)
    if structures and is_device(device):
        raise UsageError("device: computes energies alone; take structures=False")
    codes, offsets = encoded(sequences)
    found, brackets = fold_codes(codes, offsets, energies, structures, threads, progress, device=device)
    text = brackets.tobytes().decode("ascii") if brackets is not None else ""
    at = offsets.tolist()
    return [Fold(e / 100, text[a:b]) for e, a, b in zip(found.tolist(), at, at[1:], strict=False)]


def given(parameters: Parameters | str | os.PathLike[str] | None) -> Parameters:
    """Parameters of a file, or those that were read. Raises UsageError for none, InputError for a damaged file."""
    if parameters is None:
        raise UsageError(ADVICE)
    return parameters if isinstance(parameters, Parameters) else Parameters(parameters)


def windows(length: int, window: int, step: int) -> NDArray[np.int64]:
    """int64[n], where the windows of a sequence begin; the last one ends with it."""
    if length < window:
        return np.empty(0, np.int64)
    begins = np.arange(0, length - window + 1, step)
    return begins if begins[-1] == length - window else np.append(begins, length - window)


def tables_of(
    parameters: Parameters, codes: NDArray[np.uint8], offsets: NDArray[np.int64]
) -> tuple[NDArray[Any], ...]:
    """What a job of folding begins with: energies, those of hairpins, codes 0 to 3 and offsets."""
    return parameters.table, parameters.hairpins(int(np.diff(offsets).max(initial=0)) + 1), codes, offsets


def fold_codes(
    codes: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    parameters: Parameters,
    structures: bool,
    threads: int | None,
    progress: Shown,
    device: str | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.uint8] | None]:
    """Energies in .01 kcal/mol, and brackets as bytes beside `codes`, of sequences of codes 0 to 3.

    A device computes energies alone.
    """
    count, lengths = thread_count(threads), np.diff(offsets)
    order = np.argsort(lengths, kind="stable")
    sorted_codes, sorted_offsets = _rearranged(codes, offsets, order)
    energy = np.empty(len(order), np.int32)
    brackets = np.empty(len(codes), np.uint8) if structures else None
    tables = tables_of(parameters, sorted_codes, sorted_offsets)
    narrow, wide = (Job(name, *tables, energy, brackets) for name in ("fold", "fold wide"))
    cost = lengths[order].astype(float) ** 2 * CELL_COST
    bar = ProgressBar(progress, 2 * float(cost.sum()))
    shared = int(np.searchsorted(lengths[order], LANE_BASES, "right"))
    needed = count * max(narrow.memory(0, shared), wide.memory(shared, len(order)))
    if needed > available_memory():
        raise UsageError(
            f"sequences of {lengths.max():,} bases take {needed / 2**30:.1f} GiB of memory on {count} threads"
        )
    there = 0
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
    if brackets is None:
        return found, None
    return found, _rearranged(brackets, sorted_offsets, np.argsort(order, kind="stable"))[0]


def _rearranged(
    letters: NDArray[np.uint8], offsets: NDArray[np.int64], order: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Sequences in another order."""
    if (order[1:] > order[:-1]).all():
        return letters, offsets
    lengths = np.diff(offsets)[order]
    begins = np.append(0, np.cumsum(lengths))
    places = np.repeat(offsets[:-1][order] - begins[:-1], lengths) + np.arange(begins[-1])
    return letters[places], begins


def encoded(sequences: Iterable[str | bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Codes 0 to 3 of all sequences, and their offsets."""
    text, offsets = joined(sequences, MOST_BASES)
    codes = CODES[text]
    if codes.max(initial=0) > 3:
        raise odd_letter(text, offsets[:-1], codes > 3, "ACGU")
    return codes, offsets
