"""Shards of an input, for machines that map one each: the i-th of n, found without reading the others.

Invariant
---------
The cuts of an input are a function of its files and of n alone. So shard i ends where shard i + 1 begins, and all
shards together are the input.

* A cut lies where the share i / n of the bytes of all lanes ends, at the next record that begins a template. One that
  begins where the name differs from that of the read before is such a record, also for interleaved pairs and BAM.
* In the file of second mates the cut lies at the mate of that record. It is found by its name and those of the reads
  behind it, from where the same share of that file ends. Where names do not tell, records are counted from the
  beginning of both files.
* A name may be found in a wrong place. Then the shard before the cut or the one behind it has more records of one file
  than of the other, which is an error. The first cut and the last are ends of files. So if every shard can be mapped,
  all cuts were right.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import repeat

from gassst.errors import UsageError, unreadable
from gassst.files.slices import LaneShard, SeekableText, Slice, TextFrom, VirtualOffset
from gassst.frozen import frozen
from gassst.reads.record_starts import Bam, Lines, Records, records_of

MOST = 100_000  # shards
NAMES = 16  # of reads behind a cut that their mates must have, too
STEP = 1 << 20  # bytes of a file in which names are looked for at once
DIGESTED = 1 << 16  # bytes at either end of a file that tell it from another of its size


@frozen()
class Shard:
    """Shard `number` of `of` shards; the first is 1."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Of '3/7'. Raises UsageError."""
        number, slash, of = text.partition("/")
        if not (slash and number.isascii() and number.isdecimal() and of.isascii() and of.isdecimal()):
            raise UsageError(f"--shard {text}: write I/N, such as 3/7")
        return cls(int(number), int(of)).verify()

    def verify(self) -> Shard:
        """Return self. Raises UsageError for a number out of range."""
        if not 1 <= self.of <= MOST:
            raise UsageError(f"--shard {self}: there can be 1 to {MOST} shards")
        if not 1 <= self.number <= self.of:
            raise UsageError(f"--shard {self}: the shards are 1/{self.of} to {self.of}/{self.of}")
        return self

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


@frozen()
class ShardOfRun:
    """Which shard of which run an output is; the header of the output has it as text.

    Attributes
    ----------
    shard : Shard
    run : str
        The same for all shards of one run, and for no other: `key_of`.
    records : int or None
        How many it has; None where that is not said. Its text has the same length whatever it is, so that it can be
        filled in when all records are written.
    """

    shard: Shard
    run: str
    records: int | None = None

    def __str__(self) -> str:
        return f"shard {self.shard} of run {self.run}"

    @property
    def text(self) -> str:
        """What the header says."""
        return str(self) if self.records is None else f"{self}, {self.records:012} records"

    @classmethod
    def in_header(cls, text: str) -> ShardOfRun | None:
        """Return the shard that the header of an output names; None where it is no shard."""
        match = re.search(_IN_HEADER, text)
        if match is None:
            return None
        number, of, run, records = match.groups()
        return cls(Shard(int(number), int(of)), run, None if records is None else int(records))

    def put_into(self, text: str) -> str:
        """The header of a shard, that says this one."""
        return re.sub(
            _IN_HEADER, lambda match: match[0].rpartition("\t")[0] + f"\tDS:{self.text}", text, count=1
        )

    @staticmethod
    def removed_from(text: str) -> str:
        """The header of a shard, that says nothing of it."""
        return re.sub(_IN_HEADER, lambda match: match[0].rpartition("\t")[0], text, count=1)


_IN_HEADER = r"(?m)^@PG\tID:gassst\t.*\tDS:shard (\d+)/(\d+) of run ([0-9a-f]+)(?:, (\d+) records)?$"


def key_of(*facts: object) -> str:
    """Sixteen hex digits that stand for what the shards of a run have in common; by their `repr`."""
    import hashlib  # 3 ms that few runs need

    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def digest_of(path: str) -> str:
    """Sixteen hex digits of the first and the last block of a file, and of its size. Raises InputError."""
    import hashlib

    try:
        with open(path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            first = file.read(DIGESTED)
            file.seek(max(size - DIGESTED, 0))
            last = file.read(DIGESTED)
    except OSError as error:
        raise unreadable(path, error) from error
    return hashlib.sha256(b"%d:%d:" % (size, len(first)) + first + last).hexdigest()[:16]


def slices_of(
    shard: Shard,
    reads: Sequence[str],
    mates: Sequence[str] | None = None,
    by_template: bool = False,
    stretch: int | None = None,
) -> list[LaneShard]:
    """What a shard has of each lane, in order; lanes of which it has nothing are left out.

    Parameters
    ----------
    shard : Shard
    reads : sequence of str
        One file for each lane.
    mates : sequence of str, optional
        Files of second mates.
    by_template : bool
        Neighbours of one name stay together.
    stretch : int, optional
        A shard begins with a read whose number in its file, from 0, is a multiple of this. What lies before it is read,
        to be counted.

    Raises
    ------
    UsageError
        An input is standard input.
    InputError
        One is no plain file or BGZF of FASTQ (four lines a record), FASTA or BAM.
    """
    if "-" in [*reads, *(mates or [])]:
        raise UsageError(f"--shard {shard}: standard input cannot be divided: name files")
    with ExitStack() as stack:
        lanes = [
            _Lane(stack, first, second, by_template, stretch)
            for first, second in zip(reads, mates or repeat(None, len(reads)), strict=True)
        ]
        total, before, found = sum(lane.size for lane in lanes), 0, []
        begin, end = (total * (shard.number + i) // shard.of for i in (-1, 0))
        for i, lane in enumerate(lanes):
            first, passed = (lane.begin, 0) if shard.number == 1 else lane.cut(begin - before)
            last = lane.end if shard.number == shard.of else lane.cut(end - before)[0]
            before += lane.size
            if first != last:
                found.append(LaneShard(i, tuple(map(Slice, first, last)), lane.head, passed))
    return found


class _Lane:
    """One or two files, which stay open as long as `stack`."""

    def __init__(
        self, stack: ExitStack, first: str, second: str | None, by_template: bool, stretch: int | None
    ):
        paths = [first] if second is None else [first, second]
        self._files = [stack.enter_context(SeekableText(path)) for path in paths]
        self._records = [records_of(file) for file in self._files]
        self._stretch = None if stretch is None else stretch // len(paths)  # records of a file
        self._by_template = by_template or isinstance(self._records[0], Bam)
        self.size = self._files[0].size
        self.begin = tuple(records.begin for records in self._records)
        self.end = tuple(file.end for file in self._files)

    @property
    def head(self) -> bytes:
        """What a reader of any shard has to know first: the header of BAM."""
        first = self._records[0]
        return first.header if isinstance(first, Bam) else b""

    def cut(self, byte: int) -> tuple[tuple[VirtualOffset, ...], int]:
        """The cut at a byte of the first file, in each file, and the reads before it, if they matter."""
        if byte <= 0:
            return self.begin, 0
        if byte >= self.size:
            return self.end, 0
        near, begin = self._files[0].near(byte), self._records[0].begin
        text = self._files[0].text_from(max(near, begin))
        start = self._records[0].first(text) if near > begin else 0
        count = 0
        if start is not None and self._stretch is not None:
            start, count = self._stretch_from(text, start, self._stretch)
        elif start is not None and self._by_template:
            start = _other_name(self._records[0], text, start)
        if start is None:
            return self.end, 0
        place = text.place(start)
        places = (place,) if len(self._files) == 1 else (place, self._mate(text, start, place))
        return places, count * len(self._files)

    def _stretch_from(self, text: TextFrom, start: int, stretch: int) -> tuple[int | None, int]:
        """Where a stretch begins between two templates, at `start` or behind, and how many reads lie before it."""
        records, name = self._records[0], None
        count = records.reads_before(self._files[0], text.place(start))
        while (record := records.at(text, start)) is not None:
            if (
                record.is_read
                and count % stretch == 0
                and not (self._by_template and name in (None, record.name))
            ):
                return start, count
            count, name = count + record.is_read, record.name if record.is_read else name
            start = text.forget(record.end)
        return None, count

    def _mate(self, text: TextFrom, start: int, place: VirtualOffset) -> VirtualOffset:
        """Where the mate is of the first record behind a cut."""
        names = _names(self._records[0], text, start)
        if len(set(names)) == len(names):
            found = self._named(names, place.block)
            if found is not None:
                return found
        return self._counted(place)

    def _named(self, names: list[bytes], byte: int) -> VirtualOffset | None:
        """Where reads of these names begin in the second file: the nearest place to the share before `byte`."""
        file, records = self._files[1], self._records[1]
        if not isinstance(records, Lines):
            return None
        middle = file.size * byte // self.size
        step = 0
        while middle - step * STEP > -STEP or middle + step * STEP < file.size:
            for begin in dict.fromkeys((middle + step * STEP, middle - step * STEP)):
                if begin > -STEP and begin < file.size:
                    found = _named_in(file, records, names, begin, begin + STEP)
                    if found is not None:
                        return found
            step += 1
        return None

    def _counted(self, place: VirtualOffset) -> VirtualOffset:
        """The cut in the second file behind as many records as lie before `place` in the first."""
        count, _ = _passed(self._files[0], self._records[0], until=place)
        return _passed(self._files[1], self._records[1], count)[1]


def _other_name(records: Records, text: TextFrom, start: int) -> int | None:
    """The first read from `start` on that has another name than the read before."""
    name: bytes | None = None
    at = start
    while (record := records.at(text, at)) is not None:
        if record.is_read:
            if name is not None and record.name != name:
                return at
            name = record.name
        at = text.forget(record.end)
    return None


def _names(records: Records, text: TextFrom, start: int) -> list[bytes]:
    names: list[bytes] = []
    while len(names) < NAMES and (record := records.at(text, start)) is not None:
        names.append(record.name)
        start = record.end
    return names


def _named_in(
    file: SeekableText, records: Lines, names: list[bytes], begin: int, end: int
) -> VirtualOffset | None:
    """Where reads of these names begin, if that is between two bytes of the file."""
    text = file.text_from(file.near(begin))
    last = file.near(end)
    needle = records.marker + names[0]
    at = 0
    while text.place(at) < last:
        found = text.data.find(needle, at)
        if found < 0:
            at = max(at, len(text.data) - len(needle))
            if not text.more():
                return None
            continue
        place = text.place(found)
        if place >= last:
            return None
        is_line = found == 0 or text.data[found - 1] == ord("\n")  # or may be: names tell
        if is_line and _names(records, text, found) == names:
            return place
        at = found + 1
    return None


def _passed(
    file: SeekableText, records: Records, most: int | None = None, until: VirtualOffset | None = None
) -> tuple[int, VirtualOffset]:
    """How many records the file begins with, up to `most` or to a place; and the place behind them."""
    text, at, count = file.text_from(VirtualOffset(0)), 0, 0
    while count != most and (until is None or text.place(at) < until):
        record = records.at(text, at)
        if record is None:
            break
        count += 1
        at = text.forget(record.end)
    return count, text.place(at)
