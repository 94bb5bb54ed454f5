"""Whether `--sort-memory` bounds what sorting and marking take: records go straight into the sorter.

A share of the pairs is there again under other names; all qualities are equal, so each of these sets is a tie.
"""

from __future__ import annotations

import tracemalloc
from collections import deque
from functools import partial
from typing import Any

import numpy as np
import pysam
import pytest

from gassst.files.destination import AlignmentDestination
from gassst.records.duplicate_metrics import metrics_files
from gassst.records.duplicates import DuplicateSearch, LibraryNames, Signed, signer_for
from gassst.records.marking import MarkedBamFormat, SignedRun
from gassst.records.options import DuplicateRules
from gassst.records.sorted_runs import Run
from gassst.records.sorting import SortedBamFormat
from gassst.workers.threads import Workers

GENOME = 100_000_000
LENGTH = 150
BATCH = 500  # pairs
PAIRS, AGAIN, MEMORY = 45_000, 0.3, 3 << 19
NAME = b"M1:7:FLOWCELL:1:"  # then tile, x and y, with a colon between two
DIGITS = (4, 5, 9)
CORE = [
    ("size", "<i4"), ("tid", "<i4"), ("position", "<i4"), ("l_name", "u1"), ("mapq", "u1"), ("bin", "<u2"),
    ("n_cigar", "<u2"), ("flag", "<u2"), ("length", "<i4"), ("mate_tid", "<i4"), ("mate", "<i4"), ("tlen", "<i4"),
]  # fmt: skip
TEXT = len(NAME) + sum(DIGITS) + len(DIGITS)  # with the NUL behind it
RECORD = np.dtype(
    [*CORE, ("name", "u1", TEXT), ("cigar", "<u4"), ("bases", "u1", LENGTH // 2), ("quals", "u1", LENGTH)]
)
HEADER = pysam.AlignmentHeader.from_dict({"HD": {"VN": "1.6"}, "SQ": [{"SN": "chr", "LN": GENOME}]})


def mixed(numbers: np.ndarray, salt: int) -> np.ndarray:
    """Numbers that look random, the same for the same ones."""
    made = (numbers + np.uint64(salt)) * np.uint64(0x9E3779B97F4A7C15)
    made = (made ^ made >> np.uint64(29)) * np.uint64(0xBF58476D1CE4E5B9)
    return made ^ made >> np.uint64(32)


def records_of(first: int, n: int, again: float) -> bytes:
    """BAM of pairs `first` to `first` + `n` - 1; some lie where one before them lies."""
    pairs = np.arange(first, first + n, dtype=np.uint64)
    is_copy = (mixed(pairs, 1) % np.uint64(1 << 20) < int(again * (1 << 20))) & (pairs > 0)
    origin = np.where(is_copy, mixed(pairs, 2) % np.maximum(pairs, np.uint64(1)), pairs)
    left = (mixed(origin, 3) % np.uint64(GENOME - 1000)).astype(np.int64)
    right = left + 100 + (mixed(origin, 4) % np.uint64(300)).astype(np.int64)
    records = np.zeros((n, 2), RECORD)
    records["size"], records["l_name"], records["mapq"] = RECORD.itemsize - 4, TEXT, 60
    records["n_cigar"], records["cigar"], records["length"] = 1, LENGTH << 4, LENGTH
    records["flag"], records["quals"] = (99, 147), 37
    records["position"] = np.stack([left, right], 1)
    records["mate"] = np.stack([right, left], 1)
    records["tlen"] = np.stack([right - left + LENGTH, left - right - LENGTH], 1)
    records["name"][:, :, :-1] = names_of(pairs)[:, None, :]
    records["bases"] = np.array([0x11, 0x12, 0x48, 0x84], np.uint8)[
        (mixed(pairs, 5)[:, None, None] >> np.arange(38, dtype=np.uint64)) % np.uint64(4)
    ].repeat(2, axis=2)[:, :, : LENGTH // 2]
    return records.tobytes()


def names_of(pairs: np.ndarray) -> np.ndarray:
    """uint8[n, TEXT - 1]; no two are the same."""
    spots = mixed(pairs, 6)
    fields = (1101 + spots % np.uint64(78), spots >> np.uint64(8) & np.uint64(0x7FFF), pairs)
    columns = [np.broadcast_to(np.frombuffer(NAME, np.uint8), (len(pairs), len(NAME)))]
    for values, width in zip(fields, DIGITS, strict=True):
        powers = np.uint64(10) ** np.arange(width - 1, -1, -1, dtype=np.uint64)
        columns.append((values[:, None] // powers % np.uint64(10) + np.uint64(48)).astype(np.uint8))
        columns.append(np.full((len(pairs), 1), ord(":"), np.uint8))
    return np.concatenate(columns[:-1], axis=1)


def run_of(signer: Any, first: int, n: int, again: float) -> Run | SignedRun:
    """A call of workers: what they make of a batch."""
    bam = records_of(first, n, again)
    if signer is None:
        return Run.of(bam, 2 * n)
    templates, signed = Signed.of(signer, bam, 2 * n)
    return SignedRun(Run.of(bam, 2 * n, templates), signed)


def sorted_pairs(kind: str, folder) -> int:
    """Sorts, and marks, as a run with one thread does; returns how many duplicates there are."""
    rules = DuplicateRules(metrics_path=str(folder / "metrics") if kind == "metrics" else None)
    libraries = LibraryNames.of(str(HEADER), rules.within)
    search = DuplicateSearch(rules, libraries) if kind != "sort" else None
    signer = None if search is None else signer_for(rules, libraries, HEADER.lengths)
    workers, call = Workers(1), partial(run_of, signer)
    destination = AlignmentDestination(str(folder / "out.bam"), ".bai")
    common = HEADER.lengths, str(HEADER), 1, destination, workers, MEMORY
    target: Any = SortedBamFormat(*common) if search is None else MarkedBamFormat(search, *common)
    target.begin(destination.open())
    waiting: deque[Any] = deque()
    for first in range(0, PAIRS, BATCH):
        waiting.append(workers.submit(call, first, min(BATCH, PAIRS - first), AGAIN))
        if len(waiting) > 2:
            target.write(waiting.popleft().result())
    while waiting:
        target.write(waiting.popleft().result())
    target.close()
    destination.commit()
    for file in [] if search is None else metrics_files(rules, search.counts):
        file.close()
        file.commit()
    workers.close()
    return 0 if search is None else search.counts.reads


@pytest.mark.parametrize("kind", ["sort", "metrics"])
def test_sorting_and_marking_stay_within_their_memory(tmp_path, kind, monkeypatch):
    """As NumPy tells it: what is on disk is never in memory as a whole, ties or not."""
    monkeypatch.setattr("gassst.records.sorting.RANGE_RECORDS", 1000)
    monkeypatch.setattr("gassst.records.duplicates.RANGE_ROWS", 1000)
    for name in ("sorted_runs", "duplicates"):
        monkeypatch.setattr(f"gassst.records.{name}.SAMPLE", 16)
    tracemalloc.start()
    try:
        duplicates = sorted_pairs(kind, tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * MEMORY < RECORD.itemsize * PAIRS / 4
    assert (duplicates > PAIRS / 3) == (kind != "sort")
