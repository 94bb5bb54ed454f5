"""Time of the search on a device, by kernel and transfer, from the device's own clock.

    python scripts/bench/device.py REF.gsi READS.fq [--mates MATES.fq] [-n READS] [--batch READS]
        [--device D] [--filters F] [--mode M] [--check] [--json FILE]

Of single reads it is the whole search, of pairs the seeds of the first stage. Every batch is searched once before the
clock counts. With --check the host searches single reads as well, and what both find must be the same. The table has,
by kernel, calls, milliseconds, nanoseconds per read, and of transfers GB and GB/s. `wall` is that of one thread that
asks.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import gassst
from gassst.bands.cpu import CpuExtender
from gassst.gpu.device import Engine, Spent
from gassst.gpu.index import DeviceIndex
from gassst.gpu.platforms import choose
from gassst.gpu.search import DeviceSearch
from gassst.model.stats import Stats
from gassst.reads.in_memory import batch_of_pairs, batch_of_records
from gassst.search import single
from gassst.search.context import BatchContext
from gassst.search.host import HostBackend


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index")
    parser.add_argument("reads")
    parser.add_argument("--mates")
    parser.add_argument("-n", type=int, default=262_144)
    parser.add_argument("--batch", type=int, default=65_536)
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--filters", default="auto")
    parser.add_argument("--mode", choices=("global", "local"))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--json")
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
    uploaded = time.perf_counter() - began
    print(f"{info.name}: {on_device.fit}; uploaded in {uploaded:.2f} s")
    wall, total, same, reads = 0.0, dict[str, Spent](), True, 0
    for batch in pair_batches(args) if args.mates else batches(args.reads, args.n, args.batch):
        params = mapper.params.for_pairs() if args.mates else mapper.params.for_single()
        searched = index, mapper.parts, mapper.plan, mapper.cascade, params
        packed = batch.pack(params.longest_read)
        whole_reads = params.reports_whole_reads and not args.mates
        context = BatchContext.of(*searched, packed, whole_reads=whole_reads)
        once = looked_up(search, context) if args.mates else whole(search, context, args)
        first = once(Stats())
        clear(on_device)
        stats = Stats()
        again = once(stats)
        wall += stats.nanoseconds["device"] * 1e-9
        reads += context.n
        add(total, clear(on_device))
        same &= first == again
        if args.check and not args.mates:
            same &= is_same(context, stats, again)
    device_seconds = sum(each.seconds for each in total.values())
    print(f"{reads} reads, wall {wall:.4f} s, device {device_seconds:.4f} s; same: {same}")
    ordered = sorted(total.items(), key=lambda item: -item[1].seconds)
    for name, each in ordered:
        moved = f"{1e-9 * each.size:9.3f} GB{1e-9 * each.size / each.seconds:8.1f} GB/s" if each.size else ""
        print(
            f"{name:20}{each.calls:6}{1e3 * each.seconds:10.3f} ms{1e9 * each.seconds / reads:9.1f} ns/read{moved}"
        )
    if args.json:
        stages = {name: {**each._asdict(), "seconds": round(each.seconds, 5)} for name, each in ordered}
        facts = {"device": info.name, "reads": reads, "batch": args.batch, "pairs": bool(args.mates)}
        times = {"wall_seconds": round(wall, 4), "device_seconds": round(device_seconds, 4)}
        facts |= {**times, "upload_seconds": round(uploaded, 3), "stages": stages}
        Path(args.json).write_text(json.dumps(facts, indent=1) + "\n")
    return 0 if same else 1


def whole(search: DeviceSearch, context: BatchContext, args: argparse.Namespace):
    """The search of single reads, as a function that returns a digest of what was found."""

    def once(stats: Stats) -> str:
        found = search.search(context, stats)
        return digest([*vars(found.bands).values(), *vars(found).values()])

    return once


def looked_up(search: DeviceSearch, context: BatchContext):
    """The same of the first seeds of pairs."""
    reads = np.arange(context.n, dtype=np.uint32)

    def once(stats: Stats) -> str:
        return digest([*search.look_up(context, stats, reads, 0)])

    return once


def is_same(context: BatchContext, stats: Stats, found: str) -> bool:
    """Whether the host finds and counts the same."""
    counted = Stats()
    with CpuExtender(context.reference.planes).open_reads(context.packed) as bands:
        expected = single.search(HostBackend(context, bands, counted))
    same = digest([*vars(expected.bands).values(), *vars(expected).values()]) == found
    return same and all(
        getattr(stats, name) == getattr(counted, name) for name in ("occurrences", "candidates", "scored")
    )


def records(path: str, n: int) -> Iterator[tuple[str, str, None]]:
    """The reads of a plain FASTQ file."""
    with open(path, encoding="ascii") as file:
        for i, line in enumerate(islice(file, 1, 4 * n, 4)):
            yield str(i), line.strip(), None


def batches(path: str, n: int, size: int):
    """Batches of single reads."""
    reads = records(path, n)
    while some := list(islice(reads, size)):
        yield batch_of_records(some)


def pair_batches(args: argparse.Namespace):
    """Batches of pairs; `args.n` and `args.batch` count mates."""
    files = [records(path, args.n // 2) for path in (args.reads, args.mates)]
    while (some := [list(islice(file, args.batch // 2)) for file in files])[0]:
        yield batch_of_pairs(*some)


def add(total: dict[str, Spent], more: dict[str, Spent]) -> None:
    """Add what was spent to the sums."""
    for name, each in more.items():
        total[name] = Spent(*map(sum, zip(total.get(name, (0, 0.0, 0)), each, strict=True)))


def clear(on_device: DeviceIndex) -> dict[str, Spent]:
    """What the slots have noted, which is forgotten."""
    total: dict[str, Spent] = {}
    for slot in on_device.slots:
        add(total, slot.spent())
    return total


def digest(values: list[Any]) -> str:
    """MD5 of all arrays among these."""
    hashed = hashlib.md5()
    for value in values:
        if isinstance(value, np.ndarray):
            hashed.update(np.ascontiguousarray(value).tobytes())
    return hashed.hexdigest()


if __name__ == "__main__":
    raise SystemExit(main())
