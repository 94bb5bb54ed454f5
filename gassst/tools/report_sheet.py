"""The samples of a sheet on one page: a row for each, and small plots on one scale, so that the odd one is seen."""

from __future__ import annotations

import os
from collections.abc import Callable
from html import escape

import numpy as np

from gassst.model.stats import CONFIDENT
from gassst.tools.report_compare import Curve, coverage, insert_sizes, mismatches, named
from gassst.tools.report_numbers import Numbers
from gassst.tools.report_page import panel, percent, table, tiles
from gassst.tools.report_plots import beyond, usual_top

HEAD = (
    "sample",
    "reads",
    "mapped, %",
    f"MAPQ ≥ {CONFIDENT}, %",
    "proper pairs, %",
    "insert size, median",
    "duplicates, %",
    "errors per mapped read",
    "coverage",
    "output",
)
PLOTS: dict[str, tuple[Callable[[Numbers], Curve], str]] = {
    "Insert sizes": (insert_sizes, "Share of the pairs by template length, up to {x:,.0f} bases."),
    "Mismatches by cycle": (
        mismatches,
        "Share of the reads with a mismatch, by cycle; the top is {y:.2g} %.",
    ),
    "Coverage": (coverage, "Along the reference, relative to the mean of the sample; the top is {y:.3g}."),
}
SMALL = 100, 32  # width and height of a small plot; the page scales it


def overview(whole: Numbers) -> str:
    """The figures at the top of the page; `whole` is the sum of a sheet."""
    n = whole.counts
    values = [
        ("Samples", f"{len(whole.samples):,}", "outputs of the sheet"),
        ("Reads", f"{n['reads']:,}", "of all samples"),
        ("Mapped", percent(n["mapped"], n["reads"]), f"{n['mapped']:,} reads"),
    ]
    if seconds := whole.run.get("seconds"):
        values.append(("Wall time", f"{seconds:,.1f} s", f"{n['reads'] / seconds:,.0f} reads a second"))
    return tiles(values)


def sections(whole: Numbers) -> list[str]:
    """The table of the samples and their small plots, as HTML; `whole` is the sum of a sheet."""
    outputs = list(whole.samples)
    runs = named(outputs, list(whole.samples.values()))
    rows = [
        _row(name, output, run, whole.reference_bases)
        for output, (name, run) in zip(outputs, runs.items(), strict=True)
    ]
    known = [
        i for i, column in enumerate(zip(*rows, strict=True)) if any(value is not None for value in column)
    ]
    head, rows = tuple(HEAD[i] for i in known), [tuple(row[i] for i in known) for row in rows]
    samples = panel("samples", "Samples", "", table("Samples", head, rows), wide=True)
    return [samples, *(_plots(title, runs) for title in PLOTS)]


def _row(name: str, output: str, run: Numbers, bases: int) -> tuple[str | float | None, ...]:
    n = run.counts

    def share(part: str, of: str) -> float | None:
        return 100 * n[part] / n[of] if n[of] else None

    return (
        name,
        n["reads"],
        share("mapped", "reads"),
        share("confident", "reads"),
        share("proper", "pairs"),
        run.median_insert if run.inserts else None,
        share("duplicates", "mapped") if n["duplicates"] else None,
        run.edits_per_read if n["mapped"] else None,
        int(run.windows.sum()) / bases if bases and len(run.windows) else None,
        os.path.basename(output),
    )


def _plots(title: str, runs: dict[str, Numbers]) -> str:
    """A panel with one small plot for each sample, all on one scale; none where no sample has a curve."""
    curve, note = PLOTS[title]
    lines = {name: curve(run) for name, run in runs.items()}
    drawn = [line for line in lines.values() if len(line[0])]
    if not drawn:
        return ""
    right = max(float(x.max()) for x, _ in drawn)
    most = max(float(y.max()) for _, y in drawn)
    top = min(most, float(np.median([usual_top(y) for _, y in drawn])))  # the odd sample may reach beyond it
    figures = "".join(_small(name, *line, right, top) for name, line in lines.items())
    text = f"{note.format(x=right, y=top)} All samples have the same scale.{beyond(np.array([most]), top)}"
    return panel(
        f"small-{title.split()[0].lower()}", title, text, f'<div class="small">{figures}</div>', wide=True
    )


def _small(name: str, x: np.ndarray, y: np.ndarray, right: float, top: float) -> str:
    width, height = SMALL
    across, up = width * x / max(right, 1e-9), height * np.minimum(y / max(top, 1e-9), 1)
    points = " ".join(f"{a:.1f},{height - b:.1f}" for a, b in zip(across.tolist(), up.tolist(), strict=True))
    title = escape(name)
    return (
        f'<figure><svg viewBox="0 -1 {width} {height + 2}" preserveAspectRatio="none" role="img" '
        f'aria-label="{title}"><path class="floor" d="M0 {height}H{width}"/>'
        f'<polyline points="{points}"></polyline></svg><figcaption>{title}</figcaption></figure>'
    )
