"""Plots of the report: matplotlib figures as SVG that lies in an HTML page and takes its font and colours."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from html import escape
from itertools import cycle
from typing import Any

import numpy as np

from gassst.errors import UsageError

# Stand-ins that matplotlib writes for the colours of the page: CSS variables of `report_page.STYLE`.
INK, MUTED, LINE, BLUE, ORANGE = "#010101", "#020202", "#030303", "#040404", "#050505"
GREEN, PINK, GOLD, SKY, PURPLE = "#060606", "#070707", "#080808", "#090909", "#0a0a0a"
VARIABLES = {
    INK: "ink",
    MUTED: "muted",
    LINE: "line",
    BLUE: "blue",
    ORANGE: "orange",
    GREEN: "green",
    PINK: "pink",
    GOLD: "gold",
    SKY: "sky",
    PURPLE: "purple",
}
# Of several lines in one plot: no two share both a colour and a dash.
_COLOURS = BLUE, ORANGE, GREEN, PINK, GOLD, SKY, PURPLE
LINES = [line for dashes in (("-", "--"), ("--", "-")) for line in zip(_COLOURS, cycle(dashes), strict=False)]
"""Colour and dash of each: of two lines one above the other, both are seen."""
MOST_LETTERS = 14  # of the name of a contig in a plot
LEAST_WIDTH = 0.035  # share of the axis that a contig takes to be named
WIDTH = 4.2  # inches: letters of 9.5 points stay readable where a phone shows the plot 350 pixels wide
PLOT_STYLE = {
    "font.size": 9.5,
    "axes.labelsize": 9.5,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "savefig.transparent": True,
    "svg.fonttype": "none",
    "svg.hashsalt": "gassst",
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
}


NO_MATPLOTLIB = "reports and plots need matplotlib: `pip install gassst[report]`"


def require_matplotlib() -> None:
    """Raises UsageError where matplotlib is missing: to be called before a run that a report shall follow."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise UsageError(NO_MATPLOTLIB) from None


def svg(name: str, title: str, draw: Callable[[Any], None], height: float = 2.4, width: float = WIDTH) -> str:
    """Inline SVG of what `draw` does to a figure; it scales with the page and is one image with a title.

    `name` is a prefix of all ids inside, `height` and `width` are in inches.
    """
    from matplotlib import style
    from matplotlib.figure import Figure

    text = io.StringIO()
    with style.context(["default", PLOT_STYLE]):
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure)
        figure.savefig(text, format="svg", metadata={"Date": None})
    return _inline(text.getvalue(), name, title)


def _inline(text: str, name: str, title: str) -> str:
    """What an HTML page needs of an SVG file: own ids, the page's colours and font, no metadata, no size."""
    head, body = re.split(r"<svg\b", text, maxsplit=1)[1].split(">", 1)
    body = re.sub(r"<metadata>.*?</metadata>|<style\b.*?</style>|<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", body)
    for stand_in, variable in VARIABLES.items():
        body = body.replace(stand_in, f"var(--{variable})")
    box = re.findall(r'viewBox="[^"]*"', head)[0]
    return (
        f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" {box} role="img" '
        f'aria-labelledby="{name}-title {name}-desc"><title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">The values are in the table that follows.</desc>{body}'
    )


def bars(counts: dict[Any, float], xlabel: str, ylabel: str, *, log: bool = False) -> Callable[[Any], None]:
    """A histogram: one bar for every key."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.bar(list(counts), list(counts.values()), 0.85, color=BLUE)
        axes.set(xlabel=xlabel, ylabel=ylabel)
        axes.grid(False, axis="x")
        _whole_numbers(axes.xaxis)
        if log:
            axes.set(yscale="log", ylim=(0.7, None))
            axes.minorticks_off()
        axes.yaxis.set_major_formatter(plain)

    return draw


def ranking(values: dict[str, float], notes: Sequence[str], xlabel: str) -> Callable[[Any], None]:
    """Horizontal bars from top to bottom, with a note at the end of each."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.bar_label(axes.barh(list(values), list(values.values()), 0.7, color=BLUE), notes, padding=4)
        axes.invert_yaxis()
        axes.set(xlabel=xlabel, xlim=(0, 1.28 * max(values.values())))  # room for the notes
        axes.grid(False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.locator_params(axis="x", nbins=5)
        axes.xaxis.set_major_formatter(plain)

    return draw


def rates(percent: np.ndarray) -> Callable[[Any], None]:
    """Mismatches, insertions, deletions by cycle, float[c, 3] in %; gaps are rarer: a scale of their own."""

    def draw(figure: Any) -> None:
        cycle = np.arange(1, len(percent) + 1)
        above, below = figure.subplots(2, sharex=True, height_ratios=[3, 2])
        above.plot(cycle, percent[:, 0], color=BLUE, label="mismatches")
        below.plot(cycle, percent[:, 1], color=BLUE, label="insertions")
        below.plot(cycle, percent[:, 2], color=ORANGE, linestyle="--", label="deletions")
        tops = usual_top(percent[:, 0]), np.inf
        for axes, headroom, top in zip((above, below), (1.25, 1.5), tops, strict=True):
            axes.set_ylim(0, max(headroom * min(axes.dataLim.y1, top), 1e-3))
            axes.set_ylabel("% of reads")
            axes.legend(loc="upper center", ncols=2, borderaxespad=0)
        figure.align_ylabels()
        below.set_xlabel("cycle")
        below.margins(x=0.01)
        _whole_numbers(below.xaxis)

    return draw


def two_ends(percent: np.ndarray) -> Callable[[Any], None]:
    """Deaminated bases by distance from both ends, float[d, 2, 2] in %, as mapDamage draws them."""

    def draw(figure: Any) -> None:
        distance = np.arange(1, len(percent) + 1)
        both = figure.subplots(1, 2, sharey=True)
        for axes, shares, end in zip(both, percent.transpose(1, 2, 0), ("5'", "3'"), strict=True):
            axes.plot(distance, shares[0], color=ORANGE, label="C>T")
            axes.plot(distance, shares[1], color=BLUE, linestyle="--", label="G>A")
            axes.set_xlabel(f"bases from the {end} end")
            _whole_numbers(axes.xaxis)
        both[1].invert_xaxis()
        both[0].set(ylabel="% of these bases", ylim=(0, max(1.08 * percent.max(), 1e-3)))
        figure.legend(*both[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)

    return draw


def curves(
    lines: dict[str, tuple[np.ndarray, np.ndarray]],
    xlabel: str,
    ylabel: str,
    *,
    from_zero: bool = True,
    top: float = np.inf,
) -> Callable[[Any], None]:
    """Lines by name, as x and y each; a legend names them where there are several."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for (name, (x, y)), (colour, dash) in zip(lines.items(), LINES, strict=False):
            axes.plot(x, y, color=colour, linestyle=dash, label=name, linewidth=1.2)
        axes.set(xlabel=xlabel, ylabel=ylabel)
        axes.margins(x=0.01)
        if from_zero:
            axes.set_ylim(0, max(1.08 * min(axes.dataLim.y1, top), 1e-9))
        axes.yaxis.set_major_formatter(plain)
        _whole_numbers(axes.xaxis)
        if len(lines) > 1:
            figure.legend(loc="outside upper center", ncols=2)

    return draw


def usual_top(y: np.ndarray) -> float:
    """Where a plot along reads or contigs ends: one cycle or repeat would flatten all the rest. Empty ends do not."""
    return 2 * float(np.percentile(y, 95)) or np.inf


def beyond(y: np.ndarray, top: float, unit: str = "") -> str:
    """What to say of a plot that ends at `top`, '' where that is all."""
    most = float(y.max(initial=0))
    return f" Peaks of up to {plain(float(f'{most:.2g}'))}{unit} reach beyond the plot." if most > top else ""


def along(x: np.ndarray, depth: np.ndarray, contigs: dict[str, int]) -> Callable[[Any], None]:
    """Depth along contigs that lie one after the other, `x` in Mb; names where there is room for them."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.plot(x, depth, color=BLUE, linewidth=1.2)
        ends = np.cumsum(list(contigs.values())) / 1e6
        middles = ends - np.array(list(contigs.values())) / 2e6
        names = [name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…" for name in contigs]
        named = [i for i, size in enumerate(contigs.values()) if size >= LEAST_WIDTH * 1e6 * ends[-1]]
        if len(contigs) == 1:
            axes.set_xlabel(f"{names[0]}, Mb")
        elif not named:
            axes.set_xlabel("all contigs one after the other, Mb")
        else:
            axes.set_xticks(middles[named], [names[i] for i in named], rotation=90)
            axes.tick_params(axis="x", length=0)
            axes.grid(False, axis="x")
            for i in named:
                axes.axvline(ends[i], color=LINE, linewidth=0.6)
        axes.set_ylabel("reads that cover a base")
        axes.margins(x=0.01)
        axes.set_ylim(0, max(1.08 * min(float(depth.max()), usual_top(depth)), 1e-9))
        axes.yaxis.set_major_formatter(plain)

    return draw


def _whole_numbers(axis: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, nbins=8))


def plain(value: float, _position: int | None = None) -> str:
    """A tick as people write it: 0.25, 1,500, 20 M."""
    for size, unit in ((1e9, " G"), (1e6, " M")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:,.0f}" if value == round(value) else f"{value:g}"
