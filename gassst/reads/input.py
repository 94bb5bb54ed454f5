"""Reads: FASTQ and FASTA, plain or compressed, from files or stdin, in batches of arrays."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from types import MappingProxyType
from typing import Protocol

from gassst._core import reads as _reads
from gassst.errors import InputError, UsageError, unreadable
from gassst.files.inflate import Inflaters
from gassst.files.input_progress import InputProgress
from gassst.files.slices import LaneShard
from gassst.files.source import name_of
from gassst.frozen import frozen, replace
from gassst.model.read_batch import MAX_BATCH_BASES, MAX_LENGTH, ReadBatch, verify_size, whole_pairs
from gassst.reads.alignment_input import AlignmentInput
from gassst.reads.batch_sizes import ALONE, BatchSizes, Neighbours
from gassst.reads.groups import NO_GROUPS, ReadGroups
from gassst.reads.selected import TemplateRange, without_ends
from gassst.reads.selection import ALL, Selection
from gassst.reads.small_rna import NOTHING, Preparation
from gassst.reads.streams import FileAccess, ReadOptions, Unparsed, batches_of_file, batches_of_pair
from gassst.reads.tags import NO_TAGS, TagSources
from gassst.reads.texts import ReadAhead

log = logging.getLogger("gassst")

Path = str | os.PathLike[str]
Paths = Path | Iterable[Path]

BUFFER_SIZE = 1 << 20  # a few calls for a batch; 4 MiB take 8 % longer than what stays in the L2 cache
MAX_BUFFER_SIZE = 1 << 28
NO_ALIGNMENTS: Mapping[str, AlignmentInput] = MappingProxyType({})


class ClosableBatches(Protocol):
    """An iterator over batches that gives its files up when it is closed."""

    def __iter__(self) -> Iterator[Unparsed]: ...
    def __next__(self) -> Unparsed: ...
    def close(self) -> None: ...


@frozen(eq=False)
class GroupBatch:
    """A batch whose reads are of a read group, by its ordinal in the header, and prepared when it is parsed.

    `lane` is the ordinal of its file. The first batch of each `begins_at` so many reads of that.
    """

    batch: Unparsed
    read_group: int
    preparation: Preparation = NOTHING
    selection: Selection = ALL
    lane: int = 0
    begins_at: int | None = None

    def __len__(self) -> int:
        return len(self.batch)

    def parsed(self) -> ReadBatch:
        """The batch. Raises InputError for text that is no reads."""
        batch = replace(self.batch.parsed(), read_group=self.read_group)
        return self.preparation.of(without_ends(batch, self.selection))


def open_reads(
    paths: Paths,
    batch_size: int = 1 << 16,
    max_length: int = MAX_LENGTH,
    *,
    mates: Paths | None = None,
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
    mates : path or iterable of paths, optional
        Of second mates: as many files, one of all may be "-". Mates have the same name. "/1" and "/2" at its end and
        what follows the first blank do not count. Where both have such a number, or one of a Casava comment
        ("1:N:0:ACGT"), the numbers are 1 and 2.
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
        A size out of range, another number of first than of second files, or one file twice in a pair of files.
    InputError
        At once: a path that cannot be read. On iteration: a file that is damaged or cut short, mates that are marked
        as other than 1 and 2, files that disagree or one that ends early.
    """
    options = _verified_options(batch_size, max_batch_bases, max_length, buffer_size)
    access = FileAccess(progress)
    if mates is not None:
        lanes, sizes = _readable_lanes(paths, mates), BatchSizes(whole_pairs(batch_size))
        return _parsed(_files_of_pairs(lanes, options, sizes, access))
    return _parsed(_files(_readable(paths), interleaved, options, BatchSizes(batch_size), access))


def open_unparsed(
    reads: Paths,
    mates: Paths | None = None,
    batch_size: int = 1 << 16,
    max_length: int = MAX_LENGTH,
    *,
    interleaved: bool = False,
    progress: InputProgress | None = None,
    allow_truncated: bool = False,
    tags: TagSources = NO_TAGS,
    groups: ReadGroups = NO_GROUPS,
    alignments: Mapping[str, AlignmentInput] | None = None,
    workers: int = 1,
    shards: Sequence[LaneShard] | None = None,
    inflaters: Inflaters | None = None,
    neighbours: Neighbours = ALONE,
    preparation: Preparation = NOTHING,
    selection: Selection = ALL,
) -> ClosableBatches:
    """The batches of `open_reads`, for others to parse.

    `allow_truncated` takes BGZF without its end-of-file block, which `open_reads` refuses: it may be cut short.
    `tags` says what of the headers becomes tags, `groups` which read group each file is of. Files are read and
    inflated, and cut between records, in threads of their own, one for each file that is read; `inflaters` inflate
    those that are BGZF. With several `workers` the first and the last batches are smaller where the run has no
    `neighbours` (`batch_sizes`). Single reads get the `preparation`; the `selection` is that of all lanes together. Of
    some lanes only `shards` are read, and nothing of the others (`gassst.reads.shards`).

    Raises
    ------
    UsageError, InputError
        At once as `open_reads`, also for interleaved reads with `mates`; what it raises on iteration is raised on
        iteration or by `parsed`.
    """
    options = _verified_options(batch_size, MAX_BATCH_BASES, max_length, BUFFER_SIZE)._replace(
        tags=tags.verify()
    )
    access = FileAccess(progress, allow_truncated, inflaters)
    sizes = None if shards is None else [part.size for part in shards]
    if mates is None:
        paths = _readable(reads)
        return ReadAhead(
            _files(
                paths,
                interleaved,
                options,
                BatchSizes(batch_size, workers, paths, sizes, neighbours),
                access,
                groups,
                alignments or NO_ALIGNMENTS,
                shards,
                preparation,
                selection,
            )
        )
    if interleaved:
        raise UsageError("interleaved pairs cannot have files of second mates")
    lanes = _readable_lanes(reads, mates)
    firsts = [first for first, _ in lanes]
    batches = BatchSizes(whole_pairs(batch_size), workers, firsts, sizes, neighbours)
    return _files_of_pairs(lanes, options, batches, access, groups, shards, selection)


def _files(
    paths: list[str],
    interleaved: bool,
    options: ReadOptions,
    batch_sizes: BatchSizes,
    access: FileAccess,
    groups: ReadGroups = NO_GROUPS,
    alignments: Mapping[str, AlignmentInput] = NO_ALIGNMENTS,
    shards: Sequence[LaneShard] | None = None,
    preparation: Preparation = NOTHING,
    selection: Selection = ALL,
) -> Generator[Unparsed, None, None]:
    wanted = TemplateRange(selection)
    for i, (lane, part) in enumerate(_shards_of_lanes(len(paths), shards)):
        if wanted.is_over:
            return
        path, found = paths[lane], alignments.get(paths[lane])
        if found is not None:
            batches: Iterator[Unparsed] = found.batches(
                interleaved, options, access.progress, access.allow_truncated, part
            )
        else:
            pieces = batch_sizes.of_file(i)
            cut = None if part is None else part.slices[0]
            batches = batches_of_file(path, interleaved, options, pieces, access, cut)
        size = [0]
        begins_at: int | None = 0 if part is None else part.before
        for batch in wanted.of(_counted(batches, size)):
            yield GroupBatch(batch, groups.of(lane), preparation, selection, lane, begins_at)
            begins_at = None
        if part is None and not size[0]:
            log.warning("%s: no reads", name_of(path))


def _files_of_pairs(
    lanes: list[tuple[str, str]],
    options: ReadOptions,
    batch_sizes: BatchSizes,
    access: FileAccess,
    groups: ReadGroups = NO_GROUPS,
    shards: Sequence[LaneShard] | None = None,
    selection: Selection = ALL,
) -> Generator[Unparsed, None, None]:
    options = options._replace(reads=whole_pairs(options.reads))
    wanted = TemplateRange(selection)
    for i, (lane, part) in enumerate(_shards_of_lanes(len(lanes), shards)):
        if wanted.is_over:
            return
        pieces, cuts = batch_sizes.of_file(i, mates=2), (None, None) if part is None else part.slices
        size = [0]
        begins_at: int | None = 0 if part is None else part.before
        batches = batches_of_pair(*lanes[lane], options, pieces, access, cuts)
        for batch in wanted.of(_counted(batches, size)):
            yield GroupBatch(batch, groups.of(lane), NOTHING, selection, lane, begins_at)
            begins_at = None
        if part is None and not size[0]:
            log.warning("%s: no reads", " and ".join(map(name_of, lanes[lane])))


def _counted(batches: Iterator[Unparsed], size: list[int]) -> Iterator[Unparsed]:
    """The batches of a lane. The reads so far are added to `size`."""
    for batch in batches:
        batch = batch if size[0] else _first(batch)
        size[0] += len(batch)
        yield batch


def _first(batch: Unparsed) -> Unparsed:
    """The first batch of a file; where no record was counted, parsed: the last one may lack its line end.

    Raises InputError where there is text that is no record: then the file is not just empty.
    """
    return batch if len(batch) else batch.parsed()


def _shards_of_lanes(
    lanes: int, shards: Sequence[LaneShard] | None
) -> Iterable[tuple[int, LaneShard | None]]:
    """The lanes that are read, and what of them; None for all."""
    return [(i, None) for i in range(lanes)] if shards is None else [(part.lane, part) for part in shards]


def _parsed(batches: Generator[Unparsed, None, None]) -> Generator[ReadBatch, None, None]:
    with closing(batches):
        for batch in batches:
            yield batch.parsed()


def check_readable(reads: Paths, mates: Paths | None = None) -> None:
    """Raise what `open_unparsed` raises at once, without opening a file."""
    if mates is None:
        _readable(reads)
    else:
        _readable_lanes(reads, mates)


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


def _verified_options(batch_size: int, max_bases: int, max_length: int, buffer_size: int) -> ReadOptions:
    verify_size("batch size", batch_size, _reads.MAX_READS)
    verify_size("maximum read length", max_length, _reads.MAX_LENGTH_LIMIT)
    verify_size("bases of a batch", max_bases, MAX_BATCH_BASES)
    verify_size("buffer size", buffer_size, MAX_BUFFER_SIZE)
    return ReadOptions(batch_size, max_bases, max_length, buffer_size)


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
        why = errno.EACCES if os.path.lexists(path) else errno.ENOENT
        raise unreadable(path, OSError(why, os.strerror(why)))
