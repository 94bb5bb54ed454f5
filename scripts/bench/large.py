"""Genomes beyond 2^32 bases: made, indexed, and mapped to; what that takes, and how many reads are correct.

    python scripts/bench/large.py --gigabases 6 17 --work /tmp/large

A genome is random, in contigs of a gigabase, with an element of 1,000 bases in every hundredth kilobase: one of a
thousand, with 5 % substitutions. Its FASTA and index lie in the working folder, which is emptied behind each genome:
17 gigabases take 51 GB there. Seconds are wall time; memory is the largest resident size of one process, with the
pages of files mapped into it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

CONTIG = 1_000_000_000
LINE = 100_000  # bases
ELEMENTS, ELEMENT = 1000, 1000
LETTERS = np.frombuffer(b"ACGT", np.uint8)
LINES_AT_ONCE = 500


def header(contig: int) -> bytes:
    return f">chr{contig + 1:05}\n".encode()


def write_contig(path: Path, contig: int, bases: int, seed: int) -> None:
    """Write one contig where it belongs in the file: those before have `CONTIG` bases."""
    rng = np.random.default_rng((seed, contig))
    elements = np.random.default_rng(seed).integers(0, 4, (ELEMENTS, ELEMENT), dtype=np.uint8)
    with open(path, "r+b", buffering=0) as file:
        file.seek(contig * (len(header(0)) + CONTIG + CONTIG // LINE))
        file.write(header(contig))
        for first in range(0, bases // LINE, LINES_AT_ONCE):
            rows = min(LINES_AT_ONCE, bases // LINE - first)
            codes = np.frombuffer(rng.bytes(rows * LINE), np.uint8).reshape(rows, LINE) & 3
            at = rng.integers(0, LINE - ELEMENT, rows)
            for row, element in enumerate(elements[rng.integers(0, ELEMENTS, rows)]):
                copy = element + (rng.random(ELEMENT) < 0.05) * rng.integers(1, 4, ELEMENT, dtype=np.uint8)
                codes[row, at[row] : at[row] + ELEMENT] = copy & 3
            lines = np.full((rows, LINE + 1), ord("\n"), np.uint8)
            lines[:, :LINE] = LETTERS[codes]
            file.write(lines.data)


def write_genome(path: Path, bases: int, seed: int, processes: int) -> None:
    path.touch()
    sizes = [min(CONTIG, bases - start) for start in range(0, bases, CONTIG)]
    with ProcessPoolExecutor(processes) as pool:
        list(pool.map(write_contig, *zip(*((path, i, n, seed) for i, n in enumerate(sizes)), strict=True)))


def measured(name: str, *arguments: object) -> dict[str, float]:
    """Run a command of gassst, and say what it took."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "gassst", *map(str, arguments)]
    _, status, usage = os.wait4(os.spawnv(os.P_NOWAIT, command[0], command), 0)
    taken = {
        "seconds": round(time.perf_counter() - began, 1),
        "cpu": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_gb": round(usage.ru_maxrss * 1024 / 1e9, 2),
    }
    print(f"{name}: {json.dumps(taken)}", flush=True)
    if status:
        sys.exit(f"{name} failed: {os.waitstatus_to_exitcode(status)}")
    return taken


def run(work: Path, gigabases: float, pairs: int, threads: int, options: list[str]) -> None:
    fasta, index, out = work / "g.fa", work / "g.gsi", work / "out.bam"
    reads = work / "1.fq", work / "2.fq"
    began = time.perf_counter()
    write_genome(fasta, int(gigabases * 1e9) // LINE * LINE, 1, threads)
    print(f"{gigabases} Gb: written in {time.perf_counter() - began:.1f} s", flush=True)
    measured("simulate", "simulate", fasta, "-n", pairs, "-l", 100, "-e", 0.01, "--pairs", "350,35",
             "-o", reads[0], "-o", reads[1])  # fmt: skip
    measured("index", "index", fasta, "-o", index, "-t", threads, *options)
    fasta.unlink()
    sizes = sum(path.stat().st_size for path in work.glob("g.*"))
    print(f"index on disk: {sizes / 1e9:.2f} GB", flush=True)
    for number in ("first", "second"):
        measured(f"map, {number}", "map", index, *reads, "-t", threads, "--device", "none", "-o", out)
    measured("evaluate", "evaluate", out, "--reads", reads[0], "--reads", reads[1])


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabases", type=float, nargs="+", default=[6, 17])
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--work", type=Path, required=True, help="a folder of its own, which is emptied")
    parser.add_argument("-t", "--threads", type=int, default=os.cpu_count())
    parser.add_argument(
        "--index-option", action="append", default=[], help="of gassst index, such as --step=4"
    )
    args = parser.parse_args(argv)
    for gigabases in args.gigabases:
        args.work.mkdir(parents=True)
        try:
            run(args.work, gigabases, args.pairs, args.threads, args.index_option)
        finally:
            shutil.rmtree(args.work)


if __name__ == "__main__":
    main()
