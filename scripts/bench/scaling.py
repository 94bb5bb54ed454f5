"""Wall and CPU time by threads: gassst as SAM, BAM and sorted BAM, and whatever other mappers are on PATH.

    python scripts/bench/scaling.py REF.fa READS.fq [MATES.fq] --threads 1,2,4,8,16 --json scaling.json

Every tool indexes once, with the most threads. Then rounds of all tools and numbers of threads are run in turn, so
that what else the machine does meets all of them; medians are reported. A line for start-up is a run on the first
reads of the file only. SAM goes to a file in the work folder, which should be in memory (`--work /dev/shm/...`).
gassst runs as the package that this Python imports: a wheel will do, no network is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from dataclasses import replace
from itertools import islice
from pathlib import Path

from peer_tools import TOOLS, Job, ReadSet

STARTUP_READS = 100
KINDS = {
    "gassst": ["-o", "out.sam"],
    "gassst-bam": ["-o", "out.bam"],
    "gassst-sorted": ["-o", "out.bam", "--sort"],
}


def measured(command: list[str], folder: Path) -> dict[str, float]:
    """Wall and CPU seconds and peak bytes of one process; raises on failure."""
    usage, err = folder / "usage.json", folder / "stderr"
    timed = [sys.executable, "-I", "-S", str(Path(__file__).with_name("timed.py"))]
    subprocess.run([*timed, usage, folder / "stdout", err, "3600", *command], check=True, cwd=folder)
    result = json.loads(usage.read_text())
    if result["status"]:
        raise SystemExit(f"{' '.join(command)}: {err.read_text()[-500:]}")
    return {key: result[key] for key in ("wall", "cpu", "rss")}


def command_of(tool: str, job: Job, device: str) -> list[str]:
    """Index and reads to a file in the work folder, or to stdout, which is one too."""
    if tool in KINDS:
        options = ["-t", job.t, "-q", "--device", device]
        return [*job.program, "map", job.index + ".gsi", *job.fastq, *KINDS[tool], *options]
    return [*job.program, *TOOLS[tool].map(job, "out.sam")]


def jobs_of(tools: list[str], reference: Path, work: Path, reads: ReadSet, threads: int) -> dict[str, Job]:
    """A job for each tool, with its index built."""
    jobs = {}
    for tool in tools:
        name = "gassst" if tool in KINDS else tool
        folder = work / name
        program = (sys.executable, "-m", "gassst") if name == "gassst" else (name,)
        jobs[tool] = Job(program, folder, threads, reads)
        if folder.exists():
            continue
        folder.mkdir()
        (folder / "reference.fa").symlink_to(reference.resolve())
        index = TOOLS[name].index
        if index is not None:
            subprocess.run([*program, *index(jobs[tool])], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    return jobs


def head_of(path: Path, to: Path) -> Path:
    """The first reads of an uncompressed FASTQ file."""
    with open(path, "rb") as source, open(to, "wb") as target:
        target.writelines(islice(source, 4 * STARTUP_READS))
    return to


def available(asked: list[str] | None) -> list[str]:
    from shutil import which

    peers = ("minibwa", "strobealign", "bwa-mem2", "minimap2")
    return asked or [*KINDS, *(tool for tool in peers if which(tool))]


def run(args: argparse.Namespace, work: Path) -> dict:
    reads = ReadSet("reads", args.reads.resolve(), 0, args.length, mates=args.mates and args.mates.resolve())
    few = replace(reads, path=head_of(reads.path, work / "few_1.fq"))
    if reads.mates:
        few = replace(few, mates=head_of(reads.mates, work / "few_2.fq"))
    jobs = jobs_of(available(args.tools), args.reference, work, reads, max(args.threads))
    results = [
        {"tool": tool, "threads": threads, "runs": [], "startup": []}
        for threads in args.threads
        for tool in jobs
    ]
    for _ in range(args.repeat):
        for row in results:
            job = replace(jobs[row["tool"]], threads=row["threads"])
            row["startup"].append(
                measured(command_of(row["tool"], replace(job, reads=few), args.device), job.folder)
            )
            row["runs"].append(measured(command_of(row["tool"], job, args.device), job.folder))
    for row in results:
        row.update({key: statistics.median(r[key] for r in row["runs"]) for key in ("wall", "cpu", "rss")})
        row["startup_wall"] = statistics.median(r["wall"] for r in row["startup"])
    return {"command": sys.argv, "machine": platform.platform(), "cpus": os.cpu_count(), "results": results}


def print_table(results: list[dict]) -> None:
    """Wall and CPU seconds, start-up apart, and how many times faster than with the fewest threads."""
    first: dict[str, float] = {}
    print(
        f"{'tool':<14} {'threads':>7} {'wall s':>8} {'CPU s':>8} {'start-up s':>10} {'times':>6} {'RSS MB':>8}"
    )
    for row in results:
        mapping = max(row["wall"] - row["startup_wall"], 1e-9)
        times = first.setdefault(row["tool"], mapping) / mapping
        numbers = f"{row['wall']:8.2f} {row['cpu']:8.2f} {row['startup_wall']:10.2f} {times:6.1f}"
        print(f"{row['tool']:<14} {row['threads']:>7} {numbers} {row['rss'] / 1e6:8.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reference", type=Path)
    parser.add_argument("reads", type=Path, help="uncompressed FASTQ")
    parser.add_argument("mates", type=Path, nargs="?")
    parser.add_argument("--threads", type=lambda s: [int(n) for n in s.split(",")], default=[1, 2])
    parser.add_argument("--tools", type=lambda s: s.split(","), help="default: gassst and all peers on PATH")
    parser.add_argument("--length", type=int, default=100, help="of the reads, for tools that ask")
    parser.add_argument("--device", default="none")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--work", type=Path, help="folder for indexes and output")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.work) as work:
        report = run(args, Path(work))
    print_table(report["results"])
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
