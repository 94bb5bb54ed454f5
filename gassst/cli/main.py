"""The command line: commands, messages and exit codes; nothing else. The arguments are in `gassst.cli.options`.

Exit codes: 0, 1 (data, files, devices), 2 (usage), 130 (interrupted).
"""

from __future__ import annotations

import argparse
import gc
import logging
import os
import shlex
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gassst.cli.options import DELEGATED, build_parser
from gassst.errors import GassstError, InputError, OutputError, UsageError
from gassst.io import interrupt
from gassst.params import MapParams, Scoring

if TYPE_CHECKING:
    from gassst.seeding.seed_index import SeedIndex
    from gassst.stats import Stats

log = logging.getLogger("gassst")
SUFFIX = ".gsi"
FASTA_SUFFIXES = (".fa", ".fasta", ".fna", ".fas")

# --- what can be wrong with the arguments, before any work is done -------------------------------------------


def check_outputs(outputs: list[str | None], inputs: list[str]) -> None:
    """OutputError for a file that cannot be written, UsageError for one that is named twice."""
    from gassst.io.destination import Destination

    taken = {os.path.realpath(path) for path in inputs}
    for path in filter(None, outputs):
        if os.path.isdir(path):
            raise OutputError(f"cannot write {path}: it is a directory")
        destination = Destination(path)
        if destination.is_stream:  # looking into a pipe would not leave it as it was
            continue
        if destination.final in taken:
            raise UsageError(f"{path}: named twice among the files to read and to write")
        taken.add(destination.final)
        os.close(destination.open())
        destination.discard()


def mates_of(args: argparse.Namespace) -> tuple[list[str], list[str] | None]:
    """The files of reads, and those of their second mates or None; UsageError where it is unclear which is what."""
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
    many = f"{len(args.reads)} files of reads: two are those of pairs, several lanes of pairs are"
    raise UsageError(
        f"{many} -1 A1 B1 -2 A2 B2; --single maps all as single reads, --interleaved has pairs in each"
    )


def check_map(args: argparse.Namespace, params: MapParams) -> None:
    """Raises the error that the run would come to later."""
    from gassst.extension.devices import check_device
    from gassst.io.destination import Destination
    from gassst.io.reads import open_pairs, open_reads
    from gassst.io.records import output_format, parse_read_group
    from gassst.search.filters import Cascade

    if args.report is not None:
        from gassst.tools.report_plots import require_matplotlib

        require_matplotlib()
    Cascade(params.filters, 0)
    if args.read_group is not None:
        parse_read_group(args.read_group)
    output = Destination(args.output)
    if output_format(output, args.format) != "sam" and output.is_stdout and os.isatty(1):
        raise UsageError(f"{args.format.upper()} is not for a terminal: name a file with -o")
    reads, mates = mates_of(args)
    if mates is None:
        open_reads(reads, params.batch_size)
    else:
        open_pairs(reads, mates, params.batch_size)
    inputs = [args.index, *reads, *(mates or [])]
    check_outputs([args.output, args.unmapped, args.stats, args.report], inputs)
    check_device(params.device, params.threads)


# --- commands -----------------------------------------------------------------------------------------------


def index_path(reference: str) -> str:
    """Where the index of a FASTA goes by default: ref.fa.gz -> ref.gsi."""
    plain = reference.removesuffix(".gz")
    root, suffix = os.path.splitext(plain)
    return (root if suffix.lower() in FASTA_SUFFIXES else plain) + SUFFIX


def run_index(args: argparse.Namespace) -> int:
    """`gassst index`."""
    from gassst.seeding.seed_index import SeedIndex

    if args.check:
        SeedIndex.open(args.reference).check()
        log.info("%s: every section is intact", args.reference)
        return 0
    if args.threads < 1:
        raise UsageError("-t must be at least 1")
    output = args.output or index_path(args.reference)
    check_outputs([output], [args.reference])
    start = time.perf_counter()
    index = SeedIndex.build(args.reference, threads=args.threads)
    index.save(output)
    names, bases = index.reference.names, int(index.reference.lengths.sum())
    size, seconds = Path(output).stat().st_size, time.perf_counter() - start
    counts = f"{len(names)} contigs, {bases:,} bases, k = {index.k}, {size:,} bytes, {seconds:.1f} s"
    log.info("%s: %s", output, counts)
    return 0


def load_index(path: str, threads: int) -> SeedIndex:
    """The index at `path`; a FASTA is indexed in memory."""
    from gassst.seeding.seed_index import SeedIndex

    if not _is_fasta(path):
        return SeedIndex.open(path)
    keep = f"gassst index {shlex.quote(path)}"
    log.info("%s is not an index but a FASTA: indexed for this run only; `%s` keeps the index", path, keep)
    return SeedIndex.build(path, threads=threads)


def _is_fasta(path: str) -> bool:
    """By its first bytes; a pipe, which cannot be an index, without a look."""
    try:
        if stat.S_ISFIFO(os.stat(path).st_mode):
            return True
        with open(path, "rb", buffering=0) as file:
            return file.read(2).startswith((b">", b"\x1f\x8b"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def run_map(args: argparse.Namespace) -> int:
    """`gassst map`."""
    params = map_params(args).verify()
    check_map(args, params)
    from gassst.cli.progress import Progress, say
    from gassst.mapper import Mapper

    reads, mates = mates_of(args)
    mapper = Mapper(load_index(args.index, args.threads), **vars(params))
    log.debug("extension: %s", mapper.extender.describe())
    with Progress(quiet=args.quiet) as progress:
        stats = mapper.map_file(
            reads,
            args.output,
            mates=mates,
            interleaved=args.interleaved,
            read_group=args.read_group,
            command_line=shlex.join(["gassst", *args.argv]),
            progress=progress,
            **output_options(args),
        )
    if args.stats:
        _write_stats(stats, args.stats)
    if args.report:
        from gassst.tools.report import write_report

        write_report(stats.as_dict(), args.report)
    if not args.quiet:
        say(stats.summary())
    return 0


def map_params(args: argparse.Namespace) -> MapParams:
    """The parameters among the arguments of `gassst map`."""
    names = {field.name for field in fields(MapParams)}
    given = {name: value for name, value in vars(args).items() if name in names}
    scoring = Scoring(**{field.name: getattr(args, field.name) for field in fields(Scoring)})
    return MapParams(**given, all_hits=args.all, scoring=scoring)


def output_options(args: argparse.Namespace) -> dict[str, Any]:
    """Those of `sam.AlignmentWriter`."""
    names = ("format", "sort", "eqx", "xa", "soft_clip_supplementary", "mark_secondary", "no_unmapped")
    return {**{name: getattr(args, name) for name in names}, "unmapped_path": args.unmapped}


def _write_stats(stats: Stats, path: str) -> None:
    try:
        stats.write_json(path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from error


def run_devices(args: argparse.Namespace) -> int:
    """`gassst devices`."""
    from gassst.extension.devices import describe_devices

    print(describe_devices())
    return 0


COMMANDS = {"index": run_index, "map": run_map, "devices": run_devices}


def _run_delegated(name: str, argv: list[str]) -> int:
    module = import_module(f"gassst.tools.{name}")
    parser = argparse.ArgumentParser(prog=f"gassst {name}", description=DELEGATED[name].capitalize() + ".")
    module.add_arguments(parser)
    return module.main(parser.parse_args(argv))


# --- messages and exit codes --------------------------------------------------------------------------------


@contextmanager
def _messages(quiet: bool, verbose: bool) -> Iterator[None]:
    """The package's log goes to stderr, each message a line."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("gassst: %(message)s"))
    before = log.level
    log.setLevel(logging.ERROR if quiet else logging.DEBUG if verbose else logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


def _run_command(argv: list[str]) -> int:
    if argv and argv[0] in DELEGATED:
        with _messages(False, False):
            return _run_delegated(argv[0], argv[1:])
    args = build_parser().parse_args(argv)
    args.argv = argv
    with _messages(getattr(args, "quiet", False), getattr(args, "verbose", False)):
        return COMMANDS[args.command](args)


def _failed(message: str, code: int = 1) -> int:
    from gassst.cli.progress import say

    interrupt.hold()
    say(f"gassst: {message}")
    return code


def main(argv: list[str] | None = None) -> int:
    """Run a command and return its exit code; what a user can cause is one line on stderr, no traceback."""
    argv = sys.argv[1:] if argv is None else argv
    try:
        code = _run_command(argv)
        sys.stdout.flush()
        return code
    except SystemExit as done:  # argparse has said why
        return int(done.code or 0)
    except BrokenPipeError:
        return 0  # the reader has seen enough, as in `gassst map ... | head`
    except KeyboardInterrupt:
        return _failed("interrupted", 130)
    except GassstError as error:
        return _failed(str(error), error.exit_code)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _failed(f"{where}{error.strerror or error}")
    except MemoryError:
        return _failed("out of memory; --memory or a smaller --batch-size may help")


def _open_missing_streams() -> None:
    """No file of ours may become stdin, stdout or stderr because the caller closed it; using it fails."""
    streams = (("stdin", os.O_WRONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w"))
    for name, flags, mode in streams:
        if getattr(sys, name) is None:
            fd = os.open(os.devnull, flags)  # the lowest free number: that of this stream
            setattr(sys, name, open(fd, mode, closefd=False))  # noqa: SIM115 - for the rest of the process


def run() -> None:
    """Entry point of the `gassst` command."""
    _open_missing_streams()
    interrupt.watch()
    # No matrix is multiplied here: NumPy's BLAS would start threads that spin for a while, 50 ms of CPU time a run.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(
        100_000
    )  # arrays are freed by count; cycles are rare, looking for them 3 % of a short run
    code = main()
    interrupt.hold()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # reported by now, or nobody there to read: not to be found once more at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    if code:
        os._exit(code)  # at once: worker threads may be deep in a batch
    sys.exit(code)
