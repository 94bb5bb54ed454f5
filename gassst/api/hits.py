"""What becomes of reads, for Python: `Hit`, one place of a read, and `HitArrays`, those of many reads as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from gassst.errors import InstallationError
from gassst.frozen import fields, frozen, replace
from gassst.model.array_types import NDArray
from gassst.model.layouts import SOFT_CLIP
from gassst.model.read_batch import ReadBatch
from gassst.model.reference import Reference, contig_before
from gassst.model.sam_flags import (
    FIRST_IN_PAIR,
    MATE_REVERSE,
    MATE_UNMAPPED,
    NOT_PRIMARY,
    PAIRED,
    PROPER_PAIR,
    REVERSE,
    SECOND_IN_PAIR,
    UNMAPPED,
)
from gassst.model.slices import slices
from gassst.records.spans import is_primary, reference_spans
from gassst.search.arrays import BatchResult

OPERATIONS = "MIDNSHP=X"
"""Letters of the operations of a CIGAR, by their numbers in BAM."""


class Hit(NamedTuple):
    """A place of a read on the reference. Immutable; coordinates count from 0, as those of BED and pysam.

    Attributes
    ----------
    contig : str
        Name of the reference sequence.
    start : int
        First aligned base of the contig.
    end : int
        The position after the last aligned base.
    strand : str
        "+", or "-" where the reverse complement of the read is aligned.
    mapq : int
        Mapping quality, 0 to 60. 0 for all hits but the primary and supplementary ones.
    cigartuples : tuple of (int, int)
        Operation and length of every run, as pysam numbers operations: 0 M, 1 I, 2 D, 4 S. They follow the reference,
        so on the strand "-" they begin with the last base of the read.
    nm : int
        Errors: mismatches, inserted and deleted bases (tag NM).
    score : int
        Score of the alignment (tag AS): minus the errors where whole reads are aligned.
    is_primary : bool
        The one hit that stands for the read.
    is_supplementary : bool
        Another part of a read that is split (flag 0x800).
    is_proper_pair : bool
        Both mates lie as the insert sizes let expect (flag 0x2).
    MD, cs : str
        The tags of these names; "" unless `map_one` or `map_pair` was asked for them.
    """

    contig: str
    start: int
    end: int
    strand: Literal["+", "-"]
    mapq: int
    cigartuples: tuple[tuple[int, int], ...]
    nm: int
    score: int
    is_primary: bool
    is_supplementary: bool = False
    is_proper_pair: bool = False
    MD: str = ""
    cs: str = ""

    @property
    def cigar(self) -> str:
        """The CIGAR as text, as in "60M1D40M"."""
        return "".join([f"{length}{OPERATIONS[operation]}" for operation, length in self.cigartuples])

    @property
    def ctg(self) -> str:
        """`contig`, by its name in mappy."""
        return self.contig

    @property
    def q_st(self) -> int:
        """First aligned base of the read as sequenced, from 0; clipped bases come before it."""
        return self._clips[0]

    @property
    def q_en(self) -> int:
        """The position after the last aligned base of the read as sequenced."""
        return self.q_st + sum(length for op, length in self.cigartuples if op in (0, 1))

    @property
    def blen(self) -> int:
        """Columns of the alignment, gaps included."""
        return sum(length for op, length in self.cigartuples if op != SOFT_CLIP)

    @property
    def mlen(self) -> int:
        """Columns in which the bases are equal."""
        return self.blen - self.nm

    @property
    def NM(self) -> int:  # noqa: N802 - as mappy has it
        """`nm`, by its name in mappy."""
        return self.nm

    @property
    def _clips(self) -> tuple[int, int]:
        """Clipped bases at the 5' and at the 3' end of the read as sequenced."""
        first, last = (
            length if op == SOFT_CLIP else 0 for op, length in (self.cigartuples[0], self.cigartuples[-1])
        )
        return (first, last) if self.strand == "+" else (last, first)

    def __str__(self) -> str:
        kind = "primary" if self.is_primary else "supplementary" if self.is_supplementary else "secondary"
        place = f"{self.contig}:{self.start}-{self.end}({self.strand})"
        return f"{place} {kind} MAPQ {self.mapq} {self.cigar} NM {self.nm}"


class HitRow(NamedTuple):
    """A row of `HitArrays`, mapped or not. What only a mapped read has is None where the read is unmapped.

    Attributes
    ----------
    read_name : str
    contig, start, end, strand : str, int, int, str
        As in `Hit`.
    mapq : int
    cigar : str
    nm, score : int
        As in `Hit`.
    flag : int
        The flags of SAM.
    is_primary : bool
        Whether the row stands for its read.
    """

    read_name: str
    contig: str | None
    start: int | None
    end: int | None
    strand: Literal["+", "-"] | None
    mapq: int
    cigar: str | None
    nm: int | None
    score: int | None
    flag: int
    is_primary: bool


@frozen(eq=False)
class HitArrays:
    """The places of many reads, as columns. Every read has one row at least: its primary hit, or none (`contig` -1).

    `hits[0]` is a `HitRow`, and so is what a loop gives; `hits[10:20]` and `hits[hits.mapq >= 30]` are `HitArrays` of
    these rows. `pandas.DataFrame(hits)` and `polars.DataFrame(hits)` take it as it is.

    Attributes
    ----------
    read : int64[h]
        Number of the read, from 0. Of pairs the first mates have the even numbers.
    contig : int32[h]
        Index into `names`; -1 where the read is unmapped.
    start, end : int64[h]
        As in `Hit`; -1 where the read is unmapped.
    strand : int8[h]
        1, or -1 for the reverse strand; 0 where the read is unmapped.
    mapq : uint8[h]
    nm : int32[h]
        Errors; -1 where the read is unmapped.
    score : int32[h]
        As in `Hit`; 0 where the read is unmapped.
    flag : uint16[h]
        The flags of SAM.
    cigar_offsets : int64[h + 1]
        The runs of row i are cigar_offsets[i] .. cigar_offsets[i + 1] of the next two columns.
    cigar_ops : uint8[r]
        Operations, as in `Hit.cigartuples`.
    cigar_lengths : uint32[r]
    read_name_offsets : int64[n + 1]
        The name of read i is read_name_offsets[i] .. read_name_offsets[i + 1] of the next column.
    read_name_text : uint8[b]
        ASCII, as in records.
    names : sequence of str
        Of the contigs.
    """

    read: NDArray[np.int64]
    contig: NDArray[np.int32]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    strand: NDArray[np.int8]
    mapq: NDArray[np.uint8]
    nm: NDArray[np.int32]
    score: NDArray[np.int32]
    flag: NDArray[np.uint16]
    cigar_offsets: NDArray[np.int64]
    cigar_ops: NDArray[np.uint8]
    cigar_lengths: NDArray[np.uint32]
    read_name_offsets: NDArray[np.int64]
    read_name_text: NDArray[np.uint8]
    names: Sequence[str]

    def __len__(self) -> int:
        return len(self.read)

    def __repr__(self) -> str:
        return f"<HitArrays: {len(self)} rows>"

    @overload
    def __getitem__(self, rows: int) -> HitRow: ...
    @overload
    def __getitem__(self, rows: slice | NDArray[Any] | Sequence[int]) -> HitArrays: ...
    def __getitem__(self, rows: Any) -> Any:
        """A row by its number, or those that a slice, a mask or numbers choose; reads keep their numbers."""
        if isinstance(rows, int | np.integer):
            row = range(len(self))[rows]
            return next(iter(self[row : row + 1]))
        chosen = np.arange(len(self))[rows]
        runs, offsets = slices(self.cigar_offsets[chosen], np.diff(self.cigar_offsets)[chosen])
        of_rows: dict[str, Any] = {name: column[chosen] for name, column in self.as_dict().items()}
        of_runs: dict[str, Any] = {name: getattr(self, name)[runs] for name in ("cigar_ops", "cigar_lengths")}
        return replace(self, **of_rows, **of_runs, cigar_offsets=offsets)

    def __iter__(self) -> Iterator[HitRow]:
        columns = [column.tolist() for column in self.as_dict().values()]
        for row, (_, contig, start, end, strand, mapq, nm, score, flag) in enumerate(
            zip(*columns, strict=True)
        ):
            name, is_primary = self.read_name(row), not flag & NOT_PRIMARY
            if contig < 0:
                yield HitRow(name, None, None, None, None, mapq, None, None, None, flag, is_primary)
            else:
                sign: Literal["+", "-"] = "-" if strand < 0 else "+"
                place = self.names[contig], start, end, sign
                yield HitRow(name, *place, mapq, self.cigar(row), nm, score, flag, is_primary)

    @property
    def is_primary(self) -> NDArray[np.bool_]:
        """bool[h]: the row that stands for its read, mapped or not."""
        return self.flag & NOT_PRIMARY == 0

    @property
    def is_mapped(self) -> NDArray[np.bool_]:
        """bool[h]"""
        return self.flag & UNMAPPED == 0

    def as_dict(self) -> dict[str, NDArray[Any]]:
        """The columns of one value a row, by name, without a Python object for any of them.

        `contig` and `read` are numbers here. `__arrow_c_stream__` exports names, and CIGARs as text.
        """
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name in _OF_ROWS}

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The rows for `pyarrow.table`, `polars.DataFrame` and whatever else reads the Arrow PyCapsule interface.

        The columns are read_name, contig, start, end, strand ("+" or "-"), mapq, cigar, nm, score, flag and is_primary.
        Contig and strand are dictionary-encoded. Of an unmapped read contig, start, end, strand, cigar, nm and score
        are null. Raises InstallationError where pyarrow is missing.
        """
        return _table(self).__arrow_c_stream__(requested_schema)

    def cigar(self, row: int) -> str:
        """The CIGAR of a row as text; "" where the read is unmapped."""
        runs = slice(self.cigar_offsets[row], self.cigar_offsets[row + 1])
        columns = self.cigar_lengths[runs].tolist(), self.cigar_ops[runs].tolist()
        return "".join(f"{length}{OPERATIONS[op]}" for length, op in zip(*columns, strict=True))

    def read_name(self, row: int) -> str:
        """The name of the read of a row."""
        read = self.read[row]
        first, last = self.read_name_offsets[read], self.read_name_offsets[read + 1]
        return self.read_name_text[first:last].tobytes().decode("utf-8", "surrogateescape")

    @classmethod
    def joined(cls, parts: Sequence[HitArrays], names: Sequence[str]) -> HitArrays:
        """The rows of all parts, whose reads follow each other: each part counts its own from 0."""
        columns: dict[str, Any] = {"names": names}
        for field in fields(cls):
            if field.name in _TYPES:
                empty: NDArray[Any] = np.empty(0, _TYPES[field.name])
                columns[field.name] = np.concatenate([empty, *(getattr(part, field.name) for part in parts)])
        for name in ("cigar_offsets", "read_name_offsets"):
            sizes = [np.diff(getattr(part, name)) for part in parts]
            columns[name] = _offsets(np.concatenate([np.empty(0, np.int64), *sizes]))
        before = np.cumsum([0] + [_reads_of(part) for part in parts[:-1]]) if parts else np.empty(0, np.int64)
        columns["read"] += np.repeat(before, [len(part) for part in parts])
        return cls(**columns)


_TYPES: dict[str, type] = {
    "read": np.int64,
    "contig": np.int32,
    "start": np.int64,
    "end": np.int64,
    "strand": np.int8,
    "mapq": np.uint8,
    "nm": np.int32,
    "score": np.int32,
    "flag": np.uint16,
    "cigar_ops": np.uint8,
    "cigar_lengths": np.uint32,
    "read_name_text": np.uint8,
}
_OF_ROWS = ("read", "contig", "start", "end", "strand", "mapq", "nm", "score", "flag")


def _offsets(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """int64[n + 1]: where each of n pieces begins that lie one behind the other."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _reads_of(part: HitArrays) -> int:
    return len(part.read_name_offsets) - 1


def arrays_of(batch: ReadBatch, result: BatchResult, reference: Reference) -> HitArrays:
    """The rows of a batch as columns."""
    hits = result.hits
    flag = _with_mates(hits, batch.mate)
    mapped = hits["flag"] & UNMAPPED == 0
    position = hits["position"].astype(np.int64)
    contig = np.where(mapped, contig_before(reference.starts, position), -1)
    start = np.where(mapped, position - reference.starts[contig], -1)
    row, offsets = slices(hits["cigar_start"], np.where(mapped, hits["cigar_runs"], 0))
    runs = result.cigars[row]
    strand = np.where(mapped, 1 - 2 * (hits["flag"] & REVERSE > 0).astype(np.int8), 0)
    columns = {
        "read": hits["read"],
        "contig": contig,
        "start": start,
        "end": np.where(mapped, start + reference_spans(hits, result.cigars), -1),
        "strand": strand,
        "mapq": hits["mapq"],
        "nm": np.where(mapped, hits["edits"].astype(np.int32), -1),
        "score": np.where(mapped, hits["score"], 0),
        "flag": flag,
        "cigar_ops": runs & 15,
        "cigar_lengths": runs >> 4,
        "read_name_text": batch.names,
    }
    typed: dict[str, Any] = {name: column.astype(_TYPES[name]) for name, column in columns.items()}
    typed["read_name_offsets"] = batch.name_offsets.astype(np.int64)
    return HitArrays(**typed, cigar_offsets=offsets, names=reference.names)


def _table(hits: HitArrays) -> Any:
    """A `pyarrow.Table`, without a Python object for any row."""
    try:
        import pyarrow as pa
        import pyarrow.compute as pc
    except ImportError:
        raise InstallationError("there is no pyarrow here: `pip install gassst[arrow]`") from None
    unmapped = ~hits.is_mapped
    n_reads = len(hits.read_name_offsets) - 1
    names = [pa.py_buffer(column) for column in (hits.read_name_offsets, hits.read_name_text)]
    text = pa.large_string()
    lengths = pa.array(hits.cigar_lengths).cast(text)
    operations = pa.array(list(OPERATIONS), text).take(pa.array(hits.cigar_ops))
    runs = pc.binary_join_element_wise(lengths, operations, pa.scalar("", text))
    cigars = pc.binary_join(
        pa.LargeListArray.from_arrays(pa.array(hits.cigar_offsets), runs), pa.scalar("", text)
    )

    def chosen(values: Sequence[str], which: NDArray[Any]) -> Any:
        indices = pa.array(which.astype(np.int32), mask=unmapped)
        return pa.DictionaryArray.from_arrays(indices, pa.array(values, pa.string()))

    columns = {
        "read_name": pa.LargeStringArray.from_buffers(n_reads, *names).take(pa.array(hits.read)),
        "contig": chosen(hits.names, hits.contig),
        "start": pa.array(hits.start, mask=unmapped),
        "end": pa.array(hits.end, mask=unmapped),
        "strand": chosen("+-", hits.strand < 0),
        "mapq": pa.array(hits.mapq),
        "cigar": pc.if_else(pa.array(unmapped), pa.scalar(None, text), cigars),
        "nm": pa.array(hits.nm, mask=unmapped),
        "score": pa.array(hits.score, mask=unmapped),
        "flag": pa.array(hits.flag),
        "is_primary": pa.array(hits.is_primary),
    }
    return pa.table(columns)


def _with_mates(hits: NDArray[Any], mate: NDArray[np.uint8] | None) -> NDArray[np.uint16]:
    """uint16[h]: the flags of rows, with what they say of the mate's primary row."""
    flag = hits["flag"].copy()
    if mate is None:
        return flag
    read = hits["read"].astype(np.int64)
    which = mate[read]
    partner = np.arange(len(mate))
    partner[mate == 1] += 1
    partner[mate == 2] -= 1
    primary = flag[is_primary(hits)]
    of_mate = primary[partner[read]]
    told = np.where(which == 1, FIRST_IN_PAIR, SECOND_IN_PAIR) | PAIRED
    told |= np.where(of_mate & UNMAPPED, MATE_UNMAPPED, 0) | np.where(of_mate & REVERSE, MATE_REVERSE, 0)
    flag = np.where(which > 0, flag | told, flag)
    lone = (which > 0) & (flag & (UNMAPPED | MATE_UNMAPPED) > 0)
    return np.where(lone, flag & (0xFFFF ^ PROPER_PAIR), flag).astype(np.uint16)
