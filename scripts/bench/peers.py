"""Times and judges gassst beside other mappers: contestants, sets of reads, and rounds in turn. `figures.py` calls it.

Each tool builds its index once. Then every round runs each tool once on a set, in turn, so that a slow minute of the
machine falls on all of them. Time is that of the whole process. Reads with truth in their names (see `gassst evaluate`)
are judged by it, others by how many map. A number of reads counts mates, two a pair.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shlex
import shutil
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pysam
from timed import RunFailed, timed
from xopen import xopen

from gassst.errors import InputError
from gassst.model.sam_flags import PROPER_PAIR, UNMAPPED
from gassst.tools.evaluate import count_reads, evaluate
from gassst.tools.mappers import TOOLS, MapperRun, ReadSet, Tool, find, indexer, version
from gassst.tools.truth import detect, read_alignments

CONFIDENT, TOLERANCE = 20, 10  # MAPQ, bases
PAIR_SHARES = ("proper_share", "both_right_share", "proper_accuracy")


def shown(command: list[str]) -> str:
    """The command as others would type it: files and programs without their folders."""
    return shlex.join(Path(part).name if os.sep in part else part for part in command)


@dataclass
class Contestant:
    """A tool with its program, the version of that, a folder for its indexes, and further options."""

    name: str
    tool: Tool
    program: tuple[str, ...]
    folder: Path
    version: str
    options: Sequence[str] = ()

    def job(self, reads: ReadSet, threads: int) -> MapperRun:
        return MapperRun(self.program, self.folder, threads, reads)

    def command(self, reads: ReadSet, threads: int, out: Path) -> list[str]:
        first, *rest = self.tool.map(self.job(reads, threads), str(out))
        return [*self.program, first, *self.options, *rest]

    def prepare(self, reads: ReadSet, threads: int) -> None:
        """Builds the index if it is not there yet. Raises RunFailed."""
        done = self.folder / f"indexed{f'_{reads.length}' if self.tool.per_length else ''}"
        if done.exists():
            return
        if self.tool.index:
            command = [*indexer(self.tool, self.program), *self.tool.index(self.job(reads, threads))]
            timed(command, self.folder / "index.log")
        done.touch()

    def run(self, reads: ReadSet, threads: int, out: Path, timeout: float) -> dict:
        log = out.with_suffix(".log") if self.tool.writes else out
        usage = timed(self.command(reads, threads, out), log, timeout)
        made = self.tool.output(self.job(reads, threads), out)
        if not made.exists():
            raise RunFailed("no output")
        made.replace(out)
        return usage

    def judge(self, out: Path, reads: ReadSet) -> dict:
        return judge(out, reads)


Judge = Callable[[Contestant, Path], dict]


def judge(path: Path, reads: ReadSet) -> dict:
    """Figures of `gassst evaluate`, or where there is no truth the shares that are mapped, at all and confidently."""
    if reads.has_truth:
        found = evaluate(str(path), TOLERANCE, CONFIDENT, reads.number)
        figures = {
            key: found["all"][key] for key in ("mapped_share", "placed_right", "sensitivity", "accuracy")
        }
        pair = found["pairs"] if reads.mates else {}
        return figures | {key: pair[key] for key in PAIR_SHARES if key in pair}
    mapped = confident = proper = 0
    for chunk in read_alignments(str(path)):
        placed = chunk.flags & UNMAPPED == 0
        mapped += int(placed.sum())
        confident += int((placed & (chunk.mapq >= CONFIDENT)).sum())
        proper += int((placed & (chunk.flags & PROPER_PAIR != 0)).sum())
    shares = {"mapped_share": mapped / reads.number, "confident_share": confident / reads.number}
    return {**shares, "proper_share": proper / reads.number} if reads.mates else shares


def summary(rounds: list[dict], reads: ReadSet) -> dict:
    """Medians of the rounds, and a rate; RSS is the highest."""
    wall, cpu = (statistics.median(one[key] for one in rounds) for key in ("wall", "cpu"))
    rss = max(one["rss"] for one in rounds)
    return {"rounds": rounds, "wall": wall, "cpu": cpu, "rss": rss, "reads_per_cpu_s": reads.number / cpu}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def bench_set(
    reads: ReadSet, contestants: list[Contestant], work: Path, args, judged: Judge | None = None
) -> dict:
    """All rounds of one set. What the first round wrote is judged; no output outlives its run."""
    runs: dict[str, dict] = {one.name: {} for one in contestants}
    rounds: dict[str, list[dict]] = {one.name: [] for one in contestants}
    for turn in range(args.rounds):
        for one in contestants:
            run = runs[one.name]
            if reads.mates and not one.tool.pairs:
                run["failed"] = "takes no pairs"
            if "failed" in run:
                continue
            out = work / "out.sam"
            try:
                one.prepare(reads, args.threads)
                usage = one.run(reads, args.threads, out, args.timeout)
                rounds[one.name].append(usage)
                if turn == 0:
                    run["command"] = shown(one.command(reads, args.threads, out))
                    run.update(judged(one, out) if judged else one.judge(out, reads))
                say(f"{reads.name} {one.name}: {usage['wall']:.1f} s, CPU {usage['cpu']:.1f} s")
            except RunFailed as error:
                run["failed"] = str(error)
                say(f"{reads.name} {one.name}: {error}")
            finally:
                out.unlink(missing_ok=True)
                out.with_suffix(".log").unlink(missing_ok=True)
    for one in contestants:
        if "failed" not in runs[one.name]:
            runs[one.name].update(summary(rounds[one.name], reads))
    kind = {"name": reads.name, "reads": reads.number, "length": reads.length, "error": reads.error}
    return {**kind, **({"paired": True, "insert": reads.insert} if reads.mates else {}), "runs": runs}


def given_pairs(paths: list[str]) -> ReadSet:
    """Two files of mates as they are. Raises InputError where one has more reads than the other."""
    first, second = map(given_reads, paths)
    if first.number != second.number:
        raise InputError(f"{paths[0]} has {first.number} reads, {paths[1]} has {second.number}")
    return replace(first, mates=second.path, number=2 * first.number)


def given_reads(path: str) -> ReadSet:
    """A file of reads as it is: its size, median length, and whether its names tell the truth."""
    with pysam.FastxFile(path) as file:
        first = [(read.name, len(read.sequence)) for read in itertools.islice(file, 1000)]
    if not first:
        raise InputError(f"{path}: no reads")
    try:
        detect(first[0][0], path)
        has_truth = True
    except InputError:
        has_truth = False
    length = int(statistics.median(length for _, length in first))
    return ReadSet(Path(path).name, Path(path).resolve(), count_reads(path), length, None, has_truth)


def enter(
    names: Sequence[str],
    work: Path,
    reference: Path,
    given: Mapping[str, str],
    tools: Mapping[str, Tool] = TOOLS,
) -> list[Contestant]:
    """A contestant for each tool that is there; `given`: paths of programs, by name. Indexes in `work` are used."""
    contestants = []
    for name in names:
        tool = tools[name]
        program = find(tool, given.get(name))
        if program is None:
            say(f"not found: {name}; {tool.get}, or --bin {name}=PATH")
            continue
        folder = work / name
        if not folder.exists():
            folder.mkdir(parents=True)
            (folder / "reference.fa").symlink_to(reference)
        contestants.append(Contestant(name, tool, program, folder, version(tool, program)))
    return contestants


def plain(path: Path, folder: Path) -> Path:
    """The file without compression, which not every tool reads; what is unpacked lies in the folder."""
    if path.suffix not in (".gz", ".bz2", ".xz", ".zst"):
        return path.resolve()
    target = folder / path.stem
    if not target.exists():
        with xopen(path, "rb") as source, target.open("wb") as out:
            shutil.copyfileobj(source, out)
    return target


def parse_binary(text: str) -> tuple[str, str]:
    name, _, path = text.partition("=")
    if name not in TOOLS or not path:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=PATH of one of {', '.join(TOOLS)}")
    return name, path
