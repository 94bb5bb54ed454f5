"""`gassst.fold.fold`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst._core.fold import OVERFLOW, Folder, instruction_sets, memory
from gassst.errors import InputError, UsageError
from gassst.files.batches import joined
from gassst.fold.parameters import Parameters
from gassst.workers.allocator import available_memory
from gassst.workers.tasks import Progress, ProgressBar, is_device, run_problems, thread_count

LANE_BASES = 1000  # of a sequence that shares a vector: longer ones would take too much memory at once
MOST_BASES = 30_000
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
    progress: Progress | bool | None = None,
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


def fold_codes(
    codes: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    parameters: Parameters,
    structures: bool,
    threads: int | None,
    progress: Progress | bool | None,
    instruction_set: str | None = None,
    device: str | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.uint8] | None]:
    """Energies in .01 kcal/mol, and brackets as bytes beside `codes`, of sequences of codes 0 to 3.

    A device computes energies alone.
    """
    count, lengths = thread_count(threads), np.diff(offsets)
    bar = ProgressBar(progress, float((lengths.astype(float) ** 2).sum()) * 2 * CELL_COST)
    if not len(codes):
        bar.finish()
        return np.zeros(len(lengths), np.int32), codes if structures else None
    order = np.argsort(lengths, kind="stable")
    sorted_codes, sorted_offsets = _rearranged(codes, offsets, order)
    longest = int(lengths.max())
    tables = parameters.table, parameters.hairpins(longest + 1), sorted_codes, sorted_offsets
    folder = Folder(*tables, instruction_set or instruction_sets()[0])
    ordered = lengths[order]
    shared = int(np.searchsorted(ordered, LANE_BASES, "right"))
    needed = count * max(memory(min(longest, LANE_BASES), folder.lanes), memory(longest, 1))
    if needed > available_memory():
        raise UsageError(
            f"sequences of {longest:,} bases take {needed / 2**30:.1f} GiB of memory on {count} threads"
        )
    energy, brackets = np.empty(len(order), np.int32), np.empty(len(codes) if structures else 0, np.uint8)
    to = brackets if structures else None
    cost = ordered.astype(float) ** 2 * CELL_COST

    def run(begin: int, is_wide: bool) -> Any:
        def part(first: int, last: int) -> None:
            folder.run(begin + first, begin + last, is_wide, energy, to)

        return part

    there = 0
    if device is not None and is_device(device):
        from gassst.fold.device import energies, longest_of

        there = min(shared, int(np.searchsorted(ordered, longest_of(device, count), "right")))
        energy[:there] = energies(tables, cost[:there], device, count, bar)
    run_problems(cost[there:shared], run(there, False), count, folder.stop, bar, folder.lanes)
    run_problems(cost[shared:] * folder.lanes, run(shared, True), count, folder.stop, bar)
    again = np.flatnonzero(energy[:shared] == OVERFLOW)

    def once_more(first: int, last: int) -> None:
        for k in again[first:last].tolist():
            folder.run(k, k + 1, True, energy, to)

    run_problems(cost[again] * folder.lanes, once_more, count, folder.stop, bar)
    bar.finish()
    found = np.empty_like(energy)
    found[order] = energy
    if not structures:
        return found, None
    back = np.argsort(order, kind="stable")
    return found, _rearranged(brackets, sorted_offsets, back)[0]


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
    if codes.size and codes.max() > 3:
        at = int((codes > 3).argmax())
        number = int(np.searchsorted(offsets, at, "right"))
        raise InputError(
            f"sequence {number}: {chr(text[at])!r} at base {at - offsets[number - 1] + 1} is not one of ACGU"
        )
    return codes, offsets
