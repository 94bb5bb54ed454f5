"""Structures to a file: of whole sequences, or of windows along longer ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst.errors import InputError, UsageError
from gassst.files.batches import Record, batches, named
from gassst.files.whole_file import whole_file
from gassst.fold.folding import CODES, LANE_BASES, fold, fold_codes
from gassst.fold.parameters import Parameters

BATCH_BASES = 1 << 22  # that are folded between two looks at the output
DEPTH = 10  # alignments that make a stack
HEAD = "contig", "start", "end", "strand", "energy", "structure"
Stacks = dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]
"""Of each contig, where stretches begin and end, in order."""
Show = Callable[[None], object]
Place = tuple[int, int, str]
"""Where a window or a hairpin begins and ends on the forward strand, from 0, and its strand."""


class Scan(NamedTuple):
    """What to look for in windows."""

    window: int
    step: int
    hairpins: int | None = None
    """Bases that a stem spans at least, or None for whole windows."""
    regions: Stacks | None = None
    """Where windows are folded, or None: all over."""

    def check(self) -> None:
        """Raise UsageError for numbers that make no sense."""
        if not 5 <= self.window <= LANE_BASES or not 1 <= self.step <= self.window:
            raise UsageError(f"--window must be 5 to {LANE_BASES:,} bases, and --step 1 to the window")
        if self.hairpins is not None and not 5 <= self.hairpins <= self.window:
            raise UsageError(f"--hairpins must be 5 to {self.window} bases, those of the window")

    def begins(self, name: str, codes: NDArray[np.uint8]) -> NDArray[np.int64]:
        """int64[n], where windows without other letters begin; the last of all ends with the sequence."""
        last = len(codes) - self.window
        if last < 0:
            return np.empty(0, np.int64)
        begins = np.unique(np.append(np.arange(0, last, self.step), last))
        others = np.append(0, np.cumsum(codes > 3))
        begins = begins[others[begins + self.window] == others[begins]]
        if self.regions is not None:
            first, ends = self.regions.get(name, (begins[:0], begins[:0]))
            at = np.searchsorted(ends, begins, "right")  # the first stack that ends behind a window's begin
            begins = begins[np.append(first, len(codes))[at] < begins + self.window]
        return begins


def write_folds(
    records: Iterable[Record], path: str | os.PathLike[str], parameters: Parameters, threads: int, show: Show
) -> int:
    """Write name, length, energy and structure of each sequence; returns how many there are."""
    count = 0
    with whole_file(path) as file:
        for batch in batches(records, BATCH_BASES):
            with named(batch):
                found = fold([text for _, text in batch], parameters, threads=threads)
            for (name, text), one in zip(batch, found, strict=True):
                _put(file, name, len(text), f"{one.energy:.2f}", one.structure)
            count += len(batch)
            show(None)
    return count


def write_scan(
    records: Iterable[Record],
    path: str | os.PathLike[str],
    parameters: Parameters,
    scan: Scan,
    threads: int,
    show: Show,
) -> int:
    """Windows of both strands of each sequence, or their hairpins, as a table or BED; returns how many windows.

    Each hairpin is written once, folded without what lies around it. Windows with another letter than A, C, G, T and U
    are left out. Raises InputError where a window is longer than all sequences.
    """
    is_bed = os.fspath(path).lower().endswith(".bed")
    done, longest, size = 0, 0, BATCH_BASES // scan.window
    with whole_file(path) as file:
        if not is_bed:
            _put(file, *HEAD)
        for name, text in records:
            codes = CODES[np.frombuffer(text, np.uint8)]
            longest, begins, before = max(longest, len(codes)), scan.begins(name, codes), set[Place]()
            for first in range(0, len(begins), size):
                some = begins[first : first + size]
                places = [(a, a + scan.window, strand) for a in some.tolist() for strand in "+-"]
                done += len(places)
                found = _folded(codes, places, parameters, threads)
                if scan.hairpins is not None:
                    inner = {place for one in found for place in _hairpins(*one, scan.hairpins)}
                    found = _folded(codes, sorted(inner - before), parameters, threads)
                    before = {one for one in inner | before if one[0] > some[-1]}  # which may come again
                for (a, b, strand), energy, structure in found:
                    shown = f"{energy / 100:.2f}"
                    _put(file, name, a, b, *((shown, 0, strand) if is_bed else (strand, shown, structure)))
                show(None)
        if longest < scan.window:
            raise InputError(f"--window {scan.window} is longer than every sequence: {longest} bases at most")
    return done


def stacks(alignments: Iterable[tuple[Any, Any, Any]], depth: int = DEPTH) -> Stacks:
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


def _folded(
    codes: NDArray[np.uint8], places: list[Place], parameters: Parameters, threads: int
) -> list[tuple[Place, int, str]]:
    """Places with energies in .01 kcal/mol and structures; on the reverse strand bases are complemented."""
    parts = [3 - codes[a:b][::-1] if strand == "-" else codes[a:b] for a, b, strand in places]
    offsets = np.append(0, np.cumsum([b - a for a, b, _ in places])).astype(np.int64)
    energy, brackets = fold_codes(
        np.concatenate([codes[:0], *parts]), offsets, parameters, True, threads, None
    )
    text, at = brackets.tobytes().decode("ascii"), offsets.tolist()
    return [
        (place, e, text[a:b]) for place, e, a, b in zip(places, energy.tolist(), at, at[1:], strict=False)
    ]


def _hairpins(place: Place, _: int, structure: str, least: int) -> list[Place]:
    begin, end, strand = place
    return [
        (begin + i, begin + j + 1, strand) if strand == "+" else (end - 1 - j, end - i, strand)
        for i, j in hairpins_of(structure, least)
    ]


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
