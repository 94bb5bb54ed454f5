"""Plots of the benchmark pages: share not placed correctly against speed, a line for each tool.

Markers show the kind of read.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

# Colours of Okabe and Ito, which colour-blind readers can distinguish.
COLOURS = {
    "gassst": "#D55E00",
    "bwa-mem2": "#0072B2",
    "minibwa": "#009E73",
    "strobealign": "#CC79A7",
    "minimap2": "#E69F00",
}
MARKERS = "osD^v"


def wrong_against_speed(panels: dict[str, list[dict[str, Any]]], target: Path) -> None:
    """Draw sets by title, side by side. Markers replace labels at the points, so nothing can overlap."""
    pyplot = quiet_pyplot()
    every = [one for sets in panels.values() for one in sets]
    markers = dict(zip(sorted({one["error"] for one in every}), MARKERS, strict=False))
    tools = [name for name in COLOURS if any(name in one["runs"] for one in every)]
    size = (4 * len(panels), 4)
    figure, axes = pyplot.subplots(1, len(panels), figsize=size, sharex=True, sharey=True, squeeze=False)
    for axis, (title, sets) in zip(axes[0], panels.items(), strict=True):
        for tool in tools:
            points = [
                (run["reads_per_cpu_s"], 100 * (1 - run["placed_right"]), markers[one["error"]])
                for one in sets
                if (run := one["runs"].get(tool, {})).get("placed_right", 1) < 1
            ]
            style = {"color": COLOURS[tool], "linewidth": 2.4 if tool == "gassst" else 1.2}
            axis.plot([x for x, _, _ in points], [y for _, y, _ in points], **style)
            for x, y, shape in points:
                axis.plot(x, y, shape, color=COLOURS[tool], markersize=6)
        axis.set(xscale="log", yscale="log", xlabel="reads per CPU second", title=title)
        _plain_ticks(axis.xaxis, "{x:,.0f}")
        _plain_ticks(axis.yaxis, "{x:g}")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("not placed correctly, % of all reads")
    # Below the panels: one row for the tools, one for the markers.
    line, grey = partial(pyplot.Line2D, [], []), {"color": "0.35", "linestyle": ""}
    lines = [line(color=COLOURS[name], linewidth=2.4, label=name) for name in tools]
    shapes = [
        line(marker=shape, label=f"{100 * error:g} % errors", **grey) for error, shape in markers.items()
    ]
    figure.tight_layout(rect=(0, 0.15, 1, 1))
    for handles, height in ((lines, 0.07), (shapes, 0.0)):
        place = {"loc": "lower center", "bbox_to_anchor": (0.5, height), "frameon": False}
        figure.legend(handles=handles, ncols=len(handles), **place)
    save(figure, target)


def _plain_ticks(axis: Any, form: str) -> None:
    """1,000, 3,000, 10,000 .. in this form on a logarithmic axis, far enough from each other; no other labels."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=(1, 3)))
    axis.set_major_formatter(StrMethodFormatter(form))
    axis.set_minor_formatter(NullFormatter())


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
