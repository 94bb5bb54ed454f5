"""Tables and figures of lab/thesis.md from the results of `thesis.py`, with the published rows beside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import filters
import peer_tables
import plots
import rizk
from peer_tables import markdown, number

MILLION = 1_000_000
STEPS = (*rizk.FILTERS, "band score")


def about(result: dict) -> str:
    """What was measured where."""
    machine = result["on"]
    versions = {name: tool["version"] for name, tool in result["table_4_2"]["tools"].items()}
    tools = ", ".join(f"{name} {version}" for name, version in versions.items() if " " not in name)
    return "\n".join(
        [
            f"Measured {result['date']} on {machine['cpu']}, one thread, load {machine['load']} at the start: {tools}.",
            f"Simulated: {result['number']:,} reads of each kind, of {result['genome']}. "
            f"Filters saw the first {result['filtered_reads']:,} reads of each set.",
        ]
    )


def table_4_1(result: dict) -> str:
    """Real reads; seconds are CPU seconds, ours and theirs of a million reads."""
    rows = []
    for one in result["table_4_1"]:
        for name, run in one["runs"].items():
            rows.append([
                one["name"], name, number(run["index_cpu"]), number(run["net_us"]),
                number(run["confident_share"], 1, 100), number(run["questionable_share"], 2, 100),
            ])  # fmt: skip
    for column, (length, reads) in enumerate(zip(rizk.REAL_LENGTHS, rizk.REAL_READS, strict=True)):
        for name, published in rizk.TABLE_4_1.items():
            index, seconds, confident, questionable = published[column]
            per_million = seconds / reads * MILLION
            shares = number(confident), number(questionable, 2)
            rows.append([f"{length} bp (2011)", name, number(index, 0), number(per_million, 0), *shares])
    return markdown(["reads", "program", "index s", "s / million", "Q20 %", "Q20 questionable %"], rows)


def table_4_3(result: dict) -> str:
    """Share of the candidates that reach a step and end there, and of all candidates that ended so far."""
    sets = result["table_4_3"]
    columns = [_steps(one) for one in sets]
    rows = []
    for i, step in enumerate(STEPS):
        ours = [number(value) for column in columns for value in column[i]]
        published = [number(rizk.TABLE_4_3[name][i]) for name in rizk.TABLE_4_3]
        rows.append([step, *ours, *published])
    header = ["step"]
    for one in sets:
        header += [f"{one['name']} step %", "total %"]
    return markdown(header + [f"{name} (2011) step %" for name in rizk.TABLE_4_3], rows)


def _steps(one: dict) -> list[tuple[float, float]]:
    """(share of what enters, share of all) that each of STEPS discards; duplicates of a band count in its total."""
    chain, first = one["chain"], one["candidates"]
    found = [(s["step_percent"], filters.share(first - s["out"], first)) for s in chain["steps"].values()]
    score = chain["score"]
    return [*found, (score["step_percent"], filters.share(first - score["out"], first))]


def table_4_4(result: dict) -> str:
    """CPU nanoseconds of one candidate in each step, of the simulated sets of 50 and 500 bases with 5 % errors."""
    columns = {
        f"{one['length']} bp": [
            *(step["cpu_ns_each"] for step in one["chain"]["steps"].values()),
            one["band_ns"],
        ]
        for one in result["figure_4_4"]
        if one["length"] in (50, 500) and one["error"] == 0.05
    }
    rows = []
    for i, step in enumerate(STEPS):
        ours = [number(column[i]) for column in columns.values()]
        rows.append([step, *ours, *(number(times[i]) for times in rizk.TABLE_4_4.values())])
    return markdown(
        ["step", *(f"{name} ns" for name in columns), *(f"{name} (2011) ns" for name in rizk.TABLE_4_4)], rows
    )


def figure_4_3(result: dict, figure: Path) -> str:
    """The map of missed alignments, with the seed length below which none is missed."""
    data = result["figure_4_3"]
    errors, seeds = (range(low, high + 1) for low, high in (data["errors"], data["seeds"]))
    pyplot = plots.quiet_pyplot()
    fig, axis = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    levels = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1]
    shades = axis.contourf(errors, seeds, data["missed"], levels, cmap="viridis_r")
    axis.contour(errors, seeds, data["missed"], [0.01], colors=plots.COLOURS["gassst"], linewidths=2)
    safe = [(x, data["length"] / (x + 1)) for x in errors if data["length"] / (x + 1) <= seeds[-1]]
    axis.plot(*zip(*safe, strict=True), "k--", label=f"{data['length']} / (errors + 1): none is missed below")
    axis.plot([], [], color=plots.COLOURS["gassst"], linewidth=2, label="1 % missed")
    axis.set(xlabel="errors", ylabel="seed length, bases", ylim=(seeds[0], seeds[-1]))
    axis.legend(loc="upper right")
    fig.colorbar(shades, label=f"share of alignments of {data['length']} bases missed")
    text = "share of alignments that a seed misses, by errors and its length"
    return _shown(fig, figure.with_name("thesis_4_3.svg"), text)


def figure_4_4(result: dict, figure: Path) -> str:
    """What each step discards of all candidates of the simulated sets."""
    columns = {_kind(one): one["discarded"] for one in result["figure_4_4"]}
    return _bars(columns, figure.with_name("thesis_4_4.svg"), "candidates discarded by step, simulated")


def figure_4_5(result: dict, figure: Path) -> str:
    """Where the time of a whole run goes."""
    columns = {}
    for one in result["figure_4_4"]:
        parts = one["chain"]["mapper"]["parts"]
        columns[_kind(one)] = {name: filters.share(ns, sum(parts.values())) for name, ns in parts.items()}
    return _bars(columns, figure.with_name("thesis_4_5.svg"), "share of time by part, simulated")


def figure_4_6(result: dict, figure: Path) -> str:
    """What each step discards of all candidates of the real sets."""
    columns = {one["name"]: one["discarded"] for one in result["table_4_3"]}
    return _bars(columns, figure.with_name("thesis_4_6.svg"), "candidates discarded by step, real reads")


def _kind(one: dict) -> str:
    return f"{one['length']} bp\n{100 * one['error']:g} %"


def _bars(columns: dict[str, dict[str, float]], figure: Path, text: str) -> str:
    fig, axis = plots.quiet_pyplot().subplots(
        figsize=(max(5.0, 2.5 + 0.7 * len(columns)), 4), layout="constrained"
    )
    filters.stacked_bars(axis, list(columns), list(columns.values()), f"{text.split()[0]}, %")
    return _shown(fig, figure, text)


def _shown(fig: Any, figure: Path, text: str) -> str:
    plots.save(fig, figure)
    return f"![{text}]({figure.name})"


def table_4_2(result: dict) -> str:
    return peer_tables.thesis(result["table_4_2"])
