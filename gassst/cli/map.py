"""`gassst map`."""

from __future__ import annotations

import argparse
import logging
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from gassst.cli.checks import check_map, verified_params
from gassst.cli.habits import note_on_max_hits, note_on_mode, note_on_stdout
from gassst.cli.options import add_map_options, duplicate_rules, given, header_lines, preparation
from gassst.cli.reports import reports
from gassst.cli.start import log_start
from gassst.index.choice import load_index
from gassst.reads.selection import Selection
from gassst.reads.tags import TagSources
from gassst.records.options import OutputOptions
from gassst.workers.allocator import keep_freed_memory

if TYPE_CHECKING:
    from gassst.cli.progress import Progress
    from gassst.files.input_progress import InputProgress
    from gassst.model.params import MapParams
    from gassst.model.stats import Stats
    from gassst.reads.sample_sheet import Sample
    from gassst.reads.shards import Shard

log = logging.getLogger("gassst")

OptionsFor = Callable[["Sample"], dict[str, Any]]
"""The arguments of `Mapper.map_file` for a sample."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `gassst map`."""
    parser.usage = (
        "%(prog)s [OPTIONS] REF READS.fq [MATES.fq]\n"
        "       %(prog)s [OPTIONS] REF -1 A1.fq B1.fq -2 A2.fq B2.fq\n"
        "       %(prog)s [OPTIONS] REF --sheet SAMPLES.csv"
    )
    add_map_options(parser)


def main(args: argparse.Namespace) -> int:
    """Run `gassst map`. Raises UsageError, InputError, OutputError, DeviceError."""
    keep_freed_memory()
    params = verified_params(args)
    samples = check_map(args, params)
    options_for = _options_of(args, params)
    if args.skip_existing:
        samples = _not_completed(args, samples, options_for)
        if not samples:
            return 0
    return _map(args, params, samples, options_for)


def _options_of(args: argparse.Namespace, params: MapParams) -> OptionsFor:
    """What both ways of mapping a sample are told. Raises UsageError, InputError."""
    insert = None
    if args.insert_model is not None:
        from gassst.pairing.insert_size import InsertModel

        insert = InsertModel.read(args.insert_model)
    duplicates = duplicate_rules(args)

    def options_for(sample: Sample) -> dict[str, Any]:
        rules = duplicates
        if rules is not None and sample.metrics is not None:
            rules = replace(rules, metrics_path=sample.metrics)
        options = {
            "mates": sample.mates,
            "interleaved": args.interleaved,
            "read_group": sample.groups,
            "tags": TagSources(**given(args, TagSources)),
            "command_line": shlex.join(["gassst", *args.argv]),
            "allow_truncated": args.allow_truncated,
            "reference": args.reference,
            "preparation": preparation(args),
            "selection": Selection(**given(args, Selection)),
            "insert": insert,
            **given(args, OutputOptions),
            "header_lines": header_lines(args),
            "most_xa": args.most_xa,
            "xs_always": args.xs_always,
            "duplicates": rules,
        }
        if args.sheet is None:
            return options
        from gassst.cli.resume import made_from

        return options | {"made_from": made_from(args, params, sample, options)}

    return options_for


def _not_completed(args: argparse.Namespace, samples: list[Sample], options_for: OptionsFor) -> list[Sample]:
    """The samples that are still to be mapped."""
    from gassst.cli.resume import why_again

    left = []
    for sample in samples:
        if not os.path.exists(sample.output):
            left.append(sample)
        elif why := why_again(sample, args, options_for(sample)["made_from"]):
            log.info("--skip-existing: %s is mapped again: %s", sample.output, why)
            left.append(sample)
    done = len(samples) - len(left)
    log.info("--skip-existing: %d of %d samples are complete", done, len(samples))
    if done and (args.stats or args.report or args.multiqc):
        log.warning("--skip-existing: --stats, --report and --multiqc cover the samples of this run only")
    return left


def _map(
    args: argparse.Namespace,
    params: MapParams,
    samples: list[Sample],
    options_for: OptionsFor,
) -> int:
    from gassst.cli.console import STDERR
    from gassst.cli.summary import internals, summary
    from gassst.files.whole_file import write_text
    from gassst.model.stats import Stats
    from gassst.reads.groups import doubts
    from gassst.reads.shards import Shard

    if note := note_on_max_hits(params.max_hits):
        log.info(note)
    if note := note_on_stdout(samples[0].output, args.sort, args.format):
        log.info(note)
    is_single = samples[0].mates is None and not args.interleaved
    if not params.exhaustive and (note := note_on_mode(params.mode, params.min_identity, is_single)):
        log.info(note)
    shard = None if args.shard is None else Shard.parse(args.shard)
    for doubt in doubts([line for sample in samples for line in sample.groups.lines]):
        log.warning(doubt)
    start = time.monotonic()
    if args.dask is not None:
        from gassst.cli.dask import map_on_cluster

        runs = map_on_cluster(args, params, samples, options_for)
    else:
        runs = _mapped_here(args, params, samples, options_for, shard)
    seconds = time.monotonic() - start
    stats = Stats.of_runs(runs) if args.sheet else runs[args.output]
    if args.dask is None:  # on a cluster, the runs are those of other machines
        seconds = stats.run["seconds"]
    for path, text in reports(args, stats, runs):
        write_text(path, text)
    if args.verbose:
        STDERR.say(internals(stats))
    if not args.quiet:
        STDERR.say(summary(stats, seconds))
    return 0


def _mapped_here(
    args: argparse.Namespace,
    params: MapParams,
    samples: list[Sample],
    options_for: OptionsFor,
    shard: Shard | None,
) -> dict[str, Stats]:
    """What was mapped on this machine, one sample after the other, by output."""
    from gassst.api.engine import make_engine
    from gassst.api.files import map_files
    from gassst.files.input_progress import InputProgress

    index = load_index(args.index, args.threads, args.check, params.meth is not None, args.as_bwa)
    engine = make_engine(index, params, late=True)
    log_start(args, index)
    if args.as_bwa:  # pipelines look for this line of bwa
        alt = index.reference.alt
        log.info("read %d ALT contigs", 0 if alt is None else alt.sum())
    details = bool(args.stats or args.report or args.multiqc)

    def described(sample: Sample) -> dict[str, Any]:
        """The arguments of `Mapper.map_file`."""
        inputs = InputProgress([*sample.reads, *(sample.mates or [])])
        return {
            "reads": sample.reads,
            "output": sample.output,
            "watch": partial(_watched, args, sample, inputs),
            "input_progress": inputs,
            "details": details,
            "shard": shard,
            **options_for(sample),
        }

    counted = map_files(engine, [described(sample) for sample in samples])
    return {sample.output: stats for sample, stats in zip(samples, counted, strict=True)}


@contextmanager
def _watched(args: argparse.Namespace, sample: Sample, inputs: InputProgress) -> Iterator[Progress]:
    """While a sample is written: says how far it has come."""
    from gassst.cli.progress import Progress

    in_the_way = sample.output == "-" and sys.stdout.isatty()  # of records on the same terminal
    if args.sheet:
        log.info("%s:", sample.output)
    with Progress(inputs, quiet=args.quiet or in_the_way) as progress:
        yield progress
