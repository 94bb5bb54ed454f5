"""Index the bundled E. coli genome, map the bundled reads, and say what came of it, and what the filters did."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

DATA = Path(__file__).parent.parent / "tests" / "data"
OUT = Path("demo")


def gassst(*args: str | Path) -> None:
    print("$ gassst", *args, flush=True)
    subprocess.run([sys.executable, "-m", "gassst", *map(str, args)], check=True)


def main() -> None:
    OUT.mkdir(exist_ok=True)
    index, bam, stats = OUT / "ecoli.gsi", OUT / "ERR022075.bam", OUT / "ERR022075.json"
    reads = sorted(DATA.glob("ecoli_ERR022075_R?.fastq.gz"))
    gassst("index", DATA / "ecoli_k12_mg1655.fa.gz", "-o", index)
    lane = r"@RG\tID:ERR022075\tSM:MG1655\tLB:ERR022075\tPL:ILLUMINA"
    gassst("map", index, *reads, "-v", "-o", bam, "--sort", "-R", lane, "--stats", stats)
    print("\nran on:", json.loads(stats.read_text())["run"]["device"])
    print(
        "\nfiles:", *(f"  {path}  {path.stat().st_size:,} bytes" for path in sorted(OUT.iterdir())), sep="\n"
    )


if __name__ == "__main__":
    main()
