"""Measure what README and docs/benchmarks say of speed: real libraries and simulated reads, gassst beside its peers.

    python scripts/bench/figures.py --data FOLDER --work FOLDER --json lab/data/figures.json
    python scripts/bench/figures.py libraries --data FOLDER ..      # some parts
    python scripts/bench/make_benchmarks.py                         # the pages, from the JSON file

A part is one set of reads with a number of threads; each tool maps it in turn, `ROUNDS` times. Reads are plain FASTQ,
output is SAM, and the time is that of the whole process, except for bwa-mem3: its Python package gives its aligner
alone (mem3_aligner.py). Parts that the JSON file has of the same commit and processor are not measured again; a file of
others is refused, for no table shall mix them. Genomes and reads that no --data folder has are left out.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from types import SimpleNamespace

import harness
import peers
from harness import run, write_json
from timed import NO_LIMIT, RunFailed, timed

from gassst.errors import InputError
from gassst.tools.mappers import TOOLS, ReadSet

ROUNDS = 3
PEERS = ("bwa-mem2", "minibwa", "strobealign", "bowtie2")
MEM3 = "bwa-mem3"
INSERT = "400,40"
GENOMES = {
    "human": "human_grch37_chr20_first45M.fa",
    "ecoli": "ecoli_k12_mg1655.fa",
    "yeast": "scerevisiae_s288c_R64-1-1.fa",
    "lambda": "lambda_NC_001416.1.fa",
    "phix": "phix174.fa",
}
LIBRARIES = {
    "human NA12878, 2 x 101": ("human", "human_NA12878_platinum_2x101_chr20_10.0-10.1M_R{}.fastq"),
    "E. coli, 2 x 150": ("ecoli", "ecoli_hiseq_16041_2x150_R{}.fastq"),
    "yeast ChIP input, 2 x 50": ("yeast", "scerevisiae_SRR5204809_100k_2x50_R{}.fastq"),
    "phiX, 26 + 98": ("phix", "phix_hiseq4000_12132_26-98_R{}.fastq"),
    "E. coli REL606, 36": ("ecoli", "ecoli_REL606_subset_36_SE.fastq"),
    "lambda, 35": ("lambda", "lambda_ga2_mixedpop_35_SE.fastq"),
}
# Bases, errors per base, and whether they are pairs.
SIMULATED = [
    *((100, error, paired) for paired in (False, True) for error in (0.005, 0.02, 0.05, 0.10)),
    (50, 0.05, False),
    (150, 0.02, False),
    (150, 0.005, True),
    (150, 0.02, True),
]
MANY_THREADS = [(100, 0.02, False), (150, 0.005, True)]


@dataclass(frozen=True)
class Part:
    name: str
    genome: str
    reads: ReadSet
    threads: int

    @property
    def key(self) -> str:
        return f"{self.name}, {self.threads} threads"


class Aligner(peers.Contestant):
    """bwa-mem3's aligner on the index of bwa-mem2, which says itself how long it took."""

    def prepare(self, reads, threads) -> None:
        pass

    def command(self, reads: ReadSet, threads: int, out: Path) -> list[str]:
        script = str(Path(__file__).with_name("mem3_aligner.py"))
        index = str(self.folder.parent / "bwa-mem2" / "index")
        return [sys.executable, script, index, str(threads), str(out), *map(str, reads.files)]

    def run(self, reads: ReadSet, threads: int, out: Path, timeout: float) -> dict:
        usage = timed(self.command(reads, threads, out), out.with_suffix(".log"), timeout)
        return usage | json.loads(out.read_text())

    def judge(self, out: Path, reads: ReadSet) -> dict:
        return {}


def found(name: str, folders: Sequence[Path]) -> Path | None:
    """A file of this name, with or without a suffix of compression."""
    return next((path for folder in folders for path in sorted(folder.glob(f"{name}*"))), None)


def library(files: str, args: argparse.Namespace) -> ReadSet | None:
    names = [files.format(mate) for mate in (1, 2)] if "{}" in files else [files]
    paths = [found(name, args.data) for name in names]
    if None in paths:
        return None
    mates = [str(peers.plain(path, args.work)) for path in paths if path]
    return peers.given_pairs(mates) if len(mates) > 1 else peers.given_reads(mates[0])


def simulated(reference: Path, length: int, error: float, paired: bool, number: int, folder: Path) -> ReadSet:
    """`number` reads, or mates of half as many pairs. Single reads and mates have files of the same name."""
    folder /= "pairs" if paired else "single"
    folder.mkdir(parents=True, exist_ok=True)
    count, pairs = (number // 2, ["--pairs", INSERT]) if paired else (number, [])
    options, stem = ["-l", str(length), "-e", str(error), *pairs], f"reads_{length}_{error}_{count}"
    files = map(Path, harness.simulated(str(reference), stem, options, count, 1 + paired, folder))
    name, more = f"{'2 x ' * paired}{length} bp {100 * error:g}%", {"insert": INSERT} if paired else {}
    first, *second = files
    return ReadSet(name, first, (1 + paired) * count, length, error, mates=next(iter(second), None), **more)


def parts(genomes: dict[str, Path], args: argparse.Namespace) -> list[Part]:
    """Every part that was asked for and whose files are there."""
    made: list[Part] = []
    if "libraries" in args.parts:
        for name, (genome, files) in LIBRARIES.items():
            reads = library(files, args) if genome in genomes else None
            if reads:
                made.append(Part(name, genome, replace(reads, name=name, error=None), 1))
    wanted = [(1, SIMULATED, args.number)] if "simulated" in args.parts else []
    wanted += [(args.threads, MANY_THREADS, 10 * args.number)] if "threads" in args.parts else []
    if "human" not in genomes:
        return made
    jobs = [(threads, *kind, number) for threads, kinds, number in wanted for kind in kinds]
    with ThreadPoolExecutor(args.lanes) as pool:
        sets = pool.map(
            lambda job: simulated(genomes["human"], *job[1:], args.work / f"simulated_{job[0]}"), jobs
        )
        made += [Part(reads.name, "human", reads, job[0]) for job, reads in zip(jobs, sets, strict=True)]
    return made


def contestants(genomes: dict[str, Path], args: argparse.Namespace) -> dict[str, list[peers.Contestant]]:
    """Enter every mapper that is there for each genome."""
    all_of: dict[str, list[peers.Contestant]] = {}
    for genome, path in genomes.items():
        folder = args.work / genome
        shutil.rmtree(folder, ignore_errors=True)  # indexes of another commit
        folder.mkdir()
        all_of[genome] = peers.enter(["gassst", *PEERS], folder, path, dict(args.bin))
        if importlib.util.find_spec("bwa_mem3"):
            found_version = importlib.metadata.version(MEM3)
            all_of[genome].append(Aligner(MEM3, TOOLS["bwa-mem2"], (), folder / MEM3, found_version))
    return all_of


def build_indexes(wanted: Iterable[Part], all_of: dict[str, list[peers.Contestant]], args) -> None:
    """Every index, side by side: how long this takes is not measured."""
    lengths: dict[str, dict[int, ReadSet]] = {}
    for part in wanted:
        lengths.setdefault(part.genome, {})[part.reads.length] = part.reads

    def build(job: tuple[peers.Contestant, dict[int, ReadSet]]) -> None:
        one, sets = job
        try:
            for reads in sets.values():
                one.prepare(reads, max(1, args.lanes // 2))
        except RunFailed as error:
            peers.say(f"{one.folder.parent.name} {one.name}: no index: {error}")
            all_of[one.folder.parent.name].remove(one)

    jobs = [(one, sets) for genome, sets in lengths.items() for one in all_of[genome]]
    with ThreadPoolExecutor(args.lanes) as pool:
        list(pool.map(build, jobs))


def measure(part: Part, tools: list[peers.Contestant], work: Path) -> dict:
    """The rounds of one part."""
    lane = work / f"lane_{part.key}".replace(" ", "_").replace(",", "")
    lane.mkdir(exist_ok=True)
    takes_part = {
        MEM3: part.reads.mates is not None,  # the package aligns pairs alone
        "bowtie2": part.reads.error is None,  # the slowest: real libraries alone
    }
    asked = [one for one in tools if takes_part.get(one.name, True)]
    options = SimpleNamespace(rounds=ROUNDS, threads=part.threads, timeout=NO_LIMIT)
    result = peers.bench_set(part.reads, asked, lane, options)
    return {"threads": part.threads, "genome": part.genome, **result}


def main(argv: list[str] | None = None) -> None:
    kinds = ("libraries", "simulated", "threads")
    p = harness.benchmark_parser(__doc__)
    p.add_argument("parts", nargs="*", default=kinds, metavar="|".join(kinds), help="what to measure [all]")
    p.add_argument("--data", type=Path, action="append", required=True, help="a folder of genomes and reads")
    p.add_argument("--work", type=Path, required=True, help="for reads, indexes and output; reads are kept")
    p.add_argument("--threads", type=int, default=16, help="of the part `threads` [%(default)s]")
    p.add_argument("--lanes", type=int, default=1, help="runs of one thread side by side [%(default)s]")
    p.add_argument("-n", "--number", type=int, default=100_000, help="simulated reads of a set [%(default)s]")
    p.add_argument("--bin", action="append", type=peers.parse_binary, default=[], metavar="NAME=PATH")
    p.add_argument("--commit", default=harness.commit(), help="of the code, where git cannot tell")
    args = p.parse_args(argv)
    args.work.mkdir(parents=True, exist_ok=True)
    args.work = args.work.resolve()
    places = {name: path for name, file in GENOMES.items() if (path := found(file, args.data))}
    genomes = {name: peers.plain(path, args.work) for name, path in places.items()}
    about = {
        "commit": args.commit,
        "cpu": harness.machine()["cpu"],
        "cpus": harness.machine()["cpus"],
    }
    before = json.loads(Path(args.json).read_text()) if args.json and Path(args.json).exists() else {}
    if before and {key: before[key] for key in about} != about:
        raise InputError(f"{args.json} is of another commit or machine: name another file, or delete it")
    done = before.get("sets", {})
    began, lock = time.monotonic(), Lock()
    wanted = [part for part in parts(genomes, args) if part.key not in done]
    order = [*done, *(part.key for part in wanted)]  # parts end in another
    all_of = contestants(genomes, args)
    build_indexes(wanted, all_of, args)
    peers.say(f"prepared in {time.monotonic() - began:.0f} s")
    tools = {one.name: one.version for ones in all_of.values() for one in ones}

    def finish(part: Part) -> None:
        try:
            done[part.key] = measure(part, all_of[part.genome], args.work)
        except RunFailed as error:
            peers.say(f"{part.key}: {error}")
        with lock:
            sets = {key: done[key] for key in order if key in done}
            write_json(
                args.json, {**about, "rounds": ROUNDS, "lanes": args.lanes, "tools": tools, "sets": sets}
            )

    for part in wanted:
        if part.threads > 1:
            finish(part)
    with ThreadPoolExecutor(args.lanes) as pool:
        list(pool.map(finish, [part for part in wanted if part.threads == 1]))
    peers.say(f"all in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    run(main)
