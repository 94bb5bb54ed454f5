"""The files that `gassst map` and `gassst gather` write about a run: `--stats`, `--multiqc` and `--report`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gassst.model.stats import Stats


def verify_reports(args: argparse.Namespace) -> None:
    """Raise UsageError for a report that cannot be made, before the run."""
    if args.report is not None:
        from gassst.tools.report_plots import require_matplotlib

        require_matplotlib()
    if args.multiqc is not None:
        from gassst.tools.multiqc import verify_name

        verify_name(args.multiqc)


def reports(args: argparse.Namespace, stats: Stats, runs: Mapping[str, Stats]) -> Iterator[tuple[str, str]]:
    """Path and text of each file that was asked for; `stats` are those of all `runs`, which are by their outputs.

    Raises InputError for counts that no page can show.
    """
    if args.stats:
        yield args.stats, stats.as_json()
    if args.multiqc:
        from gassst.tools import multiqc

        values = {output: run.as_dict() for output, run in runs.items()}
        yield from multiqc.texts(args.multiqc, values).items()
    if args.report:
        from gassst.tools.report import render

        yield args.report, render(stats.as_dict())
