"""A batch of reads: the arrays that hold it as it is in the file, and the bit planes that the search takes.

A read's name is the first word of its header; a "/1" or "/2" at its end is dropped, as bwa does: mates share
one name in SAM. The rules for records are in `ext/io/fastx.h`.
"""

from __future__ import annotations

import numpy as np

from gassst._core import reads as _reads
from gassst.errors import UsageError
from gassst.frozen import field, frozen, replace
from gassst.model.array_types import I64, U8, U32, U64, Bool

MAX_LENGTH = _reads.MAX_LENGTH_LIMIT  # what is longer is no read, but a genome in the place of reads
MAX_BATCH_BASES = 64 << 20
NONE_CONVERTED = np.empty(0, np.uint8)


@frozen(eq=False)
class PackedReads:
    """Reads in bit planes of both strands; layout in `docs/pipeline.md`.

    Attributes
    ----------
    lengths : uint32[n]
    planes : uint64[w + 1, 3]
        From `plane_start[r]`: `ceil(lengths[r] / 64)` rows of read r, as many of its reverse complement.
    plane_start : uint32[n]
    conversions : uint8[n]
        1: C became T, and every T may be a C; 2: G became A, and every A may be a G. Empty where no read is converted.
    """

    lengths: U32
    planes: U64
    plane_start: U32
    conversions: U8 = field(default_factory=lambda: NONE_CONVERTED)

    def __len__(self) -> int:
        return len(self.lengths)

    def of(self, reads: I64) -> U8:
        """The conversions of some reads (int64[k]): uint8[k], or none."""
        return self.conversions[reads] if len(self.conversions) else self.conversions

    def on_strand(self, reverse: Bool) -> PackedReads:
        """The reads for one strand: the reverse one where `reverse` (bool[n]) is set. The other one is masked."""
        rows = (self.lengths.astype(np.int64) + 63) >> 6
        first = self.plane_start + np.where(reverse, 0, rows) - np.cumsum(rows) + rows
        masked = np.repeat(first, rows) + np.arange(rows.sum())
        planes = self.planes.copy()
        # The low bits stay: they tell reads apart where one of several copies is drawn.
        planes[masked, 1:] = 0, ~np.uint64(0)
        return replace(self, planes=planes)


@frozen(eq=False)
class ReadBatch:
    """Consecutive reads of one file, or of two files of pairs.

    Attributes
    ----------
    names : uint8[name_offsets[-1]]
    name_offsets : uint32[n + 1]
    bases : uint8[offsets[-1]]
        ASCII as in the file, but "." is "N", and U is T.
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
    tags : uint8[tag_offsets[-1]] or None
        Tags for the records as in SAM, a tab before each; None where there are none.
    tag_offsets : uint32[n + 1] or None
    left_out : int
        Fields of comments and names that should have been tags, but are none.
    read_group : int
        Ordinal of their read group in the header, if that has any; -1: none.
    trimmed : int
        Reads that were cut at an adapter.
    copies : int64[n] or None
        How many reads each stands for; None where nobody asks.
    """

    names: U8
    name_offsets: U32
    bases: U8
    quals: U8 | None
    offsets: U32
    first: int = 1
    path: str = ""
    mate: U8 | None = None
    renamed: int = 0
    tags: U8 | None = None
    tag_offsets: U32 | None = None
    left_out: int = 0
    read_group: int = 0
    trimmed: int = 0
    copies: I64 | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def name(self, i: int) -> str:
        return _slice(self.names, self.name_offsets, i).decode("utf-8", "surrogateescape")

    def sequence(self, i: int) -> bytes:
        return _slice(self.bases, self.offsets, i)

    def quality(self, i: int) -> bytes | None:
        return None if self.quals is None else _slice(self.quals, self.offsets, i)

    def part(self, start: int, stop: int) -> ReadBatch:
        """Reads `start` to `stop` - 1; shares names, bases and qualities."""
        bases = slice(self.offsets[start], self.offsets[stop])
        tags, tag_offsets = self.tags, self.tag_offsets
        if tags is not None and tag_offsets is not None:
            tags = tags[tag_offsets[start] : tag_offsets[stop]]
            tag_offsets = tag_offsets[start : stop + 1] - tag_offsets[start]
        first = start == 0  # what was counted of the batch goes with its first read
        return replace(
            self,
            names=self.names[self.name_offsets[start] : self.name_offsets[stop]],
            name_offsets=self.name_offsets[start : stop + 1] - self.name_offsets[start],
            bases=self.bases[bases],
            quals=None if self.quals is None else self.quals[bases],
            offsets=self.offsets[start : stop + 1] - self.offsets[start],
            mate=None if self.mate is None else self.mate[start:stop],
            tags=tags,
            tag_offsets=tag_offsets,
            copies=None if self.copies is None else self.copies[start:stop],
            first=self.first + start,
            renamed=first * self.renamed,
            left_out=first * self.left_out,
            trimmed=first * self.trimmed,
        )

    def parsed(self) -> ReadBatch:
        """This batch, as it is parsed already."""
        return self

    def pack(
        self,
        longest: int = MAX_LENGTH,
        shortest: int = 0,
        conversions: U8 = NONE_CONVERTED,
    ) -> PackedReads:
        """The reads for the search.

        Those of more than `longest` or fewer than `shortest` bases are empty, so that they find no place. `conversions`
        are those of `PackedReads`.
        """
        converted = conversions if len(conversions) else None
        return PackedReads(*_reads.pack(self.bases, self.offsets, longest, converted, shortest), conversions)


def take_batch(parser: _reads.RecordParser) -> ReadBatch:
    """The batch of the records that a parser holds; the parser begins another one."""
    renamed, left_out = parser.renamed, parser.left_out
    arrays = parser.take()
    return ReadBatch(*arrays[:6], parser.path, arrays[6], renamed, *arrays[7:], left_out)


def largest_batch(max_length: int) -> int:
    """Bases up to which a batch takes one more pair, so far from 2**32 that no offset overflows."""
    return (1 << 32) - 1 - 2 * max_length


def verify_size(what: str, value: int, most: int) -> None:
    """Raises UsageError for a value that is not 1 to `most`."""
    if not 1 <= value <= most:
        raise UsageError(f"{what} must be 1 to {most}, not {value}")


def whole_pairs(batch_size: int) -> int:
    """The reads of a batch of pairs that may hold `batch_size`: an even number, at least one pair."""
    return max(2, batch_size - batch_size % 2)


def _slice(text: U8, offsets: U32, i: int) -> bytes:
    if not 0 <= i < len(offsets) - 1:
        raise IndexError(f"read {i} of a batch of {len(offsets) - 1}")
    return text[offsets[i] : offsets[i + 1]].tobytes()
