"""What marking duplicates costs: `gassst map --sort` and `--sort --markdup` in turn, on simulated pairs (Linux).

    python scripts/bench/markdup_cost.py GENOME.fa [-n 1000000] [--again 0.15] [-t 16] [--rounds 5] [--json FILE]

Pairs are simulated, and a share of them is there `--again` under other names: their qualities are equal, so all of
these are ties, the dearest kind of duplicates. Prints wall and CPU seconds of every run, and ratios of the minima.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from harness import write_json

GASSST = [sys.executable, "-m", "gassst"]
KINDS = {
    "unsorted": [],
    "--sort": ["--sort"],
    "--sort --markdup": ["--sort", "--markdup"],
    "with metrics": ["--sort", "--markdup", "--markdup-metrics"],
}


def simulate(genome: Path, folder: Path, pairs: int, again: float) -> list[Path]:
    """FASTQ of first and of second mates; the same share of pairs is in both again."""
    files = [folder / "reads_1.fq", folder / "reads_2.fq"]
    options = ["-n", str(pairs), "-l", "150", "-e", "0.005", "--pairs", "400,60", "--seed", "1"]
    command = [
        *GASSST,
        "simulate",
        os.fspath(genome),
        *options,
        "-o",
        os.fspath(files[0]),
        "-o",
        os.fspath(files[1]),
    ]
    subprocess.run(command, check=True)
    for path in files:
        repeat(path, again)
    return files


def repeat(path: Path, share: float) -> None:
    """Append some of the reads of a file to it, with other names."""
    draw = random.Random(1)
    extra = path.with_suffix(".again")
    with open(path, "rb") as file, open(extra, "wb") as out:
        while record := list(islice(file, 4)):
            if draw.random() < share:
                name, *rest = record
                out.writelines([b"@again" + name[1:], *rest])
    with open(path, "ab") as file:
        file.write(extra.read_bytes())
    extra.unlink()


def run(kind: str, index: Path, files: list[Path], folder: Path, threads: int) -> dict[str, float]:
    """Wall and CPU seconds of one run."""
    options = [*KINDS[kind]]
    if options[-1:] == ["--markdup-metrics"]:
        options.append(os.fspath(folder / "metrics.txt"))
    command = [*GASSST, "map", "-q", "-t", str(threads), os.fspath(index), *map(os.fspath, files), *options]
    start = time.perf_counter()
    child = subprocess.Popen([*command, "-o", os.fspath(folder / "out.bam")])
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)}: failed")
    return {"wall": time.perf_counter() - start, "cpu": used.ru_utime + used.ru_stime}


def main(argv: list[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("genome", type=Path)
    parser.add_argument("-n", "--pairs", type=int, default=1_000_000)
    parser.add_argument("--again", type=float, default=0.15, help="share of the pairs that are there twice")
    parser.add_argument("-t", "--threads", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        index = folder / "genome.gsi"
        subprocess.run([*GASSST, "index", "-q", os.fspath(args.genome), "-o", os.fspath(index)], check=True)
        files = simulate(args.genome, folder, args.pairs, args.again)
        runs: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
        for _ in range(args.rounds):
            for kind in KINDS:
                runs[kind].append(run(kind, index, files, folder, args.threads))
                print(
                    f"{kind:<18} wall {runs[kind][-1]['wall']:.2f} s, CPU {runs[kind][-1]['cpu']:.2f} s",
                    flush=True,
                )
    best = {
        kind: {what: min(r[what] for r in found) for what in ("wall", "cpu")} for kind, found in runs.items()
    }
    for kind in KINDS:
        ratios = (f"{what} {best[kind][what] / best['--sort'][what]:.3f}" for what in ("wall", "cpu"))
        print(f"{kind:<18} of --sort: {', '.join(ratios)}")
    facts = {"pairs": args.pairs, "again": args.again, "threads": args.threads, "genome": args.genome.name}
    write_json(args.json, {**facts, "runs": runs})


if __name__ == "__main__":
    main()
