"""Tables and a figure from the results of `scale.py` (its JSON)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from peer_tables import plural
from plots import quiet_pyplot, save

INDEX_HEADER = [
    "genome, Mb",
    "k",
    "index CPU s",
    "wall s",
    "peak MB",
    "peak, bytes per base",
    "file, bytes per base",
    "per unmasked base",
]
MAP_HEADER = ["genome, Mb", "reads", "threads", "--memory", "CPU us per read", "wall s", "peak MB", "right %"]


def in_order(result: dict[str, Any]) -> list[dict[str, Any]]:
    return sorted(result["genomes"], key=lambda genome: genome["size"])


def index_rows(result: dict[str, Any]) -> list[list[str]]:
    rows = []
    for genome in in_order(result):
        size, built = genome["size"], genome["index"]
        row = [f"{size / 1e6:g}", f"{built['k']}", f"{built['cpu']:.1f}", f"{built['wall']:.0f}"]
        row += [f"{built['rss'] / 1e6:.0f}", f"{built['rss'] / size:.2f}"]
        rows.append([*row, f"{built['bytes_per_base']:.2f}", f"{built['bytes_per_unmasked_base']:.2f}"])
    return rows


def map_rows(result: dict[str, Any]) -> list[list[str]]:
    rows = []
    for genome in in_order(result):
        for one in genome["runs"]:
            row = [
                f"{genome['size'] / 1e6:g}",
                f"{one['reads']:,}",
                f"{one['threads']}",
                one["memory"] or "-",
            ]
            row += [f"{1e6 * one['cpu'] / one['reads']:.1f}", f"{one['wall']:.0f}", f"{one['rss'] / 1e6:.0f}"]
            rows.append([*row, f"{100 * one['placed_right']:.2f}"])
    return rows


def plot(result: dict[str, Any], path: Path) -> None:
    """CPU time per read, and memory, against the size of the genome."""
    pyplot = quiet_pyplot()
    genomes = in_order(result)
    figure, (time, memory) = pyplot.subplots(1, 2, figsize=(9, 3.6))
    plain = [[r for r in genome["runs"] if r["memory"] is None] for genome in genomes]
    for number in sorted({r["reads"] for runs in plain for r in runs}):
        for threads, style in ((1, "o-"), (2, "s--")):
            points = [
                (genome["size"], 1e6 * r["cpu"] / number)
                for genome, runs in zip(genomes, plain, strict=True)
                for r in runs
                if (r["reads"], r["threads"]) == (number, threads)
            ]
            if points:
                time.plot(
                    *zip(*points, strict=True), style, label=f"{number:,} reads, {plural(threads, 'thread')}"
                )
    sizes = [genome["size"] for genome in genomes]
    lines = {
        "file": [genome["index"]["bytes"] for genome in genomes],
        "building, peak": [genome["index"]["rss"] for genome in genomes],
        "mapping, peak": [max(r["rss"] for r in runs) for runs in plain],
    }
    for name, values in lines.items():
        memory.plot(sizes, [value / 1e6 for value in values], "o-", label=name)
    time.set(xscale="log", xlabel="bases", ylabel="CPU us per read", ylim=(0, None))
    memory.set(xscale="log", yscale="log", xlabel="bases", ylabel="MB")
    for panel in (time, memory):
        panel.grid(alpha=0.3)
        panel.legend(fontsize=7)
    figure.tight_layout()
    save(figure, path)
