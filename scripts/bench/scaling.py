"""Wall and CPU time by threads, and memory: gassst in all forms of input and output, and other mappers to SAM.

    python scripts/bench/scaling.py --set human13=human13.fa,s.fq --set chr20=chr20.fa,p_1.fq,p_2.fq \
        --quick --peers DIR --work /dev/shm --json scaling.json

Every tool indexes each reference once, with the most threads. Then all jobs run in turn, round after round, so that
what else the machine does meets all of them, until the rounds are done or the time is up. Medians are reported, and
the JSON file is renewed after every round. Runs with few threads get few reads, so that each takes about as long, and
so do slower mappers with --peer-share.
Speed is reads by wall seconds beyond start-up, which is a run on the first reads of the file. SAM goes to /dev/null,
BAM to a file in the work folder, which should be in memory. gassst runs as the package that this Python imports: a
wheel will do, no network is needed.

Rows called `gassst x N` are N runs of one thread at the same time, which share nothing but the machine: as many times
one thread is all that N threads of one run could reach there.

The memory of a run is the sum of the PSS of its processes, so what they share counts once. Reading it disturbs a run,
so it is taken in runs of its own. What the index takes of it is the size of its file.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from peer_tools import TOOLS, Job, ReadSet

BENCH = Path(__file__).resolve().parent
STARTUP_READS = 100
FULL_THREADS = 16
"""Runs with fewer threads than this get a share of the reads."""
SAMPLE_SECONDS = 0.1  # between two looks at the memory of a run
OUTPUTS = {
    "sam": ["-o", "/dev/null", "--format", "sam"],
    "bam": ["-o", "out.bam"],
    "sorted": ["-o", "out.bam", "--sort"],
}
PEERS = ("minibwa", "strobealign", "bwa-mem2")


@dataclass
class Row:
    """One tool on one set of reads with so many threads, and what its runs took."""

    reads: str
    tool: str
    threads: int
    output: str = "sam"
    compressed: bool = False
    at_once: int = 1
    """Runs that begin at the same time."""
    n_reads: int = 0
    runs: list[dict[str, float]] = field(default_factory=list)
    startup: list[dict[str, float]] = field(default_factory=list)
    pss: int | None = None

    def medians(self) -> dict[str, object]:
        """For people and for JSON."""
        middle = {key: statistics.median(r[key] for r in self.runs) for key in ("wall", "cpu")}
        start = statistics.median(r["wall"] for r in self.startup)
        speed = self.at_once * self.n_reads / max(middle["wall"] - start, 1e-9)
        return {**vars(self), **middle, "startup_wall": start, "reads_per_second": speed}


class Bench:
    """The references, indexes and reads of all sets in one work folder.

    Parameters
    ----------
    work : Path
    peers : Path or None
        Folder of the other mappers' programs and, in lib, their libraries. None: PATH.
    most : int
        Threads, for indexing.
    peer_share : float
        Share of the reads that the other mappers get.
    """

    def __init__(self, work: Path, peers: Path | None, most: int, peer_share: float = 1.0):
        self.work, self.peers, self.most, self.peer_share = work, peers, most, peer_share
        self.sets: dict[str, tuple[Path, list[Path], int]] = {}

    def add(self, name: str, reference: Path, files: list[Path], copies: int) -> None:
        """A set of reads: the files `copies` times over, plain."""
        folder = self.work / name
        folder.mkdir()
        plain = []
        for i, file in enumerate(files, 1):
            plain.append(folder / f"{i}.fq")
            with open(plain[-1], "wb") as target:
                for _ in range(copies):
                    with (gzip.open if file.suffix == ".gz" else open)(file, "rb") as source:
                        shutil.copyfileobj(source, target, 1 << 22)
        with open(plain[0], "rb") as text:
            lines = sum(block.count(b"\n") for block in iter(lambda: text.read(1 << 22), b""))
        self.sets[name] = reference, plain, lines // 4 * len(files)

    def program(self, tool: str) -> tuple[str, ...] | None:
        """The command that starts it; None if it is not here."""
        if tool == "gassst":
            return sys.executable, "-m", "gassst"
        found = shutil.which(tool, path=str(self.peers) if self.peers else None)
        return (found,) if found else None

    def environment(self) -> dict[str, str]:
        libraries = [str(self.peers / "lib"), str(self.peers.parent / "lib")] if self.peers else []
        return {
            **os.environ,
            "LD_LIBRARY_PATH": ":".join([*libraries, os.environ.get("LD_LIBRARY_PATH", "")]),
        }

    def job(self, row: Row, reads: int | None = None) -> tuple[Job, int]:
        """What to run, with the first `reads` of the set or its share by threads, and how many reads these are."""
        reference, plain, total = self.sets[row.reads]
        share = min(1.0, row.threads / FULL_THREADS) * (1.0 if row.tool == "gassst" else self.peer_share)
        wanted = reads if reads is not None else int(total * share)
        files = [self._head(file, wanted // len(plain), row.compressed) for file in plain]
        read_set = ReadSet(row.reads, files[0], wanted, 100, mates=files[1] if len(files) > 1 else None)
        folder = self._indexed(row.tool, reference, read_set)
        return Job(self.program(row.tool) or (), folder, row.threads, read_set), wanted

    def _head(self, plain: Path, reads: int, compressed: bool) -> Path:
        path = plain.with_name(f"{plain.stem}.{reads}.fq{'.gz' if compressed else ''}")
        if not path.exists():
            with open(plain, "rb") as source, open(path, "wb") as target:
                lines = islice(source, 4 * reads)
                if compressed:
                    with gzip.open(target, "wb", compresslevel=4) as deflated:
                        deflated.writelines(lines)
                else:
                    target.writelines(lines)
        return path

    def _indexed(self, tool: str, reference: Path, reads: ReadSet) -> Path:
        folder = self.work / f"{reference.stem}.{tool}"
        if not folder.exists():
            folder.mkdir()
            (folder / "reference.fa").symlink_to(reference.resolve())
            index = TOOLS[tool].index
            if index is not None:
                command = [*(self.program(tool) or ()), *index(Job((), folder, self.most, reads))]
                subprocess.run(
                    command,
                    check=True,
                    cwd=folder,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=self.environment(),
                )
        return folder

    def command(self, row: Row, job: Job) -> list[str]:
        if row.tool == "gassst":
            options = [*OUTPUTS[row.output], "-t", job.t, "-q", "--device", "none"]
            return [*job.program, "map", job.index + ".gsi", *job.fastq, *options]
        return [*job.program, *TOOLS[row.tool].map(job, "/dev/null")]

    def measured(self, row: Row, reads: int | None = None) -> tuple[dict[str, float], int]:
        """Wall and CPU seconds of a run, and how many reads it had; of runs at once the longest, and all CPU time."""
        job, n = self.job(row, reads)
        runs = []
        for i in range(row.at_once):
            usage, stderr = job.folder / f"usage{i}.json", job.folder / f"stderr{i}"
            timed = [sys.executable, "-I", "-S", BENCH / "timed.py", usage, "/dev/null", stderr, "900"]
            command = [*timed, *self.command(row, job)]
            runs.append((subprocess.Popen(command, cwd=job.folder, env=self.environment()), usage, stderr))
        results = []
        for process, usage, stderr in runs:
            if process.wait():
                raise subprocess.CalledProcessError(process.returncode, process.args)
            results.append(json.loads(usage.read_text()))
            if results[-1]["status"]:
                raise SystemExit(f"{row.tool}: {stderr.read_text()[-500:]}")
        longest = {key: max(result[key] for result in results) for key in ("wall", "rss")}
        return {**longest, "cpu": sum(result["cpu"] for result in results)}, n

    def peak_pss(self, row: Row) -> int:
        """Bytes of memory at most, of all processes of a run."""
        job, _ = self.job(row)
        with open(job.folder / "stderr", "wb") as stderr:
            run = subprocess.Popen(
                self.command(row, job),
                cwd=job.folder,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                env=self.environment(),
            )
            peak, ended = 0, threading.Event()
            while run.poll() is None:
                peak = max(peak, sum(map(pss_of, tree_of(run.pid))))
                ended.wait(SAMPLE_SECONDS)
        return peak


def tree_of(pid: int) -> Iterator[int]:
    """A process and those that it has started, and so on."""
    yield pid
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split():
                yield from tree_of(int(child))


def pss_of(pid: int) -> int:
    """Bytes that a process has in memory; what several have counts in parts. 0 once it has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return 1024 * int(line.split()[1])
    return 0


def rows_of(bench: Bench, threads: list[int], peer_threads: list[int], tools: list[str]) -> list[Row]:
    """All jobs, the most telling ones first: a run may end before all have had their turn."""
    big = [t for t in threads if t >= FULL_THREADS] or threads[-1:]
    names = sorted(bench.sets, key=lambda name: len(bench.sets[name][1]), reverse=True)  # pairs first
    rows = [Row(name, "gassst", t) for name in names for t in sorted(threads, reverse=True)]
    rows += [
        Row(name, tool, t) for name in names for tool in tools for t in sorted(peer_threads, reverse=True)
    ]
    rows += [Row(name, "gassst", 1, at_once=t) for name in names for t in big if t > 1]
    rows += [
        Row(names[0], "gassst", t, output, compressed)
        for t in big
        for compressed in (False, True)
        for output in OUTPUTS
        if (output, compressed) != ("sam", False)
    ]
    return rows


def run(bench: Bench, rows: list[Row], rounds: int, seconds: float, save) -> None:
    """Rounds of all jobs, until the time is up; then the memory of those with the most threads."""
    began = time.monotonic()
    for i in range(rounds):
        for row in rows:
            if time.monotonic() - began > seconds and (i or row.runs):
                break
            row.startup.append(bench.measured(row, STARTUP_READS)[0])
            measured, row.n_reads = bench.measured(row)
            row.runs.append(measured)
        save()
    for row in rows:
        if (
            row.tool == "gassst"
            and row.at_once == 1
            and time.monotonic() - began < 1.1 * seconds
            and row.runs
        ):
            row.pss = bench.peak_pss(row)
    save()


def print_table(rows: list[Row]) -> None:
    """Medians, and how many times the speed of the fewest threads on the same set."""
    first: dict[tuple, float] = {}
    head = f"{'reads':<14} {'tool':<12} {'output':<9} {'thr':>3} {'runs':>4} {'Mreads':>7} {'wall s':>7} {'CPU s':>8}"
    print(f"{head} {'start s':>7} {'Mreads/s':>8} {'times':>6} {'PSS MB':>7}")
    for row in sorted(rows, key=lambda r: (r.reads, r.tool, r.output, r.compressed, r.threads, r.at_once)):
        if not row.runs:
            continue
        m = row.medians()
        key = row.reads, row.tool, row.output, row.compressed
        speed = m["reads_per_second"]
        times = speed / first.setdefault(key, speed)
        output = f"{'gz>' if row.compressed else ''}{row.output}"
        memory = f"{row.pss / 1e6:7.0f}" if row.pss else " " * 7
        tool = row.tool if row.at_once == 1 else f"{row.tool} x {row.at_once}"
        print(
            f"{row.reads:<14} {tool:<12} {output:<9} {row.threads:>3} {len(row.runs):>4} {row.n_reads / 1e6:7.2f} "
            f"{m['wall']:7.2f} {m['cpu']:8.2f} {m['startup_wall']:7.2f} {speed / 1e6:8.3f} {times:6.1f} {memory}"
        )


def parse_set(text: str) -> tuple[str, Path, list[Path]]:
    """NAME=REF.fa,READS.fq[,MATES.fq]"""
    name, _, files = text.partition("=")
    reference, *reads = map(Path, files.split(","))
    if not name or len(reads) not in (1, 2):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=REF.fa,READS.fq[,MATES.fq]")
    return name, reference, reads


def main(argv: list[str] | None = None) -> None:
    def numbers(text: str) -> list[int]:
        return [int(n) for n in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--set", type=parse_set, action="append", required=True, dest="sets", metavar="NAME=REF,R1[,R2]"
    )
    parser.add_argument("--copies", type=int, default=1, help="map the reads of every set so many times over")
    parser.add_argument("--threads", type=numbers, help="default: 1, 2, 4 and so on up to the cores")
    parser.add_argument("--peer-threads", type=numbers, help="default: those from 16 on, or the most")
    parser.add_argument(
        "--tools", type=lambda s: s.split(","), help="other mappers; default: those that are there"
    )
    parser.add_argument(
        "--peer-share", type=float, default=1.0, help="share of the reads that other mappers get (default: 1)"
    )
    parser.add_argument("--peers", type=Path, help="folder of the other mappers' programs; default: PATH")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--seconds", type=float, default=3600, help="no job begins after these, beyond the first round"
    )
    parser.add_argument("--quick", action="store_true", help="three rounds at most, in about seven minutes")
    parser.add_argument("--work", type=Path, help="folder for reads, indexes and output")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args(argv)
    if args.quick:
        args.rounds, args.seconds = 3, 360
    cores = len(os.sched_getaffinity(0))
    threads = args.threads or [2**i for i in range(cores.bit_length()) if 2**i <= cores]
    with tempfile.TemporaryDirectory(dir=args.work) as work:
        bench = Bench(Path(work), args.peers and args.peers.resolve(), max(threads), args.peer_share)
        for name, reference, files in args.sets:
            bench.add(name, reference, files, args.copies)
        tools = args.tools if args.tools is not None else [tool for tool in PEERS if bench.program(tool)]
        rows = rows_of(
            bench, threads, args.peer_threads or [t for t in threads if t >= 16] or threads[-1:], tools
        )

        def save() -> None:
            if args.json:
                results = [row.medians() for row in rows if row.runs]
                machine = {"machine": platform.platform(), "cpus": cores}
                args.json.write_text(
                    json.dumps({"command": argv or sys.argv, **machine, "results": results}, indent=1) + "\n"
                )

        run(bench, rows, args.rounds, args.seconds, save)
    print_table(rows)


if __name__ == "__main__":
    main()
