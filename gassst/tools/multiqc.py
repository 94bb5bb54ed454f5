"""The main figures of runs for the table of general statistics of MultiQC: a file whose name ends in `_mqc.json`.

Such a file is MultiQC's custom content: it needs no plugin where MultiQC runs.
"""

from __future__ import annotations

import json
import os
from typing import Any

from gassst.errors import UsageError
from gassst.stats import CONFIDENT
from gassst.tools.report_compare import named
from gassst.tools.report_numbers import Numbers

SUFFIX = "_mqc.json"
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


def as_json(stats: dict[str, dict[str, Any]]) -> str:
    """The file for runs by output, each as of `Stats.as_dict()`. Raises InputError as `Numbers.from_dict`.

    A sample is named as its output, as other tools name what they find of that file: MultiQC then has one row for all.
    """
    outputs = [("stdout" if output == "-" else output) for output in stats]
    runs = named(outputs, [Numbers.from_dict(values) for values in stats.values()], by_sample=False)
    return json.dumps(content(runs), indent=1) + "\n"
