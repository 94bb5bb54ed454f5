"""The arguments of the commands: names, types, defaults, help. `gassst.cli.main` checks what they mean together."""

from __future__ import annotations

import argparse
from typing import Any

from gassst.params import DEFAULT_FILTERS, MODES, MapParams, Scoring
from gassst.threads import usable_threads
from gassst.version import __version__

DELEGATED = {
    "simulate": "simulate reads with known truth from a genome",
    "evaluate": "sensitivity and accuracy of a mapping of simulated reads",
    "report": "one HTML page of a run from its --stats file",
}


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


def build_parser() -> argparse.ArgumentParser:
    """Of everything but the commands in `DELEGATED`, which bring their own."""
    parser = argparse.ArgumentParser(prog="gassst", description="Map short DNA reads to a reference genome.")
    parser.add_argument("--version", action="version", version=f"gassst {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_index(commands)
    _add_map(commands)
    text = "list OpenCL devices, and say which one would be used and why"
    commands.add_parser("devices", help=text, description=text)
    for name, text in DELEGATED.items():
        commands.add_parser(name, help=text, add_help=False)
    return parser


def _add_index(commands: Any) -> None:
    p = commands.add_parser("index", help="index a reference, once", description="Index a reference, once.")
    p.add_argument("reference", metavar="REF.fa[.gz]", help="FASTA; with --check an index")
    p.add_argument("-o", "--output", metavar="REF.gsi", help="index file (default: beside the reference)")
    p.add_argument("--check", action="store_true", help="check every byte of an index file and exit")
    _add_common(p)


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
