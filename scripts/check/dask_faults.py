"""Faults of a Dask cluster of real processes: the output is complete and the same, or the run ends with one line.

    python scripts/check/dask_faults.py ref.gsi R1.fq R2.fq

The reads should take some ten seconds in one thread. Tried are a worker that is killed, one whose memory is too small
beside one that has enough, two whose memory is too small, one that cannot write, a scheduler that is killed, and a
client that is interrupted. Takes about two minutes. Prints a row for each, and ends with 1 if one is not as it should.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pysam

SMALL = "150MB"  # a worker of Dask takes less, one that maps takes more
PYTHON = sys.executable


class Machines:
    """A scheduler and its workers, each a process of its own."""

    def __init__(self, folder: Path, memory: list[str], files: list[int | None] | None = None):
        self.address_file = folder / "scheduler.json"
        common = ["--scheduler-file", str(self.address_file), "--dashboard-address", "127.0.0.1:0"]
        self.scheduler = self._start(
            PYTHON, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", *common
        )
        while not self.address_file.exists():
            time.sleep(0.2)
        self.workers = []
        for limit, blocks in zip(memory, files or [None] * len(memory), strict=True):
            command = [PYTHON, "-m", "distributed.cli.dask_worker", *common, "--nthreads", "1"]
            command += ["--memory-limit", limit, "--local-directory", str(folder)]
            if blocks is not None:
                command = ["bash", "-c", f'ulimit -f {blocks}; exec "$@"', "-", *command]
            self.workers.append(self._start(*command))

    def _start(self, *command: str) -> subprocess.Popen[bytes]:
        silent = subprocess.DEVNULL
        return subprocess.Popen(command, stdout=silent, stderr=silent, start_new_session=True)

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def records(path: Path) -> list[str]:
    with pysam.AlignmentFile(os.fspath(path)) as file:
        return [record.to_string() for record in file]


def children_of(process: subprocess.Popen[bytes]) -> list[int]:
    """The process that maps is a child of the one that watches it."""
    found = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(pid) for pid in found]


def tried(
    args: argparse.Namespace,
    expected: list[str],
    memory: list[str],
    files: list[int | None] | None = None,
    fault: Callable[[Machines, subprocess.Popen[str]], None] | None = None,
) -> tuple[str, str]:
    """What became of the run ('same', 'other records', 'nothing'), and what it said."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "out").mkdir()
        out = folder / "out" / "out.bam"
        machines = Machines(folder, memory, files)
        try:
            command = [
                PYTHON,
                "-m",
                "gassst",
                "map",
                args.index,
                *args.reads,
                "-o",
                str(out),
                "-q",
                "-t",
                "1",
            ]
            command += ["--dask", str(machines.address_file), "--dask-shards", "12"]
            run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            if fault is not None:
                parts = folder / "out"
                while run.poll() is None and not list(parts.glob(".out.bam.parts-*/2.bam")):
                    time.sleep(0.1)
                fault(machines, run)
            said = run.communicate(timeout=300)[1].strip()
        finally:
            machines.close()
        left = sorted(os.listdir(folder / "out"))
        if run.returncode:
            return ("nothing" if not left else f"left: {left}"), said
        return ("same" if left == ["out.bam"] and records(out) == expected else "other records"), said


def kill_worker(machines: Machines, _run: subprocess.Popen[str]) -> None:
    for pid in children_of(machines.workers[0]):
        os.kill(pid, signal.SIGKILL)


def kill_scheduler(machines: Machines, _run: subprocess.Popen[str]) -> None:
    os.killpg(machines.scheduler.pid, signal.SIGKILL)


def terminate(_machines: Machines, run: subprocess.Popen[str]) -> None:
    run.terminate()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index")
    parser.add_argument("reads", nargs="+")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.bam"
        one = [PYTHON, "-m", "gassst", "map", args.index, *args.reads, "-o", str(out), "-q", "-t", "1"]
        subprocess.run(one, check=True)
        expected = records(out)
    large = "4GB"
    cases = {
        "nothing happens": ("same", [large, large], None, None),
        "a worker is killed": ("same", [large, large], None, kill_worker),
        "one of two workers has too little memory": ("same", [SMALL, large], None, None),
        "both workers have too little memory": ("nothing", [SMALL, SMALL], None, None),
        "one of two workers cannot write": ("same", [large, large], [20, None], None),
        "the scheduler is killed": ("nothing", [large, large], None, kill_scheduler),
        "the client is terminated": ("nothing", [large, large], None, terminate),
    }
    wrong = 0
    for name, (wanted, memory, files, fault) in cases.items():
        start = time.monotonic()
        outcome, said = tried(args, expected, memory, files, fault)
        is_right = outcome == wanted and len(said.splitlines()) == (wanted == "nothing")
        wrong += not is_right
        row = "ok" if is_right else "WRONG", name, outcome, f"{time.monotonic() - start:.0f} s", said
        print(*row, sep="\t", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
