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
   names: one pass over the ordinals of all records finds them.
4. What is marked is a bit for each template. Records are flagged while they are merged.

So nothing depends on threads, batches or memory. A pair takes 24 bytes for its row, 16 for its ends, and 16 for the
ordinals of its two records. Barcodes add 24, spots 16. The records themselves take about 600.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gassst._core import duplicates as compiled
from gassst._core.duplicates import Signer, Ties
from gassst.errors import UsageError
from gassst.io.read_groups import fields_of

if TYPE_CHECKING:
    from gassst._core.records import Bytes
    from gassst.io.runs import AnyRun

WITHIN = ("library", "read-group", "file")
UNKNOWN_LIBRARY = "Unknown Library"  # as Picard calls it
OPTICAL_DISTANCE = 100  # Picard's default
MOST_UNDECIDED = 1 << 22  # rows; so many are settled at once, which takes about 100 bytes each
RANGE_ROWS = 1 << 16  # about as many are judged by a worker at once
SAMPLE = 256  # of the rows of a run, every so many are looked at to find ranges of equal size


@dataclass(frozen=True)
class DuplicateRules:
    """Which templates can be duplicates, and what is told of them.

    Attributes
    ----------
    within : {"library", "read-group", "file"}
        Only templates of one library (LB of their read group) are compared, as by Picard; or of one read group, as by
        `samtools markdup --use-read-groups`; or all, as by `samtools markdup`.
    barcode_tag : str
        Only templates whose reads have the same text in this tag are compared; "" for no such tag.
    optical_distance : int
        Duplicates no further from each other on the flow cell, in x and in y, are optical ones. 0 looks for none.
    tagged : bool
        Duplicates get dt:Z:LB, optical ones dt:Z:SQ.
    metrics_path : path or None
        File of metrics in Picard's format.
    """

    within: str = "library"
    barcode_tag: str = ""
    optical_distance: int = OPTICAL_DISTANCE
    tagged: bool = False
    metrics_path: str | os.PathLike[str] | None = None

    def verify(self) -> DuplicateRules:
        """Return self. Raises UsageError for values that make no sense."""
        if self.within not in WITHIN:
            raise UsageError(f"duplicates within {self.within!r}: must be {', '.join(WITHIN)}")
        tag = self.barcode_tag
        if tag and not (len(tag) == 2 and tag.isascii() and tag[0].isalpha() and tag.isalnum()):
            raise UsageError(f"barcode tag {tag!r}: a tag is a letter, and a letter or digit")
        if not 0 <= self.optical_distance < 2**31:
            raise UsageError(f"optical distance {self.optical_distance}: must be 0 to {2**31 - 1}")
        return self

    def __str__(self) -> str:
        """What the header says of it."""
        barcodes = f", by the barcodes in {self.barcode_tag}" if self.barcode_tag else ""
        return f"duplicates marked within each {self.within.replace('-', ' ')}{barcodes}"

    @property
    def need_spots(self) -> bool:
        """Optical duplicates are told by tags and metrics alone."""
        return self.optical_distance > 0 and (self.tagged or self.metrics_path is not None)

    @property
    def distance(self) -> int:
        """As the compiled passes take it."""
        return self.optical_distance if self.need_spots else -1


@dataclass(frozen=True)
class Libraries:
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
    def of(cls, header_text: str, within: str) -> Libraries:
        """Those of a SAM header."""
        lines = [fields_of(line) for line in header_text.split("\n") if line.startswith("@RG\t")]
        lines = [fields for fields in lines if "ID" in fields]
        found = [_name_of(fields, within) for fields in [*lines, {}]]
        names = list(dict.fromkeys(found))
        return cls(tuple(names), tuple(map(names.index, found)), tuple(fields["ID"] for fields in lines))


def _name_of(fields: dict[str, str], within: str) -> str:
    if within == "file":
        return "All"
    return fields.get("LB" if within == "library" else "ID", UNKNOWN_LIBRARY)


def signer_for(rules: DuplicateRules, libraries: Libraries, lengths: Sequence[int]) -> Signer:
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
    """

    rows: NDArray[np.uint64]
    ends: NDArray[np.uint64]
    counts: NDArray[np.int64]
    templates: int

    @classmethod
    def of(cls, signer: Signer, bam: Bytes, records: int) -> tuple[NDArray[np.uint64], Signed]:
        """Of the records of a batch in the order of the reads: the template of each, and the signatures."""
        templates, rows, ends, counts = signer.sign(bam, records)
        return templates, cls(rows, ends, counts, int(templates[-1]) + 1 if records else 0)

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


# --- calls of workers ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Judgement:
    """What `compiled.judge` says of a range; `sizes` counts the sets that are alike."""

    marked: NDArray[np.uint64]
    optical: NDArray[np.uint8]
    undecided: NDArray[np.uint64]
    counts: NDArray[np.int64]
    sizes: Counter[tuple[int, int]]

    @classmethod
    def of(
        cls,
        rows: NDArray[np.uint64],
        ends: NDArray[np.uint64],
        rules: DuplicateRules,
        libraries: int,
        settled: bool,
    ) -> Judgement:
        """The arguments are those of the compiled function."""
        barcodes = bool(rules.barcode_tag)
        marked, optical, undecided, counts, sizes = compiled.judge(
            rows, ends, barcodes, rules.distance, settled, libraries
        )
        kinds, numbers = np.unique(sizes.astype(np.int64) @ (1 << 32, 1), return_counts=True)
        pairs = zip((kinds >> 32).tolist(), (kinds & 0xFFFFFFFF).tolist(), strict=True)
        return cls(
            marked, optical, undecided, counts, Counter(dict(zip(pairs, numbers.tolist(), strict=True)))
        )


def merged(_work: object, rows: list[NDArray[np.uint64]], ends: list[NDArray[np.uint64]]) -> Any:
    """Rows and ends, each sorted."""
    return _sorted(rows), _sorted(ends)


def judged(
    _work: object,
    rows: list[NDArray[np.uint64]],
    ends: list[NDArray[np.uint64]],
    rules: DuplicateRules,
    libraries: int,
) -> Judgement:
    """All rows and ends of a range, judged."""
    return Judgement.of(_sorted(rows), _sorted(ends), rules, libraries, settled=False)


def _sorted(pieces: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    whole = np.concatenate(pieces)
    compiled.sort_rows(whole)
    return whole


# --- the search ---------------------------------------------------------------------------------------------

Calls = Iterable[tuple[Any, ...]]
InOrder = Callable[[Callable[..., Any], Calls], Iterator[Any]]
"""What workers make of calls of a function, in the order of the calls."""


class DuplicateSearch:
    """Takes the signatures of all batches of a file, and then says which records are duplicates.

    Parameters
    ----------
    rules : DuplicateRules
    libraries : Libraries

    Attributes
    ----------
    counts : DuplicateCounts
        Complete after `find`.
    """

    def __init__(self, rules: DuplicateRules, libraries: Libraries):
        self.counts = DuplicateCounts(libraries.names)
        self._rules = rules
        self._templates = 0
        self._rank = 3 if rules.barcode_tag else 2  # column
        self._in_memory: deque[tuple[NDArray[np.uint64], NDArray[np.uint64]]] = deque()
        self._on_disk: list[tuple[NDArray[np.uint64], NDArray[np.uint64]]] = []
        self._bits = np.empty(0, np.uint8), np.empty(0, np.uint8)

    def add(self, signed: Signed, templates: NDArray[np.uint64]) -> None:
        """Those of the next batch. Ordinals of templates become those of the file, where they lie."""
        templates += np.uint64(self._templates)
        signed.rows[:, self._rank] += np.uint64(self._templates)
        self._templates += signed.templates
        self.counts.examined += signed.counts
        self._in_memory.append((signed.rows, signed.ends))

    def spill(self, file: Callable[[str], str], in_order: InOrder) -> int:
        """Move what is in memory to disk, into files of these names, and return its bytes. `add` may go on."""
        taken = [self._in_memory.popleft() for _ in range(len(self._in_memory))]
        if not taken:
            return 0
        names = [file(f"{kind}{len(self._on_disk)}") for kind in ("rows", "ends")]
        shapes = [array.shape[1] for array in taken[0]]
        with open(names[0], "wb") as rows, open(names[1], "wb") as ends:
            for part in in_order(merged, _ranges(taken)):
                rows.write(part[0])
                ends.write(part[1])
        columns = (_mapped(name).reshape(-1, width) for name, width in zip(names, shapes, strict=True))
        self._on_disk.append((next(columns), next(columns)))
        return sum(array.nbytes for pair in taken for array in pair)

    def find(self, in_order: InOrder, records: Sequence[AnyRun]) -> None:
        """Judge all templates; `records` are looked at where names decide."""
        size = self._templates // 8 + 1
        self._bits = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
        rules, libraries = self._rules, len(self.counts.names)
        undecided: list[NDArray[np.uint64]] = []
        runs = [*self._on_disk, *self._in_memory]
        for judgement in in_order(judged, ((*part, rules, libraries) for part in _ranges(runs))):
            self._take(judgement)
            undecided.append(judgement.undecided.copy())  # of a few rows, for which no region is to be kept
            if sum(map(len, undecided)) > MOST_UNDECIDED:
                self._settle(undecided, records)
                undecided = []
        self._settle(undecided, records)
        self.forget()

    def _settle(self, undecided: list[NDArray[np.uint64]], records: Sequence[AnyRun]) -> None:
        """Judge sets of which several templates have the best score."""
        if not any(map(len, undecided)):
            return
        barcodes = bool(self._rules.barcode_tag)
        ties = Ties(np.concatenate(undecided), barcodes)
        for run in records:
            columns = run.columns()
            ties.look(columns.data, columns.ends, columns.templates)
        no_ends = np.empty((0, 1 + barcodes), np.uint64)
        self._take(Judgement.of(ties.settled(), no_ends, self._rules, len(self.counts.names), settled=True))

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


def _ranges(
    runs: list[tuple[NDArray[np.uint64], NDArray[np.uint64]]],
) -> Iterator[tuple[list[NDArray[np.uint64]], list[NDArray[np.uint64]]]]:
    """All rows and ends, as pieces of the runs, in ranges of LEFT that follow each other."""
    if not runs:
        return
    sample = np.sort(np.concatenate([rows[::SAMPLE, 0] for rows, _ in runs]))
    keys = np.unique(sample[:: RANGE_ROWS // SAMPLE][1:])
    bounds = [[_bounds(table, keys) for table in run] for run in runs]
    for i in range(len(keys) + 1):
        yield tuple(  # type: ignore[misc]
            [run[kind][slice(*bound[kind][i : i + 2])] for run, bound in zip(runs, bounds, strict=True)]
            for kind in (0, 1)
        )


def _bounds(table: NDArray[np.uint64], keys: NDArray[np.uint64]) -> list[int]:
    return [0, *compiled.bounds(table, keys).tolist(), len(table)]


def _mapped(path: str) -> NDArray[np.uint64]:
    return np.asarray(np.memmap(path, np.uint64, "r")) if os.path.getsize(path) else np.empty(0, np.uint64)
