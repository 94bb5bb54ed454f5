"""Reads: FASTQ and FASTA, plain or compressed, from files or stdin, in batches of arrays.

A read's name is the first word of its header; a "/1" or "/2" at its end is dropped, as bwa does: mates share
one name in SAM. The rules for records are in `ext/io/fastx.h`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gassst._core import reads as _reads
from gassst.errors import InputError, UsageError
from gassst.io.input_progress import InputProgress
from gassst.io.source import Source, Window, name_of
from gassst.io.texts import Cutter, Piece, ReadAhead

Text = str | bytes
Path = str | os.PathLike[str]
Paths = Path | Iterable[Path]
Record = tuple[Text, Text, Text | None]

MAX_LENGTH = 1000
MAX_BATCH_BASES = 64 << 20
BUFFER_SIZE = 1 << 18  # stays in the L2 cache from reading to parsing; 4 MiB take 8 % longer
MAX_BUFFER_SIZE = 1 << 28


@dataclass(frozen=True, slots=True, eq=False)
class PackedReads:
    """Reads in bit planes of both strands; layout in `docs/pipeline.md`.

    Attributes
    ----------
    lengths : uint32[n]
    planes : uint64[w + 1, 3]
        From `plane_start[r]`: `ceil(lengths[r] / 64)` rows of read r, as many of its reverse complement.
    plane_start : uint32[n]
    """

    lengths: NDArray[np.uint32]
    planes: NDArray[np.uint64]
    plane_start: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.lengths)


class ClosableBatches(Protocol):
    """An iterator over batches that gives its files up when it is closed."""

    def __iter__(self) -> Iterator[Unparsed]: ...
    def __next__(self) -> Unparsed: ...
    def close(self) -> None: ...


class Unparsed(Protocol):
    """Text of the reads of one batch."""

    def __len__(self) -> int: ...

    def parsed(self) -> ReadBatch:
        """The batch. Raises InputError for text that is no reads."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadBatch:
    """Consecutive reads of one file, or of two files of pairs.

    Attributes
    ----------
    names : uint8[name_offsets[-1]]
    name_offsets : uint32[n + 1]
    bases : uint8[offsets[-1]]
        ASCII as in the file, but "." is "N".
    quals : uint8[offsets[-1]] or None
        ASCII, phred + 33; None when the reads have no qualities (FASTA).
    offsets : uint32[n + 1]
        Of `bases` and `quals`.
    first : int
        1-based ordinal of the first read in its file.
    path : str
    mate : uint8[n] or None
        0 a single read; 1 and 2 the mates of a pair, which are neighbours in this order. None: all are single.
    renamed : int
        Reads whose names were changed, as SAM could not hold them: cut at 254 characters, "_" for what is not
        printable ASCII and for "@" at the beginning.
    """

    names: NDArray[np.uint8]
    name_offsets: NDArray[np.uint32]
    bases: NDArray[np.uint8]
    quals: NDArray[np.uint8] | None
    offsets: NDArray[np.uint32]
    first: int = 1
    path: str = ""
    mate: NDArray[np.uint8] | None = None
    renamed: int = 0

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def name(self, i: int) -> str:
        return _slice(self.names, self.name_offsets, i).decode("utf-8", "surrogateescape")

    def sequence(self, i: int) -> bytes:
        return _slice(self.bases, self.offsets, i)

    def quality(self, i: int) -> bytes | None:
        return None if self.quals is None else _slice(self.quals, self.offsets, i)

    def part(self, start: int, stop: int) -> ReadBatch:
        """Reads `start` to `stop` - 1; shares names, bases and qualities. `first` stays that of the batch."""
        names = slice(self.name_offsets[start], self.name_offsets[stop])
        bases = slice(self.offsets[start], self.offsets[stop])
        return ReadBatch(
            self.names[names],
            self.name_offsets[start : stop + 1] - self.name_offsets[start],
            self.bases[bases],
            None if self.quals is None else self.quals[bases],
            self.offsets[start : stop + 1] - self.offsets[start],
            self.first,
            self.path,
            None if self.mate is None else self.mate[start:stop],
        )

    def parsed(self) -> ReadBatch:
        """This batch, as it is parsed already."""
        return self

    def pack(self) -> PackedReads:
        return PackedReads(*_reads.pack(self.bases, self.offsets))

    @classmethod
    def from_records(
        cls,
        records: Iterable[Record],
        max_length: int = MAX_LENGTH,
        path: str = "records",
    ) -> ReadBatch:
        """One batch of (name, sequence, quality or None), by the rules for files; errors call it `path`.

        Raises
        ------
        InputError
            On a record that a file may not hold either, or when only some have qualities.
        """
        return cls._of_parser(records, _record_parser(max_length, path))

    @classmethod
    def from_pairs(
        cls, first: Iterable[Record], second: Iterable[Record], max_length: int = MAX_LENGTH
    ) -> ReadBatch:
        """One batch of pairs, by the rules for two files; errors call them "reads1" and "reads2".

        Raises
        ------
        InputError
            As `from_records`; also when the names of mates differ, or there are more of one than of the other.
        """
        parser = _record_parser(max_length, *MATES)
        return cls._of_parser(_in_turn(first, second, parser), parser)

    @classmethod
    def _of_parser(cls, records: Iterable[Record], parser: _reads.RecordParser) -> ReadBatch:
        for record in records:
            if not parser.add(*_encoded(record)):
                raise InputError(f"{parser.path}: too many records for one batch")
        return _take(parser)


MATES = ("reads1", "reads2")  # as the parameters of `Mapper.map`


def _record_parser(max_length: int, path: str, mate_path: str | None = None) -> _reads.RecordParser:
    """For one batch, so far from 2**32 that no offset overflows, whatever the lengths of the last pair."""
    _verify("maximum read length", max_length, _reads.MAX_LENGTH_LIMIT)
    return _reads.RecordParser(path, _reads.MAX_READS, (1 << 32) - 1 - 2 * max_length, max_length, mate_path)


def _in_turn(
    first: Iterable[Record], second: Iterable[Record], parser: _reads.RecordParser
) -> Generator[Record, None, None]:
    """A record of either in turn, for the `parser`, which says what is wrong if there is none."""
    for one, two in zip_longest(first, second):
        if one is None:
            raise parser.ends_early(0)
        yield one
        if two is None:
            raise parser.ends_early(1)
        yield two


def batch_records(
    first: Iterable[Record],
    second: Iterable[Record] | None = None,
    batch_size: int = 1 << 16,
    max_length: int = MAX_LENGTH,
    *,
    interleaved: bool = False,
) -> Generator[ReadBatch, None, None]:
    """Batches of records in memory: single reads, pairs (with `second`), or `interleaved` as in `open_reads`.

    Raises
    ------
    InputError
        As `ReadBatch.from_records` and `ReadBatch.from_pairs`.
    """
    _verify("batch size", batch_size, _reads.MAX_READS)
    _verify("maximum read length", max_length, _reads.MAX_LENGTH_LIMIT)
    sizes = batch_size, MAX_BATCH_BASES, max_length
    if second is None:
        parser = _reads.RecordParser("records", *sizes, interleaved=interleaved)
        return _record_batches(first, parser)
    parser = _reads.RecordParser(MATES[0], _of_pairs(batch_size), *sizes[1:], MATES[1])
    return _record_batches(_in_turn(first, second, parser), parser)


def _record_batches(
    records: Iterable[Record], parser: _reads.RecordParser
) -> Generator[ReadBatch, None, None]:
    for record in records:
        text = _encoded(record)
        if not parser.add(*text):  # an interleaved read that shows the batch was full before
            yield _take(parser)
            parser.add(*text)
        if parser.full:
            yield _take(parser)
    if len(parser):
        yield _take(parser)


def open_reads(
    paths: Paths,
    batch_size: int = 1 << 16,
    max_length: int = MAX_LENGTH,
    *,
    interleaved: bool = False,
    max_batch_bases: int = MAX_BATCH_BASES,
    buffer_size: int = BUFFER_SIZE,
    progress: InputProgress | None = None,
) -> Generator[ReadBatch, None, None]:
    """Read FASTQ or FASTA files, one after the other.

    Format and compression (gz, bgzf, bz2, xz, zst) are found from the content. A batch ends after
    `batch_size` reads, or with the read that brings it to `max_batch_bases` bases, or with its file.
    Closing the generator closes the file.

    Parameters
    ----------
    paths : path or iterable of paths
        "-" is stdin.
    batch_size : int
        Reads.
    max_length : int
        Longest read accepted, bases.
    interleaved : bool
        Two neighbouring reads of one name are a pair, any other read is single. A batch is longer by one read
        where it would end between two mates.
    buffer_size : int
        Bytes asked for at once; what is read does not depend on it.
    progress : InputProgress, optional
        Told of every file that is opened.

    Raises
    ------
    UsageError
        A size out of range.
    InputError
        At once: a path that cannot be read. On iteration: a file that is damaged or cut short, interleaved mates
        that are marked as other than 1 and 2.
    """
    sizes = _verified_sizes(batch_size, max_batch_bases, max_length, buffer_size)
    return _parsed(_files(_readable(paths), interleaved, sizes, progress))


def open_pairs(
    first: Paths,
    second: Paths,
    batch_size: int = 1 << 16,
    max_length: int = MAX_LENGTH,
    *,
    max_batch_bases: int = MAX_BATCH_BASES,
    buffer_size: int = BUFFER_SIZE,
    progress: InputProgress | None = None,
) -> Generator[ReadBatch, None, None]:
    """Read pairs, the first mates from one file, the second from another; several such pairs of files in turn.

    Names of mates are equal, but for "/1" and "/2" at their end and what follows the first blank; where both have
    such a number, or one of a Casava comment ("1:N:0:ACGT"), these are 1 and 2.

    Parameters
    ----------
    first, second : path or iterable of paths
        As many of one as of the other; one of all may be "-", stdin.
    batch_size : int
        Reads, rounded down to whole pairs, but at least one.
    max_length, max_batch_bases, buffer_size, progress
        As in `open_reads`.

    Raises
    ------
    UsageError
        A size out of range, another number of first than of second files, or one file twice in a pair of files.
    InputError
        As `open_reads`; on iteration also where the files disagree or one ends early.
    """
    sizes = _verified_sizes(batch_size, max_batch_bases, max_length, buffer_size)
    return _parsed(_files_of_pairs(_readable_lanes(first, second), sizes, progress))


def open_unparsed(
    reads: Paths,
    mates: Paths | None = None,
    batch_size: int = 1 << 16,
    max_length: int = MAX_LENGTH,
    *,
    interleaved: bool = False,
    progress: InputProgress | None = None,
) -> ClosableBatches:
    """The batches of `open_reads` or, with `mates`, of `open_pairs`, for others to parse.

    Files are read and inflated, and cut between records, in threads of their own, one for each file that is read.

    Raises
    ------
    UsageError, InputError
        At once as `open_reads` and `open_pairs`, also for interleaved reads with `mates`; what these raise on
        iteration is raised on iteration or by `parsed`.
    """
    sizes = _verified_sizes(batch_size, MAX_BATCH_BASES, max_length, BUFFER_SIZE)
    if mates is None:
        return ReadAhead(_files(_readable(reads), interleaved, sizes, progress))
    if interleaved:
        raise UsageError("interleaved pairs have no files of second mates")
    return _files_of_pairs(_readable_lanes(reads, mates), sizes, progress)


def _files(
    paths: list[str], interleaved: bool, sizes: Sizes, progress: InputProgress | None
) -> Generator[Unparsed, None, None]:
    for path in paths:
        yield from _single(path, interleaved, sizes, progress)


def _files_of_pairs(
    lanes: list[tuple[str, str]], sizes: Sizes, progress: InputProgress | None
) -> Generator[Unparsed, None, None]:
    sizes = sizes._replace(reads=_of_pairs(sizes.reads))
    for first, second in lanes:
        yield from _paired(first, second, sizes, progress)


def _parsed(batches: Generator[Unparsed, None, None]) -> Generator[ReadBatch, None, None]:
    with closing(batches):
        for batch in batches:
            yield batch.parsed()


def _readable_lanes(first: Paths, second: Paths) -> list[tuple[str, str]]:
    lanes = _lanes(_names(first), _names(second))
    _readable(chain(*lanes))
    return lanes


def _lanes(first: list[str], second: list[str]) -> list[tuple[str, str]]:
    if len(first) != len(second):
        raise UsageError(f"{len(first)} files of first mates, but {len(second)} of second mates")
    if (first + second).count("-") > 1:
        raise UsageError("only one of the files can be standard input")
    lanes = list(zip(first, second, strict=True))
    for one, two in lanes:
        if os.path.realpath(one) == os.path.realpath(two):
            raise UsageError(f"{one}: the same file for both mates; --interleaved reads pairs from one file")
    return lanes


def _of_pairs(batch_size: int) -> int:
    return max(2, batch_size - batch_size % 2)


class Sizes(NamedTuple):
    """Most reads of a batch, most bases of a batch, longest read, bytes asked for at once."""

    reads: int
    bases: int
    length: int
    buffer: int


def _verified_sizes(batch_size: int, max_bases: int, max_length: int, buffer_size: int) -> Sizes:
    _verify("batch size", batch_size, _reads.MAX_READS)
    _verify("maximum read length", max_length, _reads.MAX_LENGTH_LIMIT)
    _verify("bases of a batch", max_bases, MAX_BATCH_BASES)
    _verify("buffer size", buffer_size, MAX_BUFFER_SIZE)
    return Sizes(batch_size, max_bases, max_length, buffer_size)


def _verify(what: str, value: int, most: int) -> None:
    if not 1 <= value <= most:
        raise UsageError(f"{what} must be 1 to {most}, not {value}")


def _names(paths: Paths) -> list[str]:
    return [os.fspath(p) for p in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]


def _readable(paths: Paths) -> list[str]:
    names = _names(paths)
    for path in names:
        _check_readable(path)
    return names


def _check_readable(path: str) -> None:
    """Not by opening: a named pipe can be opened once only."""
    if path == "-":
        return
    if os.path.isdir(path):
        raise InputError(f"{path}: {os.strerror(errno.EISDIR)}")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path}: {os.strerror(errno.EACCES if os.path.lexists(path) else errno.ENOENT)}")


def _single(
    path: str, interleaved: bool, sizes: Sizes, progress: InputProgress | None
) -> Generator[Unparsed, None, None]:
    """The batches of one file; where there is a simple way to tell them apart, they are yet to be parsed."""
    parser = _reads.RecordParser(name_of(path), *sizes[:3], None, interleaved)
    with ExitStack() as stack:
        source = stack.enter_context(Source(path, parser, progress))
        window = _begun(source, sizes)
        if interleaved or not _is_cut(window, sizes):
            yield from _batches(window, parser)
            return
        stack.pop_all()  # the cutter closes the source
    before = 0
    with closing(Cutter(source, window, sizes.reads, sizes.length, sizes.buffer).texts()) as texts:
        for text in texts:
            yield _TextBatch((text,), (source.name,), before, sizes)
            before += text.records


def _paired(
    first: str, second: str, sizes: Sizes, progress: InputProgress | None
) -> Generator[Unparsed, None, None]:
    """The same of two files of mates, each of which is read in a thread of its own.

    Two pipes that one program fills in turn must be read at the same time: it waits for either.
    """
    parser = _reads.RecordParser(name_of(first), *sizes[:3], name_of(second))
    with ExitStack() as stack:
        one = stack.enter_context(Source(first, parser, progress))
        two = stack.enter_context(Source(second, parser, progress))
        windows = _begun(one, sizes), _begun(two, sizes)
        if not all(_is_cut(window, sizes) for window in windows):
            yield from _pair_batches(*windows, parser)
            return
        stack.pop_all()  # the cutters close the sources
    before, names, most = 0, (one.name, two.name), sizes.reads // 2
    cutters = [
        Cutter(source, window, most, sizes.length, sizes.buffer)
        for source, window in zip((one, two), windows, strict=True)
    ]
    with ExitStack() as stack:
        streams = [stack.enter_context(closing(ReadAhead(cutter.texts()))) for cutter in cutters]
        for texts in zip_longest(*streams, fillvalue=_NOTHING):
            yield _TextBatch(texts, names, before, sizes)
            before += most


def _begun(source: Source, sizes: Sizes) -> Window:
    """A window with the first bytes of the source, if there are any."""
    window = Window(source, sizes.buffer)
    window.refill()
    return window


def _is_cut(window: Window, sizes: Sizes) -> bool:
    """Whether batches can be cut by counting lines: FASTQ, and too few reads to a batch for too many bases."""
    return bytes(window.unused[:1]) == b"@" and sizes.reads * sizes.length <= sizes.bases


class _TextBatch:
    """A batch yet to be parsed: text of one file, or of the two of mates, with as many records of either."""

    def __init__(self, texts: tuple[Piece, ...], names: tuple[str, ...], before: int, sizes: Sizes):
        self._texts, self._names, self._before, self._sizes = texts, names, before, sizes

    def __len__(self) -> int:
        return sum(text.records for text in self._texts)

    def parsed(self) -> ReadBatch:
        """The batch; its text is given up, so this works once."""
        texts, self._texts = self._texts, ()
        mate_name = self._names[1] if len(texts) > 1 else None
        before = (
            self._before or None
        )  # empty lines may come before a record, but not at the beginning of a file
        parser = _reads.RecordParser(self._names[0], *self._sizes[:3], mate_name, before=before)
        if len(texts) > 1:
            one, two = texts
            parser.parse_pairs(one.data, one.ends, two.data, two.ends)
        else:
            parser.parse(texts[0].data, texts[0].ends)
        if not parser.full:
            error = texts[parser.wants or 0].error
            if error is not None:
                raise error
        return _take(parser)


_NOTHING = Piece(memoryview(b""), 0, ends=True)


def _batches(window: Window, parser: _reads.RecordParser) -> Generator[ReadBatch, None, None]:
    while True:
        window.use(parser.parse(window.unused, window.eof))
        if parser.full:
            yield _take(parser)
        elif window.eof:
            break
        else:
            window.refill()
    if len(parser):
        yield _take(parser)


def _pair_batches(
    first: Window, second: Window, parser: _reads.RecordParser
) -> Generator[ReadBatch, None, None]:
    while True:
        used = parser.parse_pairs(first.unused, first.eof, second.unused, second.eof)
        first.use(used[0])
        second.use(used[1])
        if parser.full:
            yield _take(parser)
        elif parser.wants is None:
            break
        else:
            (second if parser.wants else first).refill()
    if len(parser):
        yield _take(parser)


def _take(parser: _reads.RecordParser) -> ReadBatch:
    renamed = parser.renamed
    arrays = parser.take()
    return ReadBatch(*arrays[:6], parser.path, arrays[6], renamed)


def _slice(text: NDArray[np.uint8], offsets: NDArray[np.uint32], i: int) -> bytes:
    if not 0 <= i < len(offsets) - 1:
        raise IndexError(f"read {i} of a batch of {len(offsets) - 1}")
    return text[offsets[i] : offsets[i + 1]].tobytes()


def _encoded(record: Record) -> tuple[bytes, bytes, bytes | None]:
    name, sequence, quality = record
    return _bytes(name), _bytes(sequence), None if quality is None else _bytes(quality)


def _bytes(text: Text) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)
