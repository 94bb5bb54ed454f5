"""Duplicates: templates that are copies of one molecule, found by where they lie, and marked while BAM is sorted.

What a duplicate is
-------------------
The rules are those of `samtools markdup` in its mode `t`, the default one:

* Positions are those of the unclipped read: clipped bases count as if they were aligned.
* Pairs with both mates mapped are duplicates where their outer ends lie at the same place, and their mates lie to each
  other in the same way.
* Any other mapped read is single. It is a duplicate of single reads that begin at the same place on the same strand,
  and of every pair of which one mate does so.
* The one with the highest sum of base qualities stays; those below 15 do not count. Of equal ones the least name stays,
  by bytes. A pair stays beside single reads, however good they are.
* All records of a duplicate are marked: both mates, secondary and supplementary ones, an unmapped mate (its `-S`).
* Templates of different libraries, and with barcodes those of different barcodes, are never duplicates.

How it is done
--------------
1. A worker makes a *row* of every template of its batch, of 8-byte columns: LEFT, RIGHT, maybe BARCODE, RANK, maybe
   SURFACE and SPOT. Duplicates agree in all columns before RANK. RANK orders them: the highest score first, then as
   they came; its last bits are the template's ordinal. Pairs also leave the key of each *end*, for single reads.
   Rows and ends are sorted. Every record knows the ordinal of its template.
2. Rows and ends wait in memory with the records, and go to disk with them.
3. When all records are there, workers merge and judge ranges of LEFT. Sets whose best score is there twice need
   names. These stand in records that lie near to LEFT, so a worker reads that part of the sorted runs alone.
4. What is marked is a bit for each template. Records are flagged while they are merged.

So nothing depends on threads, batches or memory. A pair takes 24 bytes for its row, 16 for its ends, and 16 for the
ordinals of its two records. Barcodes add 24, spots 16. The records themselves take about 600. At the end the bits stay
in memory, and of rows and records no more than the workers are at; a set of duplicates is judged as a whole.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gassst._core import duplicates as compiled
from gassst._core.duplicates import Signer, Ties
from gassst.errors import UsageError
from gassst.files.sam_header import fields_of, lines_of
from gassst.model.array_types import NDArray
from gassst.records.options import DuplicateRules
from gassst.records.sorted_runs import SAMPLE, AnyRun, Run, read_bytes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gassst._core.records import Bytes

UNKNOWN_LIBRARY = "Unknown Library"  # as Picard calls it
RANGE_ROWS = 1 << 16  # about as many are judged by a worker at once
NEAR = 256  # records between two that are looked at are read with them


@dataclass(frozen=True)
class LibraryNames:
    """What templates are parted by.

    Attributes
    ----------
    names : tuple of str
    of_group : tuple of int
        Ordinal of the name for each read group of the header; the last is that of reads without one.
    groups : tuple of str
        IDs of the read groups.
    """

    names: tuple[str, ...]
    of_group: tuple[int, ...]
    groups: tuple[str, ...]

    @classmethod
    def of(cls, header_text: str, within: str) -> LibraryNames:
        """Those of a SAM header."""
        lines = [fields_of(line) for line in lines_of(header_text, "@RG")]
        lines = [fields for fields in lines if "ID" in fields]
        found = [_name_of(fields, within) for fields in [*lines, {}]]
        names = list(dict.fromkeys(found))
        return cls(tuple(names), tuple(map(names.index, found)), tuple(fields["ID"] for fields in lines))


def _name_of(fields: dict[str, str], within: str) -> str:
    if within == "file":
        return "All"
    return fields.get("LB" if within == "library" else "ID", UNKNOWN_LIBRARY)


def signer_for(rules: DuplicateRules, libraries: LibraryNames, lengths: ArrayLike) -> Signer:
    """What signs batches, for contigs of these lengths. Raises UsageError for too many contigs or libraries."""
    groups = [group.encode() for group in libraries.groups]
    of_group = np.array(libraries.of_group, np.uint32)
    tag = rules.barcode_tag.encode()
    try:
        return Signer(np.array(lengths, np.int64), groups, of_group, tag, rules.need_spots)
    except ValueError as error:
        raise UsageError(str(error)) from error


@dataclass(frozen=True, slots=True)
class Signed:
    """The signatures of some templates.

    Attributes
    ----------
    rows : uint64[t, c]
        Sorted.
    ends : uint64[e, v]
        Sorted.
    counts : int64[libraries, 4]
        Pairs with both mates mapped; other mapped reads; secondary and supplementary records; unmapped reads.
    templates : int
        How many there are, those without a row included.
    reach : int
        No position of a read is further than this from where it begins or ends without clips.
    """

    rows: NDArray[np.uint64]
    ends: NDArray[np.uint64]
    counts: NDArray[np.int64]
    templates: int
    reach: int

    @classmethod
    def of(cls, signer: Signer, bam: Bytes, records: int) -> tuple[NDArray[np.uint64], Signed]:
        """Of the records of a batch in the order of the reads: the template of each, and the signatures."""
        templates, rows, ends, counts, reach = signer.sign(bam, records)
        return templates, cls(rows, ends, counts, int(templates[-1]) + 1 if records else 0, reach)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.ends.nbytes


@dataclass(frozen=True, slots=True)
class Marking:
    """Which templates are marked: a bit for each.

    Attributes
    ----------
    duplicates, optical : uint8[]
        Of them, and of the optical ones among them.
    tagged : bool
        Their records get the tag dt.
    """

    duplicates: NDArray[np.uint8]
    optical: NDArray[np.uint8]
    tagged: bool

    def of(self, templates: list[NDArray[np.uint64]]) -> NDArray[np.uint8]:
        """What records of these templates are marked with: 0 for none, 1 for a duplicate, 2 for an optical one."""
        found = [compiled.marks_of(ordinals, self.duplicates, self.optical) for ordinals in templates]
        return np.concatenate(found)


@dataclass
class DuplicateCounts:
    """What was examined and found, for the metrics.

    Attributes
    ----------
    names : tuple of str
        Of the libraries.
    examined : int64[libraries, 4]
        As in `Signed`.
    marked : int64[libraries, 3]
        Pairs, single reads, and of the pairs the optical duplicates.
    sizes : Counter
        Of (pairs, optical duplicates among them): how many sets of several pairs are like this.
    """

    names: tuple[str, ...]
    examined: NDArray[np.int64] = field(init=False)
    marked: NDArray[np.int64] = field(init=False)
    sizes: Counter[tuple[int, int]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.examined = np.zeros((len(self.names), 4), np.int64)
        self.marked = np.zeros((len(self.names), 3), np.int64)

    @property
    def reads(self) -> int:
        """Marked reads that are mapped; two of a pair."""
        pairs, singles, _ = self.marked.sum(axis=0).tolist()
        return 2 * pairs + singles


# --- rows and ends ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RowsOnDisk:
    """Sorted rows in a file, or some that follow each other there.

    Attributes
    ----------
    path : str
    width : int
        Columns.
    first, last : int
        Rows `first` to `last` - 1 of the file.
    sample : uint64[]
        The first column of every `SAMPLE`-th row of the file.
    """

    path: str
    width: int
    first: int
    last: int
    sample: NDArray[np.uint64]

    @classmethod
    def of(cls, path: str, width: int) -> RowsOnDisk:
        """All of a file."""
        rows = _mapped(path, width)
        return cls(path, width, 0, len(rows), rows[::SAMPLE, 0].copy())

    def bounds(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Before how many rows of the file each key lies."""
        return compiled.bounds(_mapped(self.path, self.width), keys)

    def __len__(self) -> int:
        return self.last - self.first

    def __getitem__(self, part: slice) -> RowsOnDisk:
        return replace(self, first=part.start, last=part.stop, sample=self.sample[:0])

    def read(self) -> NDArray[np.uint64]:
        """Raises OSError, also where the file is shorter than it was."""
        size = self.width * self.sample.itemsize
        return (
            read_bytes(self.path, size * self.first, size * len(self)).view(np.uint64).reshape(-1, self.width)
        )


Rows = NDArray[np.uint64] | RowsOnDisk


def _mapped(path: str, width: int) -> NDArray[np.uint64]:
    """A file as an array, whose pages are memory of this process as long as it is there."""
    if not os.path.getsize(path):
        return np.empty((0, width), np.uint64)
    return np.asarray(np.memmap(path, np.uint64, "r")).reshape(-1, width)


def _sorted(pieces: list[Rows]) -> NDArray[np.uint64]:
    whole = np.concatenate([piece.read() if isinstance(piece, RowsOnDisk) else piece for piece in pieces])
    compiled.sort_rows(whole)
    return whole


def _ranges(tables: list[tuple[Rows, Rows]]) -> Iterator[tuple[list[Rows], list[Rows]]]:
    """All rows and ends, as pieces of these tables, in ranges of LEFT that follow each other."""
    if not tables:
        return
    samples = [rows.sample if isinstance(rows, RowsOnDisk) else rows[::SAMPLE, 0] for rows, _ in tables]
    keys = np.unique(np.sort(np.concatenate(samples))[:: max(1, RANGE_ROWS // SAMPLE)][1:])
    bounds = [[_bounds(part, keys) for part in table] for table in tables]
    for i in range(len(keys) + 1):
        yield tuple(  # type: ignore[misc]
            [
                table[kind][slice(*bound[kind][i : i + 2].tolist())]
                for table, bound in zip(tables, bounds, strict=True)
            ]
            for kind in (0, 1)
        )


def _bounds(rows: Rows, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    inner = rows.bounds(keys) if isinstance(rows, RowsOnDisk) else compiled.bounds(rows, keys)
    return np.concatenate([[0], inner, [len(rows)]])


# --- calls of workers ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Axis:
    """All contigs one behind the other, as LEFT counts.

    Attributes
    ----------
    origins : int64[contigs + 1]
        Where each begins.
    reach : int
        As of `Signed`, of all batches.
    """

    origins: NDArray[np.int64]
    reach: int

    def windows(self, left: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """For each place in LEFT the least key that its records may have, and one above all of theirs; ascending."""
        places = compiled.coordinates_of(left)
        return self._keys(places - self.reach - 1), self._keys(places + self.reach + 2)

    def _keys(self, places: NDArray[np.int64]) -> NDArray[np.uint64]:
        """uint64[n]: the keys that `sort_keys` gives records at these places."""
        contigs = np.maximum(np.searchsorted(self.origins, places, "right") - 1, 0)
        positions = np.maximum(places - self.origins[contigs], -1)
        return (contigs << 33 | (positions + 1) << 1).astype(np.uint64)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What `compiled.judge` says of a range; `sizes` counts the sets that are alike."""

    marked: NDArray[np.uint64]
    optical: NDArray[np.uint8]
    counts: NDArray[np.int64]
    sizes: Counter[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges ranges: the same for all of them.

    Attributes
    ----------
    rules : DuplicateRules
    libraries : int
    axis : Axis
    records : list of AnyRun
        Where names are found.
    """

    rules: DuplicateRules
    libraries: int
    axis: Axis
    records: list[AnyRun]

    def of(self, rows: NDArray[np.uint64], ends: NDArray[np.uint64]) -> list[Judgement]:
        """Judge the templates of a whole range, sorted. Raises OSError."""
        first, undecided = self._judged(rows, ends, settled=False)
        if not len(undecided):
            return [first]
        ties = Ties(undecided, bool(self.rules.barcode_tag))
        windows = self.axis.windows(undecided[:, 0])
        for run in self.records:
            for part in _near(run, *windows):
                ties.look(part.data, part.ends, part.templates)
        return [first, self._judged(ties.settled(), ends[:0], settled=True)[0]]

    def _judged(
        self, rows: NDArray[np.uint64], ends: NDArray[np.uint64], settled: bool
    ) -> tuple[Judgement, NDArray[np.uint64]]:
        """As of `compiled.judge`, and what is undecided."""
        barcodes = bool(self.rules.barcode_tag)
        marked, optical, undecided, counts, sizes = compiled.judge(
            rows, ends, barcodes, self.rules.distance, settled, self.libraries
        )
        kinds, numbers = np.unique(sizes.astype(np.int64) @ (1 << 32, 1), return_counts=True)
        pairs = zip((kinds >> 32).tolist(), (kinds & 0xFFFFFFFF).tolist(), strict=True)
        found = Counter(dict(zip(pairs, numbers.tolist(), strict=True)))
        return Judgement(marked, optical, counts, found), undecided


def _near(run: AnyRun, first: NDArray[np.uint64], last: NDArray[np.uint64]) -> Iterator[Run]:
    """The records with keys from `first` to below `last`, window by window, and some that lie between these."""
    begins, stops = np.split(run.bounds(np.concatenate([first, last]))[0], 2)
    filled = stops > begins
    begins, stops = begins[filled], stops[filled]
    gaps = np.flatnonzero(begins[1:] > stops[:-1] + NEAR)
    parts = np.stack([begins[np.append(0, gaps + 1)], stops[np.append(gaps, -1)]], 1) if len(begins) else ()
    for begin, stop in np.asarray(parts).tolist():
        yield run.part(begin, stop)


def merged(rows: list[Rows], ends: list[Rows]) -> Any:
    """Rows and ends, each sorted."""
    return _sorted(rows), _sorted(ends)


def judged(judge: Judge, rows: list[Rows], ends: list[Rows]) -> list[Judgement]:
    """All rows and ends of a range, judged. Raises OSError."""
    return judge.of(_sorted(rows), _sorted(ends))


# --- the search ---------------------------------------------------------------------------------------------

Calls = Iterable[tuple[Any, ...]]
InOrder = Callable[[Callable[..., Any], Calls], Iterator[Any]]
"""What workers make of calls of a function, in the order of the calls."""


class DuplicateSearch:
    """Takes the signatures of all batches of a file, and then says which records are duplicates.

    Parameters
    ----------
    rules : DuplicateRules
    libraries : LibraryNames

    Attributes
    ----------
    counts : DuplicateCounts
        Complete after `find`.
    """

    def __init__(self, rules: DuplicateRules, libraries: LibraryNames):
        self.counts = DuplicateCounts(libraries.names)
        self._rules = rules
        self._templates = 0
        self._rank = 3 if rules.barcode_tag else 2  # column
        self._reach = 0
        self._in_memory: deque[tuple[NDArray[np.uint64], NDArray[np.uint64]]] = deque()
        self._on_disk: list[tuple[RowsOnDisk, RowsOnDisk]] = []
        self._bits = np.empty(0, np.uint8), np.empty(0, np.uint8)

    def add(self, signed: Signed, templates: NDArray[np.uint64]) -> None:
        """Those of the next batch. Ordinals of templates become those of the file, where they lie."""
        templates += np.uint64(self._templates)
        signed.rows[:, self._rank] += np.uint64(self._templates)
        self._templates += signed.templates
        self.counts.examined += signed.counts
        self._reach = max(self._reach, signed.reach)
        self._in_memory.append((signed.rows, signed.ends))

    def spill(self, file: Callable[[str], str], in_order: InOrder) -> int:
        """Move what is in memory to disk, into files of these names, and return its bytes. `add` may go on."""
        taken = [self._in_memory.popleft() for _ in range(len(self._in_memory))]
        if not taken:
            return 0
        names = [file(f"{kind}{len(self._on_disk)}") for kind in ("rows", "ends")]
        widths = [array.shape[1] for array in taken[0]]
        with open(names[0], "wb") as rows, open(names[1], "wb") as ends:
            for part in in_order(merged, _ranges(list(taken))):
                rows.write(part[0])
                ends.write(part[1])
        self._on_disk.append((RowsOnDisk.of(names[0], widths[0]), RowsOnDisk.of(names[1], widths[1])))
        return sum(array.nbytes for pair in taken for array in pair)

    def find(
        self, in_order: InOrder, records: list[AnyRun], lengths: Sequence[int] | NDArray[np.int64]
    ) -> None:
        """Judge all templates, on contigs of these lengths; `records` are looked at where names decide."""
        size = self._templates // 8 + 1
        self._bits = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
        axis = Axis(compiled.origins_of(np.array(lengths, np.int64)).astype(np.int64), self._reach)
        judge = Judge(self._rules, len(self.counts.names), axis, records)
        tables: list[tuple[Rows, Rows]] = [*self._on_disk, *self._in_memory]
        for judgements in in_order(judged, ((judge, *part) for part in _ranges(tables))):
            for judgement in judgements:
                self._take(judgement)
        self.forget()

    def forget(self) -> None:
        """Let go of all signatures."""
        self._in_memory.clear()
        self._on_disk = []

    def _take(self, judgement: Judgement) -> None:
        marked, optical = self._bits
        compiled.set_bits(marked, judgement.marked)
        compiled.set_bits(optical, judgement.marked[judgement.optical > 0])
        self.counts.marked += judgement.counts
        self.counts.sizes += judgement.sizes

    @property
    def marking(self) -> Marking:
        """What was found."""
        return Marking(*self._bits, self._rules.tagged)
