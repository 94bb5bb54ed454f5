#!/usr/bin/env python3
"""Where the CPU time of one batch goes: every compiled function, and Python and NumPy around them.

    scripts/bench/batch_profile.py REF.gsi READS.fq [MATES.fq] [--repeats 6] [--batch READS] [--device cpu] [--lock]

The first batch is parsed once, and mapped and made into SAM again and again in one thread, with compiled code alone.
Beside a `--device` that searches what it can, asking it is one line: on a machine of its own another process does that.
Times are by the CPU clock of that thread, in ms a batch; compiled functions run without the GIL. Of processes that
share a machine take the least of several.

With `--lock` every line also says how much of its time holds the lock of the interpreter, and how often that is taken:
a library (Linux, made by `cc`) looks at the clock where compiled code gives it up and takes it again.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from typing import Any

import gassst
from gassst.bands import cpu
from gassst.gpu import platforms
from gassst.gpu.device import Engine
from gassst.gpu.search import DeviceSearch
from gassst.local import align
from gassst.pairing.insert_size import InsertModel
from gassst.reads.input import open_unparsed
from gassst.records import writer as sam
from gassst.runs.run import MappingRun, MappingWork
from gassst.search import host
from gassst.search.host import HostBackend
from gassst.workers.allocator import keep_freed_memory
from gassst.workers.threads import ThreadWorkers

COMPILED = "gassst._core."
# Of classes, by the module that makes objects of them.
METHODS = {
    (cpu, cpu.Band): ("score", "profile", "align", "local", "align_local"),
    (host, host.Stages): ("search",),
    (host, host.PairStages): ("search_pairs",),
    (align, align.LocalAligner): (
        *("known", "look_further", "report", "rows", "score", "align", "decided", "pair_up", "know"),
        *("with_further", "least_stretches", "further_places", "add_further"),
    ),
}


# The functions of CPython around its lock, as libpython's and as extension modules call them.
PROBE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <time.h>
static __thread int64_t without, since, taken;
static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
void *PyEval_SaveThread(void)
{
    void *(*save)(void) = (void *(*)(void))dlsym(RTLD_NEXT, "PyEval_SaveThread");
    void *state = save();
    since = now();
    return state;
}
void PyEval_RestoreThread(void *state)
{
    void (*restore)(void *) = (void (*)(void *))dlsym(RTLD_NEXT, "PyEval_RestoreThread");
    without += since ? now() - since : 0;
    since = 0;
    taken++;
    restore(state);
}
int64_t locked_ns(void) { return now() - without; }
int64_t locks_taken(void) { return taken; }
"""
ASKED = "GASSST_LOCK_PROBE"


def with_probe(argv: list[str]) -> ctypes.CDLL:
    """The probe; begins this program anew where the process does not have it yet."""
    if ASKED in os.environ:
        probe = ctypes.CDLL(os.environ[ASKED])
        probe.locked_ns.restype = probe.locks_taken.restype = ctypes.c_int64
        return probe
    path = os.path.join(tempfile.mkdtemp(), "probe.so")
    command = ["cc", "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o", path, "-ldl"]
    subprocess.run(command, input=PROBE.encode(), check=True)
    return os.execve(sys.executable, [sys.executable, *argv], {**os.environ, ASKED: path, "LD_PRELOAD": path})


class Clock:
    """Adds up the CPU time of calls; those inside of others count with the outer one."""

    def __init__(self, probe: ctypes.CDLL | None = None) -> None:
        self.ns: Counter[str] = Counter()
        self.locked: Counter[str] = Counter()
        self.taken: Counter[str] = Counter()
        self._probe = probe
        self.calls: Counter[str] = Counter()
        self._inside = False

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, timed."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if self._inside:
                return function(*args, **kwargs)
            self._inside, start = True, self.now()
            try:
                return function(*args, **kwargs)
            finally:
                self.add(name, start)
                self.calls[name] += 1
                self._inside = False

        return call

    def now(self) -> tuple[int, int, int]:
        """CPU time of this thread, that with the lock, and how often that was taken."""
        probe = self._probe
        locked = (0, 0) if probe is None else (probe.locked_ns(), probe.locks_taken())
        return time.thread_time_ns(), *locked

    def add(self, name: str, start: tuple[int, int, int]) -> None:
        """Count what has passed since `start`."""
        for counter, a, b in zip((self.ns, self.locked, self.taken), start, self.now(), strict=True):
            counter[name] += b - a

    def watch(self) -> None:
        """Time the compiled functions, wherever they are imported, and the methods that do most of the work."""
        modules = {name: module for name, module in sys.modules.items() if name.startswith("gassst")}
        watched = {
            id(value): self.timed(f"{name.removeprefix(COMPILED)}.{key}", value)
            for name, module in modules.items()
            if name.startswith(COMPILED)
            for key, value in vars(module).items()
            if callable(value) and not isinstance(value, type) and not key.startswith("_")
        }
        for module in modules.values():
            for key, value in list(vars(module).items()):
                if id(value) in watched:
                    setattr(module, key, watched[id(value)])
        for (module, base), names in METHODS.items():
            methods = {name: self.timed(f"{base.__name__}.{name}", getattr(base, name)) for name in names}
            methods = {name: _as_method(method) for name, method in methods.items()}
            setattr(module, base.__name__, type(base.__name__, (base,), methods))
        HostBackend.resolve = self.timed("seeds looked up", HostBackend.resolve)  # type: ignore[method-assign]
        DeviceSearch.ask = self.timed("asking the device", DeviceSearch.ask)  # type: ignore[method-assign]
        encoder = sam.RecordEncoder
        encoder.encode = self.timed("records", encoder.encode)  # type: ignore[method-assign]


def _as_method(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *args, **named: function(self, *args, **named)


def learned(work: MappingWork, files: list[str], size: int) -> InsertModel:
    """Insert sizes as a run learns them from the first batch."""
    with closing(ThreadWorkers(work, 1)) as workers, closing(open_unparsed(*files, size)) as batches:
        return MappingRun(work, lambda *_: None, workers).learn_insert(batches)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index")
    parser.add_argument("reads", nargs="+", metavar="READS.fq")
    parser.add_argument("--repeats", type=int, default=6, help="(default: 6)")
    parser.add_argument("--mode", choices=("global", "local"), help="(default: that of gassst map)")
    parser.add_argument("--batch", type=int, help="reads (default: those of one thread)")
    parser.add_argument("--device", help="that searches, as gassst devices names it (default: none)")
    parser.add_argument("--lock", action="store_true", help="say what holds the lock")
    args = parser.parse_args(argv)
    probe = with_probe(sys.argv) if args.lock else None
    keep_freed_memory()  # as a run does
    mapper = gassst.Mapper(args.index, threads=1, device="none", mode=args.mode).replaced(
        counts_details=False
    )
    if args.device:
        planes = mapper.reference.planes
        engine = Engine(*platforms.choose(args.device), planes)
        mapper = mapper.replaced(on_device=DeviceSearch(mapper.index, engine))
    encoder = sam.RecordEncoder.of(
        None, mapper.header_text(), mapper.reference.arrays, sam.OutputOptions(format="sam")
    )
    work = MappingWork(mapper)
    finish = ThreadWorkers(work, 1).share(lambda _, batch, result: encoder.encode(batch, *result.rows))
    size = args.batch or mapper.params.reads_per_batch()
    paired = len(args.reads) > 1
    with closing(open_unparsed(args.reads[0], args.reads[1] if paired else None, size)) as batches:
        batch = next(batches).parsed()
    insert = learned(work, args.reads, size) if paired else mapper.insert
    clock = Clock(probe)
    clock.watch()
    work.map(batch, insert, finish)
    counters = clock.ns, clock.locked, clock.taken
    for counter in (*counters, clock.calls):
        counter.clear()
    start = clock.now()
    for _ in range(args.repeats):
        work.map(batch, insert, finish)
    clock.add("all", start)
    for counter in counters:
        counter["Python and NumPy"] = 2 * counter["all"] - counter.total()
    total, clock.calls["all"] = clock.ns["all"], args.repeats
    for name, ns in clock.ns.most_common():
        calls, taken = clock.calls[name] / args.repeats, clock.taken[name] / args.repeats
        lock = f" {clock.locked[name] / args.repeats / 1e6:8.2f} ms, {taken:6.0f} times" if args.lock else ""
        print(
            f"{name:<36} {ns / args.repeats / 1e6:8.2f} ms {100 * ns / total:5.1f} % {calls:7.1f} calls{lock}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
