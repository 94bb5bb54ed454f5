"""The arguments of `gassst map`. `gassst.cli.checks` says what they mean together.

Most are made from the table of options: fields of dataclasses say how they are called (`gassst.model.options`). The
rest, which only the command line has, stands here.

Help is written in whole sentences. A default that is a plain value is added by `gassst.cli.parser.Help`; one that
needs words stands in the sentence's own "(default: ...)".
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, fields
from typing import TYPE_CHECKING, Any

from gassst.errors import ParameterError, UsageError, unreadable
from gassst.model.given import params_of
from gassst.model.options import MACHINE, Option, options_of
from gassst.model.params import EVERY_HIT, MapParams, Scoring
from gassst.reads.selection import Selection
from gassst.reads.tags import TagSources
from gassst.records.options import DuplicateRules, OutputFile, OutputOptions, RecordStyle
from gassst.tools.arguments import file_path, output_path
from gassst.workers.thread_count import usable_threads

if TYPE_CHECKING:
    from gassst.reads.small_rna import Preparation

MOST_XA = 5  # positions beside the primary one that --xa alone lists, as bwa mem does

# --- types of values ----------------------------------------------------------------------------------------


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
    """Mean and standard deviation of '350,50'; `MapParams` checks their range."""
    try:
        mean, deviation = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not MEAN,SD; write 350,50") from None
    return mean, deviation


def parse_two(text: str) -> tuple[int, int]:
    """'6' is 6 for deletions and for insertions, '6,7' is 6 for deletions and 7 for insertions."""
    numbers = text.split(",")
    if len(numbers) > 2 or not all(number.isdecimal() for number in numbers):
        raise argparse.ArgumentTypeError(f"{text!r} is not N or N,N")
    return int(numbers[0]), int(numbers[-1])


def parse_adapters(text: str) -> tuple[str, ...]:
    """Adapters in upper case, U as T; 'none' is no adapter. `Preparation` checks them."""
    return () if text == "none" else tuple(text.upper().replace("U", "T").split(","))


def parse_tags(text: str) -> tuple[str, ...]:
    """Names of tags; `RecordStyle` checks them."""
    return tuple(text.split(","))


def parse_level(text: str) -> int:
    """A compression level, 0 to 9."""
    if not (len(text) == 1 and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a level from 0 to 9")
    return int(text)


def parse_clip(text: str) -> int:
    """'5', or '5,5' as bwa takes it: both ends have one bonus."""
    one, _, two = text.partition(",")
    if not one.isdecimal() or two not in ("", one):
        raise argparse.ArgumentTypeError(f"{text!r} is not N, or N,N with two equal numbers")
    return int(one)


FORMS: dict[str, Callable[[str], Any]] = {
    "SIZE": parse_size,
    "F1,F2,..": parse_filters,
    "MEAN,SD": parse_insert,
    "BONUS": parse_clip,
    "N[,N]": parse_two,
    "T1,T2,..": parse_tags,
    "0..9": parse_level,
}
"""What reads a value, by the form of it that help shows."""
TYPES: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "str": str,
    "str | os.PathLike[str]": output_path,
}
"""The same by the type of the field, for other forms."""

# --- from the table to arguments ----------------------------------------------------------------------------


def add_options(group: Any, kind: type, of: str = "") -> None:
    """The arguments that a dataclass has in this group of the help, under the names of its fields."""
    exclusive: dict[str, Any] = {}
    for field, option in options_of(kind, of):
        target = group
        if option.excludes:
            if option.excludes not in exclusive:
                exclusive[option.excludes] = group.add_mutually_exclusive_group()
            target = exclusive[option.excludes]
        for flags, settings in _arguments(field, option):
            target.add_argument(*flags, **settings)
        if field.name in ARGUMENTS_AFTER:
            ARGUMENTS_AFTER[field.name](target)


def _arguments(field: Field[Any], option: Option) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Flags and settings, as `add_argument` takes them; several where each flag is a value."""
    if isinstance(option.help, Mapping):
        for flag, (value, text) in zip(option.flags, option.help.items(), strict=True):
            yield (flag,), {"dest": field.name, "action": "store_const", "const": value, "help": text}
        return
    settings: dict[str, Any] = {
        "dest": field.name,
        "help": option.text(field.default),
    }
    if field.type == "bool":
        yield option.flags, settings | {"action": "store_false" if field.default else "store_true"}
        return
    is_shown = isinstance(field.default, int) and "default" not in option.help
    settings |= {"metavar": option.metavar, "default": field.default if is_shown else None}
    if option.metavar == "NAME=VALUE":
        settings |= {"action": "append"}
    elif option.values is not None and option.values.names:
        settings |= {"choices": option.values.names, "type": str.lower}
    else:
        by_type = TYPES.get(str(field.type).removesuffix(" | None"))
        settings["type"] = FORMS.get(option.metavar or "", by_type)
    yield option.flags, settings


def given(args: argparse.Namespace, kind: Any) -> dict[str, Any]:
    """The options of a dataclass that arguments set, by the names of its fields."""
    names = [field.name for field in fields(kind) if "option" in field.metadata]
    found = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


# --- the options, group by group ----------------------------------------------------------------------------


def _add_ignored(target: Any) -> None:
    """What scripts say that were written for others: it changes nothing."""
    target.add_argument(
        "-K",
        dest="bases_at_once",
        metavar="BASES",
        help="Accepted and ignored, for scripts written for bwa and minimap2: records never depend on batches.",
    )
    target.add_argument(
        "--processes",
        metavar="N",
        help="Accepted and ignored, for scripts written for earlier versions.",
    )


ARGUMENTS_AFTER: dict[str, Callable[[Any], None]] = {
    "all_hits": lambda target: target.add_argument(
        "--best",
        action="store_true",
        help="Report one alignment with the fewest errors. This is the default.",
    ),
    "insert": lambda target: target.add_argument(
        "--insert-model",
        type=file_path,
        metavar="FILE.json",
        help="Use the insert sizes that `gassst insert` has learned.",
    ),
    "batch_size": _add_ignored,
}
"""Arguments of the command line alone that stand behind a field, and exclude what that excludes."""


def add_map_options(parser: argparse.ArgumentParser) -> None:
    """All arguments of `gassst map`. The defaults are what `gassst mem` sets otherwise."""
    parser.set_defaults(as_bwa=False, most_xa=EVERY_HIT, xs_always=False)
    _add_groups(
        parser,
        ("input", "The reference and the reads.", _add_input),
        ("output", "Where the alignments are written, and what their records contain.", _add_output),
        (
            "duplicates",
            "Which reads are flagged as duplicates, and what is reported about them.",
            _add_duplicates,
        ),
        *_SEARCH,
        _machine(_add_map_machine),
    )


def add_insert_options(parser: argparse.ArgumentParser) -> None:
    """All arguments of `gassst insert`: the reads, and those of `gassst map` on which places of reads depend."""
    _add_groups(
        parser,
        ("input", "The reference and the reads.", _add_reads),
        ("output", "Where the model is written.", _add_model),
        *_SEARCH,
        _machine(_add_machine),
    )


def _add_groups(parser: argparse.ArgumentParser, *groups: tuple[str, str, Callable[[Any], None]]) -> None:
    for title, comment, add_options in groups:
        add_options(parser.add_argument_group(title, comment))


def _add_model(group: Any) -> None:
    group.add_argument(
        "-o",
        "--output",
        metavar="MODEL.json",
        type=output_path,
        default="-",
        help="Write the model to this file, for --insert-model; a dash means stdout.",
    )


def _add_input(group: Any) -> None:
    _add_reads(group)
    add = group.add_argument
    add(
        "--adapter",
        metavar="SEQ[,SEQ]",
        type=parse_adapters,
        help="Cut single reads where one of these 3' adapters begins, before they are mapped (default: none; with "
        "--preset small-rna those of usual kits; 'none' cuts nothing).",
    )
    add(
        "--sheet",
        metavar="FILE.csv",
        type=file_path,
        help="Map many samples with one index: a table (CSV or TSV) with the columns sample, R1, R2, lane and output, "
        "or a sheet of nf-core (sample, fastq_1, fastq_2). Without a column output, SAMPLE.bam is written.",
    )
    add(
        "--skip-existing",
        action="store_true",
        help="With --sheet, skip samples that a run has already completed from the same reads, index and options.",
    )
    add(
        "--shard",
        metavar="I/N",
        help="Map only shard I of N of the reads, from plain or BGZF files. `gassst gather` joins the output of all "
        "shards.",
    )
    add_options(group, Selection)
    add_options(group, TagSources)


def _add_reads(group: Any) -> None:
    add = group.add_argument
    add(
        "index",
        metavar="REF",
        type=file_path,
        help="Map to this index (.gsi) or FASTA. An up-to-date index beside the FASTA is used, REF.gsi for REF.fa. "
        "Without one, the FASTA is indexed in memory for this run.",
    )

    # "*" would match nothing right after the index, and refuse files that follow the options.
    reads = add(
        "reads",
        nargs="+",
        metavar="READS.fq[.gz]",
        default=[],
        type=file_path,
        help="Map these reads: FASTQ or FASTA, plain or compressed, or SAM, BAM or CRAM; - is stdin. Two FASTQ "
        "files contain the first and second mates of pairs.",
    )
    reads.required = False
    add(
        "-1",
        nargs="+",
        dest="first",
        metavar="R1.fq",
        type=file_path,
        help="Read first mates from these files, one per lane.",
    )
    add(
        "-2",
        nargs="+",
        dest="second",
        metavar="R2.fq",
        type=file_path,
        help="Read second mates from these files, in the order of -1.",
    )
    add(
        "--reference",
        metavar="REF.fa",
        type=file_path,
        help="Decode CRAM input with this FASTA. Unmapped CRAM does not need it.",
    )
    add = group.add_mutually_exclusive_group().add_argument
    add(
        "--interleaved",
        action="store_true",
        help="Treat two neighbouring reads with the same name as a pair, and other reads as single.",
    )
    add("--single", action="store_true", help="Treat all reads as single, however many files there are.")
    group.add_argument(
        "--allow-truncated",
        action="store_true",
        help="Accept BGZF files without an end-of-file block, although they may have been cut between two blocks.",
    )


def add_gather_options(parser: argparse.ArgumentParser) -> None:
    """All arguments of `gassst gather`."""
    _add_groups(
        parser,
        ("input", "The files that `gassst map --shard` has written.", _add_shards),
        (
            "output",
            "Where the alignments are written. Records stay as they are in the shards.",
            _add_gathered,
        ),
        (
            "duplicates",
            "Which reads are flagged as duplicates, and what is reported about them.",
            _add_duplicates,
        ),
        _machine(_add_gather_machine),
    )


def _add_shards(group: Any) -> None:
    add = group.add_argument
    add(
        "shards",
        nargs="+",
        metavar="SHARD.bam",
        type=file_path,
        help="Join these shards of one run, in any order: SAM, BAM or CRAM.",
    )
    add(
        "--part-stats",
        nargs="+",
        metavar="STATS.json",
        default=[],
        type=file_path,
        help="Add up the --stats files of all shards, in any order, for --stats, --report and --multiqc.",
    )
    add(
        "--reference",
        metavar="REF",
        type=file_path,
        help="Decode CRAM shards with the index that they were mapped with, or with its FASTA. CRAM that is only "
        "copied does not need it.",
    )


def _add_gathered(group: Any) -> None:
    _add_file(group)
    _add_statistics(group)


def _add_file(group: Any) -> None:
    add = group.add_argument
    add(
        "-o",
        "--output",
        default="-",
        metavar="OUT",
        type=output_path,
        help="Write the alignments to this file. Its suffix sets the format: .sam, .bam, .cram or .paf. "
        "A dash means SAM on stdout.",
    )
    add_options(group, OutputFile)


def _add_output(group: Any) -> None:
    _add_file(group)
    add = group.add_argument
    add(
        "-R",
        "--read-group",
        metavar="LINE",
        action="append",
        help=r"Put this read group line into the header and its ID into every record: '@RG\tID:x\tSM:y'. "
        "Give it once for all reads, or once per lane, in the order of the files.",
    )
    add(
        "--rg-from-name",
        metavar="SAMPLE",
        help="Make a read group of this sample for each lane, from the flow cell and the lane in the name of the "
        "first read.",
    )
    add(
        "-H",
        "--header",
        metavar="LINE|FILE",
        action="append",
        help="Add this line to the header, or the lines of this file. Lines of contigs add their fields to ours.",
    )
    add_options(group, RecordStyle)
    add_options(group, OutputOptions)
    _add_statistics(group)


def _add_statistics(group: Any) -> None:
    add = group.add_argument
    add(
        "--stats",
        metavar="FILE.json",
        type=output_path,
        help="Write the counts and times of the run to this file; a dash means stdout.",
    )
    add(
        "--report",
        metavar="OUT.html",
        type=output_path,
        help="Write a web page about the run.",
    )
    add(
        "--multiqc",
        metavar="OUT_mqc.json",
        type=output_path,
        help="Write figures of the run for MultiQC. Distributions and the version lie beside this file.",
    )


def _add_duplicates(group: Any) -> None:
    add = group.add_argument
    add(
        "--markdup",
        action="store_true",
        help="Flag duplicates (0x400) while sorting, by the rules of samtools markdup. Needs --sort.",
    )
    add_options(group, DuplicateRules)


def _add_alignment(group: Any) -> None:
    add = group.add_argument
    add(
        "--meth",
        dest="is_meth",
        action="store_true",
        help="Map reads of which bisulfite or enzymes (EM-seq) turned C into T. REF is the index that "
        "gassst index --meth makes.",
    )
    add_options(group, MapParams, "alignment")


def _machine(add: Callable[[Any], None]) -> tuple[str, str, Callable[[Any], None]]:
    return MACHINE, "Resources, and messages on stderr. Records never depend on them.", add


def _add_gather_machine(group: Any) -> None:
    add_options(group, OutputFile, MACHINE)
    add_common(group)


def _add_map_machine(group: Any) -> None:
    add_options(group, OutputFile, MACHINE)
    _add_machine(group)


def _add_machine(group: Any) -> None:
    add = group.add_argument
    add_options(group, MapParams, MACHINE)
    add(
        "--dask",
        metavar="WHERE",
        help="Map on a Dask cluster: the address of its scheduler or its .json file, local, slurm, pbs or lsf. Here, "
        "-t sets the threads that join the shards, and the processes of local.",
    )
    add("--dask-jobs", type=int, default=1, metavar="N", help="Ask slurm, pbs or lsf for this many jobs.")
    add(
        "--dask-shards",
        type=int,
        metavar="N",
        help="Divide the reads into this many tasks (default: 4 per thread of the cluster).",
    )
    add(
        "--dask-stage",
        metavar="FOLDER",
        help="Copy the index once to this folder of each machine of --dask (default: it is opened where it is).",
    )
    add(
        "--no-check",
        dest="check",
        action="store_false",
        default=None,
        help="Do not verify the checksums of the index, as the first run with a file does.",
    )
    add_common(group)


def add_common(group: Any) -> None:
    """Threads, messages, help."""
    add = group.add_argument
    add(
        "-t",
        "--threads",
        type=int,
        default=usable_threads(),
        metavar="N",
        help="Use this many threads (default: all cores, here %(default)s).",
    )
    add("-q", "--quiet", action="store_true", help="Print nothing except errors and warnings.")
    add("-v", "--verbose", action="store_true", help="Also print what the device and the search did.")


_SEARCH = (
    ("alignment", "Which alignments count, and how many are reported.", _add_alignment),
    (
        "sensitivity",
        "How much work goes into finding the best alignment.",
        lambda group: add_options(group, MapParams, "sensitivity"),
    ),
    (
        "pairs",
        "What the library of paired reads looks like.",
        lambda group: add_options(group, MapParams, "pairs"),
    ),
    (
        "scoring",
        "Scores of local alignments, as in bwa: a gap of K bases costs open + K * extend.",
        lambda group: add_options(group, Scoring),
    ),
)


# --- from arguments to parameters ---------------------------------------------------------------------------

OPTION_KINDS = (
    MapParams,
    Scoring,
    Selection,
    TagSources,
    OutputFile,
    RecordStyle,
    OutputOptions,
    DuplicateRules,
)
"""The dataclasses whose fields are options of `gassst map`."""
OPTION_OF = {
    "threads": "-t",
    "duplicates": "--markdup",
    "adapters": "--adapter",
    **{
        field.name: ", ".join(option.flags) if isinstance(option.help, Mapping) else option.flags[0]
        for kind in OPTION_KINDS
        for field, option in options_of(kind)
    },
}
"""The option of each parameter that may be out of range."""


def in_options(error: ParameterError) -> UsageError:
    """The error of a parameter as the command line reports it, with the option instead of the name."""
    return UsageError(f"{OPTION_OF.get(error.parameter, error.parameter)} {error.complaint}")


def map_params(args: argparse.Namespace) -> MapParams:
    """The parameters among the arguments of `gassst map`. Raises UsageError."""
    usual = {field.name: field.default for field in fields(MapParams)}
    params = given(args, MapParams)  # argparse gives a flag its default, which a preset may set otherwise
    params = {
        name: value for name, value in params.items() if not isinstance(value, bool) or value != usual[name]
    }
    if args.is_meth:
        params = {"meth": "directional"} | params
    if getattr(args, "xa", False) and args.max_hits in (None, 1) and not args.all_hits and not args.strata:
        # One of them is primary, and one more shows that there are too many.
        params["max_hits"], args.most_xa = MOST_XA + 2, MOST_XA
    if (params.get("strata") or args.preset == "small-rna") and params.get("mode") == "local":
        raise UsageError("--strata aligns reads end to end: it does not go with --mode local")
    return params_of({**params, "threads": args.threads, "scoring": Scoring(**given(args, Scoring))})


def preparation(args: argparse.Namespace) -> Preparation:
    """What is done to reads before they are mapped, among the arguments of `gassst map`. Raises UsageError."""
    from gassst.reads.small_rna import Preparation

    return Preparation.of_preset(args.preset, args.adapter).verify()


def header_lines(args: argparse.Namespace) -> tuple[str, ...]:
    """The lines that -H names, each or by a file. Raises InputError for a file that cannot be read."""
    lines: list[str] = []
    for given in args.header or []:
        if given.startswith("@"):
            lines.append(given.replace("\\t", "\t"))
            continue
        try:
            with open(given, encoding="utf-8", errors="surrogateescape") as file:
                lines += [line.rstrip("\r\n") for line in file if line.startswith("@")]
        except OSError as error:
            raise unreadable(given, error) from None
    return tuple(lines)


def duplicate_rules(args: argparse.Namespace) -> DuplicateRules | None:
    """How duplicates are marked, among the arguments of `gassst map`. Raises UsageError."""
    rules = {name: value for name, value in given(args, DuplicateRules).items() if value is not False}
    if not args.markdup:
        if rules:
            raise UsageError("options for duplicates need --markdup")
        return None
    if not args.sort:
        raise UsageError("--markdup needs --sort: duplicates are marked during sorting")
    return DuplicateRules(**rules).verify()
