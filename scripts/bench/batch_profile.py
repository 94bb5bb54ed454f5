#!/usr/bin/env python3
"""Where the CPU time of one batch goes: every compiled function, and Python and NumPy around them.

    scripts/bench/batch_profile.py REF.gsi READS.fq [MATES.fq] [--repeats 6] [--batch READS] [--device cpu]

The first batch is parsed once, and mapped and made into SAM again and again in one thread, with compiled code alone.
Beside a `--device` that searches what it can, asking it is one line: on a machine of its own another process does that.
Times are by the CPU clock of that thread, in ms a batch; compiled functions run without the GIL. Of processes that
share a machine take the least of several.
"""

from __future__ import annotations

import argparse
import sys
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
    (align, align.LocalAligner): ("known", "score", "align", "look_further", "left_over"),
}


class Clock:
    """Adds up the CPU time of calls; those inside of others count with the outer one."""

    def __init__(self) -> None:
        self.ns: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self._inside = False

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, timed."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if self._inside:
                return function(*args, **kwargs)
            self._inside, start = True, time.thread_time_ns()
            try:
                return function(*args, **kwargs)
            finally:
                self.ns[name] += time.thread_time_ns() - start
                self.calls[name] += 1
                self._inside = False

        return call

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
    args = parser.parse_args(argv)
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
    clock = Clock()
    clock.watch()
    work.map(batch, insert, finish)
    clock.ns.clear()
    clock.calls.clear()
    start = time.thread_time_ns()
    for _ in range(args.repeats):
        work.map(batch, insert, finish)
    total = time.thread_time_ns() - start
    clock.ns["Python and NumPy"] = total - clock.ns.total()
    clock.ns["all"], clock.calls["all"] = total, args.repeats
    for name, ns in clock.ns.most_common():
        calls = clock.calls[name] / args.repeats
        print(f"{name:<36} {ns / args.repeats / 1e6:8.2f} ms {100 * ns / total:5.1f} % {calls:7.1f} calls")
    return 0


if __name__ == "__main__":
    sys.exit(main())
