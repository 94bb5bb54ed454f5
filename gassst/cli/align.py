"""`gassst align`."""

from __future__ import annotations

import argparse
import logging
import os
import shlex
import time

from gassst.cli.checks import check_threads, check_writable
from gassst.cli.options import add_common
from gassst.cli.start import log_start, number_of
from gassst.errors import UsageError
from gassst.tools.arguments import file_path, output_path

log = logging.getLogger("gassst")
MODES = ("local", "global", "semiglobal")
FREE_ENDS = ("both", "query", "target")
OUTPUT_FORMATS = ("tsv", "paf", "bed", "sam")
# Options that --find has no use for.
SCORED = {
    "mode": "local",
    "free_ends": "both",
    "matrix": "NUC4.4",
    "gap_open": 10,
    "gap_extend": 1,
    "best": 1,
    "min_score": None,
    "both_strands": False,
    "device": None,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `gassst align`."""
    add = parser.add_argument
    add(
        "queries",
        metavar="QUERIES.fa",
        type=file_path,
        help="Read the queries from this FASTA or FASTQ, plain or compressed.",
    )
    add(
        "targets",
        metavar="TARGETS.fa",
        type=file_path,
        help="Align the queries with the sequences of this file, likewise.",
    )
    add(
        "-o",
        "--output",
        default="-",
        metavar="OUT",
        type=output_path,
        help="Write the alignments to this file. Its suffix sets the format: .tsv, .sam, and .paf, or .bed with "
        "--find. A dash means a table on stdout.",
    )
    add("-O", "--format", choices=OUTPUT_FORMATS, help="Write this format, regardless of the suffix of -o.")
    add(
        "--find",
        type=int,
        metavar="K",
        help="Write all occurrences of the queries in the targets, on both strands, with at most K letters changed, "
        "left out or put in. Queries are DNA of up to 64 letters; codes such as N stand for their bases. Options of "
        "scores and ends do not go with it.",
    )
    add(
        "--mode",
        choices=MODES,
        default=SCORED["mode"],
        help="Align locally, with the best parts of both sequences; globally, with all of both; or semiglobally, with "
        "the ends free that --free-ends names.",
    )
    add(
        "--free-ends",
        choices=FREE_ENDS,
        default=SCORED["free_ends"],
        help="Choose the ends that cost nothing in semiglobal mode. Use target for primers and barcodes, which "
        "must align in full.",
    )
    add(
        "--matrix",
        default=SCORED["matrix"],
        metavar="NAME|FILE",
        help="Use these scores: NUC4.4 for DNA, BLOSUM62 or PAM250 for proteins, or a file in NCBI's format.",
    )
    costs = SCORED["gap_open"], SCORED["gap_extend"]
    add("--gap-open", type=int, default=costs[0], metavar="COST", help="Set the cost of opening a gap.")
    add(
        "--gap-extend",
        type=int,
        default=costs[1],
        metavar="COST",
        help="Set the cost of each letter of a gap.",
    )
    add(
        "--best",
        type=int,
        default=SCORED["best"],
        metavar="N",
        help="Write the best N targets of each query; 0 writes all.",
    )
    add("--min-score", type=int, metavar="SCORE", help="Leave out alignments below this score.")
    add(
        "--both-strands",
        action="store_true",
        help="Also align the reverse complements of the queries, for DNA.",
    )
    add(
        "--device",
        metavar="DEV",
        help="Compute the scores on this OpenCL device, as map --device names it, or with :all behind it on all of its "
        "kind (default: compiled code). Alignments of the best are the host's.",
    )
    add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Run `gassst align`. Raises UsageError, InputError, OutputError."""
    form = _format(args)
    if args.find is not None:
        return _find(args, form)
    if args.best < 0:
        raise UsageError("--best must be 0 or more")
    check_threads(args.threads)
    from gassst.align.files import BestAlignments, Choice, check_format, write_hits
    from gassst.align.gaps import gap_costs
    from gassst.align.matrices import substitution_matrix
    from gassst.align.modes import mode_flags
    from gassst.align.scoring import prepare
    from gassst.cli.progress import Progress

    check_writable([args.output])
    gaps, flags = gap_costs(args.gap_open, args.gap_extend), mode_flags(args.mode, args.free_ends)
    queries, targets, costs = prepare(
        args.queries, args.targets, substitution_matrix(args.matrix), gaps, flags
    )
    costs.verify(int(queries.lengths.max()), int(targets.lengths.max()))
    check_format(queries, targets, form)
    choice = Choice(args.best, args.min_score, args.both_strands)
    hits = BestAlignments(queries, targets, costs, choice, args.threads, args.device)
    log_start(args)
    start = time.perf_counter()
    with Progress(quiet=args.quiet) as progress:
        command = shlex.join(["gassst", *args.argv])
        count = write_hits(hits, args.output, form, command, lambda share: progress.show(share, _counts))
    seconds = time.perf_counter() - start
    cells = float(queries.lengths.sum()) * float(targets.lengths.sum()) * (1 + args.both_strands)
    log.info(
        "%s of %s with %s, %.1f s, %.1f GCUPS",
        number_of(count, "alignment"),
        f"{len(queries):,} {'query' if len(queries) == 1 else 'queries'}",
        number_of(len(targets), "target"),
        seconds,
        cells / seconds / 1e9,
    )  # fmt: skip
    return 0


def _find(args: argparse.Namespace, form: str) -> int:
    """Run `gassst align --find`. Raises UsageError, InputError, OutputError."""
    for name, default in SCORED.items():
        if getattr(args, name) != default:
            raise UsageError(f"--{name.replace('_', '-')} does not go with --find")
    check_threads(args.threads)
    from gassst.align.find import Search
    from gassst.align.place_files import write_places

    check_writable([args.output])
    search = Search(args.queries, args.find, threads=args.threads)
    log_start(args)
    start = time.perf_counter()
    count = write_places(search, args.targets, args.output, form, shlex.join(["gassst", *args.argv]))
    seconds, letters = time.perf_counter() - start, sum(search.contig_lengths)
    log.info(
        "%s of %s within %s in %s, %.1f s, %.0f Mb/s",
        number_of(count, "place"),
        number_of(len(search.patterns), "pattern"),
        number_of(args.find, "edit"),
        number_of(len(search.contig_names), "contig"),
        seconds,
        letters / seconds / 1e6,
    )  # fmt: skip
    return 0


def _counts(seconds: float) -> str:
    return f"{seconds:.0f} s so far"


def _format(args: argparse.Namespace) -> str:
    """The format asked for. Raises UsageError for a suffix that names none, and one that the run does not write."""
    allowed = [form for form in OUTPUT_FORMATS if form != ("bed" if args.find is None else "paf")]
    if args.format is not None:
        if args.format not in allowed:
            raise UsageError(f"-O {args.format}: {'only with' if args.find is None else 'not with'} --find")
        return str(args.format)
    if args.output == "-" or args.output.startswith("/dev/"):
        return "tsv"
    suffix = os.path.splitext(args.output)[1].lstrip(".").lower()
    if suffix not in allowed:
        names = [f".{form}" for form in allowed]
        raise UsageError(
            f"{args.output}: its suffix must be {', '.join(names[:-1])} or {names[-1]}; otherwise set the format by -O"
        )
    return suffix
