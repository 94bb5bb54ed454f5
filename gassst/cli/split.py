"""`gassst split`."""

from __future__ import annotations

import argparse
import logging
from contextlib import ExitStack, closing

from gassst.cli.checks import check_threads, check_writable
from gassst.cli.options import add_common, parse_level
from gassst.cli.start import log_start
from gassst.errors import UsageError
from gassst.tools.arguments import file_path, output_path

log = logging.getLogger("gassst")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `gassst split`."""
    parser.usage = "%(prog)s [OPTIONS] READS.fq.gz [MATES.fq.gz] -o READS.bgz [-o MATES.bgz]"
    add = parser.add_argument
    add(
        "reads",
        nargs="+",
        metavar="READS.fq.gz",
        type=file_path,
        help="Read FASTQ or FASTA from this file, plain or compressed; - is stdin.",
    )
    add(
        "-o",
        "--output",
        action="append",
        required=True,
        metavar="OUT.fq.gz",
        type=output_path,
        help="Write BGZF to this file; give it once for each file of reads, in their order.",
    )
    add(
        "--level",
        type=parse_level,
        default=1,
        metavar="0..9",
        help="Compress at this level: 1 is fast, 9 is small.",
    )
    add(
        "--allow-truncated",
        action="store_true",
        help="Accept BGZF files without an end-of-file block, although they may have been cut between two blocks.",
    )
    add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Run `gassst split`. Raises UsageError, InputError, OutputError."""
    check_threads(args.threads)
    if len(args.output) != len(args.reads):
        raise UsageError(
            f"{len(args.reads)} files of reads, but {len(args.output)} outputs: -o names one for each"
        )
    check_writable(args.output)
    from gassst.cli.progress import Progress
    from gassst.files.destination import Destination
    from gassst.files.input_progress import InputProgress
    from gassst.files.recompress import write_bgzf
    from gassst.workers.threads import Workers

    log_start(args)
    inputs = InputProgress(args.reads)
    with ExitStack() as stack:
        workers = stack.enter_context(closing(Workers(args.threads)))
        show = stack.enter_context(Progress(quiet=args.quiet))

        def progress(done: int) -> None:
            total = inputs.bytes_total
            share = min(1.0, inputs.bytes_read / total) if total else None
            show.show(
                share, lambda seconds: f"{done / 1e6:,.0f} MB of text, {done / 1e6 / seconds:,.0f} MB/s"
            )

        destinations = [Destination(path) for path in args.output]
        for destination in destinations:
            stack.callback(destination.discard)
        for path, destination in zip(args.reads, destinations, strict=True):
            size = write_bgzf(path, destination, workers, args.level, inputs, progress, args.allow_truncated)
            log.info("%s: %s bytes of text", destination.name, f"{size:,}")
        for destination in destinations:
            destination.commit()
    return 0
