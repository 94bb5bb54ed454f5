"""The command line: arguments, messages and exit codes; nothing else.

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

from . import interrupt
from .errors import GassstError, InputError, OutputError, UsageError
from .params import DEFAULT_FILTERS, MODES, MapParams, Scoring
from .version import __version__

if TYPE_CHECKING:
    from .seed_index import SeedIndex
    from .stats import Stats

log = logging.getLogger("gassst")
SUFFIX = ".gsi"
FASTA_SUFFIXES = (".fa", ".fasta", ".fna", ".fas")
DELEGATED = {
    "simulate": "simulate reads with known truth from a genome",
    "evaluate": "sensitivity and accuracy of a mapping of simulated reads",
    "report": "one HTML page of a run from its --stats file",
}

# --- arguments ----------------------------------------------------------------------------------------------


def parse_size(text: str) -> int:
    """Bytes of '500M', '4G', '1048576'."""
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:].upper(), 1)
    digits = text[:-1] if factor > 1 else text
    try:
        return int(float(digits) * factor)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write 500M or 4G") from None


def parse_filters(text: str) -> tuple[str, ...]:
    """Names of filters; 'none' is no filter."""
    return tuple(name for name in text.split(",") if name and name != "none")


def parse_insert(text: str) -> tuple[float, float]:
    """Mean and standard deviation of '350,50'; whether they make sense is said by `MapParams`."""
    try:
        mean, deviation = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not MEAN,SD; write 350,50") from None
    return mean, deviation


def parse_two(text: str) -> tuple[int, int]:
    """'6' is 6 for deletions and for insertions, '6,7' tells them apart."""
    numbers = text.split(",")
    if len(numbers) > 2 or not all(number.isdecimal() for number in numbers):
        raise argparse.ArgumentTypeError(f"{text!r} is not N or N,N")
    return int(numbers[0]), int(numbers[-1])


def usable_threads() -> int:
    """Threads that this process may run at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def build_parser() -> argparse.ArgumentParser:
    """Of everything but the commands in `DELEGATED`, which bring their own."""
    parser = argparse.ArgumentParser(prog="gassst", description="Map short DNA reads to a reference genome.")
    parser.add_argument("--version", action="version", version=f"gassst {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_index(commands)
    _add_map(commands)
    text = "list OpenCL devices, and say which one would be used and why"
    commands.add_parser("devices", help=text, description=text).set_defaults(run=run_devices)
    for name, text in DELEGATED.items():
        commands.add_parser(name, help=text, add_help=False)
    return parser


def _add_index(commands: Any) -> None:
    p = commands.add_parser("index", help="index a reference, once", description="Index a reference, once.")
    p.add_argument("reference", metavar="REF.fa[.gz]", help="FASTA; with --check an index")
    p.add_argument("-o", "--output", metavar="REF.gsi", help="index file (default: beside the reference)")
    p.add_argument("--check", action="store_true", help="check every byte of an index file and exit")
    _add_common(p)
    p.set_defaults(run=run_index)


def _add_map(commands: Any) -> None:
    p = commands.add_parser("map", help="map reads to an indexed reference", description="Map reads.")
    add = p.add_argument
    add("index", metavar="REF.gsi", help="index; a FASTA is indexed in memory for this run")
    reads = "FASTQ or FASTA, any compression; - is stdin; two files are the first and second mates of pairs"
    # "*" would take nothing right after the index, and refuse what follows the options.
    add("reads", nargs="+", metavar="READS.fq[.gz]", default=[], help=reads).required = False
    _add_pairs(p.add_argument_group("pairs"))
    _add_output(p.add_argument_group("output").add_argument)
    _add_search(p.add_argument_group("search"))
    _add_local(p.add_argument_group("local alignment (--mode local), in bwa's convention"))
    add = p.add_argument_group("resources").add_argument
    add("--device", metavar="D", help="OpenCL device: gpu, cpu, part of its name, 0:1, or none")
    size = "reads worked on at once (default: %(default)s)"
    add("--batch-size", type=int, default=MapParams.batch_size, metavar="READS", help=size)
    add("--memory", type=parse_size, metavar="SIZE", help="use the index in parts of this size (500M, 4G)")
    _add_common(p)
    p.set_defaults(run=run_map)


def _add_pairs(group: Any) -> None:
    add = group.add_argument
    add("-1", nargs="+", dest="first", metavar="R1.fq", help="files of first mates, as of several lanes")
    add(
        "-2", nargs="+", dest="second", metavar="R2.fq", help="files of their second mates, in the same order"
    )
    add("--insert", type=parse_insert, metavar="MEAN,SD", help="insert size, outer ends (default: learned)")
    add = group.add_mutually_exclusive_group().add_argument
    add("--interleaved", action="store_true", help="neighbouring reads of one name are a pair, others single")
    add("--single", action="store_true", help="all reads are single, of however many files")
    add = group.add_mutually_exclusive_group().add_argument
    toward = {"fr": "each other (default)", "rf": "away from each other", "ff": "the same way"}
    for name, text in toward.items():
        option = f"--{name}"
        add(
            option,
            dest="orientation",
            action="store_const",
            const=name,
            default="fr",
            help=f"mates face {text}",
        )


def _add_output(add: Any) -> None:
    add("-o", "--output", default="-", metavar="OUT", help=".sam, .bam or .cram; - is stdout (default)")
    add("-O", "--format", choices=("sam", "bam", "cram"), help="format, whatever the name of the output says")
    add("--sort", action="store_true", help="sort by coordinate, and index a BAM or CRAM file")
    add("-R", "--read-group", metavar="'@RG\\tID:..'", help="read group line")
    add("--eqx", action="store_true", help="= and X in CIGARs instead of M")
    add("--xa", action="store_true", help="other hits in one XA tag instead of secondary records")
    soft = "all bases and soft clips in supplementary records, not hard clips"
    add("-Y", "--soft-clip-supplementary", action="store_true", help=soft)
    add("-M", "--mark-secondary", action="store_true", help="supplementary records have the secondary flag")
    add("--no-unmapped", action="store_true", help="leave unmapped reads out, of a pair both or neither")
    add("--unmapped", metavar="FILE.fq.gz", help="also write unmapped reads there")
    add("--stats", metavar="FILE.json", help="write the counts and times of the run")
    add("--report", metavar="OUT.html", help="write a page about the run (needs matplotlib)")


def _add_search(group: Any) -> None:
    add = group.add_argument
    add("-w", "--seed-length", type=int, metavar="W", help="shortest seed (default: by read length and -p)")
    identity = "least identity in %% (default: 80, more where chance hits would be likely)"
    add("-p", "--min-identity", type=float, metavar="P", help=identity)
    add(
        "-g",
        "--gaps",
        type=int,
        metavar="G",
        help="gap bases up to which nothing is missed (default: 16; --all: the error limit)",
    )
    sensitivity = "how far a read is looked into: 0 fastest, 5 no seed is passed over (default: %(default)s)"
    add("-s", "--sensitivity", type=int, default=MapParams.sensitivity, metavar="0..5", help=sensitivity)
    filters = f"filters in the order they run, or none (default: {','.join(DEFAULT_FILTERS) or 'none'})"
    add("--filters", type=parse_filters, default=DEFAULT_FILTERS, metavar="F1,F2,..", help=filters)
    add = group.add_mutually_exclusive_group().add_argument
    hits = "report up to K alignments (default: %(default)s)"
    add("-k", "--max-hits", type=int, default=MapParams.max_hits, metavar="K", help=hits)
    add("--all", action="store_true", help="report every alignment within the error limit")
    add("--best", action="store_true", help="one alignment of the best stratum (default)")


def _add_local(group: Any) -> None:
    add, default = group.add_argument, Scoring
    mode = "global: all of a read is aligned; local: its ends may be clipped, its parts lie in several places"
    add("--mode", choices=MODES, help=f"{mode} (default: local for pairs, else global)")
    add("-A", "--match", type=int, default=default.match, metavar="N", help="score (default: %(default)s)")
    penalty = "penalty (default: %(default)s)"
    add("-B", "--mismatch", type=int, default=default.mismatch, metavar="N", help=penalty)
    gap = "{}, of a deletion and an insertion where they differ (default: {}); a gap of K bases costs open + K * extend"
    add(
        "--gap-open",
        type=parse_two,
        default=default.gap_open,
        metavar="N[,N]",
        help=gap.format("penalty (-O of bwa)", default.gap_open[0]),
    )
    add(
        "-E",
        "--gap-extend",
        type=parse_two,
        default=default.gap_extend,
        metavar="N[,N]",
        help=gap.format("penalty", default.gap_extend[0]),
    )
    clip = "bonus for each end of the read that is reached (default: %(default)s)"
    add("-L", "--clip-penalty", dest="clip", type=int, default=default.clip, metavar="N", help=clip)
    least = "least score of an alignment of a part (default: %(default)s)"
    add("-T", "--min-score", type=int, default=default.min_score, metavar="N", help=least)


def _add_common(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "-t",
        "--threads",
        type=int,
        default=usable_threads(),
        metavar="N",
        help="(default: all, here %(default)s)",
    )
    add("-q", "--quiet", action="store_true", help="errors only")
    add("-v", "--verbose", action="store_true", help="also say what the device and the stages do")


# --- what can be wrong with them, before any work is done ---------------------------------------------------


def check_outputs(outputs: list[str | None], inputs: list[str]) -> None:
    """OutputError for a file that cannot be written, UsageError for one that is named twice."""
    from .destination import Destination

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
    from .cascade import Cascade
    from .destination import Destination
    from .devices import check_device
    from .reads import open_pairs, open_reads
    from .sam import output_format, parse_read_group

    if args.report is not None:
        from .report_plots import require_matplotlib

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
    from .seed_index import SeedIndex

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
    from .seed_index import SeedIndex

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
    from .mapper import Mapper
    from .progress import Progress, say

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
        from .report import write_report

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
    from .devices import describe_devices

    print(describe_devices())
    return 0


def _run_delegated(name: str, argv: list[str]) -> int:
    module = import_module(f".{name}", __package__)
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
        return args.run(args)


def _failed(message: str, code: int = 1) -> int:
    from .progress import say

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
