"""Genomes with planted changes, and reads of them whose origin is known: the truth of `make field`.

`gassst simulate` makes the reads of damaged libraries; all others are made here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pysam

BASES = np.frombuffer(b"ACGT", np.uint8)
N = ord("N")
OTHER = np.full(256, N, np.uint8)
OTHER[BASES] = BASES[::-1]
ADAPTER = np.frombuffer(b"AGATCGGAAGAGC" + b"A" * 400, np.uint8)
SIZES = ((1, 1), (2, 5), (6, 15), (16, 30), (31, 50), (51, 100))
"""Classes of indels, by bases."""
KINDS = ("SNP", "deletion", "insertion")


class Edit(NamedTuple):
    """`gone` bases from `at` on are replaced by `put`, in the haplotypes of `copies`."""

    at: int
    gone: int
    put: bytes
    copies: tuple[int, ...] = (0,)


class Fragments(NamedTuple):
    """uint8[n, length] of both mates, and int64[n]: where the fragment begins in the joined sources, and its bases."""

    mates: tuple[np.ndarray, np.ndarray]
    starts: np.ndarray
    sizes: np.ndarray


def sequences(path: Path) -> dict[str, np.ndarray]:
    """uint8 of each contig, in upper case."""
    with pysam.FastxFile(str(path)) as file:
        return {one.name: np.frombuffer(one.sequence.upper().encode(), np.uint8) for one in file}


def write_fasta(path: Path, contigs: dict[str, np.ndarray]) -> Path:
    path.write_text("".join(f">{name}\n{bases.tobytes().decode()}\n" for name, bases in contigs.items()))
    return path


def complement(bases: np.ndarray) -> np.ndarray:
    return OTHER[bases[::-1]]


def changed(rng: np.random.Generator, bases: np.ndarray) -> np.ndarray:
    """Another base each."""
    return BASES[(np.searchsorted(BASES, bases) + rng.integers(1, 4, bases.shape)) % 4]


def edit_of(rng: np.random.Generator, bases: np.ndarray, at: int, kind: str, size: int) -> Edit:
    """Half of the insertions repeat the bases before them."""
    if kind == "SNP":
        return Edit(at, 1, changed(rng, bases[at : at + 1]).tobytes())
    if kind == "deletion":
        return Edit(at, size, b"")
    new = bases[at - size : at] if rng.random() < 0.5 else BASES[rng.integers(0, 4, size)]
    return Edit(at, 0, new.tobytes())


def edits_by_size(
    rng: np.random.Generator, bases: np.ndarray, places: range, copies: Sequence[Any]
) -> list[Edit]:
    """Four SNPs and a deletion and an insertion of each class of size in turn, near `places`; none near an N.

    `copies` are the haplotypes to draw from.
    """
    found: list[Edit] = []
    cycle = [("SNP", 0)] * 4 + [(kind, size) for kind in KINDS[1:] for size in range(len(SIZES))]
    for place in places:
        kind, which = cycle[len(found) % len(cycle)]
        at = place + int(rng.integers(places.step // 2))
        if (bases[at - 300 : at + 300] != N).all():
            edit = edit_of(rng, bases, at, kind, int(rng.integers(*SIZES[which], endpoint=True)))
            found.append(edit._replace(copies=copies[rng.integers(len(copies))]))
    return found


def edited(
    bases: np.ndarray, edits: Iterable[Edit], copy: int = 0, low: int = 0, high: int | None = None
) -> np.ndarray:
    """One haplotype of bases `low` to `high`; edits ascend and do not overlap."""
    parts, last = [], low
    for edit in edits:
        if copy in edit.copies:
            parts += [bases[last : edit.at], np.frombuffer(edit.put, np.uint8)]
            last = edit.at + edit.gone
    return np.concatenate([*parts, bases[last:high]])


def fragments(
    rng: np.random.Generator, sources: Sequence[np.ndarray], number: int, length: int, insert: tuple[float, float],
    starts: np.ndarray | None = None,
) -> Fragments:  # fmt: skip
    """Ends of fragments that face each other, either mate first, an adapter after short ones.

    At most `number`, as none crosses the end of a source or an N. `starts`: where they begin; drawn at random if None.
    """
    joined = np.concatenate([*sources, np.full(2 * length, N, np.uint8)])
    ends = np.cumsum([len(source) for source in sources])
    starts = rng.integers(0, ends[-1], number) if starts is None else starts
    sizes = np.maximum(rng.normal(*insert, number), 30).astype(np.int64)
    unknown, last = np.cumsum(joined == N), np.minimum(starts + sizes, ends[-1]) - 1
    fits = (np.searchsorted(ends, starts, "right") == np.searchsorted(ends, last, "right")) & (
        (unknown[last] == unknown[starts]) & (joined[starts] != N) & (last + 1 == starts + sizes)
    )
    starts, sizes = starts[fits], sizes[fits]
    along = np.arange(length)
    forward = joined[starts[:, None] + along]
    backward = OTHER[joined[np.maximum((starts + sizes - 1)[:, None] - along, 0)]]
    over = along - sizes[:, None]
    forward, backward = (np.where(over < 0, one, ADAPTER[np.maximum(over, 0)]) for one in (forward, backward))
    swap = (rng.random(len(starts)) < 0.5)[:, None]
    return Fragments((np.where(swap, backward, forward), np.where(swap, forward, backward)), starts, sizes)


def write_reads(
    rng: np.random.Generator, paths: Sequence[Path], mates: Sequence[np.ndarray], names: Iterable[Any],
    factor: float = 1.0,
) -> None:  # fmt: skip
    """Appends FASTQ with errors as the qualities say, times `factor`; these fall along the read, one in 20 is bad."""
    names = list(names)
    for path, bases in zip(paths, mates, strict=True):
        phred = rng.integers(30, 41, bases.shape) - np.arange(bases.shape[1]) * 8 // bases.shape[1]
        phred[rng.random(bases.shape) < 0.05] = 12
        wrong = (rng.random(bases.shape) < factor * 10 ** (-phred / 10)) & (bases != N)
        read = np.where(wrong, changed(rng, bases), bases)
        with path.open("a") as file:
            for name, row, quality in zip(names, read, (phred + 33).astype(np.uint8), strict=True):
                file.write(f"@{name}\n{row.tobytes().decode()}\n+\n{quality.tobytes().decode()}\n")
