"""Index the bundled E. coli genome, map the bundled reads, and say what was found and where.

    python scripts/demo.py [-v]          # -v: what ran where, too

The first mates are mapped once more as single reads, twice: by the default, and with OpenCL kernels on the CPU. The
demonstration ends with an error unless both write the same records. Where OpenCL cannot run, it says why.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

import pysam

from gassst.errors import DeviceError
from gassst.gpu.drivers import is_disabled
from gassst.gpu.platforms import choose

DATA = Path(__file__).parent.parent / "tests" / "data"
OUT = Path("demo")
GROUP = r"@RG\tID:ERR022075\tSM:MG1655\tLB:ERR022075\tPL:ILLUMINA"


def gassst(*args: str | Path, verbose: bool) -> None:
    print("$ gassst", *args, flush=True)
    volume = ["-v"] if verbose else ["-q"]
    subprocess.run([sys.executable, "-m", "gassst", *map(str, args), *volume], check=True)


def map_reads(index: Path, name: str, files: str, *options: str | Path, verbose: bool) -> tuple[Path, dict]:
    """The BAM file and the statistics. `files`: a pattern."""
    bam, stats = OUT / f"{name}.bam", OUT / f"{name}.json"
    reads = sorted(DATA.glob(files))
    argv = "map", index, *reads, "-o", bam, "--sort", "-R", GROUP, "--stats", stats, *options
    gassst(*argv, verbose=verbose)
    return bam, json.loads(stats.read_text())


def why_no_opencl() -> str:
    """Why there is no second run, "" if there can be one."""
    if is_disabled(None):
        return "GASSST_OPENCL=0 in the environment rules it out"
    try:
        choose("cpu")
    except DeviceError as error:
        return str(error).partition(". ")[0]
    return ""


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %"


def found(stats: dict) -> str:
    """What was mapped, for people."""
    reads, pairs = stats["reads"], stats["pairs"]
    insert = stats["run"]["insert"]
    sure = sum(n for quality, n in stats["mapq"].items() if int(quality) >= 20)
    bases = stats["bases"] / sum(stats["run"]["reference"]["lengths"])
    lines = {
        "sample": "E. coli K-12 MG1655, run ERR022075",
        "reads": f"{reads:,} in {pairs:,} pairs, {bases:.2f} per base of the genome",
        "mapped": f"{percent(stats['mapped'], reads)}, {percent(sure, reads)} to one place (MAPQ 20 or more)",
        "proper pairs": percent(stats["proper"], pairs),
        "fragments": f"{insert['mean']:.0f} +- {insert['sd']:.0f} bases",
        "time": f"{stats['run']['seconds']:.1f} s",
    }
    return "\n".join(f"  {name:<14}{text}" for name, text in lines.items())


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


def main(argv: list[str]) -> None:
    verbose = argv == ["-v"]
    OUT.mkdir(exist_ok=True)
    index, report = OUT / "ecoli.gsi", OUT / "ERR022075.html"
    gassst("index", DATA / "ecoli_k12_mg1655.fa.gz", "-o", index, verbose=verbose)
    pattern = "ecoli_ERR022075_R{}.fastq.gz"
    bam, stats = map_reads(index, "ERR022075", pattern.format("?"), "--report", report, verbose=verbose)
    why_not = why_no_opencl()
    if why_not:
        check = f"A run on the CPU by OpenCL is left out: {why_not}."
    else:
        one, by_default = map_reads(index, "single", pattern.format(1), verbose=verbose)
        other, by_kernels = map_reads(index, "opencl", pattern.format(1), "--device", "cpu", verbose=verbose)
        number = same_records(one, other)
        check = f"Two runs of the first mates, one on the CPU by OpenCL, wrote the same {number:,} records."
        if verbose:
            print("\nby the default:", work(by_default), "by OpenCL:", work(by_kernels), sep="\n")
    print("\nWhat was mapped:", found(stats), "", check, "", sep="\n")
    print(
        f"Open the report in a browser:  {report.resolve()}",
        f"Alignments, for IGV:           {bam}",
        sep="\n",
    )


if __name__ == "__main__":
    main(sys.argv[1:])
