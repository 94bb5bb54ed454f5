"""The tables of docs/benchmarks/field.md, from the JSON file of `field.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness import markdown

COLUMNS = ["truth", "gassst", "bwa mem", "gassst false", "bwa mem false"]
One = dict[str, Any]


def figures(result: One) -> Iterator[tuple[str, One]]:
    for name, row in result["rows"].items():
        yield from ((name, one) for one in row.get("figures", ()))


def about(result: One) -> str:
    """Machine, versions, what is not in the tables; and a line for each row, all that it counts together."""
    machine, rows = result["machine"], result["rows"]
    commits = ", ".join(sorted({row["commit"] for row in rows.values()}))
    run = [row for row in rows.values() if "seconds" in row]
    spent = [
        sum(row[key] for row in run) for key in ("seconds", "cpu_seconds") if all(key in row for row in run)
    ]
    took = " minutes, and of CPU time ".join(f"{seconds / 60:.0f}" for seconds in spent)
    text = [
        f"Measured {machine['date']} on {machine['cpu']}, {machine['cpus']} cores, load {machine['load']:.1f} at the"
        f" end, at commit {commits}, in {took} minutes.",
        "Versions: " + ", ".join(f"{name} {said}" for name, said in result["versions"].items()) + ".",
        *(f"Not run: {row['what']} ({row['not_run']})." for row in rows.values() if "not_run" in row),
    ]
    lines = []
    for name, row in rows.items():
        if counted := [one for one in row.get("figures", ()) if not one["measured"]]:
            sums = {
                key: sum(one[key] or 0 for one in counted)
                for key in counted[0]
                if key not in ("what", "measured")
            }
            found = [f"{100 * sums[key] / sums['truth']:.2f}" for key in ("found", "bwa_found")]
            lines.append(
                [name, row["what"], str(sums["truth"]), *found, str(sums["wrong"]), str(sums["bwa_wrong"])]
            )
    header = ["row", "what", "truth", "gassst %", "bwa mem %", *COLUMNS[3:]]
    return "\n\n".join([*text, markdown(header, lines)])


def is_behind(one: One, ours: str = "", theirs: str = "bwa_") -> bool:
    """Fewer found, more false, or a measured value that is further from the truth."""
    found, other = one[f"{ours}found"], one[f"{theirs}found"]
    if one["measured"]:
        return abs(found - one["truth"]) > abs(other - one["truth"])
    return found < other or (one[f"{ours}wrong"] or 0) > (one[f"{theirs}wrong"] or 0)


def cells(one: One) -> list[str]:
    values = (one[key] for key in ("truth", "found", "bwa_found", "wrong", "bwa_wrong"))
    return ["" if value is None else f"{value:g}" if one["measured"] else str(value) for value in values]


def behind(result: One) -> str:
    """Every figure in which gassst is behind."""
    ours = [[name, one["what"], *cells(one)] for name, one in figures(result) if is_behind(one)]
    theirs = sum(is_behind(one, "bwa_", "") for _, one in figures(result))
    text = f"Of {sum(1 for _ in figures(result))} figures, gassst is behind in {len(ours)} and bwa mem in {theirs}."
    return "\n\n".join([text, *([markdown(["row", "figure", *COLUMNS], ours)] if ours else [])])


def details(result: One) -> str:
    """All figures, a table for each row, with its commands."""
    parts = []
    for name, row in result["rows"].items():
        if "figures" in row:
            lines = [[one["what"], *cells(one)] for one in row["figures"] if any(map(one.get, list(one)[1:]))]
            commands = "\n".join(f"    {command}" for command in row["commands"])
            parts += [f"### {name}", f"{row['what'][0].upper()}{row['what'][1:]}.", commands]
            parts.append(markdown(["figure", *COLUMNS], lines))
    return "\n\n".join(parts)
