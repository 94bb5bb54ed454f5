"""Which samples of a sheet a run has already completed: the header of an output says what it was made from."""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from gassst.model.options import deciding
from gassst.records.options import DuplicateRules, OutputOptions
from gassst.version import __version__

if TYPE_CHECKING:
    from gassst.model.params import MapParams
    from gassst.reads.sample_sheet import Sample

NAMES = {"read_group": "read groups", "preparation": "--adapter or --preset"}
"""What messages call that which has no option of the same name."""
PLAIN = ("version", "index", "reads")


def made_from(args: argparse.Namespace, params: MapParams, sample: Sample, options: dict[str, Any]) -> str:
    """A name and a digest for all that decides the content of an output: `name:digest`, separated by spaces.

    `options` are the arguments of `Mapper.map_file` for the sample. Options at their defaults are left out. Those of
    the machine never count. Raises InputError for a file that cannot be read.
    """
    from gassst.reads.shards import key_of

    of_file = {each.name for each in fields(OutputOptions)}
    output = OutputOptions(**{name: value for name, value in options.items() if name in of_file})
    left = {name: value for name, value in options.items() if name not in of_file}
    del left["command_line"], left["mates"]  # these files count with the others, whatever their names
    reference, left["insert_model"] = left["reference"], left.pop("insert")
    left["reference"] = reference and _identity(reference)
    facts = {
        "version": __version__,
        "index": [_identity(path) for path in _index_files(args.index, params.meth is not None)],
        "reads": [[_identity(path) for path in paths] for paths in (sample.reads, sample.mates or [])],
    }
    rules = output.duplicates
    for group in (left.pop("tags"), output, rules or DuplicateRules(), params, params.scoring):
        facts |= _changed(group)
    facts.pop("scoring", None)
    facts |= {name: value for name, value in left.items() if value} | {"duplicates": rules is not None}
    return " ".join(f"{name}:{key_of(value)}" for name, value in facts.items())


def why_again(sample: Sample, args: argparse.Namespace, made_from: str) -> str:
    """Why an output that is there does not do; "" if it does.

    An output takes its name when it is complete, so one that is there is whole; a copy of it may be cut, which
    htslib finds.
    """
    from gassst.files.destination import Destination, index_paths
    from gassst.records.writer import output_format

    destination = Destination(sample.output)
    is_indexed = args.sort and output_format(destination, args.format) != "sam"
    if destination.is_stream:
        return "a stream keeps nothing"
    if is_indexed and not any(map(os.path.exists, index_paths(sample.output))):
        return "its index is missing"
    if sample.metrics is not None and not os.path.exists(sample.metrics):
        return f"{sample.metrics} is missing"
    header = _header(sample.output)
    if header is None:
        return "it is damaged"
    said = re.search(r"^@PG\tID:gassst\t.*\tmf:([^\t\n]*)", header, re.M)
    if said is None:
        return "it does not say what it was made from"
    before, now = _digests(said[1]), _digests(made_from)
    names = [name for name in {**now, **before} if before.get(name) != now.get(name)]
    return f"different {', '.join(map(_called, names))}" if names else ""


def _digests(text: str) -> dict[str, str]:
    return {name: digest for name, _, digest in (word.partition(":") for word in text.split())}


def _called(name: str) -> str:
    from gassst.cli.options import OPTION_OF

    option = name if name in PLAIN else f"--{name.replace('_', '-')}"
    return NAMES.get(name) or OPTION_OF.get(name, option)


def _changed(options: Any) -> dict[str, Any]:
    """The deciding fields that are not at their defaults."""
    defaults = {each.name: each.default for each in fields(options)}
    return {name: value for name, value in deciding(options).items() if value != defaults[name]}


def _index_files(path: str, meth: bool) -> list[str]:
    """The files that decide which index is used, and what is in it."""
    from gassst.index.choice import index_path
    from gassst.index.file import is_index
    from gassst.index.seed_index import alt_list

    if is_index(path):
        return [path]
    return [path, *filter(os.path.isfile, [index_path(path, meth), alt_list(path) or ""])]


def _identity(path: str) -> object:
    """What tells a file from every other one. A stream is never the same again.

    The first block of an index has the checksums of all else. Other files may differ between the blocks that
    are compared: their times tell.
    """
    from gassst.index.file import is_index
    from gassst.reads.shards import digest_of

    if not os.path.isfile(path):
        return os.urandom(16)
    return digest_of(path), 0 if is_index(path) else os.stat(path).st_mtime_ns


def _header(path: str) -> str | None:
    """The header of an alignment file; None where the file is cut, or is no such file."""
    from contextlib import closing

    import gassst.files.htslib  # noqa: F401 - before the compiled modules that link its htslib
    from gassst._core.alignment_text import AlignmentReader
    from gassst.files.quiet import QuietHtslib

    QuietHtslib.enter()
    try:
        with closing(AlignmentReader(os.open(path, os.O_RDONLY), path)) as file:
            return file.header if file.ends_well else None
    except (OSError, ValueError):
        return None
    finally:
        QuietHtslib.leave()
