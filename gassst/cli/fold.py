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
        help="Write only hairpins of windows: stems with one loop that span N bases or more.",
    )
    add(
        "--regions",
        type=file_path,
        metavar="READS.bam",
        help="Fold only windows that overlap a stack of ten reads in this SAM, BAM or CRAM, as of --preset small-rna.",
    )
    add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Run `gassst fold`. Raises UsageError, InputError, OutputError."""
    if not args.scan and (args.hairpins, args.regions, args.window, args.step) != (None, None, WINDOW, STEP):
        raise UsageError("--window, --step, --hairpins and --regions go with --scan")
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
    scan = files.Scan(args.window, args.step, args.hairpins)
    scan.check()
    log_start(args)
    if args.regions is not None:
        from gassst.tools.truth import read_alignments

        alignments = read_alignments(args.regions)
        scan = scan._replace(regions=files.stacks((a.contigs, a.start - 1, a.end) for a in alignments))
    start = time.perf_counter()
    with Progress(quiet=args.quiet) as progress:

        def show(share: float | None) -> None:
            progress.show(share, lambda seconds: f"{seconds:.0f} s so far")

        records = each_text(args.sequences, DNA, args.sequences)
        if args.scan:
            done = files.write_scan(records, args.output, parameters, scan, args.threads, show)
        else:
            done = files.write_folds(records, args.output, parameters, args.threads, show)
    what = number_of(done, "window" if args.scan else "sequence")
    log.info("%s folded, %.1f s", what, time.perf_counter() - start)
    return 0
