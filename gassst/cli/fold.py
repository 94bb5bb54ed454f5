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
WINDOW, STEP, DEPTH = 120, 20, 10


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
    add(
        "--probabilities",
        type=float,
        metavar="P",
        help="Instead, write each pair of bases whose probability is P or more: name, both bases from 0, probability.",
    )
    add(
        "--zuker",
        type=float,
        metavar="KCAL",
        help="Write a best structure for each pair of bases, up to this much above the best, as `RNAsubopt -z`.",
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
        "--max-energy", type=float, metavar="KCAL", help="Leave out windows whose energy lies above this one."
    )
    add(
        "--device",
        metavar="DEV",
        help="Compute the energies of windows on this OpenCL device, as map --device names it, and fold only those up "
        "to --max-energy, which is then needed.",
    )
    add(
        "--regions",
        type=file_path,
        metavar="READS.bam",
        help="Fold only windows that overlap a stack of reads in this SAM, BAM or CRAM, as of --preset small-rna.",
    )
    add(
        "--depth",
        type=int,
        default=DEPTH,
        metavar="N",
        help="Take stretches that N primary alignments cover as stacks.",
    )
    add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Run `gassst fold`. Raises UsageError, InputError, OutputError."""
    tasks = ("scan", "probabilities", "zuker")
    chosen = [f"--{task}" for task in tasks if getattr(args, task) not in (None, False)]
    if len(chosen) > 1:
        raise UsageError(f"{chosen[0]} and {chosen[1]} are two tasks: choose one")
    if args.probabilities is not None and not 0 < args.probabilities <= 1:
        raise UsageError("--probabilities must be above 0 and at most 1")
    if not args.scan and (args.hairpins is not None or args.max_energy is not None):
        raise UsageError("--hairpins and --max-energy go with --scan")
    if not args.scan and (args.window, args.step) != (WINDOW, STEP):
        raise UsageError("--window and --step go with --scan")
    if args.device is not None and args.max_energy is None:
        raise UsageError("--device goes with --scan and --max-energy")
    if args.regions is None and args.depth != DEPTH:
        raise UsageError("--depth goes with --regions")
    if args.regions is not None and (not args.scan or args.depth < 1):
        raise UsageError("--regions goes with --scan, and --depth must be 1 or more")
    check_threads(args.threads)
    from gassst.align.alphabets import DNA
    from gassst.align.sequences import each_text
    from gassst.cli.progress import Progress
    from gassst.fold import files
    from gassst.fold.folding import ADVICE
    from gassst.fold.parameters import Parameters

    if args.parameters is None:
        raise UsageError(f"--{ADVICE}")
    check_writable([args.output])
    parameters = Parameters(args.parameters)
    scan = files.Scan(args.window, args.step, args.hairpins, args.max_energy) if args.scan else None
    log_start(args)
    if scan is not None:
        scan.device = args.device
    if scan is not None and args.regions is not None:
        from gassst.tools.truth import read_alignments

        alignments = read_alignments(args.regions)
        scan.regions = files.stacks(((a.contigs, a.start - 1, a.end) for a in alignments), args.depth)
    start = time.perf_counter()
    with Progress(quiet=args.quiet) as progress:

        def show(share: float | None) -> None:
            progress.show(share, lambda seconds: f"{seconds:.0f} s so far")

        records, threads = each_text(args.sequences, DNA, args.sequences), args.threads
        if scan is not None:
            done, written = files.write_scan(records, args.output, parameters, scan, threads, show)
        else:
            size, rows = files.BATCH_BASES, files.folds(parameters, threads)
            if args.probabilities is not None:
                size, rows = files.PAIR_BASES, files.pairs(parameters, args.probabilities, threads)
            elif args.zuker is not None:
                size, rows = 1, files.suboptimal(parameters, args.zuker)
            done, written = files.write_rows(records, args.output, size, rows, show)
    seconds = time.perf_counter() - start
    what = "sequence" if scan is None else "window"
    log.info("%s folded, %s written, %.1f s", number_of(done, what), number_of(written, "line"), seconds)
    return 0
