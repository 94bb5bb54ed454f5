#!/usr/bin/env python3
"""Index and map genomes and read sets of several sizes: time per read, memory, and what is placed right.

    scripts/bench/scale.py 10M:100K,1M,10M 100M:100K,1M 1G:100K --memory 2G --json scale.json

Each genome comes from make_genome.py, its reads from `gassst simulate`; both are removed when they have been
used. Every run is a process of its own (timed.py): CPU and wall seconds, peak resident set. The resident set
counts the pages of the mapped index that were touched; with --memory, one more run over the fewest reads is
made under that limit. Reads are judged once for each set, as the output is the same for any threads (a test).
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import make_genome
import scale_tables
from harness import benchmark_parser, describe_machine, numbers, run, table, write_json
from peers import CONFIDENT, TOLERANCE
from turns import timed

from gassst.errors import UsageError
from gassst.index.seed_index import SeedIndex
from gassst.tools.evaluate import evaluate

GASSST = [sys.executable, "-m", "gassst"]


def genome_and_reads(text: str) -> tuple[int, list[int]]:
    """(10_000_000, [100_000, 1_000_000]) of "10M:100K,1M", for argparse."""
    size, reads = text.split(":")
    return make_genome.bases(size), sorted(map(make_genome.bases, reads.split(",")))


def index_genome(fasta: Path, index: Path, threads: int) -> dict[str, Any]:
    command = [*GASSST, "index", str(fasta), "-o", str(index), "-t", str(threads)]
    usage = timed(command, index.with_suffix(".log"))
    opened = SeedIndex.open(index)
    size = index.stat().st_size
    unmasked = opened.reference.unmasked
    return {
        **usage,
        "bytes": size,
        "bytes_per_base": size / opened.reference.lengths.sum(),
        "bytes_per_unmasked_base": size / unmasked,
        "unmasked": unmasked,
        "k": opened.k,
    }


def simulate(fasta: Path, reads: Path, number: int, args: argparse.Namespace) -> None:
    options = ["-n", number, "-l", args.length, "-e", args.error, "-o", reads]
    subprocess.run([*GASSST, "simulate", str(fasta), *map(str, options)], check=True)


def map_reads(
    index: Path, reads: Path, sam: Path, threads: int, args: argparse.Namespace, *options: str
) -> dict:
    command = [*GASSST, "map", str(index), str(reads), "-o", str(sam), "-t", str(threads), "-q"]
    return timed([*command, *args.options.split(), *options], sam.with_suffix(".log"))


def runs_of(
    index: Path, fasta: Path, counts: list[int], args: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Every run over one genome, as it is done."""
    work = index.parent
    reads, sam = work / "reads.fq", work / "out.sam"
    for number in counts:
        simulate(fasta, reads, number, args)
        judged: dict[str, Any] = {}
        for threads in args.threads:
            usage = map_reads(index, reads, sam, threads, args)
            judged = judged or placed(sam, number)
            yield {"reads": number, "threads": threads, "memory": None, **usage, **judged}
        if args.memory and number == counts[0]:
            usage = map_reads(index, reads, sam, args.threads[-1], args, "--memory", args.memory)
            found = placed(sam, number)
            yield {"reads": number, "threads": args.threads[-1], "memory": args.memory, **usage, **found}


def placed(sam: Path, number: int) -> dict[str, Any]:
    found = evaluate(str(sam), TOLERANCE, CONFIDENT, number)["all"]
    return {key: found[key] for key in ("mapped_share", "placed_right")}


def bench_genome(size: int, counts: list[int], work: Path, args: argparse.Namespace) -> dict[str, Any]:
    fasta, index = work / "genome.fa", work / "genome.gsi"
    make_genome.main([str(fasta), "--size", str(size)])
    built = index_genome(fasta, index, args.threads[-1])
    say(f"{size:,} bases: {built['wall']:.0f} s, {built['bytes_per_base']:.2f} bytes a base")
    runs = []
    for one in runs_of(index, fasta, counts, args):
        runs.append(one)
        limit = f", --memory {one['memory']}" if one["memory"] else ""
        say(f"  {one['reads']:,} reads, {one['threads']} threads{limit}: {one['cpu']:.1f} s CPU")
    return {"size": size, "index": built, "runs": runs}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def build_parser() -> argparse.ArgumentParser:
    p = benchmark_parser(__doc__)
    p.add_argument("genomes", nargs="+", type=genome_and_reads, metavar="BASES:READS,..")
    p.add_argument("-l", "--length", type=int, default=100, help="of the reads (default: %(default)s)")
    p.add_argument("-e", "--error", type=float, default=0.02, help="of the reads (default: %(default)s)")
    p.add_argument("--threads", type=numbers, default=(1, 2), metavar="N,..", help="(default: 1,2)")
    p.add_argument("--memory", metavar="SIZE", help="one more run under this limit")
    p.add_argument("--options", default="", metavar="OPTS", help="of `gassst map`, in one word")
    p.add_argument("--work", metavar="DIR", help="where the files go while needed (default: the system's)")
    return p


def main(argv: Sequence[str] | None = None) -> None:
    args = build_parser().parse_args(argv)
    if min(args.threads) < 1:
        raise UsageError("--threads must be at least 1")
    print(describe_machine(), end="\n\n")
    genomes: list[dict[str, Any]] = []
    results = {"length": args.length, "error": args.error, "genomes": genomes}
    for size, counts in args.genomes:
        work = Path(tempfile.mkdtemp(prefix="gassst-scale-", dir=args.work))
        try:
            genomes.append(bench_genome(size, counts, work, args))
        finally:
            shutil.rmtree(work)
        write_json(args.json, results)
    print(table(scale_tables.INDEX_HEADER, scale_tables.index_rows(results)))
    print(table(scale_tables.MAP_HEADER, scale_tables.map_rows(results)))


if __name__ == "__main__":
    run(main)
