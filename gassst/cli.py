"""The command line: arguments, messages and exit codes; nothing else.

Exit codes: 0, 1 (data, files, devices), 2 (usage), 130 (interrupted).
"""

from __future__ import annotations

import argparse
import logging
import os
import shlex
import sys
import time
from pathlib import Path

from .errors import GassstError
from .params import DEFAULT_FILTERS, MapParams
from .version import __version__

log = logging.getLogger("gassst")
SUFFIX = ".gsi"


def parse_size(text: str) -> int:
    """Bytes of '500M', '4G', '1048576'."""
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:].upper(), 1)
    digits = text[:-1] if factor > 1 else text
    try:
        return int(float(digits) * factor)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write 500M or 4G") from None


def parse_filters(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name and name != "none")


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gassst", description="Map short DNA reads to a reference genome.")
    parser.add_argument("--version", action="version", version=f"gassst {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_index(commands)
    _add_map(commands)
    devices = commands.add_parser("devices", help="list OpenCL devices and say which one would be used, and why")
    devices.set_defaults(run=run_devices)
    for name, text in (
        ("simulate", "simulate reads with known truth from a genome"),
        ("evaluate", "sensitivity and accuracy of a mapping of simulated reads"),
    ):
        commands.add_parser(name, help=text, add_help=False)
    return parser


def _verbosity(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-q", "--quiet", action="store_true", help="errors only")
    parser.add_argument("-v", "--verbose", action="store_true", help="also say what the device and the stages do")


def _add_index(commands) -> None:
    p = commands.add_parser("index", help="index a reference once")
    p.add_argument("reference", metavar="REF.fa[.gz]", help="FASTA; with --check an index")
    p.add_argument("-o", "--output", metavar="REF.gsi", help="index file (default: REF.gsi beside the reference)")
    p.add_argument("-t", "--threads", type=int, default=os.cpu_count() or 1, metavar="N")
    p.add_argument("--check", action="store_true", help="check every byte of an index file and exit")
    _verbosity(p)
    p.set_defaults(run=run_index)


def _add_map(commands) -> None:
    defaults = MapParams()
    p = commands.add_parser("map", help="map reads to an indexed reference")
    p.add_argument("index", metavar="REF.gsi", help="index; a FASTA is indexed in memory for this run")
    p.add_argument("reads", nargs="+", metavar="READS.fq[.gz]", help="FASTQ or FASTA, any compression; - is stdin")
    out = p.add_argument_group("output")
    out.add_argument("-o", "--output", default="-", metavar="OUT", help=".sam, .bam or .cram; - is stdout (default)")
    out.add_argument("-O", "--format", choices=("sam", "bam", "cram"), help="format, when the name does not say it")
    out.add_argument("--sort", action="store_true", help="sort by coordinate and index the file")
    out.add_argument("-R", "--read-group", metavar="'@RG\\tID:..'", help="read group line")
    out.add_argument("--eqx", action="store_true", help="= and X in CIGARs instead of M")
    out.add_argument("--xa", action="store_true", help="other hits in one XA tag instead of secondary records")
    out.add_argument("--no-unmapped", action="store_true", help="leave unmapped reads out")
    out.add_argument("--unmapped", metavar="FILE.fq.gz", help="also write unmapped reads there")
    out.add_argument("--stats", metavar="FILE.json", help="write the counts and times of the run")
    search = p.add_argument_group("search")
    search.add_argument("-w", "--seed-length", type=int, metavar="W", help="shortest seed (default: by length and -p)")
    search.add_argument("-p", "--min-identity", type=float, metavar="P",
                        help="least identity in %% (default: 80, more where chance hits would be likely)")  # fmt: skip
    search.add_argument("-g", "--gaps", type=int, metavar="G", help="most gap bases (default: 16; --all: the error limit)")
    search.add_argument("-s", "--sensitivity", type=int, default=defaults.sensitivity, metavar="0..5",
                        help="seeds that occur too often are passed over; 5: none (default: %(default)s)")  # fmt: skip
    report = search.add_mutually_exclusive_group()
    report.add_argument("-k", "--max-hits", type=int, default=defaults.max_hits, metavar="K",
                        help="report up to K alignments (default: %(default)s)")  # fmt: skip
    report.add_argument("--all", action="store_true", help="report every alignment within the error limit")
    report.add_argument("--best", action="store_true", help="one alignment of the best stratum (default)")
    search.add_argument("--filters", type=parse_filters, default=defaults.filters, metavar="F1,F2,..",
                        help=f"filters in the order they run, or none (default: {','.join(DEFAULT_FILTERS)})")  # fmt: skip
    work = p.add_argument_group("resources")
    work.add_argument("-t", "--threads", type=int, default=os.cpu_count() or 1, metavar="N")
    work.add_argument("--device", metavar="D", help="OpenCL device: gpu, cpu, part of its name, 0:1, or none")
    work.add_argument("--batch-size", type=int, default=defaults.batch_size, metavar="READS")
    work.add_argument("--memory", type=parse_size, metavar="SIZE", help="use the index in parts of this size (500M, 4G)")
    _verbosity(p)
    p.set_defaults(run=run_map)


def run_index(args) -> int:
    from .seed_index import SeedIndex

    if args.check:
        SeedIndex.open(args.reference).check()
        log.info("%s: every section is intact", args.reference)
        return 0
    start = time.perf_counter()
    index = SeedIndex.build(args.reference, threads=args.threads)
    output = args.output or str(args.reference).removesuffix(".gz") + SUFFIX
    index.save(output)
    reference = index.reference
    log.info(
        "%s: %d contigs, %d bases, k = %d, %d bytes, %.1f s", output, len(reference.names), int(sum(reference.lengths)),
        index.k, Path(output).stat().st_size, time.perf_counter() - start,
    )  # fmt: skip
    return 0


def load_index(path: str, threads: int):
    """The index at `path`; a FASTA is indexed in memory."""
    from .seed_index import MAGIC, SeedIndex

    with open(path, "rb") as file:
        head = file.read(len(MAGIC))
    if head == MAGIC or not head.startswith((b">", b"\x1f\x8b")):
        return SeedIndex.open(path)
    log.info("%s is a FASTA: indexing it for this run; `gassst index %s` keeps the index", path, shlex.quote(path))
    return SeedIndex.build(path, threads=threads)


def run_map(args) -> int:
    from .mapper import Mapper
    from .progress import Progress

    params = MapParams(
        seed_length=args.seed_length, min_identity=args.min_identity, gaps=args.gaps, sensitivity=args.sensitivity,
        max_hits=args.max_hits, all_hits=args.all, threads=args.threads, device=args.device,
        batch_size=args.batch_size, memory=args.memory, filters=args.filters,
    ).verify()  # fmt: skip
    mapper = Mapper(load_index(args.index, args.threads), **vars(params))
    log.debug("extension: %s", mapper.extender.describe())
    with Progress(quiet=args.quiet) as progress:
        stats = mapper.map_file(
            args.reads, args.output, read_group=args.read_group, command_line=shlex.join(["gassst", *args.argv]),
            progress=progress, format=args.format, sort=args.sort, eqx=args.eqx, xa=args.xa,
            no_unmapped=args.no_unmapped, unmapped_path=args.unmapped,
        )  # fmt: skip
    if args.stats:
        stats.write_json(args.stats)
    if not args.quiet:
        print(stats.summary(), file=sys.stderr)
    return 0


def run_devices(args) -> int:
    from .opencl import describe_devices

    print(describe_devices())
    return 0


def _delegated(name: str, argv: list[str]) -> int:
    """`simulate` and `evaluate` bring their own arguments, and are imported only when they are used."""
    from importlib import import_module

    module = import_module(f".{name}", __package__)
    parser = argparse.ArgumentParser(prog=f"gassst {name}", description=module.__doc__.splitlines()[0])
    module.add_arguments(parser)
    return module.main(parser.parse_args(argv))


def main(argv: list[str] | None = None) -> int:
    """Run a command; raises `GassstError` and lets `run` turn it into an exit code."""
    argv = sys.argv[1:] if argv is None else argv
    if argv and argv[0] in ("simulate", "evaluate"):
        return _delegated(argv[0], argv[1:])
    args = build_parser().parse_args(argv)
    args.argv = argv
    level = logging.DEBUG if getattr(args, "verbose", False) else logging.INFO
    logging.basicConfig(format="gassst: %(message)s", level=logging.WARNING, stream=sys.stderr)
    log.setLevel(logging.ERROR if getattr(args, "quiet", False) else level)
    return args.run(args)


def run() -> None:
    """Entry point of the `gassst` command."""
    code = 1
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        code = 0  # the reader has seen enough, as in `gassst map ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except KeyboardInterrupt:
        code = 130
        print("gassst: interrupted", file=sys.stderr)
    except GassstError as error:
        code = error.exit_code
        print(f"gassst: {error}", file=sys.stderr)
    except OSError as error:
        print(f"gassst: {error.filename or 'I/O'}: {error.strerror or error}", file=sys.stderr)
    except MemoryError:
        print("gassst: out of memory; --memory or a smaller --batch-size may help", file=sys.stderr)
    sys.stderr.flush()
    if code:
        os._exit(code)  # at once: worker threads may be deep in a batch
    sys.exit(code)
