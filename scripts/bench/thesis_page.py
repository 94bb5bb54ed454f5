"""The tables of lab/thesis.md from the results of `thesis.py`, with the published rows beside."""

from __future__ import annotations

import filters
import peer_tables
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
        for one in result["filters"]
        if one["length"] in (50, 500) and one["error"] == 0.05
    }
    rows = []
    for i, step in enumerate(STEPS):
        ours = [number(column[i]) for column in columns.values()]
        rows.append([step, *ours, *(number(times[i]) for times in rizk.TABLE_4_4.values())])
    return markdown(
        ["step", *(f"{name} ns" for name in columns), *(f"{name} (2011) ns" for name in rizk.TABLE_4_4)], rows
    )


def table_4_2(result: dict) -> str:
    """Simulated reads, in the shape of the published table."""
    return peer_tables.thesis(result["table_4_2"])


def everything(result: dict) -> str:
    """All tables, with their headings."""
    tables = {"4.1": table_4_1, "4.2": table_4_2, "4.3": table_4_3, "4.4": table_4_4}
    return "\n\n".join([about(result), *(f"Table {n}\n\n{shown(result)}" for n, shown in tables.items())])
