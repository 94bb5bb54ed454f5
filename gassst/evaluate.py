"""Sensitivity and accuracy of any mapper on simulated reads (Rizk 4.7.4, Table 4.2).

An alignment is correct if contig and strand are the true ones and its start, with clipped bases added back, is
within `tolerance` bases of the true start. Sensitivity: correct primary alignments with MAPQ >= `mapq` per read;
accuracy: the same per primary alignment with MAPQ >= `mapq`. Secondary and supplementary records do not count.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass, field

import numpy as np
import pysam

from gassst.errors import GassstError, InputError, UsageError
from gassst.truth import NameFormat, Truth, detect, parse

CHUNK = 1 << 16
UNMAPPED, REVERSE, SECOND = 0x4, 0x10, 0x80
NOT_PRIMARY = 0x900


@dataclass(frozen=True)
class Alignments:
    """Primary records in file order: `names` and `contigs` lists; `flags`, `mapq`, `start`, `end` int64[n].

    `start` (1-based) and `end` count clipped bases as if they were aligned. Unmapped records have contig ''.
    """

    names: list[str]
    flags: np.ndarray
    contigs: list[str]
    start: np.ndarray
    end: np.ndarray
    mapq: np.ndarray


def read_alignments(path: str, threads: int = 1):
    """Yields Alignments of up to CHUNK primary records of a SAM, BAM or CRAM file. Raises InputError."""
    try:
        with pysam.AlignmentFile(path, check_sq=False, threads=threads) as file:
            contigs = [*file.references, ""]
            rows = []
            for record in file:
                if record.flag & NOT_PRIMARY:
                    continue
                rows.append(_row(record))
                if len(rows) == CHUNK:
                    yield _alignments(rows, contigs)
                    rows = []
            if rows:
                yield _alignments(rows, contigs)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {error}") from None


def _row(record) -> tuple:
    flag = record.flag
    if flag & UNMAPPED:
        return record.query_name, flag, -1, 0, 0, 0
    start, end = record.reference_start, record.reference_end
    cigar = record.cigarstring or ""
    if "S" in cigar or "H" in cigar:
        runs = record.cigartuples
        start -= _clipped(runs)
        end += _clipped(reversed(runs))
    return record.query_name, flag, record.reference_id, start + 1, end, record.mapping_quality


def _clipped(runs) -> int:
    bases = 0
    for operation, length in runs:
        if operation not in (pysam.CSOFT_CLIP, pysam.CHARD_CLIP):
            break
        bases += length
    return bases


def _alignments(rows: list[tuple], contigs: list[str]) -> Alignments:
    names, *columns = zip(*rows, strict=True)
    flags, contig, start, end, mapq = (np.array(column, dtype=np.int64) for column in columns)
    return Alignments(list(names), flags, [contigs[c] for c in contig], start, end, mapq)


def is_correct(found: Alignments, truth: Truth, tolerance: int) -> np.ndarray:
    """bool[n]: mapped to the true contig and strand, and start within `tolerance` bases (end, see Truth, if reverse)."""
    strand = np.where(found.flags & REVERSE, -1, 1)
    off = np.abs(found.start - truth.start)
    unknown_reverse = (truth.strand == 0) & (strand == -1)
    off = np.where(unknown_reverse, np.abs(found.end - truth.end), off)
    contig = np.fromiter((a == b for a, b in zip(found.contigs, truth.contig, strict=True)), bool, len(off))
    return contig & (off <= tolerance) & ((truth.strand == 0) | (truth.strand == strand))


@dataclass
class Tally:
    """Counts that add up: `mapped[mate, mapq, correct]` int64[3, 256, 2] (mate 0: not paired), `unmapped` int64[3]."""

    mapped: np.ndarray = field(default_factory=lambda: np.zeros((3, 256, 2), dtype=np.int64))
    unmapped: np.ndarray = field(default_factory=lambda: np.zeros(3, dtype=np.int64))
    format: str = ""

    def add(self, found: Alignments, correct: np.ndarray) -> None:
        mate = np.where(found.flags & 1, np.where(found.flags & SECOND, 2, 1), 0)
        is_mapped = (found.flags & UNMAPPED) == 0
        cells = (mate * 256 + found.mapq) * 2 + correct
        self.mapped += np.bincount(cells[is_mapped], minlength=1536).reshape(3, 256, 2)
        self.unmapped += np.bincount(mate[~is_mapped], minlength=3)


def tally(path: str, tolerance: int = 10) -> Tally:
    """Judges every primary record of `path`. Raises InputError for a file or read names it cannot read."""
    counts = Tally()
    form: NameFormat | None = None
    for found in read_alignments(path):
        form = form or detect(found.names[0])
        if form is None:
            raise InputError(f"{path}: read {found.names[0]!r} carries no truth in a known form (docs/simulation.md)")
        second = (found.flags & SECOND) != 0
        counts.add(found, is_correct(found, parse(form, found.names, second, path), tolerance))
        counts.format = form.name
    return counts


def figures(mapped: np.ndarray, total: int, mapq: int) -> dict:
    """Table 4.2 for `mapped` int64[256, 2] and `total` reads; None where a share would be of nothing."""
    confident = mapped[mapq:]

    def share(a, b):
        return float(a / b) if b else None

    return {
        "reads": int(total),
        "mapped": int(mapped.sum()),
        "mapped_share": share(mapped.sum(), total),
        "placed_right": share(mapped[:, 1].sum(), total),
        "sensitivity": share(confident[:, 1].sum(), total),
        "accuracy": share(confident[:, 1].sum(), confident.sum()),
    }


def evaluate(path: str, tolerance: int = 10, mapq: int = 20, total: int | None = None) -> dict:
    """The whole report as JSON-ready values. Raises InputError, UsageError."""
    counts = tally(path, tolerance)
    mapped = counts.mapped.sum(axis=0)
    seen = int(mapped.sum() + counts.unmapped.sum())
    if total is not None and total < seen:
        raise UsageError(f"--total {total}: {path} has {seen} primary records")
    return {
        "file": path,
        "format": counts.format,
        "tolerance": tolerance,
        "mapq": mapq,
        **figures(mapped, total or seen, mapq),
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `gassst evaluate`."""
    parser.add_argument("alignments", metavar="FILE", help="SAM, BAM or CRAM")
    parser.add_argument("--tolerance", type=int, default=10, help="bases the start may be off [10]")
    parser.add_argument("--mapq", type=int, default=20, help="least MAPQ of a confident alignment [20]")
    parser.add_argument("--total", type=int, help="number of reads, if the file leaves out unmapped ones")
    parser.add_argument("--json", metavar="OUT.json", help="write the figures as JSON")


def main(args: argparse.Namespace) -> int:
    """Runs `gassst evaluate`. Raises UsageError, InputError, OutputError."""
    report = evaluate(args.alignments, args.tolerance, args.mapq, args.total)
    print("\n".join(f"{key}\t{value}" for key, value in report.items()))
    if args.json:
        with open(args.json, "w") as file:
            json.dump(report, file, indent=1)
    return 0


if __name__ == "__main__":
    _parser = argparse.ArgumentParser(prog="gassst evaluate", description=__doc__.partition("\n")[0])
    add_arguments(_parser)
    try:
        sys.exit(main(_parser.parse_args()))
    except GassstError as _error:
        print(f"gassst evaluate: {_error}", file=sys.stderr)
        sys.exit(_error.exit_code)
