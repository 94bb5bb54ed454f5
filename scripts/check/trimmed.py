"""Reads with adapters and the same reads trimmed: same places, same classes of MAPQ?

    python scripts/check/trimmed.py ecoli.fa ecoli.gsi -n 20000
    python scripts/check/trimmed.py ecoli.fa ecoli.gsi -n 20000 --single

Pairs of 2x150 bases with inserts of 40 to 145 are simulated, with read-through into Nextera adapters. Each is mapped
as it is, and cut where its adapter begins. That is where its fragment ends, which its name tells, or a few bases
beside that where the read has an insertion or deletion. Two records of a read agree where both are
unmapped, or lie within 10 bases of each other with MAPQ of one class (0-3, 4-19, 20-39, 40-60). Reads with several
equally good places (both with MAPQ 0-3) agree wherever they lie. With `--single` only the first mates are mapped, as
single reads with `--mode local`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pysam

GASSST = (sys.executable, "-m", "gassst")
ADAPTER = "CTGTCTCTTATACACATCT"  # what Nextera reads of both mates run into
SHIFT = 8  # bases by which insertions and deletions may move it
CLASSES = (4, 20, 40)  # the first MAPQ of each class but the lowest
NEAR = 10  # bases
NEEDED = 99.5  # % of reads that agree


def fragment_length(name: str) -> int:
    """Bases of the fragment, from the ends of both mates in the name."""
    fields = name.split(",")
    places = [int(fields[i]) for i in (2, 3, 8, 9)]
    return max(places) - min(places) + 1


def adapter_start(sequence: str, size: int) -> int:
    """Where the adapter begins that should do so behind `size` bases: the least differences, then the least shift."""

    def worth(start: int) -> tuple[int, int]:
        bases = sequence[start : start + len(ADAPTER)].ljust(len(ADAPTER))
        return sum(a != b for a, b in zip(ADAPTER, bases, strict=True)), abs(start - size)

    return min(range(size - SHIFT, size + SHIFT + 1), key=worth)


def trim(source: Path, target: Path) -> None:
    """Write the reads of a FASTQ file without what lies behind their fragment."""
    with pysam.FastxFile(str(source)) as reads, target.open("w") as out:
        for read in reads:
            size = adapter_start(read.sequence, fragment_length(read.name))
            out.write(f"@{read.name}\n{read.sequence[:size]}\n+\n{read.quality[:size]}\n")


def primaries(index: str, files: list[Path], folder: Path) -> dict[tuple[str, bool], tuple]:
    """(contig, first base that the read would face, MAPQ) of every read; contig None where it is unmapped."""
    bam = folder / "mapped.bam"
    options = ("-q", "--device", "none", "--mode", "local")
    subprocess.run([*GASSST, "map", *options, index, *map(str, files), "-o", str(bam)], check=True)
    found = {}
    with pysam.AlignmentFile(str(bam)) as records:
        for r in records:
            if not r.flag & 0x900:
                end = r.reference_end if r.is_reverse else r.reference_start
                found[r.query_name, r.is_read2] = (
                    r.reference_name if not r.is_unmapped else None,
                    end,
                    r.mapping_quality,
                )
    return found


def verdict(whole: tuple, cut: tuple) -> str:
    """Whether two records of a read agree, and where they do not."""
    if whole[0] is None or cut[0] is None:
        return "agree" if whole[0] == cut[0] else "unmapped in one"
    classes = np.searchsorted(CLASSES, [whole[2], cut[2]], side="right")
    if not classes.any():
        return "agree"
    if whole[0] != cut[0] or abs(whole[1] - cut[1]) > NEAR:
        return "other place"
    return "agree" if classes[0] == classes[1] else "other MAPQ"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("reference", help="FASTA")
    parser.add_argument("index", help="the gassst index of it")
    parser.add_argument("-n", "--number", type=int, default=20_000, help="pairs [20000]")
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument("--single", action="store_true", help="map the first mates as single reads")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        files, cut = ([folder / f"{kind}_{mate}.fq" for mate in (1, 2)] for kind in ("whole", "cut"))
        outputs = [word for path in files for word in ("-o", str(path))]
        size = (
            "-n",
            str(args.number),
            "-l",
            "150",
            "-e",
            "0.005",
            "--inserts",
            "40,145",
            "--seed",
            str(args.seed),
        )
        subprocess.run(
            [*GASSST, "simulate", args.reference, *size, "--adapter", "nextera", *outputs], check=True
        )
        for source, target in zip(files, cut, strict=True):
            trim(source, target)
        mapped = slice(1 if args.single else 2)
        whole, trimmed = (primaries(args.index, some[mapped], folder) for some in (files, cut))
    counts = Counter(verdict(whole[mate], trimmed[mate]) for mate in whole)
    share = 100 * counts["agree"] / sum(counts.values())
    print(", ".join(f"{name} {count}" for name, count in counts.most_common()))
    print(f"agree: {share:.3f} % of {sum(counts.values())} reads; {NEEDED} % are asked for")
    return int(share < NEEDED)


if __name__ == "__main__":
    sys.exit(main())
