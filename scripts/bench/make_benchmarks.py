"""Fill the tables and plots of the README, docs/benchmarks/*.md and the guide from lab/data/*.json.

    python scripts/bench/make_benchmarks.py            # rewrites them and the figures beside them
    python scripts/bench/make_benchmarks.py --check    # fails where a page would change

A place in a page is `<!-- KIND FILE .. -->` .. `<!-- end -->`; KIND is one of `KINDS`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import all_places
import curves
import mapq_tables
import peer_tables
import plots
import split_reads

sys.path.append(str(Path(__file__).resolve().parents[1] / "field"))
import field_tables  # noqa: E402

README = Path(__file__).resolve().parents[2] / "README.md"
PAGES = README.parent / "docs" / "benchmarks"
DATA = README.parent / "lab" / "data"
ANCIENT = PAGES.with_name("guide") / "ancient-dna.md"
PLACE = re.compile(r"(<!-- (\w+) (\S+(?: \S+)*) -->\n).*?(<!-- end -->)", re.DOTALL)
OVERVIEW_LENGTH = 100
SUMMARY_SETS = (
    "50 bp 5%",
    "100 bp 2%",
    "100 bp 10%",
    "200 bp 5%",
    "2 x 100 bp 2%",
    "2 x 150 bp 0.5%",
    "2 x 150 bp 5%",
)
SUMMARY_TOOLS = ("gassst", "bwa-mem2", "minibwa", "strobealign")


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


def mapped(result: dict) -> str:
    """Share of the reads that each tool maps, a row for each set."""
    names = list(result["tools"])
    rows = [
        [one["name"], *(f"{100 * one['runs'][name]['mapped_share']:.2f}" for name in names)]
        for one in result["sets"]
    ]
    return peer_tables.markdown(["reads", *names], rows)


def scatter(result: dict, figure: Path) -> str:
    """A panel for each error rate; returns the markdown that shows the figure."""
    plots.right_against_speed(plots.by_error(result), figure)
    return f"![share placed right against speed, by read length and error rate]({figure.name})"


def overview(single: dict, paired: dict, figure: Path) -> str:
    """The figure of the README: reads and pairs of 100 bases on one genome."""
    panels = [
        plots.of_length(single, OVERVIEW_LENGTH, f"single reads of {OVERVIEW_LENGTH} bases"),
        plots.of_length(paired, OVERVIEW_LENGTH, f"pairs of 2 x {OVERVIEW_LENGTH} bases"),
    ]
    plots.right_against_speed(panels, figure)
    return f"![share placed correctly against speed, for reads with 0.5 to 10 % errors]({figure.name})"


def summary(single: dict, paired: dict) -> str:
    """The table of the README: a few sets of reads and pairs, each tool in a column of its own."""
    names = [name for name in SUMMARY_TOOLS if name in single["tools"] and name in paired["tools"]]
    rows = []
    for result in (single, paired):
        for one in result["sets"]:
            if one["name"] not in SUMMARY_SETS:
                continue
            ours = one["runs"]["gassst"]["cpu"]
            runs = [one["runs"][name] for name in names]
            cells = [f"{100 * run['placed_right']:.1f} %, {run['cpu'] / ours:.1f}x" for run in runs]
            rows.append([one["name"].replace("%", " %"), *cells])
    return peer_tables.markdown(["reads", *names], rows)


# Each takes the results of its files and where its figure goes, if it has one.
KINDS: dict[str, Callable[..., str]] = {
    "about": lambda result, _: about(result),
    "pairs": lambda result, _: peer_tables.pairs(result),
    "mapped": lambda result, _: mapped(result),
    "against": lambda result, _: against(result),
    "scatter": scatter,
    "overview": lambda single, paired, figure: overview(single, paired, figure.with_name("overview.svg")),
    "q20": lambda result, _: mapq_tables.at_q20(result["cells"]),
    "field": lambda result, _: field_tables.about(result),
    "field_behind": lambda result, _: field_tables.behind(result),
    "field_rows": lambda result, _: field_tables.details(result),
    "summary": lambda single, paired, _: summary(single, paired),
    "all_places": lambda result, _: all_places.table(result),
    "curve_cells": lambda result, _: curves.cells(result),
    "curve_filters": lambda result, _: curves.filters(result),
    "curve_levels": lambda result, _: curves.levels(result),
    "curve_foreign": lambda result, _: curves.foreign(result),
    "curves": curves.shown,
    "split_reads": lambda result, _: split_reads.table(result),
}


def fill(text: str, figures: Path) -> str:
    """The page with every place filled again; figures are written to a folder."""

    def replace(match: re.Match) -> str:
        kind, files = match[2], match[3].split()
        results = [json.loads((DATA / file).read_text()) for file in files]
        return (
            match[1]
            + "\n"
            + KINDS[kind](*results, figures / f"{Path(files[0]).stem}.svg")
            + "\n\n"
            + match[4]
        )

    return PLACE.sub(replace, text)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="change no page; fail where one is not what its JSON files say"
    )
    args = parser.parse_args(argv)
    pages = (README, ANCIENT, *sorted(PAGES.glob("*.md")))
    if args.check:
        with TemporaryDirectory() as folder:
            stale = [page.name for page in pages if fill(text := page.read_text(), Path(folder)) != text]
        print(f"not what the JSON files say: {', '.join(stale)}" if stale else "up to date")
        return int(bool(stale))
    for page in pages:
        page.write_text(fill(page.read_text(), page.parent))
    return 0


if __name__ == "__main__":
    sys.exit(main())
