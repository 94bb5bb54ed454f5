"""`gassst fold`."""

from __future__ import annotations

import argparse
import logging
import time

from gassst.cli.checks import check_threads, check_writable
from gassst.cli.options import add_common
from gassst.cli.start import log_start, number_of
from gassst.errors import UsageError
from gassst.tools.arguments import file_path, output_path

log = logging.getLogger("gassst")
WINDOW, STEP = 120, 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `gassst fold`."""
    add = parser.add_argument
    add(
        "sequences",
        metavar="SEQUENCES.fa",
        type=file_path,
        help="Fold the sequences of this FASTA or FASTQ, RNA or DNA, plain or compressed.",
    )
    add(
        "-o",
        "--output",
        default="-",
        metavar="OUT.tsv",
        type=output_path,
        help="Write name, length, energy in kcal/mol and structure to this file. With --scan, write contig, begin, "
        "end, strand, energy and structure, or BED if the suffix is .bed. A dash means stdout.",
    )
    add(
        "--parameters",
        metavar="FILE.par",
        type=file_path,
        help="Take energies from this RNAfold parameter file 2.0. ViennaRNA writes one: "
        "python -c \"import RNA; RNA.params_save('turner2004.par')\".",
    )
    add("--scan", action="store_true", help="Fold windows of each sequence, on both strands.")
    add("--window", type=int, default=WINDOW, metavar="N", help="Set the bases of a window.")
    add("--step", type=int, default=STEP, metavar="N", help="Begin a window every N bases.")
    add(
        "--hairpins",
        type=int,
        metavar="N",
        help="Write only windows whose structure has one loop, closed by a stem that spans N bases or more.",
    )
    add(
        "--max-energy",
        type=float,
        metavar="KCAL",
        help="Leave out windows whose energy lies above this one.",
    )
    add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Run `gassst fold`. Raises UsageError, InputError, OutputError."""
    if not args.scan and (args.hairpins is not None or args.max_energy is not None):
        raise UsageError("--hairpins and --max-energy go with --scan")
    if not args.scan and (args.window, args.step) != (WINDOW, STEP):
        raise UsageError("--window and --step go with --scan")
    check_threads(args.threads)
    from gassst.align.alphabets import DNA
    from gassst.align.sequences import each_text
    from gassst.cli.progress import Progress
    from gassst.fold.files import Scan, write_folds, write_scan
    from gassst.fold.folding import ADVICE
    from gassst.fold.parameters import Parameters

    if args.parameters is None:
        raise UsageError(f"--{ADVICE}")
    check_writable([args.output])
    parameters = Parameters(args.parameters)
    scan = Scan(args.window, args.step, args.hairpins, args.max_energy) if args.scan else None
    log_start(args)
    start = time.perf_counter()
    with Progress(quiet=args.quiet) as progress:

        def show(share: float | None) -> None:
            progress.show(share, lambda seconds: f"{seconds:.0f} s so far")

        records, threads = each_text(args.sequences, DNA, args.sequences), args.threads
        if scan is None:
            done, written = write_folds(records, args.output, parameters, threads, show)
        else:
            done, written = write_scan(records, args.output, parameters, scan, threads, show)
    seconds = time.perf_counter() - start
    what = "sequence" if scan is None else "window"
    log.info("%s folded, %s written, %.1f s", number_of(done, what), number_of(written, "line"), seconds)
    return 0
