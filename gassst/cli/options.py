"""The arguments of `gassst map`: names, types, defaults, help. `gassst.cli.checks` says what they mean together.

Help is written in whole sentences. A default that is a plain value is added by `gassst.cli.parser.Help`; one that
needs words stands in the sentence's own "(default: ...)".
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from gassst.errors import ParameterError, UsageError
from gassst.model.params import (
    DEFAULT_FILTERS,
    LEAST_SCORE,
    MAX_MATCH,
    METH_LIBRARIES,
    METH_TAGS,
    MIN_READ_LENGTH,
    MODES,
    NO_DEVICE,
    MapParams,
    Scoring,
)
from gassst.reads.tags import TagSources
from gassst.tools.arguments import file_path, output_path
from gassst.workers.thread_count import usable_threads

if TYPE_CHECKING:
    from gassst.reads.small_rna import Preparation
    from gassst.records.duplicates import DuplicateRules

SMALL_RNA_HITS = 50
SMALL_RNA = {"min_identity": 94.0, "max_hits": SMALL_RNA_HITS, "sensitivity": 3}
"""What --preset small-rna means unless it is said otherwise: up to 16 bases no error, up to 33 one."""
ANCIENT: dict[str, Any] = {"mode": "global", "min_length": 30}
"""The same of --preset ancient: clipped ends would hide the damage, and shorter reads fit somewhere by chance."""
OF_SINGLE_READS = ("small-rna", "ancient")
"""Presets that refuse pairs."""

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


# --- the options, group by group ----------------------------------------------------------------------------


def add_map_options(parser: argparse.ArgumentParser) -> None:
    """All arguments of `gassst map`."""
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
    )


def add_insert_options(parser: argparse.ArgumentParser) -> None:
    """All arguments of `gassst insert`: the reads, and those of `gassst map` on which places of reads depend."""
    _add_groups(
        parser,
        ("input", "The reference and the reads.", _add_reads),
        ("output", "Where the model is written.", _add_model),
        *_SEARCH,
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
        help="Map many samples with one index: a table with the columns sample, lane, R1, R2 and output.",
    )
    add(
        "--skip-existing",
        action="store_true",
        help="With --sheet, skip samples that this command has already completed.",
    )
    add(
        "--shard",
        metavar="I/N",
        help="Map only part I of N of the reads, from plain or BGZF files. `gassst gather` joins the output of all "
        "parts.",
    )
    add(
        "-C",
        "--comments",
        action="store_true",
        help="Copy the SAM tags in the comments of FASTQ, separated by tabs, to the records.",
    )
    add(
        "--casava-barcode",
        action="store_true",
        help="Put the barcode of a Casava comment (1:N:0:ACGT) into the tag BC.",
    )
    add(
        "--umi-from-name",
        metavar="SEP",
        dest="umi_separator",
        help="Put what follows the last SEP in a read name into the tag RX.",
    )
    add(
        "--lenient",
        action="store_true",
        help="Skip and count fields of comments and names that are not valid tags. By default they are an error.",
    )


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
        ("input", "The files that `gassst map --shard` has written.", _add_parts),
        ("output", "Where the alignments are written. Records stay as they are in the parts.", _add_gathered),
        (
            "duplicates",
            "Which reads are flagged as duplicates, and what is reported about them.",
            _add_duplicates,
        ),
        ("machine", "Resources, and messages on stderr. Records never depend on them.", add_common),
    )


def _add_parts(group: Any) -> None:
    add = group.add_argument
    add(
        "parts",
        nargs="+",
        metavar="PART.bam",
        type=file_path,
        help="Join these parts of one run, in any order: SAM, BAM or CRAM.",
    )
    add(
        "--part-stats",
        nargs="+",
        metavar="STATS.json",
        default=[],
        type=file_path,
        help="Add up the --stats files of all parts, in any order, for --stats, --report and --multiqc.",
    )
    add(
        "--reference",
        metavar="REF",
        type=file_path,
        help="Decode CRAM parts with the index that they were mapped with, or with its FASTA. CRAM that is only copied "
        "does not need it.",
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
        help="Write the alignments to this file. Its suffix sets the format: .sam, .bam or .cram. "
        "A dash means SAM on stdout.",
    )
    add(
        "-O",
        "--format",
        choices=("sam", "bam", "cram"),
        help="Write this format, regardless of the suffix of -o.",
    )
    add(
        "--level",
        type=parse_level,
        metavar="0..9",
        help="Compress BAM or CRAM at this level: 1 is fast, 9 is small (default: 1; for CRAM that of htslib).",
    )
    add(
        "--output-fmt-option",
        dest="format_options",
        action="append",
        metavar="NAME=VALUE",
        help="Set an option of CRAM, as in samtools: version=3.1, no_ref=1, embed_ref=1, store_nm=1, store_md=1, "
        "seqs_per_slice=N, or one of fast, normal, small and archive. CRAM refers to the sequence in the "
        "index.",
    )
    add("--sort", action="store_true", help="Sort by coordinate, and index a BAM or CRAM file.")
    add(
        "--sort-memory",
        type=parse_size,
        default=2 << 30,
        metavar="SIZE",
        help="Keep at most this much of the records in memory while sorting, and the rest on disk (default: 2G).",
    )


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
        "--tags",
        dest="more_tags",
        type=parse_tags,
        default=(),
        metavar="T1,T2,..",
        help="Add these tags: NH (number of hits), HI (index of this hit), X0 and X1 (number of positions with the "
        "fewest errors, and with the next higher number).",
    )
    add(
        "--meth-tags",
        choices=METH_TAGS,
        help="Write the tags of bwa-meth, YC and YD, or those of Bismark, XM, XR and XG, with --meth "
        "(default: bwa-meth).",
    )
    add(
        "--baq",
        action="store_true",
        help="Add tag BQ: base alignment quality, as samtools calmd -r -E computes it, for callers that use it.",
    )
    add("--eqx", action="store_true", help="Write = and X instead of M in CIGARs.")
    add(
        "--xa",
        action="store_true",
        help="Put further alignments into one XA tag instead of secondary records.",
    )
    add(
        "-Y",
        "--soft-clip-supplementary",
        action="store_true",
        help="Keep all bases in supplementary records: soft clips instead of hard clips.",
    )
    add(
        "-M",
        "--mark-secondary",
        action="store_true",
        help="Flag supplementary records as secondary, for tools that do not support supplementary records.",
    )
    add(
        "--no-unmapped",
        action="store_true",
        help="Omit unmapped reads. A pair is omitted only if both mates are unmapped.",
    )
    add(
        "--unmapped",
        metavar="FILE.fq.gz",
        type=output_path,
        help="Also write the unmapped reads to this FASTQ file, with /1 or /2 after the names of mates.",
    )
    add(
        "--unmapped2",
        metavar="FILE.fq.gz",
        type=output_path,
        help="Write pairs with two unmapped mates to two files: second mates to this file, first mates to the file "
        "of --unmapped.",
    )
    add(
        "--unmapped-either",
        action="store_true",
        help="With --unmapped2: also write pairs with one unmapped mate.",
    )
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
    add(
        "--markdup-within",
        choices=("library", "read-group", "file"),
        help="Compare reads within each library (LB of the read group), within each read group, or across the file "
        "(default: library).",
    )
    add(
        "--barcode-tag",
        metavar="TAG",
        help="Compare only reads whose values of this tag, such as RX, are equal.",
    )
    add(
        "--optical-distance",
        type=int,
        metavar="PIXELS",
        help="Treat duplicates within this distance on the flow cell as optical; 0 disables this "
        "(default: 100; 2500 suits patterned flow cells).",
    )
    add(
        "--duplicate-type",
        action="store_true",
        help="Tag duplicates with dt:Z:LB, optical ones with dt:Z:SQ.",
    )
    add(
        "--markdup-metrics",
        metavar="FILE.txt",
        type=output_path,
        help="Write counts of duplicates and the size of the library to this file, in Picard's format.",
    )


def _add_alignment(group: Any) -> None:
    add = group.add_argument
    add(
        "--preset",
        choices=("hic", "small-rna", "ancient"),
        help="Set several options for a kind of data. For Hi-C, hic is -5, -P and --no-rescue. "
        f"small-rna is --strata, -k {SMALL_RNA_HITS}, -p 94, -s 3 and the --adapter of usual kits. A collapsed read "
        "(name_x12) counts as often as its name says. For merged reads of ancient DNA, ancient is --mode global and "
        f"--min-length {ANCIENT['min_length']}.",
    )
    add(
        "--meth",
        action="store_true",
        help="Map reads of which bisulfite or enzymes (EM-seq) turned C into T. REF is the index that "
        "gassst index --meth makes.",
    )
    add(
        "--meth-library",
        choices=METH_LIBRARIES,
        help="Say which strands a library for --meth has. Of a directional one, C became T in first reads and G became "
        "A in their mates; pbat is the reverse. Of a non-directional one, each template shows it itself "
        "(default: directional).",
    )
    add(
        "--mode",
        choices=MODES,
        help="Align locally or globally. Local alignments may clip or split a read, global ones align all of it "
        "(default: local, but global with --all, and for single reads with -p).",
    )
    add(
        "-p",
        "--min-identity",
        type=float,
        metavar="PERCENT",
        help="Report whole reads with at least this identity; in local mode, parts of other reads too "
        "(default: 80, more where chance hits would be likely).",
    )
    add(
        "--min-length",
        type=int,
        metavar="BASES",
        help=f"Leave reads with fewer bases unmapped (default: {MIN_READ_LENGTH}; with --preset ancient "
        f"{ANCIENT['min_length']}).",
    )
    add(
        "-g",
        "--gaps",
        type=int,
        metavar="BASES",
        help="Allow at least this many inserted and deleted bases in an alignment "
        "(default: 15, with --all the error limit).",
    )
    add(
        "-j",
        "--no-alt",
        dest="alt_aware",
        action="store_false",
        help="Treat ALT contigs as part of the primary assembly. By default, primary alignments avoid ALT contigs "
        "if possible, and ALT copies do not lower MAPQ.",
    )
    add = group.add_mutually_exclusive_group().add_argument
    add(
        "-k",
        "--max-hits",
        type=int,
        metavar="K",
        help="Report up to this many alignments per read (default: 1; with --strata all, with --preset small-rna "
        f"{SMALL_RNA_HITS}).",
    )
    add("--all", action="store_true", help="Report every alignment within the error limit.")
    add(
        "--best",
        action="store_true",
        help="Report one alignment with the fewest errors. This is the default.",
    )
    group.add_argument(
        "--strata",
        action="store_true",
        help="Report all alignments with the fewest errors of the read, or up to -k of them, and none with more. For "
        "single reads, which are aligned end to end.",
    )


def _add_sensitivity(group: Any) -> None:
    add = group.add_argument
    add(
        "-s",
        "--sensitivity",
        type=int,
        metavar="0..5",
        help="Trade speed for sensitivity: 0 is fastest, 5 skips no seed "
        f"(default: {MapParams.sensitivity}; with --preset small-rna 3).",
    )
    add(
        "-w",
        "--seed-length",
        type=int,
        metavar="BASES",
        help="Use seeds of at least this many bases (default: by read length and -p).",
    )
    add(
        "--filters",
        type=parse_filters,
        default=DEFAULT_FILTERS,
        metavar="F1,F2,..",
        help="Run these filters in this order before alignment; 'auto' runs those that save time (band32; with --all "
        f"flanks,band32), 'none' runs none (default: {','.join(DEFAULT_FILTERS)}). They reject only candidates beyond "
        "the error limit.",
    )


def _add_pairs(group: Any) -> None:
    add = group.add_mutually_exclusive_group().add_argument
    add(
        "--insert",
        type=parse_insert,
        metavar="MEAN,SD",
        help="Set the insert size between the outer ends of mates (default: learned from the first reads).",
    )
    add(
        "--insert-model",
        type=file_path,
        metavar="FILE.json",
        help="Use the insert sizes that `gassst insert` has learned.",
    )
    add = group.add_mutually_exclusive_group().add_argument
    group.add_argument(
        "-P",
        "--no-pairing",
        dest="pairing",
        action="store_false",
        help="Map each mate on its own. Flags and tags still describe the pair.",
    )
    group.add_argument(
        "--no-rescue",
        dest="mate_rescue",
        action="store_false",
        help="Do not search for a mate near its partner.",
    )
    group.add_argument(
        "-5",
        "--five-prime",
        action="store_true",
        help="Make the part nearest to the 5' end of a split read primary.",
    )
    toward = {
        "fr": "Expect mates that face each other (default: learned from the first pairs).",
        "rf": "Expect mates that face away from each other.",
        "ff": "Expect mates on the same strand.",
    }
    for name, text in toward.items():
        add(f"--{name}", dest="orientation", action="store_const", const=name, help=text)


def _add_scoring(group: Any) -> None:
    add, default = group.add_argument, Scoring
    add(
        "-A",
        "--match",
        type=int,
        default=default.match,
        metavar="N",
        help=f"Set the score of a match, 1 to {MAX_MATCH}.",
    )
    add(
        "-B",
        "--mismatch",
        type=int,
        default=default.mismatch,
        metavar="N",
        help="Set the penalty of a mismatch.",
    )
    add(
        "--gap-open",
        type=parse_two,
        default=default.gap_open,
        metavar="N[,N]",
        help="Set the penalty for opening a gap; two numbers are for deletions and for insertions "
        f"(default: {default.gap_open[0]}).",
    )
    add(
        "-E",
        "--gap-extend",
        type=parse_two,
        default=default.gap_extend,
        metavar="N[,N]",
        help=f"Set the penalty for each base of a gap, likewise (default: {default.gap_extend[0]}).",
    )
    add(
        "-L",
        "--clip-penalty",
        dest="clip",
        type=int,
        default=default.clip,
        metavar="N",
        help="Set the bonus for each end of the read that the alignment reaches.",
    )
    add(
        "-T",
        "--min-score",
        type=int,
        metavar="N",
        help="Report local alignments with at least this score; a concordant mate adds 17 to it (default: "
        f"{LEAST_SCORE}, and single reads that fit end to end within -p).",
    )


def _add_machine(group: Any) -> None:
    add = group.add_argument
    add(
        "--device",
        metavar="NAME",
        help="Use an OpenCL device: gpu, gpu:all, cpu, part of a name or an index such as 0:1. With none, CPU "
        "code does all the work (default: auto, a GPU where it is faster; `gassst devices` lists all).",
    )
    add(
        "--processes",
        type=int,
        metavar="N",
        help="Spread the threads over this many processes (default: one for each thread, for "
        "single reads one for two threads, and one for a short run).",
    )
    add(
        "--batch-size",
        type=int,
        metavar="READS",
        help="Limit the batches of a thread to this many reads (default: 32768, with several processes 24576, more "
        "beside a GPU). The first and last batches of several threads are smaller.",
    )
    add(
        "-K",
        dest="bases_at_once",
        metavar="BASES",
        help="Accepted and ignored, for scripts written for bwa and minimap2: records never depend on batches.",
    )
    add(
        "--memory",
        type=parse_size,
        metavar="SIZE",
        help="Use the index in parts of this size, such as 500M or 4G (default: all of it at once).",
    )
    add(
        "--dask",
        metavar="WHERE",
        help="Map on a Dask cluster: the address of its scheduler or its .json file, local, slurm, pbs or lsf. Here, "
        "-t sets the threads that join the parts, and the processes of local.",
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
        help="Do not verify the checksums of the index while mapping.",
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
    ("sensitivity", "How much work goes into finding the best alignment.", _add_sensitivity),
    ("pairs", "What the library of paired reads looks like.", _add_pairs),
    (
        "scoring",
        "Scores of local alignments, as in bwa: a gap of K bases costs open + K * extend.",
        _add_scoring,
    ),
    ("machine", "Resources, and messages on stderr. Records never depend on them.", _add_machine),
)


# --- from arguments to parameters ---------------------------------------------------------------------------


OPTION_OF = {
    "seed_length": "-w",
    "min_identity": "-p",
    "min_length": "--min-length",
    "gaps": "-g",
    "sensitivity": "-s",
    "max_hits": "-k",
    "all_hits": "--all",
    "strata": "--strata",
    "threads": "-t",
    "processes": "--processes",
    "batch_size": "--batch-size",
    "memory": "--memory",
    "insert": "--insert",
    "orientation": "--fr, --rf, --ff",
    "mode": "--mode",
    "match": "--match",
    "mismatch": "--mismatch",
    "gap_open": "--gap-open",
    "gap_extend": "--gap-extend",
    "clip": "--clip-penalty",
    "min_score": "--min-score",
    "more_tags": "--tags",
    "duplicates": "--markdup",
    "level": "--level",
    "format_options": "--output-fmt-option",
    "unmapped_mates_path": "--unmapped2",
    "unmapped_either": "--unmapped-either",
    "meth": "--meth-library",
    "device": "--device",
    "filters": "--filters",
    "umi_separator": "--umi-from-name",
}
"""The option of each parameter that may be out of range."""


def in_options(error: ParameterError) -> UsageError:
    """The error of a parameter as the command line reports it, with the option instead of the name."""
    return UsageError(f"{OPTION_OF.get(error.parameter, error.parameter)} {error.complaint}")


def map_params(args: argparse.Namespace) -> MapParams:
    """The parameters among the arguments of `gassst map`. Raises UsageError."""
    names = {field.name for field in fields(MapParams)}
    given = {name: value for name, value in vars(args).items() if name in names and value is not None}
    given["meth"] = args.meth_library or ("directional" if args.meth else None)
    if given["meth"]:
        given = {"device": NO_DEVICE} | given
    scoring = Scoring(**{field.name: getattr(args, field.name) for field in fields(Scoring)})
    if args.preset == "hic":
        given |= {"pairing": False, "mate_rescue": False, "five_prime": True}
    if args.preset == "small-rna":
        given = SMALL_RNA | given | {"strata": True}
    if args.preset == "ancient":
        given = ANCIENT | given
    if given["strata"]:
        given = {"max_hits": 0xFFFFFFFF} | given
        if given.get("mode") == "local":
            raise UsageError("--strata aligns reads end to end: it does not go with --mode local")
    return MapParams(**given, all_hits=args.all or given["strata"], scoring=scoring)


def preparation(args: argparse.Namespace) -> Preparation:
    """What is done to reads before they are mapped, among the arguments of `gassst map`. Raises UsageError."""
    from gassst.reads.small_rna import KITS, Preparation

    is_small = args.preset == "small-rna"
    adapters = args.adapter if args.adapter is not None else KITS if is_small else ()
    return Preparation(adapters, collapsed=is_small).verify()


def tag_sources(args: argparse.Namespace) -> TagSources:
    """What becomes tags, among the arguments of `gassst map`."""
    return TagSources(args.comments, args.casava_barcode, args.umi_separator or "", args.lenient)


def output_options(args: argparse.Namespace) -> dict[str, Any]:
    """The fields of `gassst.records.writer.OutputOptions`."""
    names = (
        "format", "level", "sort", "sort_memory", "eqx", "baq", "xa", "soft_clip_supplementary", "mark_secondary",
        "no_unmapped", "more_tags",
    )  # fmt: skip
    return {
        **({"meth_tags": args.meth_tags} if args.meth_tags else {}),
        **{name: getattr(args, name) for name in names},
        "unmapped_path": args.unmapped,
        "unmapped_mates_path": args.unmapped2,
        "unmapped_either": args.unmapped_either,
        "format_options": tuple(args.format_options or ()),
    }


def duplicate_rules(args: argparse.Namespace) -> DuplicateRules | None:
    """How duplicates are marked, among the arguments of `gassst map`. Raises UsageError."""
    given = {
        "within": args.markdup_within,
        "barcode_tag": args.barcode_tag,
        "optical_distance": args.optical_distance,
        "tagged": args.duplicate_type or None,
        "metrics_path": args.markdup_metrics,
    }
    given = {name: value for name, value in given.items() if value is not None}
    if not args.markdup:
        if given:
            raise UsageError("options for duplicates need --markdup")
        return None
    if not args.sort:
        raise UsageError("--markdup needs --sort: duplicates are marked during sorting")
    from gassst.records.duplicates import DuplicateRules

    return DuplicateRules(**given).verify()
