"""`gassst gather`."""

from __future__ import annotations

import argparse
import logging
import shlex
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import TYPE_CHECKING

from gassst.cli.checks import check_threads, check_writable
from gassst.cli.options import add_gather_options, duplicate_rules, given
from gassst.cli.reports import reports, verify_reports
from gassst.cli.start import log_start, number_of
from gassst.errors import InputError, UsageError
from gassst.index.choice import load_index
from gassst.records.options import OutputFile

if TYPE_CHECKING:
    from gassst.model.stats import Stats
    from gassst.records.duplicates import DuplicateCounts

log = logging.getLogger("gassst")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `gassst gather`."""
    parser.usage = "%(prog)s [OPTIONS] SHARD.bam [SHARD.bam ...] -o OUT.bam"
    add_gather_options(parser)


def main(args: argparse.Namespace) -> int:
    """Run `gassst gather`. Raises UsageError, InputError, OutputError."""
    check_threads(args.threads)
    written = [args.stats, args.report, args.multiqc]
    if any(written) and not args.part_stats:
        raise UsageError("--stats, --report and --multiqc need --part-stats, which they add up")
    verify_reports(args)
    duplicates = duplicate_rules(args)
    from gassst.cli.console import STDERR
    from gassst.cli.summary import summary
    from gassst.files.whole_file import held_text
    from gassst.model.stats import Stats
    from gassst.records.gathering import GatherOptions, complete, gather, verify
    from gassst.workers.threads import Workers

    options = GatherOptions(
        **{**given(args, OutputFile), "duplicates": duplicates},
        command_line=shlex.join(["gassst", *args.argv]),
    )
    verify(args.output, options)
    check_writable([args.output, *written, args.metrics_path])
    shards = complete(args.shards)
    log_start(args)
    counts = [Stats.read_json(path) for path in args.part_stats]
    stats = _sum_of(counts, len(shards)) if counts else None
    if args.reference is not None:
        reference = load_index(args.reference, args.threads).reference
        options = replace(options, reference=reference.arrays)
    with ExitStack() as stack:
        workers = stack.enter_context(closing(Workers(args.threads)))

        def write_reports(found: DuplicateCounts | None) -> None:
            """They take their names after the records."""
            if stats is None:
                return
            stats.duplicates = stats.duplicates if found is None else found.reads
            for path, text in reports(args, stats, {args.output: stats}):
                stack.enter_context(held_text(path, text))

        gather(shards, args.output, options, workers, write_reports)
    log.info("%s: %s", args.output, number_of(len(shards), "shard"))
    if stats is not None and not args.quiet:
        STDERR.say(summary(stats))
    return 0


def _sum_of(counts: list[Stats], shards: int) -> Stats:
    """The counts of all shards. Raises InputError where some are missing, or no report could be made of the sum."""
    from gassst.model.stats import Stats
    from gassst.runs.libraries import Libraries
    from gassst.tools.report_numbers import Numbers

    _check_counts(counts, shards)
    stats = Stats.of_parts(counts)
    try:
        stats.run["libraries"] = Libraries.joined(shard.run.get("libraries", []) for shard in counts).facts()
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError("--part-stats: libraries of a shard are not what --stats writes") from None
    Numbers.from_dict(stats.as_dict(), "--part-stats")
    return stats


def _check_counts(counts: list[Stats], shards: int) -> None:
    """Raise InputError where statistics of a shard are missing, or there twice."""
    numbers = sorted(str(stats.run.get("shard", "no shard")) for stats in counts)
    expected = sorted(f"{i + 1}/{shards}" for i in range(shards))
    if numbers != expected:
        odd = sorted(set(expected) ^ set(numbers)) or [name for name in numbers if numbers.count(name) > 1]
        raise InputError(f"--part-stats: one file for each of {shards} shards, but see {odd[0]}")
