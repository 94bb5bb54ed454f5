"""The page of `gassst bench`: the table of README.md, its picture, all figures, and what was not run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gassst.tools.report_page import facts, page, panel, percent, table, tiles
from gassst.tools.report_plots import LINES, plain, svg

MARKERS = "osD^vPX"
SIZE = 3.4, 8.4  # inches, height and width: one screen shows it with the table above


def render(result: dict[str, Any]) -> str:
    """The page, as HTML, for what `gassst bench --json` writes."""
    tools, sets = list(result["versions"]), result["sets"]
    first = sets[0]
    figures = [
        ("Mappers", str(len(tools)), f"on {result['reference']}"),
        ("Reads", f"{first['reads']:,}", f"of each kind, {'bisulfite, ' * result['meth']}simulated"),
        ("Threads", str(result["threads"]), "of each mapper"),
    ]
    sections = [_summary(tools, sets), _picture(tools, sets), _all_figures(tools, sets)]
    sections.append(panel("versions", "Versions", "", facts(result["versions"])))
    if result["not_run"]:
        note = "These mappers were not there, or failed. A mapper that fails once is not asked again."
        sections.append(panel("not-run", "Not run", note, facts(result["not_run"])))
    return page("Mappers compared", "", tiles(figures), sections)


def text(result: dict[str, Any]) -> str:
    """The table of the page for a terminal."""
    tools = list(result["versions"])
    rows = [("reads", *tools), *_rows(tools, result["sets"])]
    rows = [tuple(cell.replace("\N{NO-BREAK SPACE}", " ").replace("–", "-") for cell in row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
    head = "# reads within 10 bases of their origin, and CPU time in multiples of that of gassst"
    return "\n".join([head, *(line.rstrip() for line in lines)])


def _rows(tools: list[str], sets: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """For each set of reads its name, and for each mapper the share placed right and its CPU time."""
    rows = []
    for one in sets:
        unit = one["runs"]["gassst"]["cpu"]
        cells = []
        for tool in tools:
            run = one["runs"].get(tool)
            times = f", {run['cpu'] / unit:.1f}x" if run and unit else ""
            cells.append(f"{percent(run['right'], 1, 1)}{times}" if run else "–")
        rows.append((one["name"], *cells))
    return rows


def _summary(tools: list[str], sets: list[dict[str, Any]]) -> str:
    title = "Placed right, and CPU time"
    rows = _rows(tools, sets)
    note = (
        "Share of the reads within 10 bases of their origin, and CPU time of the whole process in multiples of "
        "that of gassst. With few reads, much of it is loading the index."
    )
    return panel("summary", title, note, table(title, ("reads", *tools), rows), wide=True)


def _picture(tools: list[str], sets: list[dict[str, Any]]) -> str:
    title = "Placed right against speed"
    drawing = _points(tools, sets)
    note = "A colour for each mapper, a marker for each kind of reads. Up and to the right is better."
    drawn = svg("right", title, drawing, *SIZE)
    return panel("picture", title, note, f"<figure>{drawn}</figure>", wide=True)


def _points(tools: list[str], sets: list[dict[str, Any]]) -> Callable[[Any], None]:
    def draw(figure: Any) -> None:
        from matplotlib.ticker import LogLocator

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
        low, high = axes.get_xlim()
        axes.xaxis.set_major_locator(LogLocator(subs=_labelled(high / low)))
        axes.xaxis.set_major_formatter(plain)
        axes.minorticks_off()
        figure.legend(loc="outside right upper")

    return draw


def _labelled(ratio: float) -> Sequence[int]:
    """Which multiples of powers of ten get a label on an axis of this ratio of its ends: as many as do not overlap."""
    if ratio < 2.5:  # between 1, 2 and 5
        return range(1, 10)
    return (1, 2, 5) if ratio < 100 else (1,)


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
