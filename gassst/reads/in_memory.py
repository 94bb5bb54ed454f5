"""Records in memory, as Python objects, into batches of reads by the rules for files."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from itertools import zip_longest

from gassst._core import reads as _reads
from gassst.errors import InputError
from gassst.model.read_batch import (
    MAX_BATCH_BASES,
    MAX_LENGTH,
    ReadBatch,
    largest_batch,
    take_batch,
    verify_size,
    whole_pairs,
)
from gassst.reads.batch_sizes import HEAD
from gassst.reads.shapes import Parts, Read, each_parts

MATES = ("reads1", "reads2")  # as the parameters of `Mapper.map`


def batch_records(
    first: Iterable[Read],
    second: Iterable[Read] | None = None,
    batch_size: int = 1 << 16,
    max_length: int = MAX_LENGTH,
    *,
    interleaved: bool = False,
) -> Generator[ReadBatch, None, None]:
    """Batches of records in memory: single reads, pairs (with `second`), or `interleaved` as in `open_reads`.

    Raises
    ------
    TypeError
        Of what is no read, as `shapes.fields_of_read`.
    InputError
        As `batch_of_records` and `batch_of_pairs`.
    """
    verify_size("batch size", batch_size, _reads.MAX_READS)
    verify_size("maximum read length", max_length, _reads.MAX_LENGTH_LIMIT)
    sizes = batch_size, MAX_BATCH_BASES, max_length
    if second is None:
        parser = _reads.RecordParser("records", *sizes, interleaved=interleaved)
        return _record_batches(each_parts(first, MATES[0]), parser, 0 if interleaved else HEAD)
    parser = _reads.RecordParser(MATES[0], whole_pairs(batch_size), *sizes[1:], MATES[1])
    return _record_batches(_in_turn(first, second, parser), parser, HEAD)


def batch_of_records(
    records: Iterable[Read], max_length: int = MAX_LENGTH, path: str = "records"
) -> ReadBatch:
    """One batch of reads, by the rules for files; errors call it `path`.

    Raises
    ------
    InputError
        On a record that a file may not hold either, or when only some have qualities.
    """
    return _filled(_record_parser(max_length, path), each_parts(records, path))


def batch_of_pairs(first: Iterable[Read], second: Iterable[Read], max_length: int = MAX_LENGTH) -> ReadBatch:
    """One batch of pairs, by the rules for two files; errors call them "reads1" and "reads2".

    Raises
    ------
    InputError
        As `batch_of_records`; also when the names of mates differ, or there are more of one than of the other.
    """
    parser = _record_parser(max_length, *MATES)
    return _filled(parser, _in_turn(first, second, parser))


def batch_of_parts(records: Iterable[Parts], *paths: str) -> ReadBatch:
    """One batch of reads, or with two paths of mates in turn, that are names, bases and qualities already."""
    return _filled(_record_parser(MAX_LENGTH, *paths), records)


def _record_parser(max_length: int, path: str, mate_path: str | None = None) -> _reads.RecordParser:
    """For one batch, of any size that its arrays can hold."""
    verify_size("maximum read length", max_length, _reads.MAX_LENGTH_LIMIT)
    return _reads.RecordParser(path, _reads.MAX_READS, largest_batch(max_length), max_length, mate_path)


def _filled(parser: _reads.RecordParser, records: Iterable[Parts]) -> ReadBatch:
    for record in records:
        if not parser.add(*record):
            raise InputError(f"{parser.path}: too many records for one batch")
    return take_batch(parser)


def _in_turn(
    first: Iterable[Read], second: Iterable[Read], parser: _reads.RecordParser
) -> Generator[Parts, None, None]:
    """A record of either in turn, for the `parser`, which says what is wrong if there is none."""
    for one, two in zip_longest(each_parts(first, MATES[0]), each_parts(second, MATES[1])):
        if one is None:
            raise parser.ends_early(0)
        yield one
        if two is None:
            raise parser.ends_early(1)
        yield two


def _record_batches(
    records: Iterable[Parts], parser: _reads.RecordParser, first_size: int
) -> Generator[ReadBatch, None, None]:
    """The first batch of `first_size` reads at most: even for pairs, and 0 for as many as others."""
    for count, text in enumerate(records, 1):
        if not parser.add(*text):  # an interleaved read that shows the batch was full before
            yield take_batch(parser)
            parser.add(*text)
        if parser.full or (count == first_size and len(parser)):
            yield take_batch(parser)
    if len(parser):
        yield take_batch(parser)
