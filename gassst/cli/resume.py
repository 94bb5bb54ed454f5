"""Which samples of a sheet an earlier run of the same command has completed."""

from __future__ import annotations

import argparse
import os
import shlex
from typing import TYPE_CHECKING

from gassst.version import __version__

if TYPE_CHECKING:
    from gassst.reads.sample_sheet import Sample

OPTION = "--skip-existing"


def is_complete(sample: Sample, args: argparse.Namespace) -> bool:
    """Whether the files of a sample are there, and the header says that this version and this command wrote them.

    An output takes its name when it is complete, so one that is there is whole; a copy of it may be cut, which
    htslib finds.
    """
    from gassst.files.destination import Destination, index_paths

    if Destination(sample.output).is_stream or not os.path.exists(sample.output):
        return False
    is_indexed = args.sort and not sample.output.endswith(".sam")
    if is_indexed and not any(map(os.path.exists, index_paths(sample.output))):
        return False
    if sample.metrics is not None and not os.path.exists(sample.metrics):
        return False
    return (__version__, _command(args.argv)) in _programs(sample.output)


def _command(argv: list[str]) -> list[str]:
    """The arguments of a run, whether or not it skips samples."""
    return [word for word in argv if word != OPTION]


def _programs(path: str) -> list[tuple[str, list[str]]]:
    """Version and arguments of the runs of gassst in a header; none where the file is cut, or is no such file."""
    from contextlib import closing

    from pysam import AlignmentHeader

    import gassst.files.htslib  # noqa: F401 - before the compiled modules that link its htslib
    from gassst._core.alignment_text import AlignmentReader
    from gassst.files.quiet import QuietHtslib

    QuietHtslib.enter()
    try:
        with closing(AlignmentReader(os.open(path, os.O_RDONLY), path)) as file:
            lines = AlignmentHeader.from_text(file.header).to_dict().get("PG", []) if file.ends_well else []
        words = [(line.get("VN", ""), shlex.split(line.get("CL", ""))) for line in lines]
    except (OSError, ValueError):
        return []
    finally:
        QuietHtslib.leave()
    return [(version, _command(command[1:])) for version, command in words if command[:1] == ["gassst"]]
