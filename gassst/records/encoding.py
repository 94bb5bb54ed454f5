"""Records as finished bytes: what workers make of a batch, and what the writer does with it, by output format."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import gassst.files.htslib  # noqa: F401 - before the compiled modules that link its htslib
from gassst._core.records import CramWriter, EncodedRecords, HitBatch, RecordBuilder
from gassst.files import bgzf
from gassst.files.sam_header import Header
from gassst.files.writing import WriteBehind, write_all
from gassst.frozen import frozen
from gassst.records.coverage import Covered
from gassst.records.cram import CramTarget
from gassst.records.unmapped import UnmappedText

if TYPE_CHECKING:
    from typing_extensions import Buffer


@frozen(eq=False)
class Encoded:
    """The records of one batch, its unmapped reads as FASTQ, and what its alignments cover where that is asked for."""

    payload: Any
    unmapped: UnmappedText = UnmappedText()
    covered: Covered | None = None


@frozen(eq=False)
class Pieces:
    """Pieces of a file, and how many records they hold."""

    records: int
    pieces: Sequence[Buffer]


class Encoder(Protocol):
    """Makes of records what the `RecordWriter` of the same kind writes; used by workers, and never changed."""

    def encode(self, records: EncodedRecords) -> Any:
        """What `RecordWriter.write` takes."""


class SamEncoder:
    """Lines of SAM."""

    def encode(self, records: EncodedRecords) -> Pieces:
        return Pieces(records.records, [records])


class BamEncoder:
    """Blocks of BAM."""

    def __init__(self, level: int | None):
        self._deflate = bgzf.deflater(bgzf.DEFAULT_LEVEL if level is None else level)

    def encode(self, records: EncodedRecords) -> Pieces:
        return Pieces(records.records, list(bgzf.blocks(records, self._deflate)))


class RecordWriter(Protocol):
    """How records become a file, in one thread and in the order of the records."""

    def begin(self, fd: int) -> None:
        """Take over the file descriptor and write the header."""

    def write(self, payload: Any) -> int:
        """Returns the number of records."""

    def close(self) -> None:
        """Complete the file and close it."""

    def abort(self) -> None:
        """Close the file as it is; as a stream it must not look complete."""


class DescriptorFile:
    """What the formats without htslib share: a file descriptor that finished bytes go to."""

    _fd: int | None = None

    def _put(self, pieces: Iterable[Buffer]) -> None:
        if self._fd is None:
            raise ValueError("write to a closed file")
        write_all(self._fd, pieces)

    def _release(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def abort(self) -> None:
        with suppress(OSError):
            self._release()


class PiecesFormat(DescriptorFile):
    """SAM and BAM: a header, pieces of records, and what marks the end.

    With `ahead`, so many calls of `write` may return before a thread has written their records.
    """

    def __init__(self, header: Iterable[Buffer], end: bytes = b"", ahead: int = 0):
        self._header, self._end, self._ahead = header, end, ahead
        self._behind: WriteBehind | None = None

    def begin(self, fd: int) -> None:
        self._fd = fd
        self._put(self._header)
        if self._ahead:
            self._behind = WriteBehind(fd, self._ahead)

    def replace_header(self, header: Iterable[Buffer]) -> None:
        """Put another one of the same size in the place of the header of a file. Raises OSError."""
        assert self._fd is not None
        left, at = memoryview(b"".join(header)), 0
        while left:
            written = os.pwrite(self._fd, left, at)
            left, at = left[written:], at + written

    def write(self, payload: Pieces) -> int:
        if self._behind is None:
            self._put(payload.pieces)
        else:
            self._behind.put(payload.pieces)
        return payload.records

    def close(self) -> None:
        if self._behind is not None:
            self._behind.finish()
        self._put([self._end])
        self._release()

    def abort(self) -> None:
        if self._behind is not None:
            self._behind.give_up()
        super().abort()

    @property
    def nanoseconds_behind(self) -> int:
        """What a thread of its own has spent in writing."""
        return 0 if self._behind is None else self._behind.nanoseconds


class CramFormat:
    """CRAM by htslib: it is compressed by threads of its own while it is written.
    Records are made in the thread that writes.
    """

    def __init__(self, builder: RecordBuilder, target: CramTarget, threads: int):
        self._builder, self._target = builder, target
        self._threads = threads if threads > 1 else 0
        self._file: CramWriter | None = None

    def begin(self, fd: int) -> None:
        try:
            form, fasta = self._target.with_fasta()
        except BaseException:
            os.close(fd)
            raise
        self._file = CramWriter(
            self._builder, fd, self._target.destination.name, f"wc{form}", self._threads, fasta
        )

    def write(self, payload: tuple[HitBatch, int]) -> int:
        if self._file is None:
            raise ValueError("write to a closed file")
        batch, least_mapq = payload
        return self._file.write(batch, least_mapq=least_mapq)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def abort(self) -> None:
        if self._file is not None:
            self._file.abort()


def bam_header(header: str | Header) -> bytes:
    """The header of a BAM file: the text of SAM, and its contigs in binary form."""
    header = Header.of(header)
    text = b"".join(header.pieces)
    return struct.pack("<4si", b"BAM\1", len(text)) + text + header.contigs.bam_table
