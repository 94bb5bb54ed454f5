"""Time and judge gassst beside other mappers: one genome, any sets of reads, the same threads, in turn.

    python scripts/bench/peers.py genome.fa --grid short -n 200000 --json peers.json
    python scripts/bench/peers.py genome.fa --simulate 100,0.02 --tools gassst bwa --rounds 3
    python scripts/bench/peers.py genome.fa --grid short --pairs 300,30 -n 100000 --json pairs.json
    python scripts/bench/peers.py genome.fa --reads real.fq.gz --agree-with bwa-mem2
    python scripts/bench/peers.py genome.fa --mates R1.fq.gz R2.fq.gz --agree-with bwa-mem2
    python scripts/bench/peers.py --show peers.json

Each tool builds its index once. Then every round runs each tool once on each set, in turn, so that a slow
minute of the machine falls on all of them. Time is that of the whole process. Reads with truth in their names
(see `gassst evaluate`) are judged by it, others by how many map. With --agree-with, two mappers that are
both confident are compared, too (scripts/check/samdiff.py lists where they differ).
With --pairs the simulated sets are pairs, -n of each; the tables count reads, two a pair.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import harness
import peer_agreement
import peer_tables
import pysam
from harness import laid_out
from peer_agreement import CONFIDENT, TOLERANCE, Placements
from peer_tools import TOOLS, MapperRun, ReadSet, Tool, find, indexer, version
from turns import NO_LIMIT, RunFailed, timed
from xopen import xopen

from gassst.errors import GassstError, InputError
from gassst.model.sam_flags import PROPER_PAIR, UNMAPPED
from gassst.tools.evaluate import count_reads, evaluate
from gassst.tools.truth import detect, read_alignments

GRIDS = {
    "thesis": [(length, error) for length in (50, 100, 200, 500) for error in (0.02, 0.05, 0.10)],
    "short": [(length, error) for length in (50, 100, 150) for error in (0.005, 0.02, 0.05, 0.10)],
}
STARTS = (
    3  # of which the least counts: what a start takes more goes off every run, and short runs would take 0 s
)
FEW = 2  # reads, to see what it takes to start: SeqAn 2.4 cannot read a file of one


def shown(command: list[str]) -> str:
    """The command as others would type it: files and programs without their folders."""
    return shlex.join(Path(part).name if os.sep in part else part for part in command)


@dataclass
class Contestant:
    """A tool, or a variant of one with `options` of its own, and what was measured of its index and start."""

    name: str
    tool: Tool
    program: tuple[str, ...]
    folder: Path
    options: list[str] = field(default_factory=list)
    indexed: set[int] = field(default_factory=set)
    about: dict = field(default_factory=dict)

    def job(self, reads: ReadSet, threads: int) -> MapperRun:
        return MapperRun(self.program, self.folder, threads, reads)

    def command(self, reads: ReadSet, threads: int, out: Path) -> list[str]:
        first, *rest = self.tool.map(self.job(reads, threads), str(out))
        # Behind the subcommand, where there is one; else in front of all.
        at = [first, *self.options, *rest] if not first.startswith("-") else [*self.options, first, *rest]
        return [*self.program, *at]

    def prepare(self, reads: ReadSet, threads: int, timeout: float) -> None:
        """Builds the index if it is not there yet, and times that and a run with next to no reads."""
        key = reads.length if self.tool.per_length else 0
        if key in self.indexed:
            return
        if self.tool.index:
            self.build_index(reads, threads)
        if self.about["start"] is None:
            few = few_of(reads, self.folder), threads, self.folder / "few.sam", timeout
            self.about["start"] = min((self.run(*few) for _ in range(STARTS)), key=lambda usage: usage["cpu"])
        self.indexed.add(key)

    def build_index(self, reads: ReadSet, threads: int) -> None:
        before = folder_size(self.folder)
        command = [*indexer(self.tool, self.program), *self.tool.index(self.job(reads, threads))]
        usage = timed(command, self.folder / "index.log")
        size = folder_size(self.folder) - before
        self.about["index"] = self.about["index"] or {"command": shown(command), **usage, "bytes": size}

    def run(self, reads: ReadSet, threads: int, out: Path, timeout: float) -> dict:
        log = out.with_suffix(".log") if self.tool.writes else out
        usage = timed(self.command(reads, threads, out), log, timeout)
        if not out.exists():
            raise RunFailed("no output")
        return usage

    def judge(self, out: Path, reads: ReadSet) -> dict:
        return judge(out, reads)


def few_of(reads: ReadSet, folder: Path) -> ReadSet:
    """The first reads, or pairs, of a set, in files of their own."""
    files = []
    for mate, path in enumerate(reads.files):
        few = folder / f"few_{mate + 1}.fq"
        with pysam.FastxFile(str(path)) as file:
            few.write_text("".join(f"{read}\n" for read in itertools.islice(file, FEW)))
        files.append(few)
    return replace(reads, path=files[0], mates=files[1] if reads.mates else None, number=FEW * len(files))


def folder_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir() if not path.is_symlink())


def judge(path: Path, reads: ReadSet) -> dict:
    """Figures of `gassst evaluate`, or where there is no truth the shares that are mapped, at all and confidently."""
    if reads.has_truth:
        found = evaluate(str(path), TOLERANCE, CONFIDENT, reads.number)
        figures = {
            key: found["all"][key] for key in ("mapped_share", "placed_right", "sensitivity", "accuracy")
        }
        pair = found["pairs"] if reads.mates else {}
        return figures | {key: pair[key] for key in peer_tables.PAIR_SHARES if key in pair}
    mapped = confident = proper = 0
    for chunk in read_alignments(str(path)):
        placed = chunk.flags & UNMAPPED == 0
        mapped += int(placed.sum())
        confident += int((placed & (chunk.mapq >= CONFIDENT)).sum())
        proper += int((placed & (chunk.flags & PROPER_PAIR != 0)).sum())
    shares = {"mapped_share": mapped / reads.number, "confident_share": confident / reads.number}
    return {**shares, "proper_share": proper / reads.number} if reads.mates else shares


def summary(rounds: list[dict], start: dict, reads: ReadSet) -> dict:
    """Medians of the rounds, and rates; RSS is the highest."""
    wall, cpu = (statistics.median(one[key] for one in rounds) for key in ("wall", "cpu"))
    return {
        "rounds": rounds,
        "wall": wall,
        "cpu": cpu,
        "rss": max(one["rss"] for one in rounds),
        "reads_per_s": reads.number / wall,
        "reads_per_cpu_s": reads.number / cpu,
        "net_us": 1e6 * max(cpu - start["cpu"], 0) / reads.number,
    }


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def bench_set(reads: ReadSet, contestants: list[Contestant], work: Path, args) -> dict:
    """All rounds of one set. What the first round wrote is judged; no output outlives its run."""
    runs: dict[str, dict] = {one.name: {} for one in contestants}
    rounds: dict[str, list[dict]] = {one.name: [] for one in contestants}
    agreed: Placements = {}
    for turn in range(args.rounds):
        for one in contestants:
            run = runs[one.name]
            if reads.mates and not one.tool.pairs:
                run["failed"] = "takes no pairs"
            if "failed" in run:
                continue
            out = work / "out.sam"
            try:
                one.prepare(reads, args.threads, args.timeout)
                usage = one.run(reads, args.threads, out, args.timeout)
                rounds[one.name].append(usage)
                if turn == 0:
                    run["command"] = shown(one.command(reads, args.threads, out))
                    run.update(one.judge(out, reads))
                if turn == 0 and args.agree_with:
                    found = peer_agreement.placements(out)
                    agreed = found if one.name == args.agree_with else agreed
                    run["agreement"] = peer_agreement.agreement(found, agreed)
                say(f"{reads.name} {one.name}: {usage['wall']:.1f} s, CPU {usage['cpu']:.1f} s")
            except RunFailed as error:
                run["failed"] = str(error)
                say(f"{reads.name} {one.name}: {error}")
            finally:
                out.unlink(missing_ok=True)
                out.with_suffix(".log").unlink(missing_ok=True)
    for one in contestants:
        if "failed" not in runs[one.name]:
            runs[one.name].update(summary(rounds[one.name], one.about["start"], reads))
    kind = {"name": reads.name, "reads": reads.number, "length": reads.length, "error": reads.error}
    return {**kind, **({"paired": True, "insert": reads.insert} if reads.mates else {}), "runs": runs}


def simulate(reference: Path, length: int, error: float, work: Path, args: argparse.Namespace) -> ReadSet:
    mates = 2 if args.pairs else 1
    files = [work / f"reads_{length}_{error}_{mate + 1}.fq" for mate in range(mates)]
    options = ["-n", args.number, "-l", length, "-e", error, "--seed", args.seed]
    options += ["--pairs", args.pairs] if args.pairs else []
    options += [word for file in files for word in ("-o", file)]
    subprocess.run([sys.executable, "-m", "gassst", "simulate", reference, *map(str, options)], check=True)
    name = f"{'2 x ' if args.pairs else ''}{length} bp {100 * error:g}%"
    second = files[1] if args.pairs else None
    return ReadSet(name, files[0], mates * args.number, length, error, mates=second, insert=args.pairs)


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


def read_sets(reference: Path, work: Path, args: argparse.Namespace):
    """Yields each set; simulated ones are there only as long as they are in use."""
    yield from map(given_reads, args.reads)
    yield from map(given_pairs, args.mates)
    for length, error in [*args.simulate, *GRIDS.get(args.grid, [])]:
        reads = simulate(reference, length, error, work, args)
        yield reads
        for path in reads.files:
            path.unlink()


def enter(names: list[str], work: Path, reference: Path, args: argparse.Namespace):
    """Contestants, the one to agree with first, and how to get those that are missing."""
    entries = [(name, name, []) for name in names] + args.variant
    entries.sort(key=lambda entry: entry[0] != args.agree_with)
    contestants, missing = [], {}
    for name, base, options in entries:
        tool, program = TOOLS[base], find(base, args.bin)
        if program is None:
            missing[name] = tool.get
            continue
        folder = work / name
        folder.mkdir()
        (folder / "reference.fa").symlink_to(reference)
        about = {"version": version(tool, program), "index": None, "start": None}
        contestants.append(Contestant(name, tool, program, folder, options, about=about))
    return contestants, missing


def machine() -> dict:
    """The machine as the tables name it."""
    facts = harness.machine()
    return {
        "cpu": facts["cpu"],
        "cores": facts["cpus"],
        "ram_gb": round(facts["memory_bytes"] / 2**30, 1),
        "system": facts["system"].split()[0],
        "load": round(facts["load"], 2),
    }


def plain_reference(path: Path, work: Path) -> Path:
    """The reference as plain FASTA: not every tool reads compressed files."""
    if path.suffix not in (".gz", ".bz2", ".xz", ".zst"):
        return path.resolve()
    plain = work / path.stem
    with xopen(path, "rb") as source, plain.open("wb") as target:
        shutil.copyfileobj(source, target)
    return plain


def bench(args: argparse.Namespace, work: Path) -> dict:
    reference = plain_reference(args.reference, work)
    contestants, missing = enter(args.tools, work, reference, args)
    for name, how in missing.items():
        say(f"not found: {name}; {how}, or --bin {name}=PATH")
    if args.agree_with in missing:
        sys.exit(f"--agree-with {args.agree_with}: not found")
    result = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="minutes"),
        "machine": machine(),
        "reference": {"file": args.reference.name, "bytes": reference.stat().st_size},
        "threads": args.threads,
        "rounds": args.rounds,
        "grid": args.grid,
        "agree_with": args.agree_with,
        "missing": missing,
    }
    measured = [bench_set(reads, contestants, work, args) for reads in read_sets(reference, work, args)]
    return {**result, "tools": {one.name: one.about for one in contestants}, "sets": measured}


def _pair(text: str) -> tuple[int, float]:
    length, _, error = text.partition(",")
    return int(length), float(error)


def parse_binary(text: str) -> tuple[str, str]:
    name, _, path = text.partition("=")
    if name not in TOOLS or not path:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=PATH of one of {', '.join(TOOLS)}")
    return name, path


def parse_variant(text: str) -> tuple[str, str, list[str]]:
    name, _, command = text.partition("=")
    base, *options = shlex.split(command) or [""]
    if base not in TOOLS or not name or name in TOOLS:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=TOOL OPTIONS with a new NAME")
    return name, base, options


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("reference", nargs="?", type=Path, metavar="GENOME.fa")
    add("--reads", nargs="+", default=[], metavar="FASTQ", help="reads, with truth in their names or not")
    add("--mates", nargs=2, action="append", default=[], metavar=("R1.fq", "R2.fq"), help="pairs, the same")
    add(
        "--simulate", nargs="+", type=_pair, default=[], metavar="LENGTH,ERROR", help="reads made for the run"
    )
    add("--grid", choices=list(GRIDS), help="twelve simulated sets: thesis is Table 4.2 of Rizk")
    add("-n", "--number", type=int, default=200_000, help="reads or pairs of each simulated set [200000]")
    add("--pairs", metavar="MEAN,SD", help="simulate pairs with this insert size")
    add("--seed", type=int, default=1, help="of the simulated sets [1]")
    add("--tools", nargs="+", choices=list(TOOLS), default=list(TOOLS), help="[all]")
    add("--bin", action="append", type=parse_binary, default=[], metavar="NAME=PATH", help="where a tool is")
    add("--variant", action="append", type=parse_variant, default=[], metavar="'NAME=TOOL OPTIONS'",
        help="a tool once more, with options of its own: 'gassst-s4=gassst -s 4'")  # fmt: skip
    add("--threads", type=int, default=2, help="of every tool [2]")
    add("--rounds", type=int, default=3, help="runs of each tool on each set [3]")
    add("--timeout", type=float, default=NO_LIMIT, metavar="SECONDS", help="give a run up after this long")
    add("--agree-with", metavar="NAME", help="also compare places with those of this tool")
    add("--work", type=Path, metavar="DIR", help="where to put indexes, reads and output; removed afterwards")
    add("--json", type=Path, metavar="OUT.json", help="write everything that was measured")
    add("--show", type=Path, metavar="IN.json", help="only print the tables of an earlier run")
    args = parser.parse_args(argv)
    args.bin = dict(args.bin)
    _verify(parser, args)
    return args


def _verify(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    if args.show:
        return
    if not args.reference or not (args.reads or args.mates or args.simulate or args.grid):
        parser.error("a genome and one of --reads, --mates, --simulate, --grid are needed")
    if min(args.rounds, args.threads, args.number) < 1:
        parser.error("--rounds, --threads and -n must be at least 1")
    names = [*args.tools, *(name for name, *_ in args.variant)]
    if args.agree_with and args.agree_with not in names:
        parser.error(f"--agree-with {args.agree_with} is not among the tools")


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    if args.show:
        print(peer_tables.everything(json.loads(args.show.read_text())))
        return 0
    if args.work:
        args.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="peers-", dir=args.work) as work:
        try:
            result = bench(args, Path(work))
        except (GassstError, RunFailed) as error:
            sys.exit(f"peers: {error}")
    if args.json:
        args.json.write_text(laid_out(result) + "\n")
    print(peer_tables.everything(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
