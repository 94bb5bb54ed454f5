"""How many machines a run uses well: costs that are measured on one machine, and a calculation for many.

    python scripts/bench/cluster_model.py measure ref.gsi R1.fq R2.fq --cores 16 --nodes 1,2,4,8 -o costs.json
    python scripts/bench/cluster_model.py calculate costs.json [--storage 5 --network 1.2 --cpu-factor 2]

`measure` runs one machine as if it were several: k shards at a time, each a `gassst map --shard` with its share of the
cores (taskset), then `gassst gather`. Reads are taken in BGZF, as labs have them: `bgzip` makes them. `calculate` takes
these costs for a genome of 30x on nodes of so many cores. Rows say seconds, and the share of the node time that maps.
What is assumed and not measured are the options of `calculate`: bytes a second of the storage and of the network.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

GASSST = [sys.executable, "-m", "gassst"]
READS_30X = 620_000_000  # of 150 bases, of 3.1 Gb
INDEX_BYTES = 17.6e9  # of 3.1 Gb (docs/benchmarks/throughput.md)
SHARDS_PER_NODE = 4  # so that nodes end at about the same time
WELL = 0.8  # share of the node time that maps, from which on nodes are used well


# --- measured ---------------------------------------------------------------------------------------------------


def timed(*commands: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds of commands that run at the same time."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    running = [subprocess.Popen(command) for command in commands]
    codes = [process.wait() for process in running]
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if any(codes):
        raise SystemExit(f"a command failed: {commands[0]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def pinned(cores: range, command: list[str]) -> list[str]:
    return ["taskset", "-c", ",".join(map(str, cores)), *command]


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Costs of this machine. The least of `repeats` runs; settings take turns."""
    cores, reads = args.cores, [args.reads1, args.reads2]
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        inputs = [str(folder / f"{i}.fq.gz") for i in (1, 2)]
        for path, source in zip(inputs, reads, strict=True):
            with open(path, "wb") as file:
                subprocess.run(["bgzip", "-c", "-@", str(cores), source], stdout=file, check=True)
        few = [str(folder / f"few{i}.fq") for i in (1, 2)]
        for path, source in zip(few, reads, strict=True):
            with open(source) as file, open(path, "w") as first:
                first.writelines(line for line, _ in zip(file, range(400), strict=False))
        common = ["--device", "none", "-q"]
        model, stats = str(folder / "insert.json"), str(folder / "stats.json")
        subprocess.run(
            [*GASSST, "insert", args.index, *inputs, "-o", model, "-t", str(cores), *common], check=True
        )

        def shards(nodes: int) -> list[list[str]]:
            each = cores // nodes
            return [
                pinned(
                    range(i * each, (i + 1) * each),
                    [
                        *GASSST,
                        "map",
                        args.index,
                        *inputs,
                        "-o",
                        str(folder / f"{nodes}.{i}.bam"),
                        "-t",
                        str(each),
                    ]
                    + ["--shard", f"{i + 1}/{nodes}", "--insert-model", model, *common],
                )
                for i in range(nodes)
            ]

        def gather(nodes: int, *more: str) -> list[str]:
            parts = [str(folder / f"{nodes}.{i}.bam") for i in range(nodes)]
            return [*GASSST, "gather", *parts, "-o", str(folder / "all.bam"), "-t", str(cores), "-q", *more]

        whole = pinned(range(cores), [*GASSST, "map", args.index, *inputs, "-o", str(folder / "one.bam")])
        whole += ["-t", str(cores), "--insert-model", model, "--stats", stats, *common]
        start = pinned(range(cores), [*GASSST, "map", args.index, *few, "-o", os.devnull, "--format", "sam"])
        start += ["-t", str(cores), "--insert-model", model, *common]
        timed(whole)  # the index comes into memory
        runs: dict[str, list[tuple[float, float]]] = {}
        most = max(args.nodes)
        for _ in range(args.repeats):
            runs.setdefault("start", []).append(timed(start))
            runs.setdefault("whole", []).append(timed(whole))
            for nodes in args.nodes:
                runs.setdefault(f"shards {nodes}", []).append(timed(*shards(nodes)))
            runs.setdefault("gather", []).append(timed(gather(most)))
            runs.setdefault("sort and mark", []).append(timed(gather(most, "--sort", "--markdup")))
        n = json.loads(Path(stats).read_text())["reads"]
        return {
            "machine": os.uname().machine,
            "cores": cores,
            "reads": n,
            "index_bytes": os.path.getsize(args.index),
            "bytes_in": sum(map(os.path.getsize, inputs)) / n,
            "bytes_out": os.path.getsize(folder / "one.bam") / n,
            "seconds": {name: min(wall for wall, _ in found) for name, found in runs.items()},
            "cpu_seconds": {name: min(cpu for _, cpu in found) for name, found in runs.items()},
        }


# --- calculated -------------------------------------------------------------------------------------------------


class Costs(NamedTuple):
    """Of one node and of what all share. Times in seconds, rates in bytes a second."""

    start: float  # until the first read is mapped, with the index in memory
    map: float  # of a read, by a whole node
    gather: float  # of a read, by one node
    bytes_in: float  # of a read
    bytes_out: float
    index_bytes: float
    network: float  # of one node
    storage: float  # of all together


class Run(NamedTuple):
    """Seconds of the parts of a run on so many nodes."""

    nodes: int
    start: float
    index: float
    map: float
    tail: float
    gather: float

    @property
    def wall(self) -> float:
        return sum(self[1:])

    def used(self, reads: int, costs: Costs) -> float:
        """Share of the node time, up to the gathering, that maps."""
        return reads * costs.map / (self.nodes * (self.wall - self.gather))


def run_of(nodes: int, reads: int, costs: Costs) -> Run:
    """One genome on so many nodes. Storage is shared, so it bounds what nodes read and write together."""
    rate = min(costs.network, costs.storage / nodes)
    moved = costs.bytes_in + costs.bytes_out
    mapping = max(reads / nodes * costs.map, reads / nodes * moved / rate)
    return Run(
        nodes=nodes,
        start=costs.start,
        index=costs.index_bytes / rate,
        map=mapping,
        tail=mapping / SHARDS_PER_NODE / 2,  # the last of its shards begins when others have ended
        gather=reads * max(costs.gather, 2 * costs.bytes_out / min(costs.network, costs.storage)),
    )


def costs_of(measured: dict[str, Any], args: argparse.Namespace) -> Costs:
    seconds, reads = measured["seconds"], measured["reads"]
    speed = (args.node_cores or measured["cores"]) / measured["cores"]
    gather = seconds["sort and mark"] if args.sort else seconds["gather"]
    return Costs(
        start=seconds["start"],
        map=(seconds["whole"] - seconds["start"]) / reads * args.cpu_factor / speed,
        gather=gather / reads * args.bases_factor / speed,
        bytes_in=measured["bytes_in"] * args.bases_factor,
        bytes_out=measured["bytes_out"] * args.bases_factor,
        index_bytes=args.index_bytes,
        network=args.network * 1e9,
        storage=args.storage * 1e9,
    )


def calculate(args: argparse.Namespace) -> str:
    """Tables in Markdown."""
    measured = json.loads(Path(args.costs).read_text())
    costs = costs_of(measured, args)
    rows = ["| nodes | start | index | map | last shard | gather | wall, s | maps |", "|--:" * 8 + "|"]
    for nodes in (1, 2, 4, 8, 16, 32, 64, 128):
        run = run_of(nodes, args.reads, costs)
        cells = [f"{x:,.0f}" for x in (*run, run.wall)]
        rows.append(f"| {' | '.join(cells)} | {run.used(args.reads, costs):.0%} |")
    best = max(
        n for n in range(1, 2000) if n == 1 or run_of(n, args.reads, costs).used(args.reads, costs) >= WELL
    )
    rate = 1 / costs.map
    moved = costs.bytes_in + 3 * costs.bytes_out  # a part is written, read again, and written as a whole
    nodes = costs.storage / (rate * moved)
    alone = run_of(1, args.reads, costs)
    day = 86_400 / (alone.map + alone.gather)
    rows += [
        "",
        f"A node maps {rate:,.0f} reads a second, and moves {rate * moved / 1e6:,.0f} MB a second.",
        f"One genome uses up to {best} nodes well ({WELL:.0%} of their time maps): "
        f"{run_of(best, args.reads, costs).wall / 60:,.0f} minutes with gathering.",
        f"Of many genomes, each node maps and gathers its own: {day:,.1f} a day. {nodes:,.0f} nodes take all of the "
        f"storage; 1,000 genomes take them {1000 / day / nodes * 24:,.1f} hours.",
    ]
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure")
    one.add_argument("index")
    one.add_argument("reads1")
    one.add_argument("reads2")
    one.add_argument("--cores", type=int, default=os.cpu_count())
    one.add_argument("--nodes", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2])
    one.add_argument("--repeats", type=int, default=3)
    one.add_argument("--folder", help="where parts are written (default: the system's)")
    one.add_argument("-o", "--output", default="-")
    two = commands.add_parser("calculate")
    two.add_argument("costs")
    two.add_argument("--reads", type=int, default=READS_30X)
    two.add_argument("--index-bytes", type=float, default=INDEX_BYTES)
    two.add_argument("--network", type=float, default=1.2, help="GB a second of a node (default: 10 Gbit)")
    two.add_argument("--storage", type=float, default=5, help="GB a second of the shared storage")
    two.add_argument(
        "--cpu-factor", type=float, default=1, help="a read costs so many times the measured one"
    )
    two.add_argument("--bases-factor", type=float, default=1, help="and has so many times its bytes")
    two.add_argument(
        "--node-cores", type=int, help="of a node (default: as measured); time falls as cores rise"
    )
    two.add_argument("--sort", action="store_true", help="gather sorts and marks duplicates")
    args = parser.parse_args()
    if args.command == "calculate":
        print(calculate(args))
        return 0
    text = json.dumps(measure(args), indent=1) + "\n"
    if args.output == "-":
        print(text, end="")
    else:
        Path(args.output).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
