"""Reads over planted deletions, insertions, inversions, tandem duplications and translocations, beside bwa mem.

    python scripts/bench/split_reads.py ecoli.fa yeast.fa chr20.fa --json lab/data/split_reads.json
    python scripts/bench/make_benchmarks.py     # the tables of the page

An event is planted into a stretch of the genome, and reads are drawn over each place where two parts of the genome
meet. They are single reads and first mates of pairs. The truth is the event itself: for every base, the base of the
genome that it was taken from. A read is right if its primary alignment has at least half of its bases there. A part of
a read is found if some alignment has at least half of its bases there. Parts shorter than the least score that is
reported are not counted. As many reads without an event are in each file, so that a library can be learned.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pysam
from curves import read_set
from harness import benchmark_parser, commit, machine, markdown, measured, run, write_json
from peers import enter, plain, say
from pysam import CDEL, CDIFF, CEQUAL, CMATCH, CREF_SKIP
from timed import NO_LIMIT

from gassst.tools.mappers import TOOLS as PEERS
from gassst.tools.mappers import find, version

BASES = np.frombuffer(b"ACGT", np.uint8)
KINDS = ("deletion", "insertion", "inversion", "duplication", "translocation")
SIZES = (10, 30, 60, 100, 300, 1000)
SHAPES = ((100, 1), (150, 1), (100, 2), (150, 2))
"""Bases of a read, and reads of a fragment."""
INSERT = (350, 50)
ERROR = 0.005
FLANK = 1000  # bases of the genome on both sides of an event
EDGE = 10  # bases that a read has at least on both sides of a joint
LEAST_PART = 30  # bases: the default -T
ALIGNED = CMATCH, CEQUAL, CDIFF
NOT_PRIMARY = 0x900
TOOLS = ("gassst", "bwa")


def complement(bases: np.ndarray) -> np.ndarray:
    return np.frombuffer(b"TGCA", np.uint8)[np.searchsorted(BASES, bases)]


def planted(kind: str, size: int, place: int, other: int, flank: int) -> tuple[np.ndarray, list[int]]:
    """A stretch of a genome with one event: int64 for each base, and where two parts meet.

    The reference base that it is, from 1 on, is negative on the reverse strand and 0 for none. `other` is where the
    bases of a translocation come from.
    """
    reach = np.arange(place - flank, place + size + flank) + 1
    before, here, after = reach[:flank], reach[flank : flank + size], reach[flank + size :]
    inner, joints = {
        "deletion": ([], [0]),
        "insertion": ([np.zeros(size, np.int64), here], [0, size]),
        "inversion": ([-here[::-1]], [0, size]),
        "duplication": ([here, here], [size]),
        "translocation": ([np.arange(other, other + size) + 1, here], [0, size]),
    }[kind]
    return np.concatenate([before, *inner, after]), [flank + joint for joint in joints]


def right_bases(record: pysam.AlignedSegment, truth: np.ndarray, offset: int = 0) -> tuple[np.ndarray, int]:
    """bool[m]: bases of the read that the record aligns where they lie; and how many it aligns.

    `offset`: bases of the contigs before that of the record.
    """
    right, aligned, at, base = np.zeros(len(truth), bool), 0, record.reference_start + offset, 0
    for operation, length in record.cigartuples:
        if operation in ALIGNED:
            rows, where = np.arange(base, base + length), np.arange(at, at + length) + 1
            if record.is_reverse:
                rows, where = len(truth) - 1 - rows, -where
            right[rows] |= truth[rows] == where
            aligned += length
        base += length * (operation not in (CDEL, CREF_SKIP))
        at += length * (operation in (*ALIGNED, CDEL, CREF_SKIP))
    return right, aligned


def parts_of(truth: np.ndarray) -> list[tuple[int, int]]:
    """First and last base of every stretch that is long enough to be reported."""
    borders = np.concatenate([[0], np.flatnonzero(np.diff(truth) != 1) + 1, [len(truth)]])
    ends = zip(borders[:-1], borders[1:], strict=True)
    return [(a, b) for a, b in ends if b - a >= LEAST_PART and truth[a]]


class Genome:
    """The bases of all contigs, one after another."""

    def __init__(self, path: Path) -> None:
        with pysam.FastxFile(str(path)) as file:
            contigs = [
                (record.name, np.frombuffer(record.sequence.upper().encode(), np.uint8)) for record in file
            ]
        self.bases = np.concatenate([bases for _, bases in contigs])
        lengths = [len(bases) for _, bases in contigs]
        self.starts = dict(zip((name for name, _ in contigs), np.cumsum([0, *lengths[:-1]]), strict=True))
        self.ends = np.cumsum(lengths)
        known = np.concatenate([[0], np.cumsum(np.isin(self.bases, BASES))])
        self.known = known

    def place(self, rng: np.random.Generator, before: int, after: int) -> int:
        """One with so many known bases of its contig on both sides."""
        while True:
            place = int(rng.integers(before, len(self.bases) - after))
            a, b = place - before, place + after
            same_contig = np.searchsorted(self.ends, a, "right") == np.searchsorted(self.ends, b - 1, "right")
            if same_contig and self.known[b] - self.known[a] == b - a:
                return place

    def read(self, rng: np.random.Generator, source: np.ndarray, inserted: np.ndarray) -> str:
        """The bases that come from there, with errors."""
        taken = self.bases[np.abs(source) - 1]
        taken = np.where(source < 0, complement(taken), taken)
        taken = np.where(source == 0, inserted, taken)
        wrong = rng.random(len(taken)) < ERROR
        other = BASES[(np.searchsorted(BASES, taken) + rng.integers(1, 4, len(taken))) % 4]
        return np.where(wrong, other, taken).tobytes().decode()


Truths = dict[str, np.ndarray]
Found = dict[str, dict[str, tuple[bool, bool, int]]]


def simulate(genome: Genome, length: int, mates: int, events: int, seed: int, files: list[Path]) -> Truths:
    """Writes reads over events and others; the truth of those over events, by name.

    A name is KIND_SIZE_NUMBER, or none_0_NUMBER.
    """
    rng = np.random.default_rng(seed)
    cells = [(kind, size) for kind in KINDS for size in SIZES] * events
    order = rng.permutation(2 * len(cells))
    truths: Truths = {}
    outputs = [file.open("w") for file in files]
    for number in order.tolist():
        kind, size = cells[number] if number < len(cells) else ("none", 0)
        place = genome.place(rng, FLANK, size + FLANK)
        if kind == "none":
            source, joints = np.arange(place - FLANK, place + FLANK) + 1, [FLANK]
        else:
            source, joints = planted(kind, size, place, genome.place(rng, 0, size), FLANK)
        inserted = BASES[rng.integers(0, 4, len(source))]
        start = int(rng.choice(joints)) - int(rng.integers(EDGE, length - EDGE + 1))
        starts, reverse = [start], bool(rng.integers(0, 2))
        if mates == 2:
            apart = max(int(rng.normal(*INSERT)), length) - length
            starts.append(start - apart if reverse else start + apart)
        name = f"{kind}_{size}_{number}"
        for mate, (at, output) in enumerate(zip(starts, outputs, strict=True)):
            part, bases = source[at : at + length], inserted[at : at + length]
            if reverse != bool(mate):
                part, bases = -part[::-1], bases[::-1]
            output.write(f"@{name}\n{genome.read(rng, part, bases)}\n+\n{'I' * length}\n")
            if kind != "none" and not mate:
                truths[name] = part
    for output in outputs:
        output.close()
    return truths


def reads_of(path: Path) -> Iterator[tuple[str, list[pysam.AlignedSegment]]]:
    """All records of each single read and of each first mate, by name."""
    with pysam.AlignmentFile(str(path)) as file:
        name, records = "", []
        for record in file:
            if record.is_read2:
                continue
            if record.query_name != name:
                if records:
                    yield name, records
                name, records = str(record.query_name), []
            records.append(record)
        if records:
            yield name, records


def judged(path: Path, truths: Truths, starts: dict[str, int]) -> Found:
    """By cell and read: right with MAPQ 20 or more, wrong with it, and how many parts are found."""
    found: Found = {}
    for name, records in reads_of(path):
        truth = truths.get(name)
        if truth is None:
            continue
        right = np.zeros(len(truth), bool)
        is_sure = is_right = False
        for record in records:
            if record.is_unmapped or record.flag & 0x100:
                continue
            own, aligned = right_bases(record, truth, int(starts[record.reference_name]))
            right |= own
            if not record.flag & NOT_PRIMARY:
                is_right, is_sure = 2 * own.sum() >= aligned, record.mapping_quality >= 20
        parts = sum(2 * int(right[a:b].sum()) >= b - a for a, b in parts_of(truth))
        found.setdefault(name.rsplit("_", 1)[0], {})[name] = (
            is_sure and is_right,
            is_sure and not is_right,
            parts,
        )
    return found


def counts(truths: Truths, found: dict[str, Found]) -> list[dict[str, Any]]:
    """A row for each cell: reads, parts, and what each tool has of them."""
    rows = []
    for kind in KINDS:
        for size in SIZES:
            cell = f"{kind}_{size}"
            names = [name for name in truths if name.rsplit("_", 1)[0] == cell]
            row: dict[str, Any] = {"kind": kind, "size": size, "reads": len(names)}
            row["parts"] = sum(len(parts_of(truths[name])) for name in names)
            for tool, by_cell in found.items():
                values = np.array([by_cell[cell][name] for name in names], np.int64)
                row[tool] = dict(
                    zip(("right20", "wrong20", "found"), values.sum(axis=0).tolist(), strict=True)
                )
            rows.append(row)
    return rows


def measure(args: Any, work: Path) -> list[dict[str, Any]]:
    indexes = Path(args.indexes).resolve() if args.indexes else work
    results = []
    for path in args.genomes:
        reference = plain(Path(path), work)
        genome, mappers = Genome(reference), enter(args.tools, indexes / reference.stem, reference, {})
        for number, (length, mates) in enumerate(SHAPES):
            files = [work / f"reads{mate}.fq" for mate in range(mates)]
            truths = simulate(genome, length, mates, args.events, args.seed + number, files)
            shape = f"{'2 x ' * (mates == 2)}{length}"
            reads, out, found = read_set(files, length), work / "out.sam", {}
            for one in mappers:
                one.prepare(reads, 1)
                one.run(reads, 1, out, NO_LIMIT)
                found[one.name] = judged(out, truths, genome.starts)
                say(f"{reference.stem}, {shape}, {one.name}")
            about = {"genome": reference.stem, "shape": shape, "mates": mates}
            results += [{**about, **row} for row in counts(truths, found)]
    return results


def columns(rows: list[dict[str, Any]], tools: list[str]) -> list[str]:
    """Of all cells together: right at Q20, parts found, wrong at Q20, tools in their order."""
    shown = []
    for what, whole in (("right20", "reads"), ("found", "parts")):
        n = max(1, sum(row[whole] for row in rows))
        shown.append(" / ".join(f"{100 * sum(row[tool][what] for row in rows) / n:.1f}" for tool in tools))
    return [*shown, " / ".join(str(sum(row[tool]["wrong20"] for row in rows)) for tool in tools)]


COLUMNS = ("right at Q20 %", "parts found %", "wrong at Q20")


def table(result: dict[str, Any]) -> str:
    """A row for each kind and size, all genomes and lengths together; and one for each genome and shape of read."""
    tools, cells = list(result["tools"]), result["cells"]
    rows = []
    for kind in KINDS:
        for size in SIZES:
            some = [row for row in cells if (row["kind"], row["size"]) == (kind, size)]
            single, pairs = ([row for row in some if row["mates"] == mates] for mates in (1, 2))
            rows.append([kind, str(size), *columns(single, tools), *columns(pairs, tools)])
    header = ["event", "bases", *(f"{reads}: {word}" for reads in ("single", "pairs") for word in COLUMNS)]
    of_genomes = [
        [
            genome,
            shape,
            *columns([row for row in cells if (row["genome"], row["shape"]) == (genome, shape)], tools),
        ]
        for genome, shape in dict.fromkeys((row["genome"], row["shape"]) for row in cells)
    ]
    versions = ", ".join(f"{name} {n}" for name, n in result["tools"].items())
    where = f"{measured(result)}, {result['events']} events of each kind and size. Versions: {versions}."
    tables = (
        markdown(header, rows),
        markdown(["genome", "reads", *COLUMNS], of_genomes),
    )
    return "\n\n".join([where, *tables])


def main(argv: list[str] | None = None) -> None:
    parser = benchmark_parser(__doc__)
    add = parser.add_argument
    add("genomes", nargs="+", metavar="GENOME.fa")
    add("--events", type=int, default=1000, help="of each kind and size, a read over each [1000]")
    add("--seed", type=int, default=4301)
    add("--tools", nargs="+", choices=TOOLS, default=TOOLS, help="[all]")
    add("--indexes", metavar="DIR", help="keep the indexes here, for the next run")
    add("--work", metavar="DIR", help="where indexes and reads lie while it runs")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="split-", dir=args.work) as work:
        cells = measure(args, Path(work))
    tools = {name: version(PEERS[name], find(PEERS[name]) or ()) for name in args.tools}
    result = {"events": args.events, "seed": args.seed, "tools": tools, "cells": cells}
    write_json(args.json, result)
    print(table({**result, "machine": machine(), "commit": commit()}))


if __name__ == "__main__":
    run(main)
