"""Try the installed gassst as a user would: index a genome, map pairs to sorted BAM, simulate, evaluate, report.

    python scripts/packaging/try_installed.py tests/data

Without the extra `report` it sees that the errors name it. It uses the command beside this Python and no file of the
source tree but the data, so it shows what a wheel lacks.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pysam

GASSST = Path(sysconfig.get_path("scripts"), "gassst")
READS, LEAST_RIGHT = 2000, 0.97  # of reads of 100 bases with 2 % errors on E. coli


def gassst(*arguments: object) -> str:
    done = subprocess.run(
        [GASSST, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": ""},
    )
    if done.returncode:
        sys.exit(f"gassst {arguments[0]}: exit code {done.returncode}")
    return done.stdout


def fails_with(extra: str, *arguments: object) -> None:
    """Ends the script unless the command ends with one line that names the extra."""
    done = subprocess.run([GASSST, *map(str, arguments)], capture_output=True, text=True)
    error = done.stderr
    if not done.returncode or error.count("\n") != 1 or f"`pip install gassst[{extra}]`" not in error:
        sys.exit(f"gassst {arguments[0]}: exit code {done.returncode}, {error!r} names no extra {extra!r}")


def main(data: Path) -> int:
    print(gassst("--version"), gassst("devices"), sep="")
    data = data.resolve()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        genome = data / "ecoli_k12_mg1655.fa.gz"
        gassst("index", genome, "-o", "ref.gsi")
        Path("ref.fa").write_bytes(gzip.decompress(genome.read_bytes()))  # CRAM is read with it
        mates = [data / f"ecoli_ERR022075_R{mate}.fastq.gz" for mate in (1, 2)]
        for output in ("pairs.bam", "pairs.cram", "pairs.sam"):
            gassst("map", "ref.gsi", *mates, "-o", output, "--sort", "--stats", "pairs.json", "-q")
            with pysam.AlignmentFile(output, check_sq=False, reference_filename="ref.fa") as file:
                mapped = sum(not record.is_unmapped for record in file)
            counts = json.loads(Path("pairs.json").read_text(encoding="utf-8"))
            if mapped < counts["mapped"] or counts["mapped"] < 0.9 * counts["reads"]:
                sys.exit(f"{output}: {mapped} mapped records, {counts['mapped']} of {counts['reads']} reads")
        if find_spec("matplotlib"):
            gassst("report", "pairs.json", "-o", "pairs.html")
        else:
            fails_with("report", "report", "pairs.json", "-o", "pairs.html")
            fails_with("report", "map", "ref.gsi", *mates, "-o", "no.bam", "--report", "no.html")
        gassst("simulate", genome, "-n", READS, "-l", 100, "-e", 0.02, "-o", "sim.fq")
        gassst("map", "ref.gsi", "sim.fq", "-o", "sim.bam", "-q")
        gassst("evaluate", "sim.bam", "--json", "sim.json")
        if not find_spec("matplotlib"):
            fails_with("report", "evaluate", "sim.bam", "--plot", "sim.svg")
        right = json.loads(Path("sim.json").read_text(encoding="utf-8"))["all"]["placed_right"]
        if right < LEAST_RIGHT:
            sys.exit(f"only {100 * right:.2f} % of simulated reads are placed right")
        print(
            f"{counts['mapped']} of {counts['reads']} real reads mapped, {100 * right:.2f} % of simulated ones right"
        )
        os.chdir("/")  # some systems remove no folder that is in use
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
