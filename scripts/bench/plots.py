"""Plots of the benchmark pages: share not placed correctly against speed, a line for each tool.

Markers show the kind of read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

# Colours of Okabe and Ito, which colour-blind readers can distinguish.
COLOURS = {
    "gassst": "#D55E00",
    "bwa-mem2": "#0072B2",
    "minibwa": "#009E73",
    "strobealign": "#CC79A7",
    "minimap2": "#E69F00",
}
MARKERS = "osD^v"


class Panel(NamedTuple):
    """Sets of one result to show together; `kind` is what differs between them and picks the marker."""

    title: str
    sets: Sequence[dict[str, Any]]
    kind: Callable[[dict[str, Any]], str]


def of_length(result: dict[str, Any], length: int, title: str) -> Panel:
    """The sets of one read length, with a marker for each error rate."""
    sets = [one for one in result["sets"] if one["length"] == length]
    return Panel(title, sets, lambda one: f"{100 * one['error']:g} % errors")


def wrong_against_speed(panels: Sequence[Panel], target: Path) -> None:
    """Draw the panels side by side. Markers replace labels at the points, so nothing can overlap."""
    pyplot = quiet_pyplot()
    kinds = sorted({p.kind(one) for p in panels for one in p.sets}, key=lambda kind: float(kind.split()[0]))
    marker = dict(zip(kinds, MARKERS, strict=False))
    figure, axes = pyplot.subplots(
        1, len(panels), figsize=(4 * len(panels), 4), sharex=True, sharey=True, squeeze=False
    )
    for axis, panel in zip(axes[0], panels, strict=True):
        for tool, colour in COLOURS.items():
            runs = [(panel.kind(one), one["runs"].get(tool, {"failed": ""})) for one in panel.sets]
            points = [
                (run["reads_per_cpu_s"], 100 * (1 - run["placed_right"]), marker[kind])
                for kind, run in runs
                if run.get("placed_right", 1) < 1
            ]
            width = 2.4 if tool == "gassst" else 1.2
            axis.plot([x for x, _, _ in points], [y for _, y, _ in points], color=colour, linewidth=width)
            for x, y, shape in points:
                axis.plot(x, y, shape, color=colour, markersize=6)
        axis.set(xscale="log", yscale="log", xlabel="reads per CPU second", title=panel.title)
        _plain_ticks(axis.xaxis, "{x:,.0f}")
        _plain_ticks(axis.yaxis, "{x:g}")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("not placed correctly, % of all reads")
    _legends(figure, pyplot, panels, marker)
    save(figure, target)


def _plain_ticks(axis: Any, form: str) -> None:
    """1,000, 3,000, 10,000 .. in this form on a logarithmic axis, far enough from each other; no other labels."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=(1, 3)))
    axis.set_major_formatter(StrMethodFormatter(form))
    axis.set_minor_formatter(NullFormatter())


def _legends(figure: Any, pyplot: Any, panels: Sequence[Panel], marker: dict[str, str]) -> None:
    """Below the panels: one row for the tools, one for the markers."""
    shown = [name for name in COLOURS if any(name in one["runs"] for panel in panels for one in panel.sets)]
    tools = [pyplot.Line2D([], [], color=COLOURS[name], linewidth=2.4, label=name) for name in shown]
    grey = {"color": "0.35", "linestyle": ""}
    kinds = [pyplot.Line2D([], [], marker=shape, label=kind, **grey) for kind, shape in marker.items()]
    figure.tight_layout(rect=(0, 0.15, 1, 1))
    for handles, height in ((tools, 0.07), (kinds, 0.0)):
        figure.legend(
            handles=handles,
            loc="lower center",
            bbox_to_anchor=(0.5, height),
            ncols=len(handles),
            frameon=False,
        )


def quiet_pyplot() -> Any:
    """matplotlib.pyplot, set up so that the same figures give the same SVG files."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "gassst"
    from matplotlib import pyplot

    return pyplot


def save(figure: Any, target: Path) -> None:
    """Write the SVG on a white ground, which also dark pages can show, and close the figure."""
    figure.savefig(target, metadata={"Date": None}, facecolor="white")
    quiet_pyplot().close(figure)
