"""Fill the tables and plots of the README, docs/benchmarks/*.md and the guide from lab/data/*.json.

    python scripts/bench/make_benchmarks.py            # rewrites them and the figures beside them
    python scripts/bench/make_benchmarks.py --check    # fails where a page would change
    python scripts/bench/make_benchmarks.py --fresh    # fails where records changed after figures.json was measured

A place in a page is `<!-- KIND FILE -->` .. `<!-- end -->`; KIND is one of `KINDS`. A place has one file, and
figures.json is of one commit, so no table mixes two. README, home and throughput.md state no factor of speed elsewhere.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import ablation
import curves
import figure_tables
import plots
import rooms
import split_reads
from harness import measured

sys.path += [str(Path(__file__).resolve().parents[1] / folder) for folder in ("check", "field")]
import calibration  # noqa: E402
import field_tables  # noqa: E402

README = Path(__file__).resolve().parents[2] / "README.md"
PAGES = README.parent / "docs" / "benchmarks"
DATA = README.parent / "lab" / "data"
DYNAMIC = PAGES.with_name("guide") / "dynamic-programmes.md"
ANCIENT = PAGES.with_name("guide") / "ancient-dna.md"
ABLATION = DATA.with_name("ablation.md")
PLACE = re.compile(r"(<!-- (\w+) (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
FACTOR = re.compile(r"\d+(?:\.\d+)?(?: to \d+(?:\.\d+)?)? times\b")
FIGURES = "figures.json"
OVERVIEW_LENGTH = 100


def overview(result: dict, figure: Path) -> str:
    """The figure of the README: reads and pairs of 100 bases on one genome."""
    sets = [one for one in figure_tables.of_kind(result, "simulated") if one["length"] == OVERVIEW_LENGTH]
    panels = {
        title: [one for one in sets if one.get("paired", False) == paired]
        for paired, title in (
            (False, f"single reads of {OVERVIEW_LENGTH} bases"),
            (True, f"pairs of 2 x {OVERVIEW_LENGTH} bases"),
        )
    }
    plots.wrong_against_speed(panels, figure)
    return f"![share not placed correctly against speed, for reads with 0.5 to 10 % errors]({figure.name})"


# Each takes the results of its files and where its figure goes, if it has one.
KINDS: dict[str, Callable[..., str]] = {
    "overview": lambda result, figure: overview(result, figure.with_name("overview.svg")),
    "headline": lambda result, _: figure_tables.headline(result),
    "measured": lambda result, _: figure_tables.measured(result),
    "said": lambda result, _: figure_tables.said(result),
    "libraries": lambda result, _: figure_tables.libraries(result),
    "simulated_single": lambda result, _: figure_tables.simulated(result, paired=False),
    "simulated_pairs": lambda result, _: figure_tables.simulated(result, paired=True),
    "threads": lambda result, _: figure_tables.threads(result),
    "q20": lambda result, _: figure_tables.at_q20(result),
    "field": lambda result, _: field_tables.about(result),
    "field_behind": lambda result, _: field_tables.behind(result),
    "field_rows": lambda result, _: field_tables.details(result),
    "calibration": lambda result, _: calibration.page_table(result),
    "curve_cells": lambda result, _: curves.cells(result),
    "curve_filters": lambda result, _: curves.filters(result),
    "curve_levels": lambda result, _: curves.levels(result),
    "curve_foreign": lambda result, _: curves.foreign(result),
    "curves": curves.shown,
    "ablation": lambda result, _: ablation.page(result),
    "beside_semiring": lambda result, _: rooms.beside(result, "semiring"),
    "beside_hmm": lambda result, _: rooms.beside(result, "hmm"),
    "beside_families": lambda result, _: rooms.beside(result, "families"),
    "beside_fold": lambda result, _: rooms.beside(result, "fold"),
    "rooms": lambda result, _: f"{measured(result)};\n{rooms.others(result)}.",
    "further": lambda result, _: rooms.table({"seconds": result["experiments"]["further"]}),
    "devices": lambda result, _: rooms.table({"OpenCL device": result["experiments"]["devices"]}),
    "split_reads": lambda result, _: split_reads.table(result),
}


def fill(text: str, figures: Path) -> str:
    """The page with every place filled again; figures are written to a folder."""

    def replace(match: re.Match) -> str:
        kind, file = match[2], match[3]
        result = json.loads((DATA / file).read_text())
        return f"{match[1]}\n{KINDS[kind](result, figures / f'{Path(file).stem}.svg')}\n\n{match[4]}"

    return PLACE.sub(replace, text)


def typed_factors(text: str) -> list[str]:
    """Factors of speed outside the places."""
    return FACTOR.findall(PLACE.sub("", text))


def changed_since() -> list[str]:
    """Commits after the one that was measured, behind which records or speed differ."""
    commit = json.loads((DATA / FIGURES).read_text())["commit"]
    words = [
        "git", "log", "--format=%h %s", "--extended-regexp", "--grep=^Records: changed", f"{commit}..HEAD",
    ]  # fmt: skip
    return subprocess.run(
        words, capture_output=True, text=True, check=True, cwd=README.parent
    ).stdout.splitlines()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="change no page; fail where one is not what its JSON files say"
    )
    parser.add_argument("--fresh", action="store_true", help="change no page; fail where figures are old")
    args = parser.parse_args(argv)
    home = PAGES.with_name("index.md")
    pages = (README, home, ANCIENT, DYNAMIC, ABLATION, *sorted(PAGES.glob("*.md")))
    if args.fresh:
        print("\n".join(changed := changed_since()) or "fresh")
        return int(bool(changed))
    if args.check:
        with TemporaryDirectory() as folder:
            stale = [page.name for page in pages if fill(text := page.read_text(), Path(folder)) != text]
        strict = {
            page.name: typed_factors(page.read_text()) for page in (README, home, PAGES / "throughput.md")
        }
        typed = [f"{name}: {factor}" for name, found in strict.items() for factor in found]
        print(f"not what the JSON files say: {', '.join(stale)}" if stale else "up to date")
        print("".join(f"no figure of a JSON file: {one}\n" for one in typed), end="")
        return int(bool(stale or typed))
    for page in pages:
        page.write_text(fill(page.read_text(), page.parent))
    return 0


if __name__ == "__main__":
    sys.exit(main())
