"""The mappers that `peers.py` compares: those of `gassst bench`, and two that users rarely have.

Yara and RazerS 3 have a limit of errors that the user sets: they are told about how many the reads have.
"""

from __future__ import annotations

from gassst.tools import mappers
from gassst.tools.mappers import MapperRun, ReadSet, Tool, indexer, version

__all__ = ["TOOLS", "MapperRun", "ReadSet", "Tool", "find", "indexer", "version"]


def _yara_map(job: MapperRun, out: str) -> list[str]:
    # Ten per cent is the most it takes; five its default.
    rate = "5" if job.reads.error is not None and job.reads.error <= 0.02 else "10"
    return ["-e", rate, "-t", job.t, "-o", out, job.index, *job.fastq]


def _razers3_map(job: MapperRun, out: str) -> list[str]:
    # Full sensitivity up to twice the mean number of errors and a little more, one of the best hits.
    error = 0.05 if job.reads.error is None else job.reads.error
    identity = round(100 - min(20.0, max(5.0, 200 * error)), 2)
    options = ["-rr", "100", "-m", "1", "-i", f"{identity:g}", "-tc", job.t]
    return [*options, "-o", out, job.reference, *job.fastq]


TOOLS = {
    **mappers.TOOLS,
    "yara": Tool(
        ("yara_mapper",),
        "Debian: yara",
        ("--version",),
        lambda job: [job.reference, "-o", job.index],
        _yara_map,
        writes=True,
        indexer="yara_indexer",
    ),
    "razers3": Tool(
        ("razers3",), "Debian: seqan-apps", ("--version",), None, _razers3_map, writes=True, pairs=False
    ),
}  # fmt: skip


def find(name: str, given: dict[str, str]) -> tuple[str, ...] | None:
    """The command that starts a tool: the one `given` for it, or on PATH; None if there is none."""
    return mappers.find(TOOLS[name], given.get(name))
