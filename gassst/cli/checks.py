"""What can be wrong with the arguments of a command, found before any work is done."""

from __future__ import annotations

import argparse
import os

from gassst.cli import habits
from gassst.cli.options import map_params, tag_sources
from gassst.cli.reference import reference_files
from gassst.errors import OutputError, UsageError
from gassst.params import MapParams


def verified_params(args: argparse.Namespace) -> MapParams:
    """The parameters of `gassst map`. Raises UsageError, with a hint for users of other mappers."""
    try:
        return map_params(args).verify()
    except UsageError as error:
        hint = habits.hint_in(str(error))
        raise UsageError(f"{error}. {hint}" if hint else str(error)) from None


def check_map(args: argparse.Namespace, params: MapParams) -> None:
    """Raise the error that the run would come to later."""
    from gassst.extension.devices import check_device
    from gassst.io.distinct import check_distinct, with_indexes
    from gassst.io.reads import open_pairs, open_reads
    from gassst.io.records import parse_read_group
    from gassst.search.filters import Cascade

    if args.report is not None:
        from gassst.tools.report_plots import require_matplotlib

        require_matplotlib()
    Cascade(params.filters, 0)
    if args.read_group is not None:
        parse_read_group(args.read_group)
    tag_sources(args).verify()
    _check_format(args)
    reads, mates = mates_of(args)
    if mates is None:
        open_reads(reads, params.batch_size)
    else:
        open_pairs(reads, mates, params.batch_size)
    inputs = [*reference_files(args.index), *reads, *(mates or [])]
    others = [args.unmapped, args.stats, args.report]
    check_outputs([args.output, *others], inputs)
    check_distinct([*with_indexes(args.output), *filter(None, others)], inputs)
    check_device(params.device, params.threads)


def _check_format(args: argparse.Namespace) -> None:
    from gassst.io.destination import Destination
    from gassst.io.records import output_format

    output = Destination(args.output)
    if output_format(output, args.format) != "sam" and output.is_stdout and os.isatty(1):
        raise UsageError(f"{args.format.upper()} is not for a terminal: name a file with -o")


def mates_of(args: argparse.Namespace) -> tuple[list[str], list[str] | None]:
    """The files of reads, and those of their second mates or None. Raises UsageError where roles are unclear."""
    lanes = args.first is not None or args.second is not None
    if lanes and (args.reads or args.single or args.interleaved):
        raise UsageError("-1 and -2 name all files of reads: no others, no --single, no --interleaved")
    if lanes and not (args.first and args.second):
        raise UsageError("-1 and -2 go together: files of first mates, files of second mates")
    if lanes:
        return args.first, args.second
    if not args.reads:
        raise UsageError("no reads: name a file, or two of pairs, or use -1 and -2")
    if args.single or args.interleaved or len(args.reads) == 1:
        return args.reads, None
    if len(args.reads) == 2:
        return args.reads[:1], args.reads[1:]
    raise UsageError(
        f"{len(args.reads)} files of reads: two are those of pairs, several lanes of pairs are "
        "-1 A1 B1 -2 A2 B2; --single maps all as single reads, --interleaved has pairs in each"
    )


def check_outputs(outputs: list[str | None], inputs: list[str]) -> None:
    """OutputError for a file that cannot be written, UsageError for one that is named twice."""
    from gassst.io.destination import Destination
    from gassst.io.distinct import check_distinct

    check_distinct(filter(None, outputs), inputs)
    for path in filter(None, outputs):
        if os.path.isdir(path):
            raise OutputError(f"cannot write {path}: it is a directory")
        destination = Destination(path)
        if not destination.is_stream:  # looking into a pipe would not leave it as it was
            os.close(destination.open())
            destination.discard()
