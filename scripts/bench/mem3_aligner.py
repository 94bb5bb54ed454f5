"""Align pairs with bwa-mem3's Python package, and write down what the aligner alone takes.

    python scripts/bench/mem3_aligner.py INDEX THREADS USAGE.json R1.fq R2.fq

The package has no command: reading FASTQ, opening the index and writing records are not in these seconds. INDEX is an
index of bwa-mem2.
"""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BASES_PER_CALL = 1_000_000


def reads(path: str):
    """(name, bases, qualities) of every read."""
    with open(path, "rb") as file:
        for name, bases, _, qualities in zip(*[map(bytes.rstrip, file)] * 4, strict=True):
            yield name[1:].split()[0], bases, qualities


def main(index_path: str, threads: str, usage: str, *mates: str) -> None:
    import bwa_mem3  # rarely installed

    pairs = [
        bwa_mem3.ReadPair(name, first, other, second, first_q, second_q)
        for (name, first, first_q), (other, second, second_q) in zip(*map(reads, mates), strict=True)
    ]
    index, options = bwa_mem3.BwaIndex(index_path), bwa_mem3.MemOpts()
    options.set_pe(True)
    # A pair has about as many bases as a mate takes bytes in FASTQ.
    bases = Path(mates[0]).stat().st_size // len(pairs)
    size = max(1, BASES_PER_CALL // bases)
    calls = [pairs[i : i + size] for i in range(0, len(pairs), size)]
    with ThreadPoolExecutor(int(threads)) as pool:
        wall, before = time.perf_counter(), os.times()
        records = sum(pool.map(lambda call: len(bwa_mem3.align_batch(index, options, call)[0]), calls))
        wall, after = time.perf_counter() - wall, os.times()
    user = after.user - before.user
    cpu = user + after.system - before.system
    Path(usage).write_text(json.dumps({"wall": wall, "user": user, "cpu": cpu, "records": records}))


if __name__ == "__main__":
    main(*sys.argv[1:])
