"""Digests of what the compiled kernels find, to compare machines: the same lines must appear on every processor.

    python scripts/check/kernel_digest.py                          # here
    qemu-aarch64 -L ROOT python3 scripts/check/kernel_digest.py    # there

Reads of 20 to 300 bases, with errors, lie at known places of a random reference. Each line is an instruction set, a
kernel and a digest of all its results. The instruction sets of one machine must agree, too.
"""

from __future__ import annotations

import hashlib
import sys
from typing import Any

import numpy as np

from gassst._core.banded import instruction_sets
from gassst.bands.base import WIDTHS, WORDS
from gassst.bands.cpu import CpuExtender
from gassst.gpu.local_pairs import aligned, scored
from gassst.model.params import Scoring
from gassst.reads.in_memory import batch_of_records

BASES = np.frombuffer(b"ACGTN", np.uint8)
READS = 500


def pairs() -> tuple[np.ndarray, Any, np.ndarray, np.ndarray]:
    """Planes of the reference, packed reads, `read_strand` and band starts uint32[READS]."""
    rng = np.random.default_rng(7)
    text = rng.choice(4, 100_032)
    starts = rng.integers(1000, 99_000, READS)
    reads = []
    for i, start in enumerate(starts):
        read = text[start : start + rng.integers(20, 301)].copy()
        wrong = rng.random(len(read)) < rng.choice([0, 0.02, 0.1])
        read[wrong] = rng.integers(0, 5, wrong.sum())
        for _ in range(rng.integers(3)):
            at = rng.integers(len(read))
            read = np.delete(read, at) if rng.random() < 0.5 else np.insert(read, at, rng.integers(4))
        reads.append((f"read{i}", BASES[read].tobytes(), None))
    reference = batch_of_records([("reference", BASES[text].tobytes(), None)]).pack()
    planes = np.ascontiguousarray(reference.planes[: len(text) // 64])
    read_strand = 2 * np.arange(READS) + rng.integers(0, 2, READS)
    return (
        planes,
        batch_of_records(reads).pack(),
        read_strand.astype(np.uint32),
        (starts - 8).astype(np.uint32),
    )


def digest(arrays: Any) -> str:
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()[
        :16
    ]


def digests(name: str, case: Any) -> dict[str, str]:
    """Of every kernel at every width, by an instruction set."""
    planes, packed, read_strand, start = case
    found = {}
    with CpuExtender(planes, name).open_reads(packed) as handle:
        for words in WORDS:
            best, end = handle.score(read_strand, start, words)
            found[f"score {words}"] = digest([best, end])
            found[f"profile {words}"] = digest([handle.profile(read_strand, start, words)])
            found[f"align {words}"] = digest(handle.align(read_strand, start, words, end, best))
        for width in WIDTHS:
            found[f"local {width}"] = digest(scored(handle, read_strand, start, width, Scoring()))
            found[f"align_local {width}"] = digest(aligned(handle, read_strand, start, width, Scoring()))
    return found


def main() -> int:
    case = pairs()
    found = {name: digests(name, case) for name in instruction_sets()}
    first = next(iter(found.values()))
    for name, lines in found.items():
        for kernel, value in lines.items():
            print(f"{name:<8} {kernel:<16} {value}{'' if value == first[kernel] else '  differs'}")
    return int(any(lines != first for lines in found.values()))


if __name__ == "__main__":
    sys.exit(main())
