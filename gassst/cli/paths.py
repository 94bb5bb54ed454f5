"""No command writes a file that it reads, or one file twice: every command is looked at here, before it begins.

The parser knows the files that arguments name. What a command reads or writes beside these is listed below.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from gassst.errors import InputError
from gassst.frozen import NamedTuple
from gassst.tools.arguments import file_path, output_path

if TYPE_CHECKING:
    from gassst.files.distinct import Path


class Files(NamedTuple):
    """What a command reads, and what it writes; "-" is standard input or output."""

    inputs: list[Path | None]
    outputs: list[Path | None]


def check_paths(args: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Raise UsageError where an output of a command is one of its inputs, or another output.

    `parser` is that of the command, which itself complains of a sample sheet that cannot be read.
    """
    from gassst.files.distinct import check_distinct

    files = Files(list(_named(args, parser, file_path)), list(_named(args, parser, output_path)))
    more = _MORE.get(args.command)
    if more is not None:
        files = more(args, files)
    if getattr(args, "multiqc", None):
        from gassst.tools.multiqc import paths

        files.outputs.extend(paths(args.multiqc)[1:])
    check_distinct(files.outputs, files.inputs)


def _named(
    args: argparse.Namespace, parser: argparse.ArgumentParser, kind: Callable[[str], str]
) -> Iterator[str]:
    """The files that arguments of this type name."""
    for action in parser._actions:
        value = getattr(args, action.dest, None) if action.type is kind else None
        if value:
            yield from [value] if isinstance(value, str) else value


def _of_map(args: argparse.Namespace, files: Files) -> Files:
    from gassst.files.distinct import with_indexes

    inputs = [*files.inputs, *_of_reference(args.index)]
    if args.dask is not None and os.path.isfile(args.dask):
        inputs.append(args.dask)
    if args.sheet is None:
        return Files(inputs, [*files.outputs, *with_indexes(args.output)[1:]])
    from gassst.reads.sample_sheet import read_sheet

    outputs = list(files.outputs)
    if args.output == "-":
        outputs.remove("-")  # the default: the sheet names the outputs
    with suppress(InputError):
        for sample in read_sheet(args.sheet, args.format):
            inputs += [*sample.reads, *(sample.mates or [])]
            outputs += [*with_indexes(sample.output), *filter(None, [sample.metrics])]
    return Files(inputs, outputs)


def _of_mem(args: argparse.Namespace, files: Files) -> Files:
    from gassst.files.distinct import with_indexes

    return Files(
        [*files.inputs, *_of_reference(args.index)], [*files.outputs, *with_indexes(args.output)[1:]]
    )


def _of_insert(args: argparse.Namespace, files: Files) -> Files:
    return Files([*files.inputs, *_of_reference(args.index)], files.outputs)


def _of_gather(args: argparse.Namespace, files: Files) -> Files:
    from gassst.files.distinct import with_indexes

    more = [] if args.reference is None else _of_reference(args.reference)
    return Files([*files.inputs, *more], [*files.outputs, *with_indexes(args.output)[1:]])


def _of_index(args: argparse.Namespace, files: Files) -> Files:
    from gassst.index.choice import index_path
    from gassst.index.parts import part_files

    if args.check:
        return Files(files.inputs, [])
    output = args.output or index_path(args.reference)
    parts = [] if args.parts is None else part_files(output)
    return Files([*files.inputs, *_alt_of(args.reference)], [output, *parts])


def _of_align(args: argparse.Namespace, files: Files) -> Files:
    matrix = [args.matrix] if os.path.exists(args.matrix) else []
    return Files([*files.inputs, *matrix], files.outputs)


_MORE: dict[str, Callable[[argparse.Namespace, Files], Files]] = {
    "map": _of_map,
    "mem": _of_mem,
    "insert": _of_insert,
    "gather": _of_gather,
    "index": _of_index,
    "align": _of_align,
}


def _of_reference(path: str) -> list[str]:
    """What `load_index` may read beside the file that was named."""
    from gassst.index.choice import index_path
    from gassst.index.parts import part_files

    beside = index_path(path)
    indexes = [path, beside] if os.path.exists(beside) else [path]
    return [*indexes[1:], *(part for index in indexes for part in part_files(index)), *_alt_of(path)]


def _alt_of(fasta: str) -> list[str]:
    from gassst.index.seed_index import alt_list

    return list(filter(None, [alt_list(fasta)]))
