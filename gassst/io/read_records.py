"""Records in memory, as Python objects, into batches of reads by the rules for files."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from itertools import zip_longest

from gassst._core import reads as _reads
from gassst.errors import InputError
from gassst.io.read_batch import (
    MAX_BATCH_BASES,
    MAX_LENGTH,
    ReadBatch,
    largest_batch,
    take_batch,
    verify_size,
    whole_pairs,
)

Text = str | bytes
Record = tuple[Text, Text, Text | None]

MATES = ("reads1", "reads2")  # as the parameters of `Mapper.map`


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
        As `batch_of_records` and `batch_of_pairs`.
    """
    verify_size("batch size", batch_size, _reads.MAX_READS)
    verify_size("maximum read length", max_length, _reads.MAX_LENGTH_LIMIT)
    sizes = batch_size, MAX_BATCH_BASES, max_length
    if second is None:
        parser = _reads.RecordParser("records", *sizes, interleaved=interleaved)
        return _record_batches(first, parser)
    parser = _reads.RecordParser(MATES[0], whole_pairs(batch_size), *sizes[1:], MATES[1])
    return _record_batches(_in_turn(first, second, parser), parser)


def batch_of_records(
    records: Iterable[Record], max_length: int = MAX_LENGTH, path: str = "records"
) -> ReadBatch:
    """One batch of (name, sequence, quality or None), by the rules for files; errors call it `path`.

    Raises
    ------
    InputError
        On a record that a file may not hold either, or when only some have qualities.
    """
    return _filled(_record_parser(max_length, path), records)


def batch_of_pairs(
    first: Iterable[Record], second: Iterable[Record], max_length: int = MAX_LENGTH
) -> ReadBatch:
    """One batch of pairs, by the rules for two files; errors call them "reads1" and "reads2".

    Raises
    ------
    InputError
        As `batch_of_records`; also when the names of mates differ, or there are more of one than of the other.
    """
    parser = _record_parser(max_length, *MATES)
    return _filled(parser, _in_turn(first, second, parser))


def _record_parser(max_length: int, path: str, mate_path: str | None = None) -> _reads.RecordParser:
    """For one batch, of any size that its arrays can hold."""
    verify_size("maximum read length", max_length, _reads.MAX_LENGTH_LIMIT)
    return _reads.RecordParser(path, _reads.MAX_READS, largest_batch(max_length), max_length, mate_path)


def _filled(parser: _reads.RecordParser, records: Iterable[Record]) -> ReadBatch:
    for record in records:
        if not parser.add(*_encoded(record)):
            raise InputError(f"{parser.path}: too many records for one batch")
    return take_batch(parser)


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


def _record_batches(
    records: Iterable[Record], parser: _reads.RecordParser
) -> Generator[ReadBatch, None, None]:
    for record in records:
        text = _encoded(record)
        if not parser.add(*text):  # an interleaved read that shows the batch was full before
            yield take_batch(parser)
            parser.add(*text)
        if parser.full:
            yield take_batch(parser)
    if len(parser):
        yield take_batch(parser)


def _encoded(record: Record) -> tuple[bytes, bytes, bytes | None]:
    name, sequence, quality = record
    return _bytes(name), _bytes(sequence), None if quality is None else _bytes(quality)


def _bytes(text: Text) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)
