"""What N processes at once reach on this machine, as a multiple of one: what any mapper could gain there (Linux).

    python scripts/bench/machine_scaling.py [--json FILE] [--processes 1,2,4,8,16,32] [--seconds 0.3] [--own-memory GB]
        [-- gassst map REF.gsi READS.fq -t 1 --device none -q -o /dev/shm/{i}.sam]

The processes share nothing that they write, and begin at the same time. Each repeats a small piece of work for so many
seconds, and the pieces that all of them have done are counted:

integers        a loop of the interpreter: arithmetic and branches, no memory beyond the first cache
vectors         NumPy on 64 KiB: vector units and caches of one core
copies          NumPy copies 32 MiB of its own: the memory's bandwidth
random reads    NumPy takes 8 bytes here and there from 512 MiB that all share: the memory's latency
own pages       the first write to pages of private memory: the kernel finds and clears them
shared pages    the first read of pages of a file in memory that this process has newly mapped
file pages      new pages of a file in memory, each process its own: the kernel finds them and copies to them
one file        the same without new pages, and all processes in one file: the kernel admits one at a time
forks           an empty process that is started and waited for

A command is run by N at once, whole; `{i}` in it is the number of the process. Speed is runs by wall seconds of the
slowest. `--own-memory` first touches so much memory, since a virtual machine may get its own only then. Both it and a
second touch of as much are timed: a machine that is slow both times gives memory back in between.
"""

from __future__ import annotations

import argparse
import json
import mmap
import multiprocessing
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

PAGE = mmap.PAGESIZE
SHARED = 512 << 20  # bytes: beyond any cache
COPIED = 32 << 20
FRESH = 32 << 20  # bytes of new pages a piece, as a large array of a batch
LOOKED_UP = 1 << 14  # places a piece
IN_CACHE = 1 << 13  # words of 8 bytes
TURNS = 20_000  # of the loop a piece

Piece = Callable[[], int]
"""Does a piece of work, and returns what it comes to: bytes, pages or turns."""


class Rate(NamedTuple):
    """What N processes did at the same time.

    Attributes
    ----------
    processes : int
    per_second : float
        Of all of them, in the units of the work.
    least, most : float
        Of one of them.
    """

    processes: int
    per_second: float
    least: float
    most: float


# --- pieces of work: each function prepares one, in the process that does it


def integers(shared: str) -> Piece:
    def piece() -> int:
        x = 1
        for _ in range(TURNS):
            x = (x * 5 + 3) & 0xFFFF if x & 1 else x + 1
        return TURNS

    return piece


def vectors(shared: str) -> Piece:
    one, two = (np.arange(k, k + IN_CACHE, dtype=np.uint64) for k in (1, 2))
    out = np.empty_like(one)

    def piece() -> int:
        for _ in range(8):
            np.bitwise_xor(one, two, out=out)
            np.bitwise_or(out, one, out=out)
        return 16 * out.nbytes

    return piece


def copies(shared: str) -> Piece:
    source = np.ones(COPIED, np.uint8)
    target = np.zeros_like(source)

    def piece() -> int:
        np.copyto(target, source)
        return COPIED

    return piece


def random_reads(shared: str) -> Piece:
    words = np.frombuffer(_mapped(shared), np.uint64)
    words[:: PAGE // 8].max()  # maps all pages first
    places = np.random.default_rng(os.getpid()).integers(0, len(words), LOOKED_UP)
    found = np.empty(LOOKED_UP, np.uint64)

    def piece() -> int:
        np.take(words, places, out=found, mode="wrap")
        np.add(places, 1_000_003, out=places)  # others next time
        np.mod(places, len(words), out=places)
        return LOOKED_UP

    return piece


def own_pages(shared: str) -> Piece:
    def piece() -> int:
        fresh = mmap.mmap(-1, FRESH, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        fresh.madvise(mmap.MADV_NOHUGEPAGE)
        np.frombuffer(fresh, np.uint8)[::PAGE] = 1
        return FRESH // PAGE

    return piece


def shared_pages(shared: str) -> Piece:
    def piece() -> int:
        np.frombuffer(_mapped(shared, FRESH), np.uint8)[::PAGE].max()
        return FRESH // PAGE

    return piece


def file_pages(shared: str) -> Piece:
    fd = os.memfd_create("pages")
    text = bytes(FRESH // 4)

    def piece() -> int:
        for start in range(0, FRESH, len(text)):
            os.pwrite(fd, text, start)
        os.ftruncate(fd, 0)
        return FRESH // PAGE

    return piece


def one_file(shared: str) -> Piece:
    text = bytes(FRESH // 4)
    with open(shared, "r+b") as file:
        fd = os.dup(file.fileno())
    start = os.getpid() * len(text) % max(1, os.fstat(fd).st_size - len(text))

    def piece() -> int:
        os.pwrite(fd, text, start)
        return len(text) // PAGE

    return piece


def forks(shared: str) -> Piece:
    def piece() -> int:
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        return 1

    return piece


WORK: dict[str, Callable[[str], Piece]] = {
    "integers": integers,
    "vectors": vectors,
    "copies": copies,
    "random reads": random_reads,
    "own pages": own_pages,
    "shared pages": shared_pages,
    "file pages": file_pages,
    "one file": one_file,
    "forks": forks,
}


def _mapped(path: str, size: int = 0) -> mmap.mmap:
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ)


@contextmanager
def shared_file(folder: str, size: int = SHARED) -> Iterator[str]:
    """A file of so many bytes, none of which is a hole."""
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        block = np.arange(1 << 17, dtype=np.uint64).tobytes()
        for _ in range(max(1, size // len(block))):
            file.write(block)
        file.flush()
        yield file.name


# --- N processes at once


def rate(name: str, processes: int, seconds: float, shared: str) -> Rate:
    """What so many processes do of a work, each for so many seconds, in parallel."""
    context = multiprocessing.get_context("fork")
    begin, end = context.Barrier(processes), context.Barrier(processes)
    results = context.SimpleQueue()
    started = [
        context.Process(target=_repeat, args=(name, seconds, shared, begin, end, results))
        for _ in range(processes)
    ]
    for process in started:
        process.start()
    for process in started:
        process.join()
    if any(process.exitcode for process in started):
        raise SystemExit(f"{name}: a process has failed")
    rates = [results.get() for _ in started]
    return Rate(processes, sum(rates), min(rates), max(rates))


def _repeat(name: str, seconds: float, shared: str, begin, end, results) -> None:
    """One process. It works on until all have finished, so that none is measured beside idle cores."""
    try:
        piece = WORK[name](shared)
        piece()
    except BaseException:
        begin.abort()  # nobody waits for this one
        raise
    begin.wait()
    began = time.perf_counter()
    done = piece()
    while (now := time.perf_counter()) - began < seconds:
        done += piece()
    results.put(done / (now - began))
    end.wait()


def runs(command: list[str], processes: int) -> Rate:
    """Whole runs of a command at once, by the wall time of the slowest. Raises CalledProcessError."""
    began = time.perf_counter()
    started = [subprocess.Popen([word.replace("{i}", str(i)) for word in command]) for i in range(processes)]
    took = []
    for run in started:
        if run.wait():
            raise subprocess.CalledProcessError(run.returncode, run.args)
        took.append(time.perf_counter() - began)
    return Rate(processes, processes / took[-1], 1 / took[-1], 1 / took[0])


def touched(gigabytes: float, processes: int) -> float:
    """Wall seconds in which so many processes touch so much memory between them, for the first time in each."""
    context = multiprocessing.get_context("fork")
    share = max(PAGE, int(gigabytes * 1e9 / processes) // PAGE * PAGE)
    all_here = context.Barrier(processes)
    started = [context.Process(target=_touch, args=(share, all_here)) for _ in range(processes)]
    began = time.perf_counter()
    for process in started:
        process.start()
    for process in started:
        process.join()
    return time.perf_counter() - began


def _touch(size: int, all_here) -> None:
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    np.frombuffer(memory, np.uint8)[::PAGE] = 1
    all_here.wait()  # nobody gives back before all have theirs


# --- the report


def print_rates(name: str, rates: list[Rate]) -> None:
    """A line: what one process does a second, and how many times that all do."""
    times = "".join(f"{r.per_second * rates[0].processes / rates[0].per_second:8.2f}" for r in rates)
    print(f"{name:<16}{rates[0].per_second:>12.4g}{times}", flush=True)


def topology() -> dict[str, object]:
    """Cores as the kernel describes them: threads that share one, and nodes of memory."""
    siblings = Path("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list")
    nodes = [path for path in Path("/sys/devices/system/node").glob("node[0-9]*") if path.is_dir()]
    return {
        "cpus": len(os.sched_getaffinity(0)),
        "threads_of_core_0": siblings.read_text().strip() if siblings.exists() else None,
        "memory_nodes": len(nodes),
        "kernel": platform.release(),
    }


def main(argv: list[str] | None = None) -> None:
    def numbers(text: str) -> list[int]:
        return sorted({int(n) for n in text.split(",")})

    cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--processes", type=numbers, help="default: 1, 2, 4 and so on up to the cores, and all of these"
    )
    parser.add_argument("--work", type=lambda s: s.split(","), default=list(WORK), help="default: all kinds")
    parser.add_argument("--seconds", type=float, default=0.3, help="of each measurement (default: 0.3)")
    parser.add_argument("--own-memory", type=float, default=0, metavar="GB", help="touched first")
    parser.add_argument("--folder", default="/dev/shm", help="in memory, for what is shared")
    parser.add_argument("--json", type=Path)
    parser.add_argument("command", nargs="*", help="what to run by N at once, behind --")
    args = parser.parse_args(argv)
    counts = args.processes or sorted({*(2**i for i in range(cores.bit_length())), cores})
    if unknown := set(args.work) - set(WORK):
        parser.error(f"no such work: {', '.join(sorted(unknown))}")
    result: dict[str, object] = {"machine": topology()}
    if args.own_memory:
        seconds = [touched(args.own_memory, cores) for _ in range(2)]
        result["own_memory"] = {"gigabytes": args.own_memory, "seconds": seconds}
        print(f"{args.own_memory:g} GB touched in {seconds[0]:.2f} s, and in {seconds[1]:.2f} s once more")
    print(f"{'':<16}{'one a second':>12}" + "".join(f"{n:>8}" for n in counts))
    found: dict[str, list[Rate]] = {}
    with shared_file(args.folder) as shared:
        for name in args.work:
            found[name] = [rate(name, n, args.seconds, shared) for n in counts]
            print_rates(name, found[name])
    if args.command:
        found["command"] = [runs(args.command, n) for n in counts]
        print_rates("command", found["command"])
    result["rates"] = {name: [r._asdict() for r in rates] for name, rates in found.items()}
    if args.json:
        args.json.write_text(json.dumps(result) + "\n")


if __name__ == "__main__":
    sys.exit(main())
