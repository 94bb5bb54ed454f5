"""Structural variants of a diploid genome, called by delly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from donors import BASES, Edit, complement, edited, fragments, write_reads
from field import Data, Figure, Row, World, reference_in, sh

COVERAGE, LENGTH, INSERT = 30, 150, (400, 50)
EVENTS = [*(("DEL", size) for size in (60, 100, 300, 1000, 5000)), ("INS", 40), ("INS", 70)]
EVENTS += [(kind, size) for kind in ("DUP", "INV") for size in (300, 1000, 5000)]
APART = 9_000
NEAR = 50
"""Bases between a called end and the planted one."""


def structural(data: Data, folder: Path) -> World:
    """Events in one or both copies of 2 million bases of E. coli."""
    rng = np.random.default_rng(21)
    (name, bases), *_ = data.ecoli.items()
    bases, files = bases[:2_000_000], (folder / "1.fq", folder / "2.fq")
    edits, truth = [], []
    for number, place in enumerate(range(APART, len(bases) - APART, APART)):
        kind, size = EVENTS[number % len(EVENTS)]
        at, here = place + int(rng.integers(1000)), bases[place : place + size]
        here = bases[at : at + size]
        new = {"DEL": here[:0], "DUP": np.concatenate([here, here]), "INV": complement(here)}
        put = new.get(kind, BASES[rng.integers(0, 4, size)])
        edits.append(Edit(at, 0 if kind == "INS" else size, put.tobytes(), ((0,), (0, 1))[rng.integers(2)]))
        truth.append((kind, size, at, at + edits[-1].gone))
    sources = [edited(bases, edits, copy) for copy in (0, 1)]
    made = fragments(rng, sources, COVERAGE * len(bases) // (2 * LENGTH), LENGTH, INSERT)
    write_reads(rng, files, made.mates, range(len(made.starts)))
    return World(reference_in(folder, {name: bases}), files, truth)


def delly(world: World, bam: Path, folder: Path) -> list[Figure]:
    """Calls that pass, and are in the sample; an inversion is called once for each of its joints."""
    sh(f"delly call -g {world.reference} -o out.bcf {bam}", folder)
    query = "bcftools query -i 'FILTER=\"PASS\" && GT=\"alt\"' -f '%SVTYPE\\t%POS\\t%END\\n' out.bcf"
    called = [(kind, int(a), int(b)) for kind, a, b in map(str.split, sh(query, folder).splitlines())]
    figures, explained = [], set()
    for event in EVENTS:
        hits = [
            {
                call
                for call in called
                if call[0] == kind and max(abs(call[1] - low), abs(call[2] - high)) <= NEAR
            }
            for kind, size, low, high in world.truth
            if (kind, size) == event
        ]
        explained |= set().union(*hits)
        figures.append(Figure(f"{event[0]} of {event[1]}", len(hits), sum(map(bool, hits))))
    return [*figures, Figure("other calls", 0, 0, len(set(called) - explained))]


ROWS = [Row("structural", "structural variants by delly", ("delly", "bcftools"), structural, delly)]
