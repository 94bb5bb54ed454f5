"""Files about runs that MultiQC finds by their names: main figures, distributions, and the version of gassst.

They are MultiQC's custom content, which needs no plugin where MultiQC runs. One file holds one table or one plot.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from gassst.errors import UsageError
from gassst.model.stats import CONFIDENT
from gassst.tools.report_compare import Curve, damage, edits, insert_sizes, named, qualities
from gassst.tools.report_numbers import Numbers

SUFFIX = "_mqc.json"
VERSIONS = "_mqc_versions.yml"


class Plot(NamedTuple):
    """A line for each sample."""

    title: str
    text: str
    curve: Callable[[Numbers], Curve]
    xlabel: str
    ylabel: str


PLOTS = {
    "mapq": Plot(
        "Mapping quality",
        "Reads with at least this MAPQ.",
        qualities,
        "MAPQ",
        "% of reads with at least this",
    ),
    "edits": Plot(
        "Edit distance",
        "Errors of the best alignment.",
        edits,
        "errors of the best alignment",
        "% of mapped reads",
    ),
    "inserts": Plot(
        "Insert sizes", "In bins of 10 bases.", insert_sizes, "template length, bases", "% of pairs"
    ),
    "damage5": Plot(
        "Damage at the 5' end",
        "Bases of the reference that are C and are read as T.",
        partial(damage, 0, 0),
        "bases from the 5' end",
        "% C>T",
    ),
    "damage3": Plot(
        "Damage at the 3' end",
        "Bases of the reference that are G and are read as A.",
        partial(damage, 1, 1),
        "bases from the 3' end",
        "% G>A",
    ),
}
"""By what is between the stem of their files and `SUFFIX`."""
PERCENT = {"min": 0, "max": 100, "suffix": "%", "format": "{:,.2f}"}
HIDDEN = {"hidden": True}  # unless asked for: three columns leave room for those of other tools
COLUMNS: dict[str, dict[str, Any]] = {
    "reads": {
        "title": "Reads",
        "description": "Reads, both mates counted",
        "format": "{:,.0f}",
        "min": 0,
        **HIDDEN,
    },
    "mapped": {"title": "Mapped", "description": "Reads with an alignment", **PERCENT},
    "confident": {
        "title": f"MAPQ>={CONFIDENT}",
        "description": f"Reads with MAPQ of {CONFIDENT} or more",
        **PERCENT,
    },
    "proper": {"title": "Proper pairs", "description": "Share of the pairs", **PERCENT, **HIDDEN},
    "duplicates": {"title": "Duplicates", "description": "Share of the mapped reads", **PERCENT, **HIDDEN},
    "insert": {
        "title": "Insert",
        "description": "Median insert size",
        "suffix": " bp",
        "format": "{:,.0f}",
        **HIDDEN,
    },
    "coverage": {"title": "Coverage", "description": "Mean coverage", "suffix": "X", "format": "{:,.2f}"},
    "errors": {"title": "Errors", "description": "Errors in 100 bases of mapped reads", **PERCENT, **HIDDEN},
}
"""Keys and headers of the columns, in order."""


def verify_name(path: str) -> None:
    """UsageError for a name by which MultiQC would not know the file."""
    if not os.fspath(path).endswith(SUFFIX):
        raise UsageError(f"--multiqc {path}: MultiQC reads files whose names end in {SUFFIX}")


def row(run: Numbers) -> dict[str, float]:
    """The columns of one run that it has figures for."""
    n = run.counts
    shares = {
        "mapped": (n["mapped"], n["reads"]),
        "confident": (n["confident"], n["reads"]),
        "proper": (n["proper"], n["pairs"]),
        "errors": (run.edits_per_read * n["reads"], n["bases"]),
    }
    if n["duplicates"]:
        shares["duplicates"] = n["duplicates"], n["mapped"]
    values = {"reads": float(n["reads"])}
    values |= {name: 100 * part / whole for name, (part, whole) in shares.items() if whole}
    if run.inserts:
        values["insert"] = float(run.median_insert)
    if run.reference_bases:
        values["coverage"] = run.mean_coverage
    return {name: round(values[name], 4) for name in COLUMNS if name in values}


def content(runs: dict[str, Numbers]) -> dict[str, Any]:
    """What MultiQC reads, of runs by sample."""
    return {
        "id": "gassst",
        "plot_type": "generalstats",
        "headers": {name: {"namespace": "gassst", **header} for name, header in COLUMNS.items()},
        "data": {sample: row(run) for sample, run in runs.items()},
    }


def plotted(name: str, runs: dict[str, Numbers]) -> dict[str, Any]:
    """What MultiQC reads of one of `PLOTS`: runs without a curve are left out."""
    plot = PLOTS[name]
    lines = {}
    for sample, run in runs.items():
        x, y = plot.curve(run)
        if len(x):
            lines[sample] = {
                str(at): round(value, 4) for at, value in zip(x.tolist(), y.tolist(), strict=True)
            }
    return {
        "id": f"gassst_{name}",
        "parent_id": "gassst",
        "parent_name": "gassst",
        "parent_description": "maps short reads to a reference genome.",
        "section_name": plot.title,
        "description": plot.text,
        "plot_type": "linegraph",
        "pconfig": {
            "id": f"gassst_{name}_plot",
            "title": f"gassst: {plot.title}",
            "xlab": plot.xlabel,
            "ylab": plot.ylabel,
            "ymin": 0,
        },
        "data": lines,
    }


def paths(path: str) -> list[str]:
    """The files that `--multiqc path` may write: itself, one for each of `PLOTS`, and that of the version."""
    stem = path.removesuffix(SUFFIX)
    return [path, *(f"{stem}_{name}{SUFFIX}" for name in PLOTS), f"{stem}{VERSIONS}"]


def texts(path: str, stats: dict[str, dict[str, Any]]) -> dict[str, str]:
    """What to write into which of `paths(path)`, for runs by output, each as of `Stats.as_dict()`.

    A sample is named as its output, as other tools name what they find of that file: MultiQC then has one row for all.
    A plot without a line has no file. Raises InputError as `Numbers.from_dict`.
    """
    outputs = [("stdout" if output == "-" else output) for output in stats]
    runs = named(outputs, [Numbers.from_dict(values) for values in stats.values()], by_sample=False)
    plots = [plotted(name, runs) for name in PLOTS]
    versions = sorted({str(run.run["version"]) for run in runs.values() if "version" in run.run})
    parts = [content(runs), *(plot if plot["data"] else None for plot in plots), {"gassst": versions}]
    found = {name: part for name, part in zip(paths(path), parts, strict=True) if part is not None}
    return {name: json.dumps(part, indent=1) + "\n" for name, part in found.items()}  # JSON is YAML, too
