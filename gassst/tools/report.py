"""Report of a mapping run: one HTML page that needs nothing else, neither network nor script nor font.

It shows the numbers of `Stats.as_dict()`; every plot comes with a table of its values.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from gassst.arguments import file_path, output_path
from gassst.errors import InputError
from gassst.io.distinct import check_distinct
from gassst.io.whole_file import write_text
from gassst.stats import CONFIDENT, CYCLE_COUNTS
from gassst.tools.report_page import facts, page, panel, plot_and_table, table, tiles
from gassst.tools.report_plots import bars, ranking, rates, require_matplotlib, svg

COUNTS = ("reads", "bases", "mapped", "confident", "capped")
WORK = {
    "occurrences": "seed occurrences",
    "candidates": "candidates",
    "scored": "bands scored",
    "traced": "alignments traced back",
}
STAGES = {
    "parse": "text to records",
    "pack": "reads to bit planes",
    "upload": "reads to the device",
    "seeds": "seeds looked up in the index",
    "candidates": "seed occurrences to candidates and buckets",
    "filters": "the cascade of filters",
    "score": "errors of bands",
    "pairs": "mates looked for beside each other, pairs scored",
    "select": "best places chosen",
    "align": "tracebacks and CIGARs",
    "local": "local alignments at the places found",
    "cycles": "errors counted by cycle",
    "encode": "records made",
    "write": "records written",
}
FUNNEL = {
    "in": "in",
    "out": "out",
    "step_percent": "rejected, %",
    "total_percent": "so far, %",
    "ns_per_candidate": "ns each",
}


@dataclass(frozen=True)
class Numbers:
    """The numbers of a run, of the right types; what a run did not count is empty.

    Attributes
    ----------
    counts, work : dict of str to int
        `COUNTS` and `WORK`.
    errors, mapq : dict of int to int
        Value -> reads, ascending.
    nanoseconds : dict of str to int
        By stage in the order of the pipeline, the filters as one.
    funnel : dict of str to dict
        As of `Funnel.as_dict()`.
    cycles : int64[c, 4]
        Columns `CYCLE_COUNTS`.
    run : dict
        `Stats.run`.
    """

    counts: dict[str, int]
    work: dict[str, int]
    errors: dict[int, int]
    mapq: dict[int, int]
    nanoseconds: dict[str, int]
    funnel: dict[str, dict[str, float]]
    cycles: np.ndarray
    run: dict[str, Any]

    @classmethod
    def from_dict(cls, stats: dict[str, Any], source: str = "statistics") -> Numbers:
        """From `Stats.as_dict()`; raises InputError, with `source` as its subject, for anything else."""
        try:
            funnel = stats.get("funnel", {})
            return cls(
                {name: _count(stats[name]) for name in COUNTS},
                {name: _count(stats[name]) for name in WORK if name in stats},
                _histogram(stats.get("errors", {})),
                _histogram(stats.get("mapq", {})),
                _stage_times(stats.get("nanoseconds", {}), funnel),
                {name: {key: float(row[key]) for key in FUNNEL} for name, row in funnel.items()},
                _cycle_table(stats.get("cycles", {})),
                dict(stats.get("run", {})),
            )
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise InputError(f"{source}: not what `gassst map --stats` writes ({error!r})") from None


def _count(value: Any) -> int:
    """A number of things; ValueError for one that cannot be."""
    count = int(value)
    if not 0 <= count < 1 << 63:
        raise ValueError(f"{count} is no count")
    return count


def _histogram(counts: dict[str, int]) -> dict[int, int]:
    return dict(sorted((_count(value), _count(n)) for value, n in counts.items()))


def _stage_times(nanoseconds: dict[str, int], funnel: dict[str, dict[str, float]]) -> dict[str, int]:
    times = {name: _count(ns) for name, ns in nanoseconds.items()}
    if funnel:
        times["filters"] = sum(_count(row["nanoseconds"]) for row in funnel.values())
    order = {name: place for place, name in enumerate(STAGES)}
    return dict(sorted(times.items(), key=lambda item: (order.get(item[0], len(order)), item[0])))


def _cycle_table(cycles: dict[str, list[int]]) -> np.ndarray:
    columns = [cycles[name] for name in CYCLE_COUNTS] if cycles else [[]] * len(CYCLE_COUNTS)
    return np.array(columns, np.int64).T


def _percent(part: float, whole: float, digits: int = 2) -> str:
    return f"{100 * part / whole:.{digits}f}\N{NO-BREAK SPACE}%" if whole else "–"


def _overview(numbers: Numbers) -> str:
    n, reads = numbers.counts, numbers.counts["reads"]
    edits = sum(value * count for value, count in numbers.errors.items())
    edits_each = f"{edits / n['mapped']:.3f}" if n["mapped"] else "–"
    return tiles(
        [
            ("Reads", f"{reads:,}", f"{n['bases']:,} bases"),
            ("Mapped", _percent(n["mapped"], reads), f"{n['mapped']:,} reads"),
            (f"MAPQ ≥ {CONFIDENT}", _percent(n["confident"], reads), f"{n['confident']:,} reads"),
            ("Capped", _percent(n["capped"], reads), f"{n['capped']:,} reads with a seed passed over"),
            ("Errors per mapped read", edits_each, f"{edits:,} in all"),
        ]
    )


def _edit_distances(numbers: Numbers) -> str:
    mapped = sum(numbers.errors.values())
    if not mapped:
        return ""
    title = "Edit distance"
    shares = {value: 100 * n / mapped for value, n in numbers.errors.items()}
    plot = svg("edits", title, bars(shares, "errors of the best alignment", "% of mapped reads"))
    rows = [(value, n, shares[value]) for value, n in numbers.errors.items()]
    note = "Mismatches, inserted and deleted bases of the best alignment of each mapped read."
    content = plot_and_table(plot, table(title, ("errors", "reads", "%"), rows))
    return panel("edit-distance", title, note, content)


def _mapping_qualities(numbers: Numbers) -> str:
    mapped = sum(numbers.mapq.values())
    if not mapped:
        return ""
    title = "Mapping quality"
    plot = svg("mapq", title, bars(dict(numbers.mapq), "MAPQ", "reads (log scale)", log=True))
    rows, left = [], mapped
    for quality, n in numbers.mapq.items():
        rows.append((quality, n, 100 * left / mapped))
        left -= n
    note = "Mapped reads by the quality of their primary alignment; 0 where several places are equally good."
    content = plot_and_table(plot, table(title, ("MAPQ", "reads", "% with at least this"), rows))
    return panel("mapping-quality", title, note, content)


def _errors_by_cycle(numbers: Numbers) -> str:
    if not len(numbers.cycles):
        return ""
    title = "Errors by cycle"
    percent = 100 * numbers.cycles[:, 1:] / np.maximum(numbers.cycles[:, :1], 1)
    plot = svg("cycle", title, rates(percent), height=3.2)
    rows = [(i + 1, *numbers.cycles[i].tolist(), *percent[i].tolist()) for i in range(len(percent))]
    head = ("cycle", *CYCLE_COUNTS, *(f"{name}, %" for name in CYCLE_COUNTS[1:]))
    note = (
        "Errors of the primary alignments by position in the read, in the order of sequencing, as a share "
        "of the reads that are long enough. A deletion counts at the base sequenced before it."
    )
    return panel("errors-by-cycle", title, note, plot_and_table(plot, table(title, head, rows)))


def _filters(numbers: Numbers) -> str:
    if not numbers.funnel:
        return ""
    title, rows = "Cascade of filters", numbers.funnel
    entered = next(iter(rows.values()))["in"]
    left = {"candidates": entered, **{name: row["out"] for name, row in rows.items()}}
    plot = "<p>No candidates.</p>"
    if entered:
        notes = [_percent(n, entered, 1) for n in left.values()]
        plot = svg("cascade", title, ranking(left, notes, "candidates left"), 0.7 + 0.26 * len(left))
    values = [
        (name, int(row["in"]), int(row["out"]), *(row[key] for key in list(FUNNEL)[2:]))
        for name, row in rows.items()
    ]
    note = "Candidates left behind each filter; no filter loses an alignment within the error limit."
    numbers_table = table(title, ("filter", *FUNNEL.values()), values)
    return panel("filters", title, note, f"<figure>{plot}</figure>", numbers_table)


def _stages(numbers: Numbers) -> str:
    total = sum(numbers.nanoseconds.values())
    if not total:
        return ""
    title, seconds = "Time by stage", {name: ns / 1e9 for name, ns in numbers.nanoseconds.items()}
    notes = [_percent(ns, total, 1) for ns in numbers.nanoseconds.values()]
    plot = svg("time", title, ranking(seconds, notes, "seconds"), 0.7 + 0.23 * len(seconds))
    rows = [(name, s, 100e9 * s / total, STAGES.get(name, "")) for name, s in seconds.items()]
    note = f"Summed over worker threads: {total / 1e9:,.2f} s in all."
    content = plot_and_table(plot, table(title, ("stage", "seconds", "%", ""), rows))
    return panel("stages", title, note, content)


def _work(numbers: Numbers) -> str:
    if not numbers.work:
        return ""
    title, reads = "Work done", max(numbers.counts["reads"], 1)
    rows = [(WORK[name], n, n / reads) for name, n in numbers.work.items()]
    return panel("work", title, "", table(title, ("", "number", "per read"), rows))


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "not given" if value is None else "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _extension_text(name: str, value: Any) -> str:
    """Counters of `extension.base.Times`: two counts, the others ns, 0 where no clock was asked for."""
    if name in ("calls", "pairs") or not isinstance(value, int):
        return _text(value)
    return f"{value / 1e9:,.3f} s" if value else "not measured"


def _run(numbers: Numbers) -> str:
    """All that is known of the run: its simple facts, then each group of them."""
    simple = {name: value for name, value in numbers.run.items() if not isinstance(value, dict)}
    groups = {name: value for name, value in numbers.run.items() if isinstance(value, dict)}
    panels = []
    for i, (group, values) in enumerate({"run": simple, **groups}.items()):
        write = _extension_text if group == "extension" else lambda _, value: _text(value)
        texts = {name.replace("_", " "): write(name, value) for name, value in values.items()}
        if texts:
            panels.append(panel(f"run-{i}", group.capitalize(), "", facts(texts), wide=i == 0))
    return "\n".join(panels)


PANELS = (_edit_distances, _mapping_qualities, _errors_by_cycle, _filters, _stages, _work, _run)


def render(stats: dict[str, Any], source: str = "statistics") -> str:
    """The page for the dict of `Stats.as_dict()`; InputError for another, UsageError without matplotlib."""
    numbers = Numbers.from_dict(stats, source)
    require_matplotlib()
    command = str(numbers.run.get("command", ""))
    return page(command, _overview(numbers), [section(numbers) for section in PANELS])


def write_report(stats: dict[str, Any], path: str | os.PathLike[str], source: str = "statistics") -> None:
    """Writes the report of a run; the file takes its name when it is complete.

    Parameters
    ----------
    stats : dict
        As of `Stats.as_dict()`, or read back from its JSON.
    path : path
        HTML file, or "-" for standard output.
    source : str
        What an error calls `stats`.

    Raises
    ------
    UsageError
        matplotlib is missing; `require_matplotlib` says so before a long run.
    InputError
        `stats` is not what it should be.
    OutputError
        The file cannot be written.
    """
    write_text(path, render(stats, source))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `gassst report`."""
    add = parser.add_argument
    add("stats", metavar="STATS.json", type=file_path, help="What `gassst map --stats` wrote.")
    add(
        "-o",
        "--output",
        default="-",
        metavar="OUT.html",
        type=output_path,
        help="Write the page to this file; a dash means stdout.",
    )


def main(args: argparse.Namespace) -> int:
    """Runs `gassst report`. Raises UsageError, InputError, OutputError."""
    check_distinct([args.output], [args.stats])
    write_report(_read_json(args.stats), args.output, args.stats)
    return 0


def _read_json(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error})") from None
