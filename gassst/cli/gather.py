"""`gassst gather`."""

from __future__ import annotations

import argparse
import logging
import shlex
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from gassst.cli.checks import check_threads, check_writable
from gassst.cli.options import add_gather_options, duplicate_rules
from gassst.cli.reference import load_index
from gassst.errors import InputError, UsageError

if TYPE_CHECKING:
    from gassst.stats import Stats

log = logging.getLogger("gassst")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `gassst gather`."""
    parser.usage = "%(prog)s [OPTIONS] PART.bam [PART.bam ...] -o OUT.bam"
    add_gather_options(parser)


def main(args: argparse.Namespace) -> int:
    """Run `gassst gather`. Raises UsageError, InputError, OutputError."""
    check_threads(args.threads)
    reports = [args.stats, args.report, args.multiqc]
    if any(reports) != bool(args.part_stats):
        raise UsageError("--stats, --report and --multiqc tell of the sum of --part-stats, and need these")
    duplicates = duplicate_rules(args)
    from gassst.io.gathering import GatherOptions, complete, gather, verify
    from gassst.stats import Stats
    from gassst.workers.threads import ThreadWorkers

    options = GatherOptions(
        format=args.format,
        level=args.level,
        sort=args.sort,
        sort_memory=args.sort_memory,
        duplicates=duplicates,
        format_options=tuple(args.format_options or ()),
        threads=args.threads,
        command_line=shlex.join(["gassst", *args.argv]),
    )
    verify(args.output, options)
    check_writable([args.output, *reports, args.markdup_metrics])
    parts = complete(args.parts)
    counts = [Stats.read_json(path) for path in args.part_stats]
    if counts:
        _check_counts(counts, len(parts))
    if args.reference is not None:
        reference = load_index(args.reference, args.threads).reference
        options = replace(options, reference=reference.arrays)
    with closing(ThreadWorkers(None, args.threads)) as workers:
        found = gather(parts, args.output, options, workers)
    if counts:
        stats = Stats.of_parts(counts)
        if found is not None:
            stats.duplicates = found.reads
        _write_reports(stats, args)
    log.info("%s: %d parts", args.output, len(parts))
    return 0


def _write_reports(stats: Stats, args: argparse.Namespace) -> None:
    if args.stats:
        stats.write_json(args.stats)
    if args.multiqc:
        from gassst.tools.multiqc import write_multiqc

        write_multiqc({args.output: stats.as_dict()}, args.multiqc)
    if args.report:
        from gassst.tools.report import write_report

        write_report(stats.as_dict(), args.report)


def _check_counts(counts: list[Stats], parts: int) -> None:
    """Raise InputError where statistics of a part are missing, or there twice."""
    of_parts = sorted(str(stats.run.get("shard", "no part")) for stats in counts)
    expected = sorted(f"{i + 1}/{parts}" for i in range(parts))
    if of_parts != expected:
        odd = sorted(set(expected) ^ set(of_parts)) or [name for name in of_parts if of_parts.count(name) > 1]
        raise InputError(f"--part-stats: one file for each of {parts} parts, but see {odd[0]}")
