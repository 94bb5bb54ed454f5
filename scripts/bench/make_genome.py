#!/usr/bin/env python3
"""Write a genome of any size, up to what an index holds, with the repeats that make real ones hard.

    scripts/bench/make_genome.py genome.fa --size 100M --seed 1

It has families of interspersed repeats of several ages (SINE-like short, LINE-like cut short at one end, others) and
tandem repeats (micro- and minisatellites, satellite arrays). Segmental duplications differ by 1 to 5 %. There are runs
of N and several contigs. Younger repeats lie over older ones. The same size and seed give the same file.
The sequence is made and written piece by piece: memory does not grow with the genome. Contigs share their families of
repeats and nothing else, so each is made by a process of its own.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np

LETTERS = np.frombuffer(b"ACGTN", np.uint8)
N = 4
LINE = 80
PIECE = LINE * 50_000
AT_RICH = (0.295, 0.205, 0.205, 0.295)
CELLS = 1 << 20  # bases of repeats drawn at once
INDEL_SHARE = 0.1  # of the differences between a copy and its family
KEPT = 64  # stretches remembered for segmental duplications
N_SHARE = 0.01
DUPLICATION_SHARE = 0.05


class Kind(NamedTuple):
    """Interspersed repeats: families by age, as the divergence of copies from their family's sequence."""

    length: int
    mean_copy: float  # bases of a copy, cut short at its beginning; 0: always whole
    share: float  # of the genome, all ages together
    ages: tuple[float, ...]
    families: int  # of each age


KINDS = (
    Kind(length=6000, mean_copy=900, share=0.18, ages=(0.22, 0.14, 0.08, 0.02), families=3),
    Kind(length=1500, mean_copy=400, share=0.08, ages=(0.25, 0.15, 0.05), families=4),
    Kind(length=300, mean_copy=0, share=0.12, ages=(0.18, 0.12, 0.06, 0.02), families=2),
)


class Tandem(NamedTuple):
    """Tandem repeats: ranges of the unit and of how often it is repeated, both drawn log-uniformly."""

    unit: tuple[int, int]
    repeats: tuple[int, int]
    divergence: float  # between the copies of an array
    share: float


TANDEMS = (
    Tandem(unit=(1, 6), repeats=(8, 60), divergence=0.03, share=0.01),
    Tandem(unit=(10, 60), repeats=(3, 60), divergence=0.06, share=0.01),
    Tandem(unit=(171, 171), repeats=(20, 2000), divergence=0.05, share=0.02),
)


class Family(NamedTuple):
    consensus: np.ndarray
    kind: Kind
    divergence: float


def diverged(rng: np.random.Generator, source: np.ndarray, rows: int, rate: float) -> np.ndarray:
    """uint8[rows, m]: copies of `source` (uint8[m]), a share `rate` of their bases substituted or at an indel."""
    draw = rng.random((rows, source.size), dtype=np.float32)
    step = np.ones(draw.shape, np.int32)
    step[draw < rate * INDEL_SHARE / 2] = 0
    step[draw > 1 - rate * INDEL_SHARE / 2] = 2
    template = np.cumsum(step, axis=1, dtype=np.int32) - 1
    copies = source.take(template, mode="wrap")
    changed = np.flatnonzero(draw.ravel() < rate * (1 - INDEL_SHARE / 2))
    flat = copies.reshape(-1)
    flat[changed] = (flat[changed] + rng.integers(1, 4, changed.size, dtype=np.uint8)) & 3
    return copies


def log_uniform(rng: np.random.Generator, bounds: tuple[int, int]) -> int:
    low, high = bounds
    return round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))


class Maker:
    """Makes pieces of one contig in order; what is duplicated is its memory. Families depend on the seed alone."""

    def __init__(self, seed: int, contig: int = 1):
        self.rng = np.random.default_rng(seed)
        self.families = [
            Family(self.background(kind.length), kind, age)
            for kind in KINDS
            for age in kind.ages
            for _ in range(kind.families)
        ]
        self.families.sort(key=lambda family: -family.divergence)
        self.satellite = self.background(171)
        self.rng = np.random.default_rng([seed, contig])
        self.kept: list[np.ndarray] = []

    def background(self, n: int) -> np.ndarray:
        """uint8[n]: random bases of a vertebrate's composition."""
        bounds = np.cumsum(np.round(np.array(AT_RICH) * 256)).astype(np.uint8)[:3]
        draw = self.rng.integers(0, 256, n, dtype=np.uint8)
        codes: np.ndarray = sum((draw >= bound).view(np.uint8) for bound in bounds)  # type: ignore[assignment]
        return codes

    def piece(self, n: int) -> np.ndarray:
        """uint8[n]: the next `n` bases as codes, 4 for N."""
        codes = self.background(n)
        for family in self.families:
            self._scatter(codes, family)
        for tandem in TANDEMS:
            self._tandems(codes, tandem)
        self._duplications(codes)
        self._gaps(codes)
        return codes

    def _scatter(self, codes: np.ndarray, family: Family) -> None:
        kind = family.kind
        budget = round(codes.size * kind.share / (len(kind.ages) * kind.families))
        # Copies of one length are drawn together: two dozen lengths a piece are variety enough.
        together = min(budget // 24 if kind.mean_copy else budget, CELLS)
        while budget > 0:
            length = kind.length
            if kind.mean_copy:
                length = int(min(kind.length, 50 + self.rng.exponential(kind.mean_copy)))
            if length > codes.size:
                return
            rows = max(1, together // length)
            self._put(codes, diverged(self.rng, family.consensus[-length:], rows, family.divergence))
            budget -= rows * length

    def _put(self, codes: np.ndarray, copies: np.ndarray) -> None:
        """Writes copies over random places, half of them on the other strand."""
        rows, length = copies.shape
        start = self.rng.integers(0, codes.size - length + 1, rows)
        flipped = self.rng.random(rows) < 0.5
        copies[flipped] = 3 - copies[flipped, ::-1]
        for at, copy in zip(start.tolist(), copies, strict=True):
            codes[at : at + length] = copy

    def _tandems(self, codes: np.ndarray, tandem: Tandem) -> None:
        # The long arrays are too few for every piece to hold its share: what is drawn too much is drawn by chance.
        budget = codes.size * tandem.share
        while budget > 0:
            unit = log_uniform(self.rng, tandem.unit)
            bases = self.satellite if unit == self.satellite.size else self.background(unit)
            total = unit * log_uniform(self.rng, tandem.repeats)
            if self.rng.random() * total > budget or total > codes.size:
                return
            self._put(codes, diverged(self.rng, np.resize(bases, total), 1, tandem.divergence))
            budget -= total

    def _duplications(self, codes: np.ndarray) -> None:
        budget = codes.size * DUPLICATION_SHARE
        while budget > 0:
            length = min(log_uniform(self.rng, (5_000, 100_000)), codes.size // 4)
            if length < 100:
                return
            if len(self.kept) < KEPT or self.rng.random() < 0.1:
                at = int(self.rng.integers(0, codes.size - length + 1))
                self.kept.append(codes[at : at + length].copy())
                del self.kept[:-KEPT]
            source = self.kept[int(self.rng.integers(len(self.kept)))]
            if source.size <= codes.size:
                self._put(codes, diverged(self.rng, source, 1, self.rng.uniform(0.01, 0.05)))
            budget -= source.size

    def _gaps(self, codes: np.ndarray) -> None:
        budget = codes.size * N_SHARE
        while budget > 0:
            length = log_uniform(self.rng, (50, 50_000))
            if self.rng.random() * length > budget or length > codes.size:
                return
            at = int(self.rng.integers(0, codes.size - length + 1))
            codes[at : at + length] = N
            budget -= length


def fasta_lines(codes: np.ndarray) -> bytes:
    """Lines of 80 bases and the rest, each with its newline."""
    whole = codes.size // LINE
    text = np.full((whole, LINE + 1), ord("\n"), np.uint8)
    text[:, :LINE] = LETTERS[codes[: whole * LINE]].reshape(whole, LINE)
    rest = LETTERS[codes[whole * LINE :]].tobytes()
    return text.tobytes() + (rest + b"\n" if rest else b"")


def write_contig(fd: int, at: int, seed: int, number: int, length: int) -> None:
    """Write a contig to a file, from byte `at` on; pieces but the last fill whole lines."""
    maker = Maker(seed, number)
    at += os.pwrite(fd, b">chr%d\n" % number, at)
    for begin in range(0, length, PIECE):
        at += os.pwrite(fd, fasta_lines(maker.piece(min(PIECE, length - begin))), at)


def write_genome(fd: int, size: int, contigs: int, seed: int) -> None:
    """Write all contigs, the longest first, side by side. OSError where one cannot be written."""
    weights, at = np.linspace(2, 1, contigs), 0
    ends = np.round(np.cumsum(weights) / weights.sum() * size).astype(np.int64)
    # Processes that are forked share the open file.
    with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:
        made = []
        for number, length in enumerate(np.diff(ends, prepend=0).tolist(), 1):
            made.append(pool.submit(write_contig, fd, at, seed, number, length))
            at += len(b">chr%d\n" % number) + length + -(-length // LINE)
        for contig in made:
            contig.result()


def bases(text: str) -> int:
    """10_000_000 of "10M", for argparse."""
    factor = {"K": 10**3, "M": 10**6, "G": 10**9}.get(text[-1:].upper())
    return round(float(text[:-1]) * factor) if factor else int(text)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("output", metavar="OUT.fa")
    p.add_argument(
        "--size", type=bases, required=True, metavar="N", help="bases; K, M, G for 10^3, 10^6, 10^9"
    )
    p.add_argument("--contigs", type=int, default=8, metavar="N", help="[%(default)s]")
    p.add_argument("--seed", type=int, default=1, help="[%(default)s]")
    args = p.parse_args()
    with open(args.output, "wb") as file:
        write_genome(file.fileno(), args.size, args.contigs, args.seed)


if __name__ == "__main__":
    main()
