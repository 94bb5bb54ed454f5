"""What can be wrong with the arguments of a command, found before any work is done."""

from __future__ import annotations

import argparse
import logging
import os
from typing import TYPE_CHECKING

from gassst.cli import habits
from gassst.cli.options import (
    duplicate_rules,
    given,
    in_options,
    map_params,
    preparation,
)
from gassst.cli.reports import verify_reports
from gassst.errors import ParameterError, UsageError
from gassst.model.given import SINGLE_READ_PRESETS
from gassst.model.params import MapParams
from gassst.reads.selection import Selection
from gassst.reads.tags import TagSources
from gassst.records.options import OutputOptions
from gassst.workers.thread_count import MAX_THREADS

ORDER = "The reference comes first: gassst map REF READS [MATES]"

log = logging.getLogger("gassst")

if TYPE_CHECKING:
    from gassst.reads.groups import ReadGroups
    from gassst.reads.sample_sheet import Sample


def verified_params(args: argparse.Namespace) -> MapParams:
    """The parameters of `gassst map`. Raises UsageError, with a hint for users of other mappers."""
    if note := habits.note_on_ignored(args.bases_at_once, args.processes):
        log.info(note)
    try:
        return map_params(args).verify()
    except ParameterError as error:
        message = str(in_options(error))
        hint = habits.hint_in(message)
        raise UsageError(f"{message}. {hint}" if hint else message) from None


def check_threads(threads: int) -> None:
    """Of a command that has no other parameters of the mapper. Raises UsageError."""
    if not 1 <= threads <= MAX_THREADS:
        raise UsageError(f"-t must be from 1 to {MAX_THREADS}")


def check_map(args: argparse.Namespace, params: MapParams) -> list[Sample]:
    """The samples to map. Raises the error that the run would come to later."""
    check_order(args)
    from gassst.gpu.devices import check_device
    from gassst.reads.input import check_readable
    from gassst.search.filters import Cascade

    verify_reports(args)
    Cascade(params.filters, 0)
    TagSources(**given(args, TagSources)).verify()
    selection = Selection(**given(args, Selection)).verify()
    output = OutputOptions(**given(args, OutputOptions))
    output.verify()
    if args.meth_tags is not None and params.meth is None:
        raise UsageError("--meth-tags needs --meth")
    check_shard(args)
    if selection.is_range and (args.shard is not None or args.dask is not None):
        raise UsageError("--skip and --upto go with neither --shard nor --dask")
    samples = samples_of(args)
    check_single(args, params, samples)
    unmapped = output.unmapped
    if unmapped.mates_path and not any(_may_hold_pairs(sample, args.interleaved) for sample in samples):
        raise UsageError("--unmapped2 is for pairs, but these reads are single")
    duplicates = duplicate_rules(args)
    metrics = [sample.metrics or args.metrics_path for sample in samples]
    if duplicates is None and any(metrics):
        raise UsageError(f"{args.sheet}: a column metrics needs --markdup")
    if args.coverage_path is not None and (args.shard is not None or args.dask is not None):
        raise UsageError("--coverage counts all reads: it goes with neither --shard nor --dask")
    others = [*unmapped.paths, args.coverage_path, args.stats, args.report, args.multiqc, *metrics]
    for sample in samples:
        _check_format(sample.output, args)
        check_readable(sample.reads, sample.mates)
    check_writable([*(sample.output for sample in samples), *others])
    check_device(params)
    return samples


def check_order(args: argparse.Namespace) -> None:
    """Raise UsageError where the reference is named behind the reads, or not at all."""
    from gassst.index.file import is_index
    from gassst.reads.first_reads import peeked_line

    for path in [*args.reads, *(args.first or []), *(args.second or [])]:
        if is_index(path):
            raise UsageError(f"{path} is an index, not reads. {ORDER}")
    line = "" if is_index(args.index) else peeked_line(args.index)
    if line.startswith("@") or _holds_alignments(args.index):
        raise UsageError(f"{args.index} contains reads, not a reference. {ORDER}")


def _holds_alignments(path: str) -> bool:
    from gassst.reads.alignment_input import is_alignment_file

    return os.path.isfile(path) and is_alignment_file(path)


def check_single(args: argparse.Namespace, params: MapParams, samples: list[Sample]) -> None:
    """Raise UsageError for pairs where only single reads have a meaning."""
    named = f"--preset {args.preset}" if args.preset in SINGLE_READ_PRESETS else ""
    wanted = named or ("--strata" if params.strata else "")
    wanted = wanted or ("--adapter" if preparation(args).adapters else "")
    if wanted and (args.interleaved or any(sample.mates is not None for sample in samples)):
        raise UsageError(f"{wanted} takes single reads: these are pairs")


def check_shard(args: argparse.Namespace) -> None:
    """Raise UsageError for a part that is none, or of what has no parts, or that goes where its end is not seen."""
    if args.shard is None:
        return
    from gassst.files.destination import Destination
    from gassst.reads.shards import Shard

    shard = f"--shard {Shard.parse(args.shard)}"
    if args.sheet:
        raise UsageError(f"{shard}: parts are made of one sample: name its reads instead of --sheet")
    if args.markdup:
        raise UsageError(f"{shard}: duplicates are marked over all parts: gassst gather --sort --markdup")
    for path in [*args.reads, *(args.first or []), *(args.second or [])]:
        if path == "-" or (os.path.exists(path) and not os.path.isfile(path)):
            name = "standard input" if path == "-" else path
            raise UsageError(f"{shard}: {name} is a stream; parts can be made of files only")
    if Destination(args.output).is_stream:
        raise UsageError(f"{shard}: name a file with -o: on a stream, a truncated part would go unnoticed")


def samples_of(args: argparse.Namespace) -> list[Sample]:
    """What goes into which output: one sample, or those of a sheet. Raises UsageError, InputError."""
    from gassst.reads.sample_sheet import Sample, read_sheet

    if args.sheet is None:
        if args.skip_existing:
            raise UsageError("--skip-existing needs --sheet")
        reads, mates = mates_of(args)
        return [Sample(args.output, reads, mates, groups_of(args, reads))]
    told = {
        "reads": args.reads or args.first or args.second or args.interleaved or args.single,
        "outputs": args.output != "-"
        or args.unmapped_path
        or args.unmapped_mates_path
        or args.metrics_path
        or args.coverage_path,
        "read groups": args.read_group or args.rg_from_name,
    }
    for what, is_told in told.items():
        if is_told:
            raise UsageError(f"--sheet names the {what}: no other arguments do")
    return read_sheet(args.sheet, args.format)


def _may_hold_pairs(sample: Sample, interleaved: bool) -> bool:
    if sample.mates is not None or interleaved:
        return True
    return bool(_alignment_files(sample.reads, len(sample.reads) == 1))


def groups_of(args: argparse.Namespace, reads: list[str]) -> ReadGroups:
    """The read groups of the inputs. Raises UsageError, and InputError for a name that tells none."""
    from gassst.reads.groups import check_seekable, groups_from_names, read_groups

    given = args.read_group or []
    if args.rg_from_name is None:
        return read_groups(given, len(reads))
    if given:
        raise UsageError("-R and --rg-from-name exclude each other")
    check_seekable(reads)
    if held := _alignment_files(reads):
        raise UsageError(
            f"--rg-from-name: {held[0]}: an alignment file keeps its own read groups; -R sets another"
        )
    return groups_from_names(reads, args.rg_from_name)


def _check_format(path: str, args: argparse.Namespace) -> None:
    from gassst.files.destination import Destination
    from gassst.records.cram import CramOptions
    from gassst.records.writer import output_format

    output = Destination(path)
    found = output_format(output, args.format)
    CramOptions(tuple(args.format_options or ())).verify_for(found)
    if found == "paf" and (args.sort or args.shard is not None or args.dask is not None):
        raise UsageError(
            "PAF is written in the order of the reads: --sort, --shard and --dask do not go with it"
        )
    if found in ("bam", "cram") and output.is_stdout and os.isatty(1):
        raise UsageError(f"{found.upper()} cannot be written to a terminal: name a file with -o")


def mates_of(args: argparse.Namespace) -> tuple[list[str], list[str] | None]:
    """The files of reads, and those of their second mates or None. Raises UsageError where roles are unclear."""
    lanes = args.first is not None or args.second is not None
    if lanes and (args.reads or args.single or args.interleaved):
        raise UsageError("-1 and -2 cannot be combined with other files of reads, --single or --interleaved")
    if lanes and not (args.first and args.second):
        raise UsageError("-1 and -2 must be given together: first mates and second mates")
    if lanes:
        _hold_both_mates([*args.first, *args.second], beside=True)
        return args.first, args.second
    if not args.reads:
        raise UsageError("no reads: name a file, or two of pairs, or use -1 and -2")
    if args.interleaved:
        _hold_no_mates(args.reads)
    if args.single or args.interleaved or len(args.reads) == 1 or _hold_both_mates(args.reads):
        return args.reads, None
    if len(args.reads) == 2:
        return args.reads[:1], args.reads[1:]
    raise UsageError(
        f"{len(args.reads)} files of reads: give two for pairs, or -1 A1 B1 -2 A2 B2 for lanes of pairs. "
        "--single maps all as single reads, --interleaved expects pairs in each"
    )


def _hold_no_mates(paths: list[str]) -> None:
    """Raise UsageError where the first reads of two neighbouring files have one name."""
    from gassst.reads.first_reads import first_name

    held = _alignment_files(paths)
    for one, two in zip(paths, paths[1:], strict=False):
        name = "" if one in held else first_name(one)
        if name and name == first_name(two):
            raise UsageError(
                f"--interleaved: {one} and {two} both begin with {name}: map two files of mates without it"
            )


def _hold_both_mates(paths: list[str], beside: bool = False) -> bool:
    """Whether these are alignment files. Raises UsageError where only some are, or others hold the mates `beside`."""
    found = _alignment_files(paths, len(paths) == 1 and not beside)
    if found and (beside or len(found) < len(paths)):
        raise UsageError(
            f"{found[0]}: an alignment file contains both mates: do not combine it with other kinds of files"
        )
    return bool(found)


def _alignment_files(paths: list[str], alone: bool = False) -> list[str]:
    """Which of these are alignment files; `alone` as in `is_alignment_file`."""
    from gassst.reads.alignment_input import is_alignment_file

    return [path for path in paths if is_alignment_file(path, alone)]


def check_writable(outputs: list[str | None]) -> None:
    """Raise OutputError for a file that cannot be written."""
    from gassst.files.destination import Destination

    for path in filter(None, outputs):
        Destination(path).verify()
