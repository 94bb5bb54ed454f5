"""Where simulated reads come from: by their names, in the forms of several programs, or by a file of true alignments.

Names are read as gassst, wgsim, dwgsim and paftools (`mason2fq`, `pbsim2fq`) write them. Mason 2 puts the
truth not into names but into the SAM file of its option -oa, ART into that of -sam: see `from_alignments`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

import gassst.files.htslib  # noqa: F401 - before the compiled modules that link its htslib
from gassst._core.alignment_text import AlignmentReader
from gassst.errors import InputError, unreadable
from gassst.files.quiet import QuietHtslib
from gassst.model.sam_flags import PAIRED, REVERSE, SECOND_IN_PAIR, UNMAPPED

CHUNK = 1 << 16
NOWHERE = -(1 << 40)
"""Start of a read that comes from no place: never within any tolerance."""

_STRAND = {"+": 1, "-": -1, "0": 1, "1": -1}
_GASSST_MATE = r"(\d+),(\d+),([+-]),\d+,\d+,\d+"


@dataclass(frozen=True)
class PrimaryRecords:
    """Primary records: `names` list, `contigs` object[n]; `flags`, `mapq`, `start`, `end` int64[n].

    `start` (1-based) and `end` count clipped bases as if they were aligned. Unmapped records have contig ''.
    """

    names: list[str]
    flags: np.ndarray
    contigs: np.ndarray
    start: np.ndarray
    end: np.ndarray
    mapq: np.ndarray

    @property
    def mate(self) -> np.ndarray:
        """0 for a read that is not of a pair, else 1 or 2."""
        return np.where(self.flags & PAIRED, np.where(self.flags & SECOND_IN_PAIR, 2, 1), 0)

    @property
    def strand(self) -> np.ndarray:
        return np.where(self.flags & REVERSE, -1, 1)


def read_alignments(path: str) -> Iterator[PrimaryRecords]:
    """Yields PrimaryRecords of up to CHUNK primary records of a SAM, BAM or CRAM file. Raises InputError."""
    QuietHtslib.enter()
    try:
        with closing(AlignmentReader(_opened(path), path)) as reader:
            if not reader.ends_well:
                raise InputError(f"{path}: its end-of-file block is missing: it may be cut short")
            contigs = np.array([*reader.contigs, ""], dtype=object)
            while True:
                names, places = reader.places(CHUNK)
                if not names:
                    return
                flags, contig, start, end, mapq = places.T
                yield PrimaryRecords(names, flags, contigs[contig], start, end, mapq)
    except OSError as error:
        raise unreadable(path, error) from None
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    finally:
        QuietHtslib.leave()


def _opened(path: str) -> int:
    return os.dup(0) if path == "-" else os.open(path, os.O_RDONLY)


Columns = list[Sequence[str]]


@dataclass(frozen=True)
class Truth:
    """True places of n reads: `contig` object[n], `start` (1-based) and `end` int64[n], `strand` int64[n].

    A strand that a format does not record (wgsim) is 0. Then `start` is where a read on the forward strand starts,
    `end` where one on the reverse strand ends, and both are right.
    `ends_known` is False for a format that does not record ends (dwgsim).
    """

    contig: np.ndarray
    start: np.ndarray
    end: np.ndarray
    strand: np.ndarray
    ends_known: bool = True


def _names(column: Sequence[str]) -> np.ndarray:
    return np.array(column, dtype=object)


def _numbers(column: Sequence[str]) -> np.ndarray:
    return np.array(column, dtype=object).astype(np.int64)


def _strands(column: Sequence[str]) -> np.ndarray:
    return np.fromiter(map(_STRAND.__getitem__, column), dtype=np.int64, count=len(column))


def _gassst(columns: Columns, second: np.ndarray) -> Truth:
    contig, start, end, strand = columns
    return Truth(_names(contig), _numbers(start), _numbers(end), _strands(strand))


def _gassst_pair(columns: Columns, second: np.ndarray) -> Truth:
    one, two = _gassst(columns[:4], second), _gassst([columns[0], *columns[4:]], second)
    return Truth(
        one.contig,
        np.where(second, two.start, one.start),
        np.where(second, two.end, one.end),
        np.where(second, two.strand, one.strand),
    )


def _wgsim(columns: Columns, second: np.ndarray) -> Truth:
    contig, start, end = columns
    return Truth(_names(contig), _numbers(start), _numbers(end), np.zeros(len(contig), dtype=np.int64))


def _dwgsim(columns: Columns, second: np.ndarray) -> Truth:
    contig, start1, start2, strand1, strand2, random1, random2 = columns
    start = np.where(second, _numbers(start2), _numbers(start1))
    start[np.where(second, _names(random2), _names(random1)) == "1"] = NOWHERE
    strand = np.where(second, _strands(strand2), _strands(strand1))
    return Truth(_names(contig), start, start, strand, ends_known=False)


def _paftools(columns: Columns, second: np.ndarray) -> Truth:
    contig, start, end, strand = columns
    return Truth(_names(contig), _numbers(start) + 1, _numbers(end), _strands(strand))


@dataclass(frozen=True)
class NameFormat:
    """A form of read names: `pattern` for one whole line, and what makes Truth of its groups, by column."""

    name: str
    pattern: re.Pattern[str]
    to_truth: Callable[[Columns, np.ndarray], Truth]

    def truth(self, found: PrimaryRecords, source: str) -> Truth:
        """Truth of each record. Raises InputError for a name of another form."""
        columns = self.pattern.findall("\n".join(found.names))
        if len(columns) != len(found.names):
            odd = next(name for name in found.names if not self.pattern.search(name))
            raise InputError(
                f"{source}: read {odd!r} is not named in the style of {self.name}, but the first read is"
            )
        return self.to_truth(list(zip(*columns, strict=True)), found.mate == 2)


def _format(name: str, pattern: str, to_truth: Callable[[Columns, np.ndarray], Truth]) -> NameFormat:
    return NameFormat(name, re.compile(rf"^{pattern}(?:/[12])?$", re.MULTILINE), to_truth)


NAME_FORMATS = (
    _format("gassst", rf"s\d+,([^,\n]+),{_GASSST_MATE}", _gassst),
    _format("gassst (pairs)", rf"s\d+,([^,\n]+),{_GASSST_MATE},{_GASSST_MATE}", _gassst_pair),
    _format(
        "dwgsim",
        r"([^\n]+)_(\d+)_(\d+)_([01])_([01])_([01])_([01])_\d+:\d+:\d+_\d+:\d+:\d+_[0-9a-f]+",
        _dwgsim,
    ),
    _format("wgsim", r"([^\n]+)_(\d+)_(\d+)_\d+:\d+:\d+_\d+:\d+:\d+_[0-9a-f]+", _wgsim),
    _format("paftools", r"[^!\n]*!([^!\n]+)!(\d+)!(\d+)!([+-])", _paftools),
)


def detect(name: str, source: str) -> NameFormat:
    """The form of a read name. Raises InputError if it is none of NAME_FORMATS."""
    for form in NAME_FORMATS:
        if form.pattern.search(name):
            return form
    known = ", ".join(form.name for form in NAME_FORMATS)
    raise InputError(f"{source}: read {name!r} is not named in the style of any of {known}; see --truth")


@dataclass(frozen=True)
class TruthTable:
    """Truth of reads from the file `name` of true alignments: `index` of (name, mate) into `places`."""

    name: str
    index: dict[tuple[str, int], int]
    places: Truth

    def truth(self, found: PrimaryRecords, source: str) -> Truth:
        """Truth of each record. Raises InputError for a read that the table lacks."""
        try:
            which = [self.index[key] for key in _keys(found)]
        except KeyError as error:
            read, mate = error.args[0]
            raise InputError(f"{source}: read {read!r}, mate {mate}, is not in {self.name}") from None
        places = self.places
        return Truth(places.contig[which], places.start[which], places.end[which], places.strand[which])


def _keys(found: PrimaryRecords) -> Iterator[tuple[str, int]]:
    return zip((re.sub(r"/[12]$", "", name) for name in found.names), found.mate.tolist(), strict=True)


def from_alignments(path: str) -> TruthTable:
    """The truth in a SAM, BAM or CRAM file (mason 2 -oa, ART -sam). Raises InputError."""
    index: dict[tuple[str, int], int] = {}
    parts = []
    for chunk in read_alignments(path):
        start = np.where(chunk.flags & UNMAPPED, NOWHERE, chunk.start)
        first = len(index)
        index.update(zip(_keys(chunk), range(first, first + len(start)), strict=True))
        parts.append((chunk.contigs, start, chunk.end, chunk.strand))
    if not parts:
        raise InputError(f"{path}: no alignments")
    contig, start, end, strand = (np.concatenate(column) for column in zip(*parts, strict=True))
    places = Truth(contig, start, end, strand)
    if len(index) != len(places.start):
        raise InputError(f"{path}: two primary records for the same read")
    return TruthTable(path, index, places)
