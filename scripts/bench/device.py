"""Time of the search on a device, by kernel and transfer, from the device's own clock.

    python scripts/bench/device.py REF.gsi READS.fq [-n READS] [--batch READS] [--device D] [--filters F] [--mode M]
        [--check]

Reads are single. Every batch is searched once before the clock counts. With --check the host searches
it as well, and what both find must be the same. The table has, by kernel, calls, milliseconds and nanoseconds per read.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from itertools import islice

import numpy as np

import gassst
from gassst.extension.cpu import CpuExtender
from gassst.extension.opencl_engine import Engine, choose
from gassst.io.read_records import batch_of_records
from gassst.search import single
from gassst.search.context import BatchContext
from gassst.search.device import DeviceSearch
from gassst.search.host import HostBackend
from gassst.stats import Stats


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index")
    parser.add_argument("reads")
    parser.add_argument("-n", type=int, default=262_144)
    parser.add_argument("--batch", type=int, default=65_536)
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--filters", default="auto")
    parser.add_argument("--mode", choices=("global", "local"))
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    filters = tuple(name for name in args.filters.split(",") if name != "none")
    index = gassst.Index.open(args.index, check=False)
    mapper = gassst.Mapper(index, device="none", filters=filters, mode=args.mode)
    info, device = choose(args.device)
    engine = Engine(info, device, index.reference.planes, profiling=True)
    search = DeviceSearch(index, engine)
    began = time.perf_counter()
    on_device = search.on_device()
    if on_device is None:
        return 1
    print(f"{info.name}: {on_device.fit}; uploaded in {time.perf_counter() - began:.2f} s")
    wall, total, same = 0.0, {}, True
    searched = index, mapper.parts, mapper.plan, mapper.cascade, mapper.params
    reads = 0
    for batch in batches(args.reads, args.n, args.batch):
        packed = batch.pack(mapper.params.longest_read)
        context = BatchContext.of(*searched, packed, whole_reads=mapper.params.reports_whole_reads)
        first = search.search(context, Stats())
        clear(on_device)
        began, stats = time.perf_counter(), Stats()
        again = search.search(context, stats)
        wall += stats.nanoseconds["device"] * 1e-9
        reads += context.n
        for name, (calls, seconds) in clear(on_device).items():
            before = total.get(name, (0, 0.0))
            total[name] = before[0] + calls, before[1] + seconds
        same &= digest(first) == digest(again)
        if args.check:
            with CpuExtender(index.reference.planes).open_reads(context.packed) as bands:
                counted = Stats()
                same &= digest(single.search(HostBackend(context, bands, counted))) == digest(again)
            work = ("occurrences", "candidates", "scored")
            same &= all(getattr(stats, name) == getattr(counted, name) for name in work)
    print(f"{reads} reads, wall {wall:.4f} s, device {sum(s for _, s in total.values()):.4f} s; same: {same}")
    for name, (calls, seconds) in sorted(total.items(), key=lambda item: -item[1][1]):
        print(f"{name:16}{calls:6}{1e3 * seconds:10.3f} ms{1e9 * seconds / reads:9.1f} ns/read")
    return 0 if same else 1


def batches(path: str, n: int, size: int):
    """Batches of the reads of a plain FASTQ file."""
    with open(path, encoding="ascii") as file:
        reads = ((str(i), line.strip(), None) for i, line in enumerate(islice(file, 1, 4 * n, 4)))
        while some := list(islice(reads, size)):
            yield batch_of_records(some)


def clear(on_device) -> dict[str, tuple[int, float]]:
    """What the slots have noted, which is forgotten."""
    total: dict[str, tuple[int, float]] = {}
    for slot in on_device.slots:
        for name, (calls, seconds) in slot.seconds().items():
            before = total.get(name, (0, 0.0))
            total[name] = before[0] + calls, before[1] + seconds
    return total


def digest(found) -> str:
    """MD5 of all arrays of a `GlobalResult`."""
    hashed = hashlib.md5()
    arrays = [*vars(found.bands).values(), found.rows, found.start, found.summary, found.quality]
    for array in [*arrays, found.passed_over, found.left_to_local, found.hopeless]:
        hashed.update(np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()


if __name__ == "__main__":
    raise SystemExit(main())
