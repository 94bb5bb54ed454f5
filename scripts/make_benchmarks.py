"""Fill the tables and plots of docs/benchmarks.md from the JSON files in docs/benchmarks/.

    python scripts/make_benchmarks.py            # rewrites docs/benchmarks.md and docs/benchmarks/*.svg
    python scripts/make_benchmarks.py --check    # fails if that would change anything

A place in the document is `<!-- KIND FILE -->` .. `<!-- end -->`; KIND is one of `KINDS`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import peer_tables
import scale_tables

DOCUMENT = Path(__file__).parent.parent / "docs" / "benchmarks.md"
FIGURES = DOCUMENT.with_suffix("")
PLACE = re.compile(r"(<!-- (\w+) (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
COLOURS = {
    "gassst": "#D55E00",
    "bwa-mem2": "#0072B2",
    "minibwa": "#009E73",
    "strobealign": "#CC79A7",
    "minimap2": "#E69F00",
}


def about(result: dict) -> str:
    """What was measured, where, and with which versions."""
    return peer_tables.about(result) + "\n\n" + peer_tables.tools(result)


def against(result: dict) -> str:
    """Share placed right and CPU time of gassst beside each other tool, a row for each set."""
    names = [name for name in result["tools"] if name != "gassst"]
    rows = []
    for one in result["sets"]:
        ours = one["runs"]["gassst"]
        row = [one["name"], f"{100 * ours['placed_right']:.2f}"]
        for name in names:
            other = one["runs"][name]
            if "failed" in other:
                row += ["-", "-"]
                continue
            row += [f"{100 * other['placed_right']:.2f}", f"{other['cpu'] / ours['cpu']:.2f}"]
        rows.append(row)
    header = ["reads", "gassst right %"]
    for name in names:
        header += [f"{name} right %", "CPU / ours"]
    return peer_tables.markdown(header, rows)


def scatter(result: dict, name: str) -> str:
    """Placed right against speed, one panel for each error rate; returns the markdown that shows it."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "gassst"
    from matplotlib import pyplot

    errors = sorted({one["error"] for one in result["sets"]})
    figure, panels = pyplot.subplots(1, len(errors), figsize=(4 * len(errors), 3.6), sharey=True)
    for panel, error in zip(panels, errors, strict=True):
        for tool in result["tools"]:
            sets = [
                one for one in result["sets"] if one["error"] == error and "failed" not in one["runs"][tool]
            ]
            x = [one["runs"][tool]["reads_per_cpu_s"] for one in sets]
            y = [100 * one["runs"][tool]["placed_right"] for one in sets]
            panel.plot(x, y, "o-", label=tool, color=COLOURS.get(tool))
            for a, b, one in zip(x, y, sets, strict=True):
                panel.annotate(
                    f"{one['length']}", (a, b), fontsize=7, xytext=(3, 3), textcoords="offset points"
                )
        panel.set(xscale="log", xlabel="reads per CPU second", title=f"{100 * error:g} % errors")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("placed right, % of all reads")
    panels[-1].legend(fontsize=8)
    figure.tight_layout()
    target = FIGURES / f"{name}.svg"
    figure.savefig(target, metadata={"Date": None})
    pyplot.close(figure)
    return f"![placed right against speed; the numbers are read lengths]({FIGURES.name}/{target.name})"


def scale(result: dict, name: str) -> str:
    """Both tables and the figure of `bench_scale.py`."""
    target = FIGURES / f"{name}.svg"
    scale_tables.plot(result, target)
    machine = result["machine"]
    return "\n\n".join(
        [
            f"{machine['date']}: {machine['cpu']}, {machine['cpus']} CPUs, load {machine['load']:.1f} at the end",
            peer_tables.markdown(scale_tables.INDEX_HEADER, scale_tables.index_rows(result)),
            peer_tables.markdown(scale_tables.MAP_HEADER, scale_tables.map_rows(result)),
            f"![time and memory against the size of the genome]({FIGURES.name}/{target.name})",
        ]
    )


KINDS: dict[str, Callable[[dict, str], str]] = {
    "about": lambda result, _: about(result),
    "sets": lambda result, _: peer_tables.sets(result),
    "pairs": lambda result, _: peer_tables.pairs(result),
    "classes": lambda result, _: peer_tables.classes(result),
    "thesis": lambda result, _: peer_tables.thesis(result),
    "against": lambda result, _: against(result),
    "scatter": scatter,
    "scale": scale,
}


def fill(text: str) -> str:
    """The document with every place made anew."""

    def replace(match: re.Match) -> str:
        kind, file = match[2], match[3]
        result = json.loads((FIGURES / file).read_text())
        return match[1] + "\n" + KINDS[kind](result, Path(file).stem) + "\n\n" + match[4]

    return PLACE.sub(replace, text)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="change nothing, fail if something is out of date"
    )
    args = parser.parse_args(argv)
    before = DOCUMENT.read_text()
    after = fill(before)
    if args.check:
        print("up to date" if before == after else f"{DOCUMENT.name} is not what its JSON files say")
        return int(before != after)
    DOCUMENT.write_text(after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
