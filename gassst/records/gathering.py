"""Shards of a run, as `gassst map --shard` has written them, made one file: as if one machine had mapped all.

Shards are joined in the order of the reads, whatever the order of their names. What they are says their header. One
that is missing, there twice, of another run or cut short is an error, so nothing is ever lost or counted twice.

* Unsorted shards of one format are copied as they are: blocks of BGZF, lines of SAM, containers of CRAM.
* Where the output is sorted, the records of all shards become runs, as those of batches do in a run on one machine
  (`gassst.records.sorting`). Runs come in the order of the shards, so records that tie lie as there.
* Duplicates are marked as on one machine, too. That takes the mates of a pair side by side: unsorted shards.
* Any other change of format goes through BAM and samtools.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pysam

import gassst.files.htslib  # noqa: F401 - before the compiled modules that link its htslib
from gassst._core.alignment_text import AlignmentReader
from gassst._core.records import whole_records
from gassst.errors import InputError, OutputError, UsageError, unreadable
from gassst.files import bgzf
from gassst.files.destination import (
    IDX_DELIMITER,
    MAX_BAI_CONTIG,
    AlignmentDestination,
    ConvertedDestination,
    Destination,
    run_samtools,
    why_failed,
)
from gassst.files.inflate import BgzfAhead, CutShort, Damaged, Inflaters, whole_blocks
from gassst.files.quiet import QuietHtslib
from gassst.files.sam_header import Header, program_line
from gassst.files.slices import SeekableText, Slice, SlicedFile
from gassst.frozen import frozen
from gassst.model.array_types import NDArray
from gassst.reads.record_starts import Bam
from gassst.reads.shards import ShardOfRun
from gassst.records.cram import CramOptions, CramTarget
from gassst.records.encoding import Pieces, PiecesFormat, bam_header
from gassst.records.options import OutputFile
from gassst.records.sorted_runs import Run
from gassst.records.sorting import SortedBamFormat
from gassst.records.writer import in_coordinate_order, output_format, with_note
from gassst.version import __version__
from gassst.workers.threads import Workers

if TYPE_CHECKING:
    from gassst._core.duplicates import Signer
    from gassst.model.reference import ReferenceArrays
    from gassst.records.duplicates import DuplicateCounts, DuplicateSearch
    from gassst.records.marking import SignedRun
    from gassst.records.unmapped import FileBeside

CHUNK = 16 << 20  # bytes of records that a worker sorts at once
COPIED = 1 << 22  # bytes that are copied at once
NAMES_FILES = re.compile(r"^@SQ\t(.*\t)?(UR:|M5:(?![0-9a-f]{32}(\t|$)))", re.MULTILINE)
"""Tags of a header that a shard of a run has not: with CRAM, samtools would open what they name."""
AHEAD = 2  # chunks for each worker
WhenJoined = Callable[["DuplicateCounts | None"], None]


@frozen()
class ShardFile:
    """A file that `gassst map --shard` has written.

    Attributes
    ----------
    path : str
    file_format : str
        One of `RECORD_FORMATS`.
    header : str
    place : ShardOfRun
        Which shard it is.
    """

    path: str
    file_format: str
    header: str
    place: ShardOfRun

    @classmethod
    def of(cls, path: str) -> ShardFile:
        """Raises InputError for a file that cannot be read, is no shard, or is cut short."""
        QuietHtslib.enter()
        try:
            if not os.path.isfile(path):
                open(path, "rb").close()  # says why
                raise InputError(f"{path}: not a file: shards are read more than once")
            head = _bytes_of(path, 0, 4)
            with closing(AlignmentReader(os.open(path, os.O_RDONLY), path)) as reader:
                header, ends_well = reader.header, reader.ends_well
        except OSError as error:
            raise unreadable(path, error) from error
        finally:
            QuietHtslib.leave()
        if IDX_DELIMITER in path:
            raise InputError(f"{path}: htslib would cut this name at {IDX_DELIMITER}: rename it")
        place = ShardOfRun.in_header(header)
        if place is None or NAMES_FILES.search(header):
            raise InputError(f"{path}: not a shard of a run: `gassst map --shard` writes shards")
        try:
            pysam.AlignmentHeader.from_text(header)
        except (KeyError, ValueError, OverflowError) as error:
            raise InputError(f"{path}: its header is damaged") from error
        file_format = "cram" if head == b"CRAM" else "bam" if head[:2] == b"\x1f\x8b" else "sam"
        if file_format == "sam":
            size = os.path.getsize(path)
            ends_well = _bytes_of(path, size - 1, 1) == b"\n"
        if not ends_well:
            raise InputError(f"{path}: shard {place.shard} is cut short: map it again")
        return cls(path, file_format, header, place)

    @property
    def is_sorted(self) -> bool:
        return "\tSO:coordinate" in self.header.partition("\n")[0]

    def verify(self, records: int) -> None:
        """Raise InputError unless it has as many records as were mapped, where its header says how many."""
        expected = self.place.records
        if expected is not None and records != expected:
            raise InputError(
                f"{self.path}: shard {self.place.shard} has {records} of {expected} records: map it again"
            )


def _bytes_of(path: str, start: int, size: int) -> bytes:
    with open(path, "rb", buffering=0) as file:
        file.seek(max(start, 0))
        return file.read(size)


def complete(paths: Sequence[str]) -> list[ShardFile]:
    """All shards of one run, in the order of the reads.

    Raises
    ------
    InputError
        One is missing, there twice, or of another run or form; or as `ShardFile.of`.
    """
    shards = sorted((ShardFile.of(path) for path in paths), key=lambda shard: shard.place.shard.number)
    first = shards[0]
    of = first.place.shard.of
    for before, shard in zip(shards, shards[1:], strict=False):
        if (shard.place.run, shard.place.shard.of) != (first.place.run, of):
            raise InputError(
                f"{shard.path}: {shard.place}, but {first.path} is {first.place}: "
                "other reads, another reference or other options"
            )
        if shard.place.shard == before.place.shard:
            raise InputError(f"{shard.path}: shard {shard.place.shard} is given twice, also as {before.path}")
        if shard.file_format != first.file_format:
            raise InputError(f"{shard.path}: {shard.file_format.upper()}, but {first.path} is another format")
    found = {shard.place.shard.number for shard in shards}
    missing = [i for i in range(1, of + 1) if i not in found]
    if missing:
        others = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InputError(f"shard {missing[0]}/{of} is missing{others}: {len(shards)} of {of} shards are here")
    return shards


@frozen()
class GatherOptions(OutputFile):
    """How shards become one file: these fields and those of `OutputFile`. Sorted shards are merged in any case.

    Attributes
    ----------
    command_line : str
        For the @PG line.
    reference : ReferenceArrays or None
        That CRAM is written against.
    """

    command_line: str = ""
    reference: ReferenceArrays | None = None


def gather(
    shards: Sequence[ShardFile],
    output: str,
    options: GatherOptions,
    workers: Workers,
    when_joined: WhenJoined = lambda _: None,
) -> DuplicateCounts | None:
    """Join all shards of a run, in order, in a file that takes its name when it is complete.

    Returns what was found of duplicates, where these are marked. `when_joined` is called with it before the file takes
    its name, which it does not where that raises. Raises UsageError, InputError, OutputError.
    """
    is_sorted = options.sort or shards[0].is_sorted
    if options.duplicates is not None:
        if not is_sorted:
            raise UsageError("--markdup needs --sort: duplicates are marked during sorting")
        if shards[0].is_sorted:
            raise UsageError(
                f"{shards[0].path}: sorted, but --markdup needs shards in the order of the reads: map without --sort"
            )
    QuietHtslib.enter()
    try:
        gatherer = _Gatherer(shards, output, options, workers, is_sorted)
        if not is_sorted and gatherer.file_format == shards[0].file_format == "cram":
            gatherer.join_cram(when_joined)
            return None
        return gatherer.join(when_joined)
    finally:
        QuietHtslib.leave()


def verify(output: str, options: GatherOptions) -> str:
    """The format of an output. Raises UsageError for one that the options do not fit."""
    file_format = output_format(Destination(output), options.format)
    if file_format == "paf":
        raise UsageError("PAF has no shards: map the reads in one run")
    CramOptions(options.format_options, options.level).verify_for(file_format)
    return file_format


class _Gatherer:
    def __init__(
        self,
        shards: Sequence[ShardFile],
        output: str,
        options: GatherOptions,
        workers: Workers,
        is_sorted: bool,
    ):
        self.file_format = verify(output, options)
        self._shards, self._options, self._workers, self._is_sorted = shards, options, workers, is_sorted
        self._header = _gathered_header(shards[0], options, is_sorted)
        self._contigs = pysam.AlignmentHeader.from_text(self._header)
        longest = max(self._contigs.lengths, default=0)
        indexes = {"bam": ".csi" if longest > MAX_BAI_CONTIG else ".bai", "cram": ".crai", "sam": ""}
        self._destination = AlignmentDestination(output, indexes[self.file_format] if is_sorted else "")
        level = options.level if self.file_format == "bam" else None
        self._level = bgzf.DEFAULT_LEVEL if level is None else level
        self._deflate = bgzf.deflater(self._level)
        self._form = ""  # options of CRAM
        self._folder: str | None = None

    # --- CRAM, copied -----------------------------------------------------------------------------------

    def join_cram(self, when_joined: WhenJoined) -> None:
        """Containers of CRAM, one shard after the other."""
        destination = self._destination
        try:
            header = destination.temporary("header.sam")
            joined = destination.temporary("joined") if destination.is_stream else destination.working
            with destination.errors(), open(header, "w") as file:
                file.write(self._header)
            paths = [os.path.abspath(shard.path) for shard in self._shards]
            self._samtools("cat", "--no-PG", "-h", header, "-o", joined, *paths)
            if destination.is_stream:
                with (
                    destination.errors(),
                    os.fdopen(destination.open(), "wb") as target,
                    open(joined, "rb") as source,
                ):
                    shutil.copyfileobj(source, target, COPIED)
            when_joined(None)
            destination.commit()
        finally:
            destination.discard()

    def _samtools(self, *command: str) -> None:
        with self._destination.errors():
            process = run_samtools(*command, contigs=self._folder)
        if reason := why_failed(process):
            raise OutputError(f"cannot write {self._destination.name}: {reason}")

    # --- everything else --------------------------------------------------------------------------------

    def join(self, when_joined: WhenJoined) -> DuplicateCounts | None:
        """Through BAM or SAM that is written here."""
        destination, options = self._destination, self._options
        direct = self.file_format == "bam" or (
            self.file_format == self._shards[0].file_format and not self._is_sorted
        )
        with ExitStack() as stack:
            stack.callback(destination.discard)
            self._find_reference()
            target: Destination | ConvertedDestination = destination
            if not direct:
                form = f"{self.file_format}{self._form}"
                target = ConvertedDestination(destination, form, options.threads, self._folder)
                stack.callback(target.discard)
            search: DuplicateSearch | None = None
            beside: list[FileBeside] = []
            if options.duplicates is not None:
                from gassst.records.duplicate_metrics import metrics_files
                from gassst.records.duplicates import DuplicateSearch, LibraryNames

                search = DuplicateSearch(
                    options.duplicates, LibraryNames.of(self._header, options.duplicates.within)
                )
                beside = metrics_files(options.duplicates, search.counts)
            for file in beside:
                stack.callback(file.discard)
            joined = self._format(search)
            stack.callback(joined.abort)
            fd = target.open()
            with target.errors():
                joined.begin(fd)
                for payload in self._payloads(search):
                    joined.write(payload)
                joined.close()
            for file in beside:
                file.close()
            when_joined(None if search is None else search.counts)
            target.commit()
            for file in beside:
                file.commit()
        return None if search is None else search.counts

    def _find_reference(self) -> None:
        """What CRAM is written against, or was: a folder of contigs."""
        options = CramOptions(self._options.format_options, self._options.level)
        if "cram" not in (self.file_format, self._shards[0].file_format):
            return
        if self._options.reference is not None:
            # Shards may need it, whatever the output does.
            contigs = Header.of(self._header).contigs
            target = CramTarget(CramOptions(), self._destination, contigs, self._options.reference)
            self._folder = target.with_folder()[1]
            self._form = options.as_text(self._folder is not None)
        elif self.file_format == "cram" and options.is_against_reference:
            raise UsageError(f"{self._destination.name}: CRAM refers to the index: name it by --reference")
        else:
            self._form = options.as_text(False)

    def _format(self, search: DuplicateSearch | None) -> PiecesFormat | SortedBamFormat:
        if not self._is_sorted:
            if self.file_format == self._shards[0].file_format == "sam":
                return PiecesFormat([self._header.encode()])
            return PiecesFormat(bgzf.blocks(bam_header(self._header), self._deflate), bgzf.END_OF_FILE)
        is_output = self.file_format == "bam"
        common = (
            self._contigs.lengths, self._header, self._level, self._destination, self._workers,
            self._options.sort_memory, is_output,
        )  # fmt: skip
        if search is None:
            return SortedBamFormat(*common)
        from gassst.records.marking import MarkedBamFormat

        return MarkedBamFormat(search, *common)

    def _payloads(self, search: DuplicateSearch | None) -> Iterator[Any]:
        """What the format writes, in order."""
        if not self._is_sorted:
            for shard in self._shards:
                if shard.file_format == self.file_format == "sam":
                    yield from _lines_of(shard)
                else:
                    with self._as_bam(shard) as path:
                        for _ in self._records_of(shard, path):
                            pass
                        yield from _blocks_of(path, self._deflate)
            return
        signer: Signer | None = None
        if search is not None and self._options.duplicates is not None:
            from gassst.records.duplicates import LibraryNames, signer_for

            libraries = LibraryNames.of(self._header, self._options.duplicates.within)
            signer = signer_for(self._options.duplicates, libraries, self._contigs.lengths)
        waiting: deque[Future[Any]] = deque()
        for shard in self._shards:
            call: Callable[..., Any] = run_of
            if signer is not None:
                call = partial(signed_run_of, signer, shard.path)
            with self._as_bam(shard) as path, closing(self._records_of(shard, path)) as chunks:
                for chunk in chunks:
                    waiting.append(self._workers.submit(call, *chunk))
                    if len(waiting) > AHEAD * self._workers.threads:
                        yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def _records_of(self, shard: ShardFile, path: str) -> Generator[tuple[bytes, int], None, None]:
        """Yield the chunks of a shard, which is BAM at this path (`_chunks_of`); all of them are checked by the end."""
        lengths = np.array(self._contigs.lengths, np.int64)
        found = 0
        with closing(_chunks_of(path, Inflaters(self._workers), lengths)) as chunks:
            for bam, records in chunks:
                found += records
                yield bam, records
        shard.verify(found)

    @contextmanager
    def _as_bam(self, shard: ShardFile) -> Iterator[str]:
        """The path of the shard as BAM."""
        if shard.file_format == "bam":
            yield shard.path
            return
        path = self._destination.temporary("shard.bam")
        threads = str(max(0, self._options.threads - 1))
        self._samtools("view", "--no-PG", "-1", "-@", threads, "-o", path, os.path.abspath(shard.path))
        yield path
        os.unlink(path)


def _gathered_header(shard: ShardFile, options: GatherOptions, is_sorted: bool) -> str:
    """That of a run on one machine, and a line of this program."""
    text = shard.place.removed_from(shard.header)
    text = in_coordinate_order(text) if is_sorted else text
    text = with_note(text, str(options.duplicates)) if options.duplicates is not None else text
    own = program_line(__version__, options.command_line, "gassst.gather", after="gassst")
    lines = text.splitlines()
    last = max(i for i, line in enumerate(lines) if line.startswith("@PG\t"))
    return "\n".join([*lines[: last + 1], own, *lines[last + 1 :]]) + "\n"


# --- what is copied -----------------------------------------------------------------------------------------


def _lines_of(shard: ShardFile) -> Iterator[Pieces]:
    """The records of a shard in SAM. Raises InputError where they are not as many as were mapped."""
    records = 0
    try:
        with open(shard.path, "rb") as file:
            at = 0
            for line in file:
                if not line.startswith(b"@"):
                    break
                at += len(line)
            file.seek(at)
            while piece := file.read(COPIED):
                records += piece.count(b"\n")
                yield Pieces(0, [piece])
    except OSError as error:
        raise unreadable(shard.path, error) from error
    shard.verify(records)


def _blocks_of(path: str, deflate: bgzf.Deflate) -> Iterator[Pieces]:
    """The records of BAM in blocks, unchanged; what shares a block with the header gets one of its own."""
    with SeekableText(path) as file:
        at, within = Bam(file).begin
        if within:
            text, size = file.block_text(at)
            yield Pieces(0, list(bgzf.blocks(text[within:], deflate)))
            at += size
        end = file.size - len(bgzf.END_OF_FILE)
        while at < end:
            data = file.bytes_at(at, min(COPIED, end - at))
            size = whole_blocks(data)
            if not size:
                raise InputError(f"{path}: damaged gz data at byte {at}")
            yield Pieces(0, [data[:size]])
            at += size


# --- what is sorted -----------------------------------------------------------------------------------------


def run_of(bam: bytes, records: int) -> Run:
    """A call of workers: so many records as a sorted run."""
    return Run.of(bam, records)


def signed_run_of(signer: Signer, path: str, bam: bytes, records: int) -> SignedRun:
    """Read records in the order of the reads in the same way, with the signatures of their templates.

    Raises InputError, which names the shard, where the first record is not primary.
    """
    from gassst.records.duplicates import Signed
    from gassst.records.marking import SignedRun

    try:
        templates, signed = Signed.of(signer, bam, records)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error
    return SignedRun(Run.of(bam, records, templates), signed)


def _chunks_of(
    path: str, inflaters: Inflaters, lengths: NDArray[np.int64]
) -> Generator[tuple[bytes, int], None, None]:
    """The records of BAM in pieces of about `CHUNK` bytes, and how many; none ends between two records of one name."""
    with SeekableText(path) as file:
        records = Slice(Bam(file).begin, file.end)
    try:
        with SlicedFile(path, records) as stream, closing(BgzfAhead(stream, inflaters)) as texts:
            text, block, ends = bytearray(), memoryview(bytearray(1 << 20)), False
            enough = CHUNK
            while not ends:
                while len(text) < enough and not ends:
                    added = texts.readinto(block)
                    text += block[:added]
                    ends = not added
                n, used, n_before, before = whole_records(text, lengths)
                if ends and used < len(text):
                    raise InputError(f"{path}: its last record is cut short")
                if ends:
                    n_before, before = n, used
                if n_before:
                    yield bytes(text[:before]), n_before
                    del text[:before]
                enough = max(CHUNK, 2 * len(text))
    except (CutShort, Damaged, ValueError) as error:
        raise InputError(f"{path}: {error}") from error
    except OSError as error:
        raise unreadable(path, error) from error
