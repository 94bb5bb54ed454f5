"""Scores and costs as the kernels take them, and how wide their lanes must be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gassst.align.alphabets import Alphabet
from gassst.align.gaps import Gaps
from gassst.align.matrices import PSSM, Matrix, unknown_letters
from gassst.align.modes import LOCAL, QUERY_BEGIN, TARGET_BEGIN, swapped
from gassst.align.sequences import Sequences, read_sequences
from gassst.errors import InputError, UsageError

PAD, ROW = 31, 32  # as in ext/pairwise/lanes.h
LEAST, MOST = (-(1 << 7), -(1 << 15), -(1 << 30)), ((1 << 7) - 1, (1 << 15) - 1, (1 << 31) - 1)
LARGEST = 1 << 29
"""No score of an alignment may be larger, or smaller than its negative."""
USEFUL = 40  # scores above that of no letters that lanes must hold to be worth a try


@dataclass(frozen=True, eq=False)
class Costs:
    """What letters and gaps score."""

    table: NDArray[np.int16]
    """int16[rows, 32], scores of a query's letter, or of a place of a profile, against each letter; 31 is padding."""
    gaps: Gaps
    flags: int
    profiles: bool

    @property
    def first(self) -> int:
        """Cost of the first letter of a gap."""
        return self.gaps.first

    @property
    def extend(self) -> int:
        """Cost of each further letter."""
        return self.gaps.extend

    @cached_property
    def highest(self) -> int:
        """The largest score of two letters, or 0."""
        return max(0, int(self.table[:, :PAD].max()))

    @cached_property
    def wide(self) -> bool:
        """Whether one byte does not hold all of them."""
        letters = self.table[:, :PAD]
        return bool(letters.min() < LEAST[0] or letters.max() > MOST[0] or self.first > MOST[0])

    def planes(self) -> NDArray[np.uint8]:
        """uint8[2, rows, 32], the low and the high bytes, with the padding as low as they go."""
        padded = self.table.copy()
        padded[:, PAD] = LEAST[self.wide]
        planes = np.empty((2, *padded.shape), np.uint8)
        planes[0] = padded & 255
        planes[1] = padded >> 8 & 255
        return planes

    def transposed(self) -> Costs:
        """For queries and targets that change places; not of profiles."""
        table = np.zeros_like(self.table)
        table[:PAD, :PAD] = self.table[:PAD, :PAD].T
        return replace(self, table=table, flags=swapped(self.flags))

    def lowest(self, m: NDArray[np.int64], n: NDArray[np.int64]) -> NDArray[np.int64]:
        """A bound below all that a kernel computes for queries of m and targets of n letters: int64, at most 0."""
        if self.flags & LOCAL:
            return np.zeros(np.broadcast(m, n).shape, np.int64)
        query_free, target_free = self.flags & QUERY_BEGIN, self.flags & TARGET_BEGIN
        if query_free and target_free:
            lost = self._gap(np.minimum(m, n))
        else:
            none = np.zeros(np.broadcast(m, n).shape, np.int64)
            lost = none + (0 if query_free else self._gap(m)) + (0 if target_free else self._gap(n))
        return -(lost + self.first)

    def _gap(self, letters: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.gaps.open + self.gaps.extend * np.asarray(letters, np.int64)

    def widths(self, m: NDArray[np.int64], n: NDArray[np.int64]) -> NDArray[np.int64]:
        """The narrowest lanes that are worth a try: int64, 0, 1 or 2 for 8, 16 and 32 bits."""
        lowest = self.lowest(m, n)
        useful = np.minimum(self.highest * np.minimum(m, n), USEFUL)
        found = np.full(lowest.shape, 2)
        for width in (1, 0):
            room = MOST[width] - LEAST[width] - 1
            if (width or not self.wide) and self.first <= MOST[width]:
                found[useful - lowest < room] = width
        return found

    def bases(self, width: int, lowest: NDArray[np.int64]) -> NDArray[np.int32]:
        """What lanes of a width hold for score 0, for the `lowest` of all lanes of a group: int32."""
        if width == 2:
            return np.zeros(lowest.shape, np.int32)
        return (LEAST[width] + (0 if self.flags & LOCAL else 1) - lowest).astype(np.int32)

    def verify(self, longest_query: int, longest_target: int) -> None:
        """Raises UsageError where a score might be too large for 32 bits."""
        longest = np.array([longest_query]), np.array([longest_target])
        highest = self.highest * min(longest_query, longest_target)
        if max(highest, -int(self.lowest(*longest)[0])) > LARGEST:
            raise UsageError(
                f"sequences of {longest_query:,} and {longest_target:,} letters: with these costs "
                f"scores may pass {LARGEST:,}"
            )


def costs_of(matrix: Matrix, gaps: Gaps, flags: int) -> Costs:
    """Costs with a matrix."""
    table = np.zeros((ROW, ROW), np.int16)
    k = len(matrix.scores)
    table[:k, :k] = matrix.scores
    return Costs(table, gaps, flags, False)


def costs_of_profiles(profiles: list[PSSM], gaps: Gaps, flags: int) -> Costs:
    """Costs with the places of all profiles, one behind the other."""
    table = np.zeros((sum(map(len, profiles)), ROW), np.int16)
    at = 0
    for profile in profiles:
        table[at : at + len(profile), : profile.scores.shape[1]] = profile.scores
        at += len(profile)
    return Costs(table, gaps, flags, True)


def profiles_in(queries: Any) -> list[PSSM]:
    """The profiles, where the queries are such, or one."""
    if isinstance(queries, PSSM):
        return [queries]
    if isinstance(queries, (list, tuple)) and queries and all(isinstance(item, PSSM) for item in queries):
        return list(queries)
    return []


def places_of(profiles: list[PSSM]) -> Sequences:
    """Profiles as queries: no codes, but offsets and names."""
    offsets = np.zeros(len(profiles) + 1, np.int64)
    np.cumsum([len(profile) for profile in profiles], out=offsets[1:])
    return Sequences(np.empty(0, np.uint8), offsets, [p.name for p in profiles], profiles[0].alphabet)


def common_alphabet(profiles: Iterable[PSSM]) -> Alphabet:
    """Raises UsageError where profiles have several."""
    found = {profile.alphabet.letters: profile.alphabet for profile in profiles}
    if len(found) > 1:
        raise UsageError("profiles must share one alphabet")
    return next(iter(found.values()))


def prepare(
    queries: Any, targets: Any, matrix: Matrix, gaps: Gaps, flags: int
) -> tuple[Sequences, Sequences, Costs]:
    """Both sides as codes, and the costs. Raises InputError and UsageError, all before any work.

    `queries` may be profiles, which take the place of the matrix.
    """
    profiles = profiles_in(queries)
    if profiles:
        found = read_sequences(targets, common_alphabet(profiles), "targets")
        fewest = min(profile.scores.shape[1] for profile in profiles)
        unknown = np.arange(256) >= fewest
        _check_letters(found, unknown, "targets", "the profiles have")
        return places_of(profiles), found, costs_of_profiles(profiles, gaps, flags)
    both = [
        read_sequences(source, matrix.alphabet, what)
        for source, what in ((queries, "queries"), (targets, "targets"))
    ]
    if not matrix.known.all():
        for sequences, what in zip(both, ("queries", "targets"), strict=True):
            _check_letters(sequences, unknown_letters(matrix), what, f"{matrix.name} has")
    return both[0], both[1], costs_of(matrix, gaps, flags)


def _check_letters(sequences: Sequences, unknown: NDArray[np.bool_], what: str, who: str) -> None:
    """Raises InputError for a letter of the alphabet that has no scores."""
    if not unknown[: len(sequences.alphabet)].any():
        return
    wrong = unknown[sequences.codes]
    if wrong.any():
        at = int(wrong.argmax())
        i = int(np.searchsorted(sequences.offsets, at, side="right")) - 1
        letter = sequences.alphabet.letters[sequences.codes[at]]
        place = at - int(sequences.offsets[i]) + 1
        raise InputError(
            f"{what}: sequence {i + 1} ({sequences.names[i]}): {letter!r} at {place}: {who} no scores for it"
        )
