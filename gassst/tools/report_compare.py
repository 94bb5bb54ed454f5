"""Several mapping runs on one page: a table of their main figures, and their curves in the same plots."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gassst.model.stats import CONFIDENT
from gassst.tools.report_numbers import STAGES, Numbers
from gassst.tools.report_page import page, panel, plot_and_table, table, text_of
from gassst.tools.report_plots import LINES, beyond, curves, svg, usual_top

MOST_RUNS = len(LINES)  # lines of one plot that can be distinguished
Curve = tuple[np.ndarray, np.ndarray]


def named(
    paths: Sequence[str | os.PathLike[str]], runs: Sequence[Numbers], by_sample: bool = True
) -> dict[str, Numbers]:
    """The runs by sample or, without one, by file; by both, and a number, where names would be the same."""
    stems = [os.path.splitext(os.path.basename(path))[0] for path in paths]
    names = [(by_sample and run.sample) or stem for run, stem in zip(runs, stems, strict=True)]
    for others in (stems, list(map(str, range(1, len(runs) + 1)))):
        names = [
            name if names.count(name) == 1 or name == other else f"{name} ({other})"
            for name, other in zip(names, others, strict=True)
        ]
    return dict(zip(names, runs, strict=True))


def render(runs: dict[str, Numbers]) -> str:
    """The page, as HTML."""
    sections = [
        _figures(runs),
        _parameters(runs),
        _plot(runs, "Mapping quality", qualities, "MAPQ", "% of reads with at least this", from_zero=False),
        _plot(runs, "Edit distance", edits, "errors of the best alignment", "% of mapped reads"),
        _plot(runs, "Mismatches by cycle", mismatches, "cycle", "% of reads", is_long=True),
        _plot(runs, "Insert sizes", insert_sizes, "template length, bases", "% of pairs"),
        _plot(runs, "Coverage", coverage, "% of the reference", "coverage / its mean", is_long=True),
    ]
    if any(run.is_damaged for run in runs.values()):
        five, three = "C>T by distance from the 5' end", "G>A by distance from the 3' end"
        sections += [
            _plot(runs, five, partial(damage, 0, 0), "bases from the 5' end", "% of C"),
            _plot(runs, three, partial(damage, 1, 1), "bases from the 3' end", "% of G"),
        ]
    return page(f"{len(runs)} mapping runs", "", "", [*sections, _stages(runs)])


def _figures(runs: dict[str, Numbers]) -> str:
    """The main figures; of two runs also by how much the second one differs."""
    title, share = "Main figures", "{:,.2f}\N{NO-BREAK SPACE}%"
    rows: list[tuple[str, str, Callable[[Numbers], float | None]]] = [
        ("reads", "{:,.0f}", lambda run: run.counts["reads"]),
        ("mapped", share, lambda run: _percent(run.counts["mapped"], run.counts["reads"])),
        (f"MAPQ ≥ {CONFIDENT}", share, lambda run: _percent(run.counts["confident"], run.counts["reads"])),
        ("proper pairs", share, lambda run: _percent(run.counts["proper"], run.counts["pairs"])),
        ("insert size, median", "{:,.0f}", lambda run: run.median_insert if run.inserts else None),
        ("coverage, mean", "{:,.2f}x", lambda run: run.mean_coverage if run.reference_bases else None),
        (
            "errors per mapped read",
            "{:,.3f}",
            lambda run: run.edits_per_read if run.counts["mapped"] else None,
        ),
        ("wall time", "{:,.1f} s", lambda run: run.run.get("seconds")),
    ]
    body = []
    for name, form, value in rows:
        values = [value(run) for run in runs.values()]
        texts = [None if one is None else form.format(one) for one in values]
        if len(runs) == 2:
            one, other = values
            texts.append(
                None if one is None or other is None else form.replace(":", ":+").format(other - one)
            )
        body.append((name, *texts))
    head = "", *runs, *(["change"] if len(runs) == 2 else [])
    shown = table(title, head, body).replace(' class="text"', "")  # numbers, which stand below their heads
    return panel("figures", title, "", shown, wide=True)


def _percent(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


def _plot(
    runs: dict[str, Numbers],
    title: str,
    curve: Callable[[Numbers], Curve],
    xlabel: str,
    ylabel: str,
    from_zero: bool = True,
    is_long: bool = False,
) -> str:
    """A panel with a curve of every run that has one, and the values in a table.

    One along reads or contigs ends above what is usual.
    """
    lines = {name: curve(run) for name, run in runs.items()}
    if not any(len(x) for x, _ in lines.values()):
        return ""  # a run that has no curve keeps its colour and its column
    identifier = re.sub("[^a-z0-9]+", "-", title.lower())
    drawn = [y for _, y in lines.values() if len(y)]
    top = max(map(usual_top, drawn)) if is_long else np.inf
    plot = svg(identifier, title, curves(lines, xlabel, ylabel, from_zero=from_zero, top=top), height=3.0)
    note = beyond(np.concatenate(drawn), top).strip()
    found: dict[float, dict[str, float]] = {}
    for name, (x, y) in lines.items():
        for at, value in zip(x.tolist(), y.tolist(), strict=True):
            found.setdefault(at, {})[name] = value
    rows = [
        (f"{at:g}", *(f"{found[at][name]:,.3f}" if name in found[at] else "" for name in lines))
        for at in sorted(found)
    ]
    return panel(
        f"panel-{identifier}", title, note, plot_and_table(plot, table(title, (xlabel, *lines), rows))
    )


def qualities(run: Numbers) -> Curve:
    """Share of the reads with at least each MAPQ, in percent."""
    values = np.array(list(run.mapq), np.int64)
    counts = np.array(list(run.mapq.values()), np.int64)
    return values, 100 * np.cumsum(counts[::-1])[::-1] / max(run.counts["reads"], 1)


def edits(run: Numbers) -> Curve:
    """Share of the mapped reads by errors of their best alignment, in percent, without the highest 0.5 %."""
    counts = np.array(list(run.errors.values()), np.int64)
    shares = 100 * counts / max(int(counts.sum()), 1)
    kept = np.cumsum(shares) - shares < 99.5
    return np.array(list(run.errors), np.int64)[kept], shares[kept]


def mismatches(run: Numbers) -> Curve:
    """Share of the reads with a mismatch by cycle, in percent."""
    reads, mismatches = (run.cycles[:, column] if len(run.cycles) else np.zeros(0) for column in (0, 1))
    return np.arange(1, len(reads) + 1), 100 * mismatches / np.maximum(reads, 1)


def damage(end: int, kind: int, run: Numbers) -> Curve:
    """Share of C>T (kind 0) or G>A (1) by distance from the 5' (end 0) or 3' end (1), in percent."""
    shares = run.damage_percent[:, end, kind] if run.damage.any() else np.zeros(0)
    return np.arange(1, len(shares) + 1), shares


def insert_sizes(run: Numbers) -> Curve:
    """Share of the pairs by template length, in percent and bins of 10 bases, without the longest 0.5 %."""
    lengths, pairs = np.array(list(run.inserts), np.int64), np.array(list(run.inserts.values()), np.int64)
    if not len(lengths):
        return lengths, pairs
    kept = np.cumsum(pairs) <= max(0.995 * pairs.sum(), pairs[0])
    counts = np.bincount(lengths[kept] // 10, pairs[kept])
    return 10 * np.arange(len(counts)), 100 * counts / pairs.sum()


def coverage(run: Numbers) -> Curve:
    """Relative to the mean: runs of different size, and references of different length, share a scale."""
    windows = run.windows
    if not windows.sum():
        return np.zeros(0), np.zeros(0)
    return 100 * (np.arange(len(windows)) + 0.5) / len(windows), windows / windows.mean()


def _stages(runs: dict[str, Numbers]) -> str:
    found = [name for run in runs.values() for name in run.nanoseconds]
    if not found:
        return ""
    title = "Time by stage"
    order = [*(name for name in STAGES if name in found), *sorted(set(found) - STAGES.keys())]
    seconds = {name: [run.nanoseconds.get(name, 0) / 1e9 for run in runs.values()] for name in order}
    rows = [(name, *row) for name, row in seconds.items() if max(row) >= 0.005]
    note = "Seconds, summed over worker threads."
    return panel("stages", title, note, table(title, ("stage", *runs), rows))


def _parameters(runs: dict[str, Numbers]) -> str:
    """Those that differ, as given, and what they came to."""
    values: dict[str, list[Any]] = {}
    for group, how in (("parameters", ""), ("effective", ", as used")):
        sets = [run.run.get(group, {}) for run in runs.values()]
        for name in dict.fromkeys(name for each in sets for name in each):
            values[f"{name.replace('_', ' ')}{how}"] = [each.get(name) for each in sets]
    for name in ("device", "version"):
        values[name] = [run.run.get(name) for run in runs.values()]
    rows = [
        (name, *map(text_of, row)) for name, row in values.items() if any(value != row[0] for value in row)
    ]
    title = "Parameters that differ"
    return panel("parameters", title, "", table(title, ("", *runs), rows), wide=True) if rows else ""
