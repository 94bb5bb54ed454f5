"""`gassst map`."""

from __future__ import annotations

import argparse
import logging
import shlex
import sys

from gassst.cli.checks import check_map, mates_of, verified_params
from gassst.cli.habits import note_on_max_hits
from gassst.cli.options import add_map_options, output_options, tag_sources
from gassst.cli.reference import load_index

log = logging.getLogger("gassst")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `gassst map`."""
    parser.usage = (
        "%(prog)s [OPTIONS] REF READS.fq [MATES.fq]\n"
        "       %(prog)s [OPTIONS] REF -1 A1.fq B1.fq -2 A2.fq B2.fq"
    )
    add_map_options(parser)


def main(args: argparse.Namespace) -> int:
    """Run `gassst map`. Raises UsageError, InputError, OutputError, DeviceError."""
    params = verified_params(args)
    check_map(args, params)
    from gassst.cli.console import STDERR
    from gassst.cli.progress import Progress
    from gassst.cli.summary import internals, summary
    from gassst.io.input_progress import InputProgress
    from gassst.mapper import Mapper

    if note := note_on_max_hits(params.max_hits):
        log.info(note)
    reads, mates = mates_of(args)
    mapper = Mapper(load_index(args.index, args.threads, args.check), **vars(params))
    log.debug("extension: %s", mapper.extender.describe())
    inputs = InputProgress([*reads, *(mates or [])])
    in_the_way = args.output == "-" and sys.stdout.isatty()  # of records on the same terminal
    with Progress(inputs, quiet=args.quiet or in_the_way) as progress:
        stats = mapper.map_file(
            reads,
            args.output,
            mates=mates,
            interleaved=args.interleaved,
            read_group=args.read_group,
            tags=tag_sources(args),
            command_line=shlex.join(["gassst", *args.argv]),
            progress=progress,
            input_progress=inputs,
            allow_truncated=args.allow_truncated,
            **output_options(args),
        )
    seconds = progress.seconds
    if args.stats:
        stats.write_json(args.stats)
    if args.report:
        from gassst.tools.report import write_report

        write_report(stats.as_dict(), args.report)
    if args.verbose:
        STDERR.say(internals(stats))
    if not args.quiet:
        STDERR.say(summary(stats, seconds))
    return 0
