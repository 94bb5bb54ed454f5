"""The page of `gassst bench`: the table of README.md, its picture, all figures, and what was not run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gassst.tools.report_page import facts, page, panel, percent, table, tiles
from gassst.tools.report_plots import LINES, plain, svg

MARKERS = "osD^vPX"


def render(result: dict[str, Any]) -> str:
    """The page, as HTML, for what `gassst bench --json` writes."""
    tools, sets = list(result["versions"]), result["sets"]
    first = sets[0]
    figures = [
        ("Mappers", str(len(tools)), f"on {result['reference']}"),
        ("Reads", f"{first['reads']:,}", "of each kind, simulated"),
        ("Threads", str(result["threads"]), "of each mapper"),
    ]
    sections = [_summary(tools, sets), _picture(tools, sets), _all_figures(tools, sets)]
    sections.append(panel("versions", "Versions", "", facts(result["versions"])))
    if result["not_run"]:
        note = "These mappers were not there, or failed. A mapper that fails once is not asked again."
        sections.append(panel("not-run", "Not run", note, facts(result["not_run"])))
    return page("Mappers compared", "", tiles(figures), sections)


def _summary(tools: list[str], sets: list[dict[str, Any]]) -> str:
    title = "Placed right, and CPU time"
    rows = []
    for one in sets:
        unit = one["runs"]["gassst"]["cpu"]
        cells = []
        for tool in tools:
            run = one["runs"].get(tool)
            times = f", {run['cpu'] / unit:.1f}x" if run and unit else ""
            cells.append(f"{percent(run['right'], 1, 1)}{times}" if run else "–")
        rows.append((one["name"], *cells))
    note = (
        "Share of the reads within 10 bases of their origin, and CPU time of the whole process in multiples of "
        "that of gassst. With few reads, much of it is loading the index."
    )
    return panel("summary", title, note, table(title, ("reads", *tools), rows), wide=True)


def _picture(tools: list[str], sets: list[dict[str, Any]]) -> str:
    title = "Placed right against speed"
    drawing = _points(tools, sets)
    note = "A colour for each mapper, a marker for each kind of reads. Up and to the right is better."
    return panel(
        "picture", title, note, f"<figure>{svg('right', title, drawing, height=5.6)}</figure>", wide=True
    )


def _points(tools: list[str], sets: list[dict[str, Any]]) -> Callable[[Any], None]:
    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for (colour, _), tool in zip(LINES, tools, strict=False):
            axes.plot([], [], color=colour, label=tool, linewidth=3)
            for marker, one in zip(MARKERS, sets, strict=False):
                if run := one["runs"].get(tool):
                    speed = one["reads"] / max(run["cpu"], 1e-3)
                    axes.plot(speed, 100 * run["right"], marker, color=colour, markersize=6)
        for marker, one in zip(MARKERS, sets, strict=False):
            axes.plot([], [], marker, color="0.5", label=one["name"])
        axes.set(xscale="log", xlabel="reads per CPU second (log scale)", ylabel="% placed right")
        axes.xaxis.set_major_formatter(plain)
        axes.xaxis.set_minor_formatter(plain)
        axes.tick_params(axis="x", which="both", labelrotation=30)
        figure.legend(loc="outside lower center", ncols=2)

    return draw


def _all_figures(tools: list[str], sets: list[dict[str, Any]]) -> str:
    title = "All figures"
    head = (
        "reads",
        "mapper",
        "right, %",
        "MAPQ ≥ 20 and right, %",
        "right of MAPQ ≥ 20, %",
        "CPU, s",
        "wall, s",
    )
    rows = []
    for one in sets:
        for tool in tools:
            if run := one["runs"].get(tool):
                shares = [run["right"], run["sensitivity"], run["accuracy"]]
                cells = [float(100 * share) if share is not None else "–" for share in shares]
                rows.append((one["name"], tool, *cells, float(run["cpu"]), float(run["wall"])))
    return panel("all", title, "", table(title, head, rows), wide=True)
