"""Where records begin in text that is entered anywhere: FASTQ of four lines, FASTA, and BAM.

FASTQ: of four lines in a row one begins with '@' and the second behind it with '+'. A line of qualities may begin with
'@', too, but the second line behind it holds bases. So there is one answer. FASTA: a line that begins with '>'. BAM:
fields that fit each other, in a chain of records.

No answer needs to be trusted. Whoever maps a shard finds out whether it ends with a record; if all shards do, and the
first begins where the file does, every cut was right.
"""

from __future__ import annotations

import re
import struct
from typing import Protocol

from gassst.errors import InputError
from gassst.files.slices import SeekableText, TextFrom, VirtualOffset
from gassst.frozen import NamedTuple
from gassst.reads.alignment_input import SAM_HEADER

MOST_NAME = 254  # bytes, as of parsed reads
_PRINTABLE = bytes(b if 33 <= b <= 126 else ord("_") for b in range(256))
_WORD = re.compile(rb"[^\x00-\x20]*")
_BAM = struct.Struct("<iiiBBHHHiiii")
_EXTRA = 0x900  # flags of secondary and supplementary records
CHAIN = 32  # records of BAM that follow each other show that one begins where the first one seems to


class Record(NamedTuple):
    """Of a record: where its text ends, its name, and whether it is a read of its own (not another alignment)."""

    end: int
    name: bytes
    is_read: bool = True


class Records(Protocol):
    """A format of records."""

    begin: VirtualOffset
    """Where the first record of the file is."""

    def first(self, text: TextFrom) -> int | None:
        """Where the first record begins of which all is in the text; None where none does.

        Raises InputError for text that has another form.
        """

    def at(self, text: TextFrom, start: int) -> Record | None:
        """The record that begins at `start`; None at the end of the text."""

    def reads_before(self, file: SeekableText, place: VirtualOffset) -> int:
        """How many reads begin before a place, which is that of a record."""


class Lines:
    """FASTQ or FASTA."""

    begin = VirtualOffset(0)

    def __init__(self, file: SeekableText, marker: bytes):
        self._path, self.marker = file.path, marker

    def first(self, text: TextFrom) -> int | None:
        if text.at_start:
            return 0 if text.reach(1) else None
        at = text.line_end(0)  # in the middle of this line, for all that is known
        if self.marker == b">":
            while text.reach(at + 1) and text.data[at : at + 1] != b">":
                at = text.line_end(at)
            return at if text.reach(at + 1) else None
        for _ in range(4):
            second = text.line_end(text.line_end(at))
            if not text.reach(second + 1):
                return None
            if text.data[at : at + 1] == b"@" and text.data[second : second + 1] == b"+":
                return at
            at = text.line_end(at)
        raise InputError(
            f"{self._path}: no record of four lines after byte {text.place(0).block}: "
            "--shard takes FASTQ without empty lines"
        )

    def at(self, text: TextFrom, start: int) -> Record | None:
        if not text.reach(start + 1):
            return None
        end = text.line_end(start)
        name = name_in(bytes(text.data[start:end]))
        if self.marker == b"@":
            for _ in range(3):
                end = text.line_end(end)
        else:
            while text.reach(end + 1) and text.data[end : end + 1] != b">":
                end = text.line_end(end)
        return Record(end, name)

    def reads_before(self, file: SeekableText, place: VirtualOffset) -> int:
        if self.marker == b"@":
            return sum(text.count(b"\n") for text in file.texts_before(place)) // 4
        count, last = 0, b"\n"
        for text in file.texts_before(place):
            count += (last + text).count(b"\n>")
            last = text[-1:] or last
        return count


def name_in(header: bytes) -> bytes:
    """The name in a line of FASTQ or FASTA, as of parsed reads: mates have the same one."""
    match = _WORD.match(header, 1)
    assert match is not None
    word = match.group()
    if len(word) > 2 and word.endswith((b"/1", b"/2")):
        word = word[:-2]
    name = word[:MOST_NAME].translate(_PRINTABLE)
    return b"_" + name[1:] if name.startswith(b"@") else name


class Bam:
    """BAM."""

    def __init__(self, file: SeekableText):
        self._path = file.path
        text = file.text_from(VirtualOffset(0))
        try:
            self.header, self._contigs = _header(text)
        except struct.error:
            raise InputError(f"{file.path}: its header is damaged") from None
        self.begin = text.place(len(self.header))

    def first(self, text: TextFrom) -> int | None:
        at = 0
        while text.reach(at + _BAM.size):
            if self._is_chain(text, at):
                return at
            at += 1
        return None

    def _is_chain(self, text: TextFrom, at: int) -> bool:
        for _ in range(CHAIN):
            if not text.reach(at + 1):
                return True
            record = self._at(text, at)
            if record is None:
                return False
            at = record.end
        return True

    def at(self, text: TextFrom, start: int) -> Record | None:
        if not text.reach(start + 1):
            return None
        record = self._at(text, start)
        if record is None:
            raise InputError(f"{self._path}: no record of BAM near byte {text.place(start).block}: damaged")
        return record

    def reads_before(self, file: SeekableText, place: VirtualOffset) -> int:
        text, at, count = file.text_from(self.begin), 0, 0
        while text.place(at) < place and (record := self.at(text, at)) is not None:
            count += record.is_read
            at = text.forget(record.end)
        return count

    def _at(self, text: TextFrom, at: int) -> Record | None:
        """The record at a place; None where the fields do not fit."""
        if not text.reach(at + _BAM.size):
            return None
        size, contig, start, name, _, _, runs, flag, bases, mate, mate_start, _ = _BAM.unpack_from(
            text.data, at
        )
        least = _BAM.size - 4 + name + 4 * runs + (bases + 1) // 2 + bases
        places = -1 <= contig < self._contigs and -1 <= mate < self._contigs and min(start, mate_start) >= -1
        if not (places and name > 1 and bases >= 0 and least <= size and flag < 0x1000):
            return None
        begin, end = at + _BAM.size, at + 4 + size
        if not text.reach(begin + name):
            return None
        word = bytes(text.data[begin : begin + name])
        if word[-1] or word[:-1].translate(_PRINTABLE) != word[:-1] or not text.reach(end):
            return None
        return Record(end, word[:-1], not flag & _EXTRA)


def _header(text: TextFrom) -> tuple[bytes, int]:
    """The header of BAM as it is, and the number of contigs. Raises struct.error."""

    def number(at: int) -> int:
        text.reach(at + 4)
        return int(struct.unpack_from("<i", text.data, at)[0])

    at = 8 + number(4)
    contigs = number(at)
    at += 4
    for _ in range(contigs):
        at += 8 + number(at)
    text.reach(at)
    return bytes(text.data[:at]), contigs


def records_of(file: SeekableText) -> Records:
    """The format of a file, by its first bytes. Raises InputError for any but FASTQ, FASTA and BAM."""
    text = file.text_from(VirtualOffset(0))
    text.reach(4)
    head = bytes(text.data[:100])
    if head.startswith(b"BAM\1") and file.is_bgzf:
        return Bam(file)
    if head[:1] in (b"@", b">", b"") and not SAM_HEADER.match(head):
        return Lines(file, head[:1] or b"@")
    raise InputError(f"{file.path}: --shard takes FASTQ, FASTA and BAM, no other format")
