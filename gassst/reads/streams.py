"""The batches of one file of reads, or of two files of mates: cut between records where that is simple, else parsed."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Protocol

from gassst._core.reads import MAX_READS, RecordParser
from gassst.files.inflate import Inflaters
from gassst.files.input_progress import InputProgress
from gassst.files.slices import Slice
from gassst.files.source import Source, Window, name_of
from gassst.frozen import NamedTuple
from gassst.model.read_batch import ReadBatch, largest_batch, take_batch
from gassst.reads.batch_sizes import FileSizes
from gassst.reads.tags import NO_TAGS, TagSources
from gassst.reads.texts import ENOUGH, Piece, ReadAhead, cutter


class Unparsed(Protocol):
    """Text of the reads of one batch: plain data, which any process can parse."""

    def __len__(self) -> int: ...

    def parsed(self) -> ReadBatch:
        """The batch. Raises InputError for text that is no reads."""


class ReadOptions(NamedTuple):
    """How reads are parsed, whatever the format of their files.

    Attributes
    ----------
    reads, bases : int
        Most of a batch.
    length : int
        Bases of the longest read that is taken.
    buffer : int
        Bytes asked for at once.
    tags : TagSources
        What of the headers becomes tags.
    """

    reads: int
    bases: int
    length: int
    buffer: int
    tags: TagSources = NO_TAGS


class FileAccess(NamedTuple):
    """How files are opened. It stays with the thread that reads them: no batch holds it.

    Attributes
    ----------
    progress : InputProgress or None
        Told of every file that is opened.
    allow_truncated : bool
        Whether BGZF may lack its end-of-file block.
    inflaters : Inflaters or None
        Workers that inflate BGZF files; None: the thread that reads inflates them.
    """

    progress: InputProgress | None = None
    allow_truncated: bool = False
    inflaters: Inflaters | None = None


def batches_of_file(
    path: str,
    interleaved: bool,
    options: ReadOptions,
    pieces: FileSizes,
    access: FileAccess,
    part: Slice | None = None,
) -> Generator[Unparsed, None, None]:
    """The batches of one file, or of a part; where records are easily separated, the batches are not parsed yet."""
    parser = RecordParser(name_of(path, part), *options[:3], None, interleaved, tags=options.tags)
    with ExitStack() as stack:
        source = stack.enter_context(Source(path, parser, *access, part))
        window = _begun(source, options)
        if not _is_cut(window, options):
            yield from _batches(window, parser)
            return
        stack.pop_all()  # the cutter closes the source
    before = 0
    cut = cutter(source, window, pieces, options.length, options.buffer, interleaved)
    with closing(cut.texts()) as texts:
        for text in texts:
            yield _TextBatch((text,), (source.name,), before, options, interleaved)
            before += text.records


def batches_of_pair(
    first: str,
    second: str,
    options: ReadOptions,
    pieces: FileSizes,
    access: FileAccess,
    parts: Sequence[Slice | None] = (None, None),
) -> Generator[Unparsed, None, None]:
    """The same of two files of mates, each of which is read in a thread of its own.

    Two pipes that one program fills in turn must be read at the same time: it waits for either.
    """
    names = [name_of(path, part) for path, part in zip((first, second), parts, strict=True)]
    parser = RecordParser(names[0], *options[:3], names[1], tags=options.tags)
    with ExitStack() as stack:
        one, two = (
            stack.enter_context(Source(path, parser, *access, part))
            for path, part in zip((first, second), parts, strict=True)
        )
        windows = _begun(one, options), _begun(two, options)
        if not all(_is_cut(window, options) for window in windows):
            yield from _pair_batches(*windows, parser)
            return
        stack.pop_all()  # the cutters close the sources
    before = 0
    cutters = [
        cutter(source, window, pieces, options.length, options.buffer)
        for source, window in zip((one, two), windows, strict=True)
    ]
    with ExitStack() as stack:
        streams = [stack.enter_context(closing(ReadAhead(cut.texts()))) for cut in cutters]
        for stream in streams:
            stream.start()
        for texts in _of_equal_length(*streams):
            yield _TextBatch(texts, (one.name, two.name), before, options)
            before += max(text.records for text in texts)  # the last record of a file may lack its line end


def _of_equal_length(first: Iterator[Piece], second: Iterator[Piece]) -> Iterator[tuple[Piece, Piece]]:
    """Texts of as many records from both files. Only last texts differ: the parser says what is wrong with them."""
    one = two = None
    while True:
        one, two = one or next(first, None), two or next(second, None)
        if one is None and two is None:
            return
        one, two = one or _NOTHING, two or _NOTHING
        if _go_together(one, two):
            yield one, two
            one = two = None
        else:
            least = min(one.records, two.records)
            (head, one), (mate_head, two) = one.split(least), two.split(least)
            yield head, mate_head


def _go_together(one: Piece, two: Piece) -> bool:
    """Whether two pieces make one batch as they are: splitting them reads their text, which only workers should do."""
    if one.records == two.records:
        return one.is_last == two.is_last
    return min(one, two, key=lambda piece: piece.records).is_last


def _begun(source: Source, options: ReadOptions) -> Window:
    """A window with the first bytes of the source, if there are any."""
    window = Window(source, options.buffer)
    window.refill()
    return window


def _is_cut(window: Window, options: ReadOptions) -> bool:
    """Whether batches can be cut by counting lines: FASTQ, whose text is `ENOUGH` before its bases are too many."""
    return bytes(window.unused[:1]) == b"@" and options.bases >= ENOUGH


class _TextBatch:
    """A batch yet to be parsed: text of one file, or of the two of mates, with as many records of either."""

    def __init__(
        self,
        texts: tuple[Piece, ...],
        names: tuple[str, ...],
        before: int,
        options: ReadOptions,
        interleaved: bool = False,
    ):
        self._interleaved = interleaved
        self._texts, self._names, self._before, self._options = texts, names, before, options

    def __len__(self) -> int:
        return sum(text.records for text in self._texts)

    def parsed(self) -> ReadBatch:
        """The batch; its text is given up, so this works once."""
        texts, self._texts = self._texts, ()
        mate_name = self._names[1] if len(texts) > 1 else None
        before = (
            self._before or None
        )  # empty lines may come before a record, but not at the beginning of a file
        # The text was cut before that; there may be one record more at the end of the file.
        reads = min(texts[0].records + 2, MAX_READS) if self._interleaved else self._options.reads
        options = self._options._replace(reads=reads, bases=largest_batch(self._options.length))
        parser = RecordParser(
            self._names[0], *options[:3], mate_name, self._interleaved, before=before, tags=options.tags
        )
        parser.reserve(sum(text.size for text in texts))
        first, *mates = texts
        if mates:
            parser.parse_pairs(first.text(), first.ends, mates[0].text(), mates[0].ends)
        else:
            parser.parse(first.text(), first.ends)
        if not parser.full:
            error = texts[parser.wants or 0].error
            if error is not None:
                raise error
        return take_batch(parser)


_NOTHING = Piece(memoryview(b""), 0, ends=True)


def _batches(window: Window, parser: RecordParser) -> Generator[ReadBatch, None, None]:
    while True:
        window.use(parser.parse(window.unused, window.eof))
        if parser.full:
            yield take_batch(parser)
        elif window.eof:
            break
        else:
            window.refill()
    if len(parser):
        yield take_batch(parser)


def _pair_batches(first: Window, second: Window, parser: RecordParser) -> Generator[ReadBatch, None, None]:
    while True:
        used = parser.parse_pairs(first.unused, first.eof, second.unused, second.eof)
        first.use(used[0])
        second.use(used[1])
        if parser.full:
            yield take_batch(parser)
        elif parser.wants is None:
            break
        else:
            (second if parser.wants else first).refill()
    if len(parser):
        yield take_batch(parser)
