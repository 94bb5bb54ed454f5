"""`gassst.align.best`: the best local alignments of two long sequences."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gassst._core.best import Tiles, instruction_sets
from gassst.align.blocks import BlockMatrix, Geometry, compiled_pass
from gassst.align.gaps import gap_costs
from gassst.align.matrices import Matrix as Scores
from gassst.align.matrices import MatrixLike, substitution_matrix, unknown_letters
from gassst.align.numbers import integer_from
from gassst.align.sequences import Sequences, read_sequences
from gassst.align.waterman_eggert import Path, WatermanEggert
from gassst.errors import InputError, UsageError
from gassst.workers.tasks import Progress, ProgressBar, is_device, thread_count

LARGEST_SCORE = 1 << 30
OPERATIONS = "\0MDI"  # of the steps of a path


@dataclass(frozen=True)
class LocalAlignment:
    """One of the alignments that `best` finds."""

    score: int
    query_begin: int
    query_end: int
    target_begin: int
    target_end: int
    """Letters `query_begin` to `query_end` and `target_begin` to `target_end`, from 0, half-open."""
    cigar: str
    """Runs of M (pairs), I (letters of the query alone) and D (letters of the target alone)."""
    matches: int = field(compare=False)
    """Pairs of equal letters."""


def best(
    query: Any,
    target: Any,
    k: int = 10,
    *,
    matrix: MatrixLike = "NUC4.4",
    gap_open: int = 10,
    gap_extend: int = 1,
    min_score: int = 1,
    device: str | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> list[LocalAlignment]:
    """The best local alignments of two sequences, no two with a pair of letters in common.

    The first has the highest score of all alignments. Each further one has the highest score of those that do not
    share a pair with an earlier one: letter i of the query with letter j of the target (Waterman and Eggert 1987).
    They may share letters, as copies of a repeat do. Ties are broken by the end in the target, then by the end in the
    query. Its path prefers pairs to gaps, and gaps that use up the target to those that use up the query; it begins
    as late as it can.

    Parameters
    ----------
    query, target : str, bytes, array of codes, record, path
        One sequence each. A `os.PathLike` names a FASTA or FASTQ file that holds one; a str is the sequence itself.
    k : int
        How many alignments are wanted.
    matrix : str, path, array or Matrix
        As `substitution_matrix` takes it. It sets the alphabet.
    gap_open, gap_extend : int
        A gap of K letters costs `gap_open + K * gap_extend`.
    min_score : int
        Alignments below it are not wanted; at least 1.
    device : str, optional
        An OpenCL device, as `gassst map --device` names it, for the pass over the whole matrix; with ":all" behind it
        all of its kind. By default compiled code does it.
    threads : int, optional
        All cores by default.
    progress : callable or bool, optional
        Is called with the share of the pass that is done, 0 to 1; True shows a line on stderr.

    Returns
    -------
    list of LocalAlignment, the best first; fewer than `k` if there are not as many.

    Raises
    ------
    UsageError
        For parameters that make no sense; where scores may pass 2^30.
    InputError
        For sequences that are empty, more than one, or have letters without scores.
    DeviceError
        For a device that is not there or fails.

    Notes
    -----
    Memory is 512 MB and some bytes for each letter, however large the product of the lengths is.
    """
    wanted, least = _count(k, "k"), _count(min_score, "min_score")
    gaps, workers, on_device = gap_costs(gap_open, gap_extend), thread_count(threads), is_device(device)
    scores = substitution_matrix(matrix)
    sequences = _one(query, scores, "query"), _one(target, scores, "target")
    first, second = (one[0] for one in sequences)
    largest = int(scores.scores.max())
    if largest * min(len(first), len(second)) > LARGEST_SCORE:
        raise UsageError(
            f"scores of {largest} per pair may exceed {LARGEST_SCORE:,} with sequences of this length"
        )
    if largest <= 0:
        return []
    tiles = Tiles(scores.scores.astype(np.int32), gaps.first, gaps.extend, instruction_sets()[0])
    if not on_device:
        geometry = Geometry.of(len(first), len(second), gaps, largest, workers)
        filled = BlockMatrix(first, second, gaps, tiles, geometry)
        bar = ProgressBar(progress, float(len(first)) * len(second))
        compiled_pass(filled, workers, bar.add)
        bar.finish()
    else:
        from gassst.align.best_device import device_pass

        filled = device_pass(first, second, gaps, scores.scores, tiles, str(device), workers, progress)
    found: list[LocalAlignment] = []
    with WatermanEggert(filled, workers if wanted > 1 else 1) as alignments:
        while len(found) < wanted:
            path = alignments.next_path(least)
            if path is None:
                break
            found.append(_alignment(path, first, second))
    return found


def _count(value: int, name: str) -> int:
    count = integer_from(1, value)
    if count is None:
        raise UsageError(f"{name}: {value!r} is not a positive integer")
    return count


def _one(source: Any, scores: Scores, what: str) -> Sequences:
    """The one sequence of a source. Raises InputError."""
    is_file = isinstance(source, os.PathLike)
    is_many = isinstance(source, Sequences)
    found = read_sequences(source if is_file or is_many else [source], scores.alphabet, what)
    if len(found) != 1:
        raise InputError(
            f"{os.fspath(source) if is_file else what}: {len(found)} sequences, but one is expected"
        )
    unknown = unknown_letters(scores)[found.codes]
    if unknown.any():
        at = int(unknown.argmax())
        letter = scores.alphabet.letters[found.codes[at]]
        raise InputError(f"{what}: {letter!r} at {at + 1} has no scores in {scores.name}")
    return found


def _alignment(path: Path, query: NDArray[np.uint8], target: NDArray[np.uint8]) -> LocalAlignment:
    paired = path.steps == 1
    rows = path.first[0] - 1 + np.cumsum(path.steps != 2)
    columns = path.first[1] - 1 + np.cumsum(path.steps != 3)
    equal = query[rows[paired]] == target[columns[paired]]
    runs = ((OPERATIONS[step], sum(1 for _ in run)) for step, run in groupby(path.steps.tolist()))
    return LocalAlignment(
        path.score,
        path.first[0],
        path.last[0] + 1,
        path.first[1],
        path.last[1] + 1,
        "".join(f"{length}{operation}" for operation, length in runs),
        int(equal.sum()),
    )
