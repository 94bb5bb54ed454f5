"""Structures to a file: of whole sequences, or of windows along longer ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst.errors import InputError, UsageError
from gassst.files.batches import Record, batches, named
from gassst.files.whole_file import whole_file
from gassst.fold.ensemble import probabilities, zuker
from gassst.fold.folding import CODES, LANE_BASES, Fold, fold, fold_codes, windows
from gassst.fold.parameters import Parameters

BATCH_BASES = 1 << 22  # that are folded between two looks at the output
PAIR_BASES = 1 << 14  # likewise, of probabilities, which take bytes by the square of a length
Stacks = dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]
"""Of each contig, where stretches begin and end, in order."""
Show = Callable[[None], object]
Records = Iterable[Record]
Row = tuple[object, ...]
Rows = Callable[[list[bytes]], Iterable[list[Row]]]
"""What a table has of each of several sequences, behind its name."""
HEAD = "contig", "start", "end", "strand", "energy", "structure"


class Scan:
    """What to look for in windows.

    Raises UsageError for numbers that make no sense.
    """

    def __init__(self, window: int, step: int, hairpins: int | None = None, max_energy: float | None = None):
        if not 5 <= window <= LANE_BASES or not 1 <= step <= window:
            raise UsageError(f"--window must be 5 to {LANE_BASES:,} bases, and --step 1 to the window")
        if hairpins is not None and not 5 <= hairpins <= window:
            raise UsageError(f"--hairpins must be 5 to {window} bases, those of the window")
        self.window, self.step, self.hairpins, self.max_energy = window, step, hairpins, max_energy
        self.device: str | None = None
        """An OpenCL device that computes the energies of windows, which `max_energy` then bounds; else None."""
        self.regions: Stacks | None = None
        """Where windows are folded, or None: all over."""


class FoldedWindow(NamedTuple):
    """A window, or a hairpin within one: where it begins and ends on the forward strand, from 0, and its structure."""

    begin: int
    end: int
    strand: str
    energy: float
    structure: str


def folds(parameters: Parameters, threads: int) -> Rows:
    """Length, energy and structure of each sequence."""
    return lambda texts: [[_row(one)] for one in fold(texts, parameters, threads=threads)]


def suboptimal(parameters: Parameters, energy_range: float) -> Rows:
    """Returns what makes such rows of all that `zuker` finds."""
    return lambda texts: [[_row(one) for one in zuker(text, parameters, energy_range)] for text in texts]


def pairs(parameters: Parameters, least: float, threads: int) -> Rows:
    """Both bases from 0, and probability of each pair that has `least` or more."""

    def rows(texts: list[bytes]) -> Iterator[list[Row]]:
        for one in probabilities(texts, parameters, threads=threads):
            yield [(i, j, f"{one.pairs[i, j]:.6f}") for i, j in np.argwhere(one.pairs >= least).tolist()]

    return rows


def _row(one: Fold) -> Row:
    return len(one.structure), f"{one.energy:.2f}", one.structure


def write_rows(
    records: Records, path: str | os.PathLike[str], size: int, rows: Rows, show: Show
) -> tuple[int, int]:
    """Write names and `rows` of sequences, of `size` bases or a few more at once; returns how many sequences and
    lines."""
    count = written = 0
    with whole_file(path) as file:
        for batch in batches(records, size):
            with named(batch):
                found = list(rows([text for _, text in batch]))
            for (name, _), lines in zip(batch, found, strict=True):
                for line in lines:
                    _put(file, name, *line)
                written += len(lines)
            count += len(batch)
            show(None)
    return count, written


def write_scan(
    records: Records,
    path: str | os.PathLike[str],
    parameters: Parameters,
    scan: Scan,
    threads: int,
    show: Show,
) -> tuple[int, int]:
    """Windows of both strands of each sequence, or their hairpins, as a table or BED; returns windows and lines.

    Windows that hold another letter than A, C, G, T and U are left out. Raises InputError where a window is longer than
    all sequences.
    """
    is_bed = os.fspath(path).lower().endswith(".bed")
    done = lines = longest = 0
    with whole_file(path) as file:
        if not is_bed:
            _put(file, *HEAD)
        for name, text in records:
            codes = CODES[np.frombuffer(text, np.uint8)]
            longest = max(longest, len(codes))
            for begins in _parts(name, codes, scan):
                found = _windows(codes, begins, parameters, scan, threads)
                done += 2 * len(begins)
                for one in found:
                    if scan.max_energy is None or one.energy <= scan.max_energy:
                        lines += 1
                        energy = f"{one.energy:.2f}"
                        more = (energy, 0, one.strand) if is_bed else (one.strand, energy, one.structure)
                        _put(file, name, one.begin, one.end, *more)
                show(None)
        if longest < scan.window:
            raise InputError(f"--window {scan.window} is longer than every sequence: {longest} bases at most")
    return done, lines


def stacks(alignments: Iterable[tuple[Any, Any, Any]], depth: int) -> Stacks:
    """Stretches that `depth` alignments or more cover, of arrays of their contigs, begins and ends."""
    found: dict[str, list[NDArray[np.int64]]] = {}
    for contig, begin, end in alignments:
        for name in set(contig.tolist()) - {""}:
            found.setdefault(name, []).append(np.stack([begin, end])[:, contig == name])
    regions = {}
    for name, parts in found.items():
        begin, end = np.concatenate(parts, axis=1)
        at = np.concatenate([begin, end])
        order = np.argsort(at, kind="stable")  # a begin comes before an end: neighbours join
        covered = np.cumsum(np.repeat([1, -1], len(begin))[order]) >= depth
        changes = np.flatnonzero(np.diff(covered, prepend=False))
        regions[name] = at[order][changes[::2]], at[order][changes[1::2]]
    return regions


def _parts(name: str, codes: NDArray[np.uint8], scan: Scan) -> Iterator[NDArray[np.int64]]:
    """Where windows without other letters begin, some at a time."""
    begins = windows(len(codes), scan.window, scan.step)
    others = np.append(0, np.cumsum(codes > 3))
    begins = begins[others[begins + scan.window] == others[begins]] if len(begins) else begins
    if scan.regions is not None:
        first, last = scan.regions.get(name, (begins[:0], begins[:0]))
        at = np.searchsorted(last, begins, "right")  # the first stack that ends behind a window's begin
        begins = begins[np.append(first, np.iinfo(np.int64).max)[at] < begins + scan.window]
    size = max(1, BATCH_BASES // scan.window)
    for first in range(0, len(begins), size):
        yield begins[first : first + size]


def _strands(
    codes: NDArray[np.uint8], places: list[tuple[int, int, str]]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bases of places, those of the reverse strand complemented, and their offsets."""
    parts = [3 - codes[a:b][::-1] if strand == "-" else codes[a:b] for a, b, strand in places]
    offsets = np.append(0, np.cumsum([b - a for a, b, _ in places])).astype(np.int64)
    return np.concatenate(parts) if parts else np.empty(0, np.uint8), offsets


def _windows(
    codes: NDArray[np.uint8], begins: NDArray[np.int64], parameters: Parameters, scan: Scan, threads: int
) -> list[FoldedWindow]:
    """Folded windows; or their hairpins, each once, folded without what lies around them."""
    places = [(a, a + scan.window, strand) for a in begins.tolist() for strand in "+-"]
    if scan.device is not None and scan.max_energy is not None:
        bases, offsets = _strands(codes, places)
        energy, _ = fold_codes(bases, offsets, parameters, False, threads, None, device=scan.device)
        places = [places[k] for k in np.flatnonzero(energy <= 100 * scan.max_energy).tolist()]
    found = _folded(codes, places, parameters, threads)
    if scan.hairpins is None:
        return found
    hairpins: dict[tuple[int, int, str], None] = {}
    for one in found:
        for i, j in hairpins_of(one.structure, scan.hairpins):
            a, b = (one.begin + i, one.begin + j + 1) if one.strand == "+" else (one.end - 1 - j, one.end - i)
            hairpins[a, b, one.strand] = None
    return _folded(codes, sorted(hairpins), parameters, threads)


def _folded(
    codes: NDArray[np.uint8], places: list[tuple[int, int, str]], parameters: Parameters, threads: int
) -> list[FoldedWindow]:
    bases, offsets = _strands(codes, places)
    energy, brackets = fold_codes(bases, offsets, parameters, True, threads, None)
    assert brackets is not None
    text, at = brackets.tobytes().decode("ascii"), offsets.tolist()
    rows = zip(places, energy.tolist(), at[:-1], at[1:], strict=True)
    return [FoldedWindow(*place, e / 100, text[a:b]) for place, e, a, b in rows]


def hairpins_of(structure: str, least: int) -> list[tuple[int, int]]:
    """First and last base of each stem with one loop that spans so many bases, bulges and inner loops included."""
    found: list[tuple[int, int] | None] = []
    stack = [(-1, found)]  # a base, and the stems directly within
    for j, mark in enumerate(structure):
        if mark == "(":
            stack.append((j, []))
        elif mark == ")":
            i, inner = stack.pop()
            if len(inner) > 1:
                found.extend(inner)
            has_one_loop = not inner or (len(inner) == 1 and inner[0] is not None)
            stack[-1][1].append((i, j) if has_one_loop else None)
    return [stem for stem in found if stem is not None and stem[1] - stem[0] + 1 >= least]


def _put(file: IO[bytes], *columns: object) -> None:
    file.write(("\t".join(map(str, columns)) + "\n").encode("utf-8", "backslashreplace"))
