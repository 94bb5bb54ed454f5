"""Whether the parts of a run are the run: many numbers of parts, every form of input, against one run on all.

    python scripts/check/shards.py ref.gsi reads_1.fq reads_2.fq --parts 1 2 3 7 100
    python scripts/check/shards.py ref.gsi reads.fq --parts 5 --markdup

The reads are plain FASTQ. They are mapped as they are, as BGZF, interleaved, and as unmapped BAM. Parts are mapped in
random order, one of them twice. Records are compared as text, and statistics but for times. Ends with 1 where anything
differs.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import pysam


def main(argv: list[str] | None = None) -> int:
    """Run the comparisons; 1 where anything differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("index", type=Path)
    parser.add_argument("reads", type=Path, nargs="+", help="plain FASTQ; two files of pairs")
    parser.add_argument("--parts", type=int, nargs="+", default=[1, 2, 3, 7, 100])
    parser.add_argument("--forms", nargs="+", default=list(FORMS), choices=FORMS)
    parser.add_argument("--markdup", action="store_true", help="sort, and mark duplicates")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    draw, bad = random.Random(args.seed), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for form in args.forms:
            if form == "interleaved" and len(args.reads) == 1:
                continue
            source = FORMS[form](args.reads, folder)
            order = ["--sort", "--markdup"] if args.markdup else []
            whole = folder / "whole.bam"
            gassst("map", args.index, *source, *order, "-o", whole, "--stats", folder / "whole.json")
            for n in args.parts:
                joined = in_parts(args.index, source, n, order, folder, draw)
                same = is_same(whole, joined) and counts_of(folder / "whole.json") == counts_of(
                    folder / "x.json"
                )
                bad += not same
                print(f"{form:<12}{n:>5} parts: {'the same' if same else 'DIFFERENT'}", flush=True)
    return int(bad > 0)


def gassst(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "gassst", *map(str, words), "-q"], check=True)


def in_parts(
    index: Path, source: list[object], n: int, order: list[str], folder: Path, draw: random.Random
) -> Path:
    """Map n parts, and join them in any order."""
    numbers = [*range(1, n + 1), draw.randint(1, n)]
    draw.shuffle(numbers)
    for i in numbers:
        out = ["-o", folder / f"part{i}.bam", "--stats", folder / f"part{i}.json"]
        gassst("map", index, *source, "--shard", f"{i}/{n}", *out)
    parts = [folder / f"part{i}.bam" for i in set(numbers)]
    counts = [part.with_suffix(".json") for part in parts]
    draw.shuffle(parts)
    gassst(
        "gather",
        *parts,
        *order,
        "-o",
        folder / "x.bam",
        "--part-stats",
        *counts,
        "--stats",
        folder / "x.json",
    )
    return folder / "x.bam"


def is_same(one: Path, other: Path) -> bool:
    """Whether two files have the same records in the same order."""
    return all(a == b for a, b in zip_longest(records_of(one), records_of(other)))


def records_of(path: Path) -> Iterator[str]:
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        for record in file:
            yield record.to_string()


def counts_of(path: Path) -> dict:
    """Statistics without times."""
    counts = json.loads(path.read_text())
    for name in ("run", "nanoseconds"):
        del counts[name]
    counts["funnel"] = {name: (stage["in"], stage["out"]) for name, stage in counts["funnel"].items()}
    return counts


# --- forms of the input -------------------------------------------------------------------------------------


def as_it_is(reads: list[Path], _folder: Path) -> list[object]:
    return [*reads]


def as_bgzf(reads: list[Path], folder: Path) -> list[object]:
    paths = [folder / f"{i}.fq.gz" for i in range(len(reads))]
    gassst("split", *reads, *(word for path in paths for word in ("-o", path)))
    return [*paths]


def as_interleaved(reads: list[Path], folder: Path) -> list[object]:
    with open(reads[0]) as one, open(reads[1]) as two, open(folder / "both.fq", "w") as both:
        while record := [one.readline() for _ in range(4)]:
            if not record[0]:
                break
            both.writelines([*record, *(two.readline() for _ in range(4))])
    return ["--interleaved", folder / "both.fq"]


def as_bam(reads: list[Path], folder: Path) -> list[object]:
    names = ["-1", reads[0], "-2", reads[1]] if len(reads) > 1 else ["-0", reads[0]]
    pysam.fqimport("-o", str(folder / "reads.bam"), *map(str, names), catch_stdout=False)
    return [folder / "reads.bam"]


FORMS = {"plain": as_it_is, "bgzf": as_bgzf, "interleaved": as_interleaved, "bam": as_bam}

if __name__ == "__main__":
    sys.exit(main())
