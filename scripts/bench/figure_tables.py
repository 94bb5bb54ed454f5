"""Tables and sentences of the pages from the results of `figures.py` (its JSON): nothing of speed is typed by hand."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from harness import markdown, plural

OURS = "gassst"
ALIGNER_ALONE = "bwa-mem3"
MILLION = 1e6
Set = dict[str, Any]


def of_kind(result: dict[str, Any], kind: str) -> list[Set]:
    """The sets of a part, as `figures.py` names it."""
    return [one for one in result["sets"].values() if kind_of(one) == kind]


def kind_of(one: Set) -> str:
    if one["threads"] > 1:
        return "threads"
    return "libraries" if one["error"] is None else "simulated"


def peers_of(result: dict[str, Any]) -> list[str]:
    return [name for name in result["tools"] if name != OURS]


def rounds(one: Set, tool: str, key: str) -> list[float]:
    return [run[key] for run in one["runs"].get(tool, {}).get("rounds", [])]


def ratios(one: Set, tool: str, key: str = "cpu") -> list[float]:
    """What a tool takes in multiples of ours, round by round; empty where it did not run."""
    return [
        theirs / ours for theirs, ours in zip(rounds(one, tool, key), rounds(one, OURS, key), strict=False)
    ]


def spread(values: Sequence[float], digits: int = 1) -> str:
    """Median and range."""
    if not values:
        return "-"
    middle, least, most = (
        f"{value:.{digits}f}" for value in (statistics.median(values), min(values), max(values))
    )
    return middle if least == most else f"{middle} ({least} to {most})"


def share(one: Set, tool: str) -> float | None:
    """Percentage of the reads placed correctly, or of real ones mapped."""
    run = one["runs"].get(tool, {})
    found = run.get("mapped_share" if one["error"] is None else "placed_right")
    return None if found is None else 100 * found


def label(one: Set) -> str:
    return one["name"].replace("%", " %")


def measured(result: dict[str, Any]) -> str:
    """What was measured where."""
    machine = result["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in result["tools"].items() if name != OURS)
    cores, rounds_each, lanes = result["cpus"], result["rounds"], plural(result["lanes"], "run")
    return (
        f"Commit {result['commit'][:8]}, {machine['date']}, {cores} cores of {result['cpu']}, default mode,\n"
        f"beside {versions}.\n"
        f"Median (and range) of {rounds_each} rounds, tools in turn, whole processes from plain FASTQ to SAM;\n"
        f"up to {lanes} of one thread at a time. Of {ALIGNER_ALONE} the aligner alone is timed."
    )


def libraries(result: dict[str, Any]) -> str:
    """Real libraries: CPU time of gassst, and of the others in multiples of it."""
    names = peers_of(result)
    rows = [
        [
            one["name"],
            f"{one['reads']:,}",
            spread(rounds(one, OURS, "cpu"), 2),
            f"{share(one, OURS):.1f}",
            *(spread(ratios(one, name)) for name in names),
        ]
        for one in of_kind(result, "libraries")
    ]
    return markdown(["library", "reads", "gassst, CPU s", "mapped %", *names], rows)


def simulated(result: dict[str, Any], paired: bool) -> str:
    """Simulated reads or pairs: share placed correctly, and CPU time in multiples of ours."""
    sets = [one for one in of_kind(result, "simulated") if one.get("paired", False) == paired]
    names = [name for name in peers_of(result) if any(ratios(one, name) for one in sets)]
    rows = []
    for one in sorted(sets, key=lambda one: (one["length"], one["error"])):
        cells = [
            f"{'' if (right := share(one, name)) is None else f'{right:.2f} %, '}{spread(ratios(one, name))}"
            for name in names
        ]
        micro = [MILLION * seconds / one["reads"] for seconds in rounds(one, OURS, "cpu")]
        rows.append([label(one), f"{share(one, OURS):.2f} %, {spread(micro)} us", *cells])
    return markdown(["reads", "gassst, CPU of a read", *names], rows)


def at_q20(result: dict[str, Any]) -> str:
    """Simulated reads: the share that is correct with MAPQ 20 or more, and the number that is wrong there."""
    sets = of_kind(result, "simulated")
    names = [name for name in result["tools"] if any("accuracy" in one["runs"].get(name, {}) for one in sets)]
    rows = []
    for one in sorted(sets, key=lambda one: (one.get("paired", False), one["length"], one["error"])):
        runs = [one["runs"].get(name, {}) for name in names]
        rows.append([label(one), *(_confident(run, one["reads"]) for run in runs)])
    return markdown([f"{sets[0]['reads']:,} reads each", *names], rows)


def _confident(run: Set, reads: int) -> str:
    """The share of the reads that is correct with MAPQ 20 or more, and how many are wrong there."""
    if not run.get("accuracy"):
        return "-"
    correct = run["sensitivity"] * reads
    return f"{100 * run['sensitivity']:.2f} %, {correct / run['accuracy'] - correct:.0f}"


def headline(result: dict[str, Any]) -> str:
    """The table of the README: medians, real libraries beside simulated reads."""
    names = peers_of(result)
    rows = []
    for kind in ("libraries", "simulated"):
        for one in of_kind(result, kind):
            cells = []
            for name in (OURS, *names):
                found = ratios(one, name)
                right = share(one, name) if kind == "simulated" else None
                shown = [f"{right:.1f} %"] if right is not None else []
                cells.append(
                    ", ".join([*shown, *([f"{statistics.median(found):.1f}x"] if found else [])]) or "-"
                )
            rows.append([f"{'real: ' if kind == 'libraries' else ''}{label(one)}", *cells])
    return markdown(["reads", OURS, *names], rows)


def threads(result: dict[str, Any]) -> str:
    """Wall seconds and CPU seconds with many threads."""
    rows = [
        [
            f"{one['reads']:,} of {label(one)}",
            name,
            spread(rounds(one, name, "wall"), 2),
            spread(rounds(one, name, "cpu")),
            spread(ratios(one, name, "wall")),
        ]
        for one in of_kind(result, "threads")
        for name in result["tools"]
        if rounds(one, name, "wall")
    ]
    return markdown(["reads", "mapper", "wall s", "CPU s", "times the wall time of gassst"], rows)


def said(result: dict[str, Any]) -> str:
    """A row for each other mapper, over all sets of a kind; then each set for which gassst is behind."""
    kinds = {"libraries": "cpu", "simulated": "cpu", "threads": "wall"}
    rows = []
    for name in peers_of(result):
        medians = {
            kind: [
                statistics.median(found) for one in of_kind(result, kind) if (found := ratios(one, name, key))
            ]
            for kind, key in kinds.items()
        }
        rows.append([name, *(spread(values) for values in medians.values())])
    many = max(one["threads"] for one in result["sets"].values())
    header = ["mapper", "real libraries, CPU", "simulated reads, CPU", f"{many} threads, wall"]
    behind, worse = [], []
    for one in result["sets"].values():
        key = "wall" if one["threads"] > 1 else "cpu"
        each = {
            name: statistics.median(found) for name in peers_of(result) if (found := ratios(one, name, key))
        }
        faster = [f"{name} {ratio:.2f}" for name, ratio in each.items() if ratio < 1]
        behind += [f"* Faster for {label(one)}: {', '.join(faster)}."] if faster else []
        ours = share(one, OURS) or 0.0
        right = {name: share(one, name) or 0.0 for name in each} if kind_of(one) == "simulated" else {}
        better = [f"{name} {found:.3f} %" for name, found in right.items() if found > ours]
        worse += (
            [f"* More placed correctly of {label(one)}: {', '.join(better)}; gassst {ours:.3f} %."]
            if better
            else []
        )
    return "\n".join([markdown(header, rows), "", *behind, *worse]).rstrip()
