"""Mappers to compare with: how each is found, asked for its version, indexed and run.

Every tool runs with its own defaults for Illumina reads or pairs. What a tool needs to know of the reads (`ReadSet`) is
what a user would know.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ReadSet:
    """Reads in `path`: `length` bases each (real ones: the median); `error` per base, None if not known.

    Pairs have their other mates in `mates`; `number` counts both, `insert` is the MEAN,SD they were made with.
    """

    name: str
    path: Path
    number: int
    length: int
    error: float | None = None
    has_truth: bool = True
    mates: Path | None = None
    insert: str | None = None

    @property
    def files(self) -> list[Path]:
        return [self.path, self.mates] if self.mates else [self.path]


@dataclass(frozen=True)
class MapperRun:
    """One run: the program, the reference and the index in `folder`, and the reads it is for."""

    program: tuple[str, ...]
    folder: Path
    threads: int
    reads: ReadSet

    @property
    def reference(self) -> str:
        return str(self.folder / "reference.fa")

    @property
    def index(self) -> str:
        return str(self.folder / "index")

    @property
    def fastq(self) -> list[str]:
        """One file, or two for pairs."""
        return [str(path) for path in self.reads.files]

    @property
    def t(self) -> str:
        return str(self.threads)


Command = Callable[[MapperRun, str], list[str]]


@dataclass(frozen=True)
class Tool:
    """`index` and `map` give the arguments from a MapperRun (and the output file); None: no index is kept.

    A tool that `writes` does not use stdout. `per_length`: the index hangs on the read length. `pairs`: maps
    pairs, from two files. `suffix`: what it puts behind the stem of the output, for pairs.
    """

    programs: tuple[str, ...]
    get: str
    version: tuple[str, ...]
    index: Callable[[MapperRun], list[str]] | None
    map: Command
    writes: bool = False
    per_length: bool = False
    indexer: str | None = None
    pairs: bool = True
    suffix: str = ""

    def output(self, job: MapperRun, out: Path) -> Path:
        """The file that the tool writes where it is asked for `out`."""
        return out.with_name(out.stem + self.suffix + out.suffix) if job.reads.mates else out


def _gassst(*kind: str) -> Tool:
    return Tool(
        ("gassst",),
        "pip install gassst",
        ("--version",),
        lambda job: ["index", *kind, job.reference, "-o", job.index + ".gsi", "-q"],
        lambda job, out: ["map", *kind, job.index + ".gsi", *job.fastq, "-o", out, "-t", job.t, "-q"],
        writes=True,
    )


def _minibwa(*kind: str) -> Tool:
    return Tool(
        ("minibwa",),
        SOURCE + "lh3/minibwa",
        ("version",),
        lambda job: ["index", *kind, "-t", job.t, job.reference, job.index],
        lambda job, out: ["map", *kind, "-t", job.t, job.index, *job.fastq],
    )


def _bwa_index(job: MapperRun) -> list[str]:
    return ["index", "-p", job.index, job.reference]


def _bwa_map(job: MapperRun, out: str) -> list[str]:
    return ["mem", "-t", job.t, job.index, *job.fastq]


def _strobealign_map(job: MapperRun, out: str) -> list[str]:
    return ["--use-index", "-r", str(job.reads.length), "-t", job.t, "-o", out, job.reference, *job.fastq]


def _bowtie2_reads(job: MapperRun, single: str = "-U") -> list[str]:
    options = ["-1", "-2"] if job.reads.mates else [single]
    return [word for pair in zip(options, job.fastq, strict=True) for word in pair]


def _bismark_map(job: MapperRun, out: str) -> list[str]:
    # Bismark takes the name of its output, without what it adds, and two threads of Bowtie 2 or more.
    threads = ["-p", job.t] if job.threads > 1 else []
    where = ["--sam", "-B", Path(out).stem, "-o", str(Path(out).parent), "--temp_dir", str(job.folder)]
    return ["--genome", str(job.folder), *threads, *where, *_bowtie2_reads(job, "--single_end")]


SOURCE = "source: github.com/"
TOOLS = {
    "gassst": _gassst(),
    "bwa": Tool(("bwa",), "Debian: bwa", (), _bwa_index, _bwa_map),
    "bwa-mem2": Tool(("bwa-mem2",), SOURCE + "bwa-mem2/bwa-mem2", ("version",), _bwa_index, _bwa_map),
    "minibwa": _minibwa(),
    "strobealign": Tool(
        ("strobealign",),
        SOURCE + "ksahlin/strobealign",
        ("--version",),
        lambda job: ["--create-index", "-r", str(job.reads.length), "-t", job.t, job.reference],
        _strobealign_map,
        writes=True,
        per_length=True,
    ),
    "minimap2": Tool(
        ("minimap2",),
        "Debian: minimap2",
        ("--version",),
        lambda job: ["-x", "sr", "-t", job.t, "-d", job.index, job.reference],
        lambda job, out: ["-a", "-x", "sr", "-t", job.t, "-o", out, job.index, *job.fastq],
        writes=True,
    ),
    "bowtie2": Tool(
        ("bowtie2",),
        "Debian: bowtie2",
        ("--version",),
        lambda job: ["--threads", job.t, job.reference, job.index],
        lambda job, out: ["-p", job.t, "-x", job.index, *_bowtie2_reads(job), "-S", out],
        writes=True,
        indexer="bowtie2-build",
    ),
}  # fmt: skip
# Those of reads that bisulfite converted.
METH_TOOLS = {
    "gassst": _gassst("--meth"),
    "bwa-meth": Tool(
        ("bwameth.py",),
        SOURCE + "brentp/bwa-meth",
        ("--version",),
        lambda job: ["index", job.reference],
        lambda job, out: ["--reference", job.reference, "-t", job.t, *job.fastq],
    ),
    "minibwa": _minibwa("--meth"),
    "bismark": Tool(
        ("bismark",),
        SOURCE + "FelixKrueger/Bismark",
        ("--version",),
        lambda job: [str(job.folder)],
        _bismark_map,
        writes=True,
        indexer="bismark_genome_preparation",
        suffix="_pe",
    ),
}  # fmt: skip


def find(tool: Tool, given: str | None = None) -> tuple[str, ...] | None:
    """The command that starts a tool: the one `given` for it, or on PATH; None if there is none. gassst is this one."""
    if given is None and "gassst" in tool.programs:
        return (sys.executable, "-m", "gassst")
    for program in tool.programs if given is None else (given,):
        if path := shutil.which(program):
            return (path,)
    return None


def indexer(tool: Tool, program: tuple[str, ...]) -> tuple[str, ...]:
    """The program that indexes: the mapper itself, or one in its folder, or on PATH."""
    if tool.indexer is None:
        return program
    beside = Path(program[0]).resolve().parent / tool.indexer
    return (str(beside) if os.access(beside, os.X_OK) else tool.indexer,)


def version(tool: Tool, program: tuple[str, ...]) -> str:
    """The first thing that looks like a version in what the tool says of itself."""
    done = subprocess.run([*program, *tool.version], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    # A tool may say more on stderr, such as the times it took.
    found = re.search(r"\d+\.\d+[\w.+-]*", done.stdout) or re.search(r"\d+\.\d+[\w.+-]*", done.stderr)
    return found.group() if found else "unknown"
