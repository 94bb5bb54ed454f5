"""`gassst hmm`."""

from __future__ import annotations

import argparse
import logging
import time

from gassst.cli.checks import check_threads, check_writable
from gassst.cli.options import add_common
from gassst.cli.start import log_start, number_of
from gassst.tools.arguments import file_path, output_path

log = logging.getLogger("gassst")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `gassst hmm`."""
    add = parser.add_argument
    add("task", choices=["search"], help="Search for sequences that belong to a family.")
    add(
        "profile",
        metavar="FAMILY.hmm",
        type=file_path,
        help="Take the first profile of this file of HMMER 3, of DNA, RNA or proteins.",
    )
    add(
        "sequences",
        metavar="SEQUENCES.fq",
        type=file_path,
        help="Search the sequences of this FASTA or FASTQ, plain or compressed, both strands of DNA.",
    )
    add(
        "-o",
        "--output",
        default="-",
        metavar="OUT.tsv",
        type=output_path,
        help="Write the members of the family to this file, the best first. The columns are name, length, strand, "
        "E-value, bits, begin and end in the sequence and in the model, and CIGAR. A dash means stdout.",
    )
    add(
        "-E",
        "--e-value",
        type=float,
        default=10.0,
        metavar="X",
        help="Write sequences whose score so many random ones would reach, or fewer.",
    )
    add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Run `gassst hmm`. Raises UsageError, InputError, OutputError."""
    check_threads(args.threads)
    from gassst.align.alphabets import DNA
    from gassst.align.sequences import each_text
    from gassst.cli.progress import Progress
    from gassst.hmm.files import write_hits
    from gassst.hmm.profile import Profile

    check_writable([args.output])
    profile = Profile(args.profile)
    log_start(args)
    start = time.perf_counter()
    with Progress(quiet=args.quiet) as progress:

        def show(done: int) -> None:
            progress.show(None, lambda seconds: f"{number_of(done, 'sequence')}, {seconds:.0f} s so far")

        records = each_text(args.sequences, DNA, args.sequences)
        done, written = write_hits(profile, records, args.output, args.e_value, args.threads, show)
    seconds = time.perf_counter() - start
    log.info("%s searched, %s found, %.1f s", number_of(done, "sequence"), number_of(written, "hit"), seconds)
    return 0
