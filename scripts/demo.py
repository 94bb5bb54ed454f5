"""Index the bundled E. coli genome and map the bundled reads twice: by the default, and with OpenCL kernels on the CPU.

It says what either run did, and ends with an error unless both write the same records.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

import pysam

from gassst.gpu.platforms import devices

DATA = Path(__file__).parent.parent / "tests" / "data"
OUT = Path("demo")
GROUP = r"@RG\tID:ERR022075\tSM:MG1655\tLB:ERR022075\tPL:ILLUMINA"
KERNELS = ["--device", "cpu"]


def gassst(*args: str | Path) -> None:
    print("$ gassst", *args, flush=True)
    subprocess.run([sys.executable, "-m", "gassst", *map(str, args)], check=True)


def map_pairs(index: Path, name: str, *options: str | Path) -> tuple[Path, dict]:
    """The BAM file and the statistics."""
    bam, stats = OUT / f"{name}.bam", OUT / f"{name}.json"
    reads = sorted(DATA.glob("ecoli_ERR022075_R?.fastq.gz"))
    gassst("map", index, *reads, "-o", bam, "--sort", "-R", GROUP, "--stats", stats, *options)
    return bam, json.loads(stats.read_text())


def same_records(first: Path, second: Path) -> int:
    """Their number, when all are equal; headers differ by the command."""
    with pysam.AlignmentFile(str(first)) as one, pysam.AlignmentFile(str(second)) as other:
        number = 0
        for record, twin in zip_longest(one, other):
            if record is None or twin is None or record.to_string() != twin.to_string():
                sys.exit(f"{first} and {second} differ from record {number + 1} on")
            number += 1
    return number


def work(stats: dict) -> str:
    return f"  {stats['scored']:,} bands and {stats['traced']:,} tracebacks on: {stats['run']['device']}"


def main() -> None:
    OUT.mkdir(exist_ok=True)
    index = OUT / "ecoli.gsi"
    gassst("index", DATA / "ecoli_k12_mg1655.fa.gz", "-o", index)
    bam, stats = map_pairs(index, "ERR022075", "-v", "--report", OUT / "ERR022075.html")
    print("\nby the default:", work(stats), "", sep="\n")
    if any(device.usable and device.type == "cpu" for device in devices()):
        other, stats = map_pairs(index, "opencl", *KERNELS)
        print("\ngapped alignments in batched OpenCL kernels:", work(stats), "", sep="\n")
        print(f"both wrote the same {same_records(bam, other):,} records")
    else:
        print("no second run: PoCL, which makes the CPU an OpenCL device, has no package for this system")
    files = (f"  {path}  {path.stat().st_size:,} bytes" for path in sorted(OUT.iterdir()))
    print("\nfiles:", *files, sep="\n")


if __name__ == "__main__":
    main()
