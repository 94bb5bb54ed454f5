"""`gassst index`."""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import time
from functools import partial
from typing import Any

from gassst.cli.checks import check_threads, check_writable
from gassst.cli.options import add_common, parse_size
from gassst.cli.progress import Progress, clock
from gassst.cli.start import log_start, number_of
from gassst.errors import UsageError
from gassst.index.choice import index_path
from gassst.model.params import INDEX_STEPS
from gassst.tools.arguments import file_path, output_path
from gassst.workers.allocator import available_memory

log = logging.getLogger("gassst")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `gassst index`."""
    add = parser.add_argument
    add(
        "reference",
        metavar="REF.fa[.gz]",
        type=file_path,
        help="Index this FASTA, or check this index with --check.",
    )
    add(
        "-o",
        "--output",
        metavar="REF.gsi",
        type=output_path,
        help="Write the index to this file (default: beside the FASTA, where `gassst map` finds it).",
    )
    add(
        "--step",
        metavar="S",
        type=int,
        choices=INDEX_STEPS,
        help="Keep all positions (1), about half of them (2) or every fourth (4). The index becomes smaller, mapping "
        "takes more time, and no alignment is lost (default: 1; 2 for a genome above 1 Gb, 4 above 4.29 Gb).",
    )
    add(
        "--alt",
        metavar="FILE",
        type=file_path,
        help="Mark the contigs that this list names as ALT, as bwa does (default: REF.fa.alt beside the FASTA, if "
        "there is one).",
    )
    add(
        "--parts",
        metavar="N|SIZE",
        help="Write the seeds to N files beside REF.gsi, REF.part1.gsi and so on, or to files of this size, such "
        "as 4G. Building needs memory for one of them (default: all in REF.gsi).",
    )
    add(
        "--circular",
        metavar="NAME[,NAME]|all",
        type=lambda text: text.split(","),
        default=(),
        help="Say which contigs are circular. Reads over their origin get both parts, and pairs over it their true "
        "template length.",
    )
    add(
        "--rename",
        action="store_true",
        help="Change names of contigs that SAM forbids: _ replaces commas, brackets, quotes and so on, and a name "
        "that occurs again gets a number.",
    )
    add(
        "--meth",
        action="store_true",
        help="Index for gassst map --meth: seeds of both strands as bisulfite leaves them, in REF.meth.gsi.",
    )
    add("--check", action="store_true", help="Check every byte of an index, and write nothing.")
    add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Run `gassst index`. Raises UsageError, InputError, OutputError."""
    from gassst.index.seed_index import SeedIndex

    if args.check:
        SeedIndex.open(args.reference).check()
        log.info("%s: every section is intact", args.reference)
        return 0
    check_threads(args.threads)
    if args.meth and (args.step not in (1, None) or args.parts is not None):
        raise UsageError(
            "--meth makes an index of every base, in one file: it goes with neither --step nor --parts"
        )
    output = args.output or index_path(args.reference, args.meth)
    check_writable([output])
    parts = (None, None) if args.parts is None else _parts(args.parts)
    log_start(args)
    start = time.perf_counter()
    with Progress(quiet=args.quiet) as progress:
        how = (args.threads, args.alt, args.step)
        heard: Any = {
            "told": partial(_show, progress),
            "sized": partial(_say_size, output),
            "rename": args.rename,
            "circular": args.circular,
        }
        if args.parts is None:
            index = SeedIndex.build(args.reference, *how, **heard, meth=args.meth)
            index.save(output)
        else:
            from gassst.index.build_parts import build_parts

            index = build_parts(args.reference, output, *parts, *how, **heard)
    if index.reference.alt is not None:
        log.info("%s", number_of(int(index.reference.alt.sum()), "ALT contig"))
    reference, seconds = index.reference, time.perf_counter() - start
    contigs, bases = number_of(len(reference.names), "contig"), int(reference.lengths.sum())
    sizes = [os.path.getsize(path) for path in (output, *(part.path for part in index.parts))]
    in_parts = f" in {number_of(len(index.parts), 'part')}" if index.parts else ""
    log.info(
        "%s: %s, %s bases, k = %d, %s bytes%s, %.1f s",
        output, contigs, f"{bases:,}", index.k, f"{sum(sizes):,}", in_parts, seconds,
    )  # fmt: skip
    return 0


def _show(progress: Progress, done: str) -> None:
    progress.show(None, lambda seconds: f"{done}, {clock(seconds)} so far")


def _say_size(output: str, on_disk: int, in_memory: int) -> None:
    """What the index takes, before that is tried; a warning where less is free."""
    taken = {"disk": on_disk, "memory": in_memory}
    free = {
        "disk": shutil.disk_usage(os.path.dirname(os.path.abspath(output))).free,
        "memory": available_memory(),
    }
    short = [name for name in free if free[name] < taken[name]]
    line = f"{output} takes {in_bytes(on_disk)}, and {in_bytes(in_memory)} of memory to build"
    if not short:
        log.info("%s", line)
        return
    left = " and ".join(f"{in_bytes(free[name])} of {name}" for name in short)
    log.warning("%s; %s are free (--step 4 makes it smaller, --parts takes less memory)", line, left)


def in_bytes(size: int) -> str:
    """'17.6 GB', '745.8 MB'."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"


def _parts(text: str) -> tuple[int | None, int | None]:
    """What `--parts` asks of `build_parts`: a number, or with a letter behind it a size."""
    if text.isascii() and text.isdecimal():
        return int(text), None
    try:
        return None, parse_size(text)
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"--parts: {error}") from None
