"""Files mapped by an engine, from the arguments of `Mapper.map_file`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

from gassst.api.arguments import taken
from gassst.errors import UsageError
from gassst.files.distinct import check_distinct, paths_of, with_indexes
from gassst.files.input_progress import size_of
from gassst.mapping.batch_mapper import BatchMapper
from gassst.model.given import SINGLE_READ_PRESETS
from gassst.model.params import MapParams
from gassst.model.stats import Stats
from gassst.reads.batch_sizes import ALONE, Neighbours
from gassst.reads.input import Paths
from gassst.reads.selection import Selection
from gassst.reads.small_rna import Preparation
from gassst.reads.source import ReadSource, SourceOptions
from gassst.reads.tags import TagSources
from gassst.records.options import DuplicateRules, OutputChoices, OutputFile, OutputOptions, RecordStyle
from gassst.runs.file_run import FileOptions, FileRun, RunOptions, Watch
from gassst.runs.file_runs import PlannedRun, map_all

_OF_FILES = (
    (OutputFile, RecordStyle, OutputOptions),
    {"duplicates": DuplicateRules, "tags": TagSources, "selection": Selection},
)


def map_files(engine: BatchMapper, samples: Sequence[dict[str, Any]]) -> Iterator[Stats]:
    """As `Mapper.map_files`."""
    last, jobs = len(samples) - 1, []
    for i, sample in enumerate(samples):
        neighbours = Neighbours(before=i > 0, behind=i < last)
        inputs = [*paths_of(sample["reads"]), *paths_of(sample.get("mates") or [])]
        is_file = all(size_of(os.fspath(path)) is not None for path in inputs)
        make = partial(file_run, engine, **sample, neighbours=neighbours)
        jobs.append(PlannedRun(make, is_file))
    return map_all(jobs)


def preparation_of(params: MapParams, are_pairs: bool) -> Preparation:
    """What the preset does to reads before they are mapped. Raises UsageError for pairs that it refuses."""
    preset = params.preset
    if are_pairs and preset in SINGLE_READ_PRESETS:
        raise UsageError(f"preset {preset!r} takes single reads: these are pairs")
    return Preparation.of_preset(preset)


def file_run(
    engine: BatchMapper,
    reads: Paths,
    output: str | os.PathLike[str] | None = None,
    *,
    mates: Paths | None = None,
    markdup: bool = False,
    watch: Watch = nullcontext,
    neighbours: Neighbours = ALONE,
    **options: Any,
) -> FileRun:
    """A run that has not begun. `options` are those of `Mapper.map_file`."""
    index, params = engine.index, engine.params
    options = taken("map_file", options, {*FileOptions.__annotations__, "markdup"}, *_OF_FILES)
    if markdup:
        options["duplicates"] = options.get("duplicates") or DuplicateRules()
    are_pairs = mates is not None or options.get("interleaved", False)
    options = {"preparation": preparation_of(params, are_pairs)} | options
    reads, mates = paths_of(reads), None if mates is None else paths_of(mates)
    index.verify_open()
    of_source, of_run, of_output = (
        _among(options, kind) for kind in (SourceOptions, RunOptions, OutputChoices)
    )
    writing = OutputOptions(threads=params.threads, meth=params.meth, **of_output)
    written = [*with_indexes(output), *writing.unmapped.paths]
    if writing.coverage_path is not None:
        written.append(writing.coverage_path)
    if writing.duplicates is not None and writing.duplicates.metrics_path is not None:
        written.append(writing.duplicates.metrics_path)
    indexes = [index.path, *(part.path for part in index.parts)]
    check_distinct(written, [*indexes, options.get("reference"), *reads, *(mates or [])])
    source = ReadSource.of(reads, mates, threads=params.threads, meth=params.meth, **of_source)
    return FileRun(engine, source, output, writing, watch=watch, neighbours=neighbours, **of_run)


def _among(options: dict[str, Any], kind: type) -> dict[str, Any]:
    """The options that a `TypedDict` names."""
    return {name: options[name] for name in kind.__annotations__ if name in options}
