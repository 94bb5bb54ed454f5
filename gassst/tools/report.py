"""Report of mapping runs: one HTML page that needs nothing else, neither network nor script nor font.

It shows the numbers of `Stats.as_dict()`; every plot comes with a table of its values. Of several runs it shows the
same side by side (`gassst.tools.report_compare`), and of a sheet its samples (`gassst.tools.report_sheet`).
"""

from __future__ import annotations

import argparse
import os
from typing import Any

import numpy as np

from gassst.errors import UsageError
from gassst.files.whole_file import write_text
from gassst.model.stats import CONFIDENT, CYCLE_COUNTS, DAMAGE_COUNTS
from gassst.runs.libraries import library_text
from gassst.tools import report_compare, report_sheet
from gassst.tools.arguments import file_path, output_path
from gassst.tools.report_numbers import FUNNEL, STAGES, WORK, Numbers, read_stats
from gassst.tools.report_page import (
    facts,
    folded,
    page,
    panel,
    percent,
    plot_and_table,
    table,
    text_of,
    tiles,
)
from gassst.tools.report_plots import (
    along,
    bars,
    beyond,
    curves,
    ranking,
    rates,
    require_matplotlib,
    svg,
    two_ends,
    usual_top,
)

NOT_SHOWN = (
    "reference",
    "read_groups",
    "libraries",
    "seconds",
    "command",
    "date",
    "host",
    "index",
    "version",
)  # parts of `Stats.run` that are shown in other ways
GROUPS = {
    "run": "Machine",
    "parameters": "Parameters given",
    "effective": "Parameters used",
    "insert": "Insert sizes expected",
    "extension": "Alignment in bands",
}
CLOCKS = "compile", "kernel", "device_kernel", "upload", "download"
MOST_CONTIGS = 50
MOST_UNSEEN = 0.5  # % of reads that a plot may leave out


def _overview(numbers: Numbers) -> str:
    n, reads = numbers.counts, numbers.counts["reads"]
    edits = sum(value * count for value, count in numbers.errors.items())
    values = [
        ("Reads", f"{reads:,}", f"{n['bases']:,} bases"),
        ("Mapped", percent(n["mapped"], reads), f"{n['mapped']:,} reads"),
        (f"MAPQ ≥ {CONFIDENT}", percent(n["confident"], reads), f"{n['confident']:,} reads"),
    ]
    if n["pairs"]:
        values.append(
            ("Proper pairs", percent(n["proper"], n["pairs"]), f"{n['proper']:,} of {n['pairs']:,}")
        )
    if n["duplicates"]:
        values.append(
            ("Duplicates", percent(n["duplicates"], n["mapped"]), f"{n['duplicates']:,} mapped reads")
        )
    if numbers.inserts:
        values.append(("Insert size", f"{numbers.median_insert:,}", "bases, the median"))
    if numbers.reference_bases:
        remark = f"of {numbers.reference_bases:,} bases, on average"
        values.append(("Coverage", f"{numbers.mean_coverage:,.2f}x", remark))
    edits_each = f"{numbers.edits_per_read:.3f}" if n["mapped"] else "–"
    values.append(("Errors per mapped read", edits_each, f"{edits:,} in all"))
    if seconds := numbers.run.get("seconds"):
        values.append(("Wall time", f"{seconds:,.1f} s", f"{reads / seconds:,.0f} reads a second"))
    return tiles(values)


def _insert_sizes(numbers: Numbers) -> str:
    if not numbers.inserts:
        return ""
    title = "Insert sizes"
    length, pairs = _binned(numbers.inserts)
    drawing = curves({"": (length, pairs)}, "template length, bases", "pairs")
    plot = svg("insert", title, drawing)
    rows = list(zip(length.tolist(), pairs.tolist(), strict=True))
    note = "Pairs whose mates are both placed with confidence, on one contig and in the orientation of the library."
    content = plot_and_table(plot, table(title, ("length from", "pairs"), rows))
    return panel("insert-sizes", title, note, content)


def _binned(inserts: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Bins of equal width, at most 100, over all but the longest 0.5 %: their least lengths, and their pairs."""
    lengths, pairs = np.array(list(inserts)), np.array(list(inserts.values()))
    most = lengths[np.searchsorted(np.cumsum(pairs), 0.995 * pairs.sum())]
    width = max(1, -(-(int(most) + 1) // 100))
    kept = lengths <= most
    counts = np.bincount(lengths[kept] // width, pairs[kept]).astype(np.int64)
    first = int(np.flatnonzero(counts)[0])
    return np.arange(first, len(counts)) * width, counts[first:]


def _coverage(numbers: Numbers) -> str:
    bases = numbers.reference_bases
    if not bases or not len(numbers.windows):
        return ""
    title, size = "Coverage", bases / len(numbers.windows)
    depth = numbers.windows / size
    middle = (np.arange(len(depth)) + 0.5) * size / 1e6
    contigs = numbers.run["reference"]
    drawing = along(middle, depth, dict(zip(contigs["names"], contigs["lengths"], strict=True)))
    plot = svg("coverage", title, drawing)
    rows = [
        (name, length, int(aligned), int(aligned) / max(length, 1))
        for name, length, aligned in zip(contigs["names"], contigs["lengths"], numbers.contigs, strict=True)
    ]
    rows = sorted(rows, key=lambda row: -row[1])
    note = f"Mean coverage of {len(depth)} windows of {size:,.0f} bases, by primary and supplementary alignments."
    note += beyond(depth, usual_top(depth))
    if len(rows) > MOST_CONTIGS:
        note += f" The table has the {MOST_CONTIGS} longest of {len(rows):,} contigs."
    head = ("contig", "bases", "aligned bases", "coverage")
    return panel("coverage", title, note, plot_and_table(plot, table(title, head, rows[:MOST_CONTIGS])))


def _edit_distances(numbers: Numbers) -> str:
    mapped = sum(numbers.errors.values())
    if not mapped:
        return ""
    title = "Edit distance"
    shares = {value: 100 * n / mapped for value, n in numbers.errors.items()}
    plot = svg("edits", title, bars(_usual(shares), "errors of the best alignment", "% of mapped reads"))
    rows = [(value, n, shares[value]) for value, n in numbers.errors.items()]
    note = "Mismatches, inserted and deleted bases of the best alignment of each mapped read."
    if len(_usual(shares)) < len(shares):
        note += f" The table has all; {100 - sum(_usual(shares).values()):.2f} % of the reads lie beyond the plot."
    content = plot_and_table(plot, table(title, ("errors", "reads", "%"), rows))
    return panel("edit-distance", title, note, content)


def _usual(shares: dict[int, float]) -> dict[int, float]:
    """The shares in % up to the value beyond which at most 0.5 % lie: bars too low to be seen lengthen the axis."""
    found: dict[int, float] = {}
    for value, share in shares.items():
        if sum(found.values()) >= 100 - MOST_UNSEEN:
            break
        found[value] = share
    return found


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
    note += beyond(percent[:, 0], usual_top(percent[:, 0]), " %")
    return panel("errors-by-cycle", title, note, plot_and_table(plot, table(title, head, rows)))


def _damage(numbers: Numbers) -> str:
    if not numbers.is_damaged:
        return ""
    title = "Damage"
    plot = svg("damage", title, two_ends(numbers.damage_percent))
    note = (
        "Bases of the primary alignments read as T where the reference has C, and as A where it has G, by distance "
        "from the ends of the reads and in their direction. Ancient DNA shows C>T at the 5' end; at the 3' end G>A "
        "(double-stranded protocol) or C>T (single-stranded)."
    )
    tables = (_damage_table(numbers, i, f"{title} at the {end}' end") for i, end in enumerate((5, 3)))
    return panel("damage", title, note, plot_and_table(plot, "".join(tables)))


def _damage_table(numbers: Numbers, end: int, title: str) -> str:
    counts, percent = numbers.damage[:, end].tolist(), numbers.damage_percent[:, end].tolist()
    rows = [(i + 1, *n, *shares) for i, (n, shares) in enumerate(zip(counts, percent, strict=True))]
    return table(title, (title, *DAMAGE_COUNTS, "C>T, %", "G>A, %"), rows)


def _filters(numbers: Numbers) -> str:
    if not numbers.funnel:
        return ""
    title, rows = "Cascade of filters", numbers.funnel
    entered = next(iter(rows.values()))["in"]
    left = {"before": entered, **{name: row["out"] for name, row in rows.items()}}
    plot = "<p>No candidates.</p>"
    if entered:
        notes = [percent(n, entered, 1) for n in left.values()]
        plot = svg("cascade", title, ranking(left, notes, "places left"), 0.7 + 0.26 * len(left))
    values = [
        (name, int(row["in"]), int(row["out"]), *(row[key] for key in list(FUNNEL)[2:]))
        for name, row in rows.items()
    ]
    note = (
        "What is left behind each filter of the places that came to the filters; others were settled before. No filter "
        "loses an alignment within the error limit."
    )
    numbers_table = table(title, ("filter", *FUNNEL.values()), values)
    return panel("filters", title, note, f"<figure>{plot}</figure>", numbers_table)


def _stages(numbers: Numbers) -> str:
    total = sum(numbers.nanoseconds.values())
    if not total:
        return ""
    title, seconds = "Time by stage", {name: ns / 1e9 for name, ns in numbers.nanoseconds.items()}
    notes = [percent(ns, total, 1) for ns in numbers.nanoseconds.values()]
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
    capped = numbers.counts["capped"]
    rows.append(("reads with a seed passed over", capped, capped / reads))
    return panel("work", title, "", table(title, ("", "number", "per read"), rows))


def _extension_text(name: str, value: Any) -> str | None:
    """Counters of `model.times.Times`: ns of clocks, counts; None for what was not measured."""
    is_clock = name in CLOCKS and isinstance(value, int)
    return (f"{value / 1e9:,.3f} s" if is_clock else text_of(value)) if value else None


def _libraries(numbers: Numbers) -> str:
    found = numbers.run.get("libraries", [])
    if len(found) < 2:
        return ""
    rows = [(i, library_text(one), one["reads"], 100 * one["share"]) for i, one in enumerate(found, 1)]
    note = "The reads differ in errors or insert sizes; each stretch was judged by its own."
    content = table("Libraries", ("library", "insert size, errors", "reads", "%"), rows)
    return panel("libraries", "Libraries", note, content)


def _run(numbers: Numbers) -> str:
    """What the head of the page does not say of the run: its simple facts, then each group of them."""
    shown = {name: value for name, value in numbers.run.items() if name not in NOT_SHOWN}
    simple = {name: value for name, value in shown.items() if not isinstance(value, dict)}
    groups = {name: value for name, value in shown.items() if isinstance(value, dict)}
    panels = []
    for i, (group, values) in enumerate({"run": simple, **groups}.items()):
        write = _extension_text if group == "extension" else lambda _, value: text_of(value)
        texts = {
            name.replace("_", " "): write(name, each) for name, each in values.items() if each is not None
        }
        if known := {name: text for name, text in texts.items() if text}:
            panels.append(panel(f"run-{i}", GROUPS.get(group, group), "", facts(known)))
    return "\n".join(panels)


PANELS = (
    _mapping_qualities,
    _edit_distances,
    _errors_by_cycle,
    _damage,
    _insert_sizes,
    _libraries,
    _coverage,
)
DETAILS = (_run, _stages, _filters, _work)
"""Panels that few readers need: they are folded, and hold for the sum of a sheet, too."""


def _head(numbers: Numbers) -> str:
    """What ran where, on what: facts as HTML."""
    run, bases = numbers.run, numbers.reference_bases
    contigs = len(run.get("reference", {}).get("names", []))
    size = f"{contigs:,} {'contig' if contigs == 1 else 'contigs'}, {bases:,} bases" if bases else ""
    reference = ": ".join(filter(None, (os.path.basename(str(run.get("index") or "")), size)))
    known = {
        "sample": "" if numbers.samples else numbers.sample,
        "reference": reference,
        "date": run.get("date"),
        "host": run.get("host"),
        "threads": run.get("parameters", {}).get("threads"),
        "version": run.get("version"),
        "command": run.get("command"),
    }
    return facts({name: str(value) for name, value in known.items() if value})


def render(stats: dict[str, Any], source: str = "statistics") -> str:
    """The page for the dict of `Stats.as_dict()`; InputError for another, UsageError without matplotlib."""
    numbers = Numbers.from_dict(stats, source)
    require_matplotlib()
    return _page(numbers)


def _page(numbers: Numbers) -> str:
    if len(numbers.samples) > 1:
        top, panels = report_sheet.overview(numbers), report_sheet.sections(numbers)
    else:
        top, panels = _overview(numbers), [section(numbers) for section in PANELS]
    details = folded("Parameters, time and work of the run", [section(numbers) for section in DETAILS])
    return page("Mapping report", _head(numbers), top, [*panels, details])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `gassst report`."""
    add = parser.add_argument
    add(
        "stats",
        metavar="STATS.json",
        nargs="+",
        type=file_path,
        help="Read the statistics that `gassst map --stats` wrote; several runs are shown side by side.",
    )
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
    if len(args.stats) > report_compare.MOST_RUNS:
        raise UsageError(f"{len(args.stats)} runs: at most {report_compare.MOST_RUNS} fit side by side")
    runs = [read_stats(path) for path in args.stats]
    require_matplotlib()
    one = len(runs) == 1
    text = _page(runs[0]) if one else report_compare.render(report_compare.named(args.stats, runs))
    write_text(args.output, text)
    return 0
