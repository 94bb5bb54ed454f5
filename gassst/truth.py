"""Where simulated reads come from: the read names of gassst, wgsim, dwgsim, mason 2 and paftools, told apart by form.

Positions are 1-based. A strand that a format does not record (wgsim) is 0: then `start` is where a read on the
forward strand starts and `end` where one on the reverse strand ends, and both count as right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gassst.errors import InputError

_STRAND = {"+": 1, "-": -1, "F": 1, "R": -1, "0": 1, "1": -1}
_GASSST_MATE = r"(\d+),(\d+),([+-]),(\d+),(\d+),(\d+)"


@dataclass(frozen=True)
class Truth:
    """True places of n records: `contig` list of names, `start`, `end` int64[n], `strand` int8[n] (1, -1, 0 unknown)."""

    contig: list[str]
    start: np.ndarray
    end: np.ndarray
    strand: np.ndarray


def _numbers(column: Sequence[str]) -> np.ndarray:
    return np.array(column, dtype=object).astype(np.int64)


def _strands(column: Sequence[str]) -> np.ndarray:
    return np.fromiter(map(_STRAND.__getitem__, column), dtype=np.int8, count=len(column))


def _by_mate(second: np.ndarray, first_mate: np.ndarray, second_mate: np.ndarray) -> np.ndarray:
    return np.where(second, second_mate, first_mate)


def _single(columns, second) -> Truth:
    contig, start, end, strand = columns[:4]
    return Truth(contig, _numbers(start), _numbers(end), _strands(strand))


def _gassst_pair(columns, second) -> Truth:
    contig, start1, end1, strand1, _, _, _, start2, end2, strand2 = columns[:10]
    return Truth(
        contig,
        _by_mate(second, _numbers(start1), _numbers(start2)),
        _by_mate(second, _numbers(end1), _numbers(end2)),
        _by_mate(second, _strands(strand1), _strands(strand2)),
    )


def _wgsim(columns, second) -> Truth:
    contig, start, end = columns[:3]
    return Truth(contig, _numbers(start), _numbers(end), np.zeros(len(contig), dtype=np.int8))


def _dwgsim(columns, second) -> Truth:
    contig, start1, start2, strand1, strand2, random1, random2 = columns[:7]
    start = _by_mate(second, _numbers(start1), _numbers(start2))
    random = _by_mate(second, _numbers(random1), _numbers(random2)) == 1
    # A random read has no true place: nowhere on the reference is within tolerance of -2^40.
    start[random] = -(1 << 40)
    return Truth(contig, start, start, _by_mate(second, _strands(strand1), _strands(strand2)))


def _mason(columns, second) -> Truth:
    contig, begin, end, strand = columns[:4]
    return Truth(contig, _numbers(begin) + 1, _numbers(end), _strands(strand))


@dataclass(frozen=True)
class NameFormat:
    """A read-name format: what it is called, its pattern for one whole line, and how columns of groups become Truth."""

    name: str
    pattern: re.Pattern
    to_truth: Callable[[list[Sequence[str]], np.ndarray], Truth]


def _format(name: str, pattern: str, to_truth) -> NameFormat:
    return NameFormat(name, re.compile(rf"^{pattern}(?:/[12])?$", re.MULTILINE), to_truth)


FORMATS = (
    _format("gassst", rf"s\d+,([^,\n]+),{_GASSST_MATE}", _single),
    _format("gassst pairs", rf"s\d+,([^,\n]+),{_GASSST_MATE},{_GASSST_MATE}", _gassst_pair),
    _format(
        "dwgsim",
        r"([^\n]+)_(\d+)_(\d+)_([01])_([01])_([01])_([01])_\d+:\d+:\d+_\d+:\d+:\d+_[0-9a-f]+",
        _dwgsim,
    ),
    _format("wgsim", r"([^\n]+)_(\d+)_(\d+)_\d+:\d+:\d+_\d+:\d+:\d+_[0-9a-f]+", _wgsim),
    _format("paftools", r"[^!\n]*!([^!\n]+)!(\d+)!(\d+)!([+-])", _mason),
)


def detect(name: str) -> NameFormat | None:
    """The format of a read name, or None."""
    return next((f for f in FORMATS if f.pattern.search(name)), None)


def parse(format: NameFormat, names: list[str], second: np.ndarray, source: str) -> Truth:
    """Truth of n records from their names; `second` bool[n] is true for second mates. Raises InputError."""
    found = format.pattern.findall("\n".join(names))
    if len(found) != len(names):
        bad = next(name for name in names if not format.pattern.search(name))
        raise InputError(f"{source}: read {bad!r} is not named as {format.name} does, as the first read is")
    return format.to_truth(list(zip(*found, strict=True)), second)
