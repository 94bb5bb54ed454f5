"""The evidence of Rizk's chapter 4, measured again: Tables 4.1 to 4.4.

    python scripts/bench/thesis.py human13.fa -n 20000 --json build/thesis.json \
        --real "36 bp=ecoli.fa,s36.fq.gz" --real "50 bp=yeast.fa,s50.fq.gz" --real "101 bp=human13.fa,s101.fq.gz"

Simulated reads are of GENOME, in the twelve kinds of Table 4.2. Each set of real reads has a genome of its own. Every
program runs with one thread, as it did then, and seconds are CPU seconds without those that it takes to start and to
load the index. The tables are printed as lab/thesis.md has them.
"""

from __future__ import annotations

import argparse
import datetime
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import filters
import peer_agreement
import peers
import pysam
import rizk
import thesis_page
from harness import benchmark_parser, run, write_json
from peer_tools import ReadSet

from gassst.errors import UsageError
from gassst.index.choice import load_index

TOOLS = ("bwa", "bwa-mem2", "minibwa", "bowtie2")
REAL_OPTIONS = ["--mode", "global", "-p", "90"]  # 4.7.3: at most 10 % errors
QUESTIONABLE = 20  # 4.7.3: a score of another program that is less than this below
DIFFERENCE_COST = 3  # 4.7.3: matches less three times the differences


class RealSet(NamedTuple):
    name: str
    genome: Path
    reads: Path


def parse_real(text: str) -> RealSet:
    """NAME=GENOME,READS."""
    name, _, files = text.partition("=")
    genome, _, reads = files.partition(",")
    if not reads:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=GENOME,READS")
    return RealSet(name, Path(genome), Path(reads))


class Found(NamedTuple):
    """A primary alignment: its place, the score of 4.7.3, and whether its mapping quality is at least 20."""

    place: tuple[str, int, int, int]
    score: int
    is_confident: bool


def read_score(segment: pysam.AlignedSegment) -> int:
    """Matches less three times the differences; every base of a gap is a difference (Rizk 4.7.3)."""
    bases = Counter()
    for operation, length in segment.cigartuples or []:
        bases[operation] += length
    aligned = sum(bases[operation] for operation in (pysam.CMATCH, pysam.CEQUAL, pysam.CDIFF))
    gaps = bases[pysam.CINS] + bases[pysam.CDEL]
    differences = int(segment.get_tag("NM"))
    return aligned - (differences - gaps) - DIFFERENCE_COST * differences


def primary_alignments(path: Path) -> dict[str, Found]:
    """What a program wrote of single reads, by name."""
    found = {}
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        for segment in file:
            if segment.is_unmapped or segment.is_secondary or segment.is_supplementary:
                continue
            span = segment.reference_start, segment.reference_end or segment.reference_start
            place = segment.reference_name or "*", int(segment.is_reverse), *span
            is_confident = segment.mapping_quality >= peer_agreement.CONFIDENT
            found[segment.query_name or ""] = Found(place, read_score(segment), is_confident)
    return found


def questionable(ours: dict[str, Found], others: list[dict[str, Found]]) -> int:
    """Confident alignments that another program places elsewhere with a score that is better or little worse."""

    def is_doubted(name: str, our: Found) -> bool:
        theirs = (other[name] for other in others if name in other)
        return any(
            our.score - their.score < QUESTIONABLE
            and not peer_agreement.is_same_place(our.place, their.place)
            for their in theirs
        )

    return sum(our.is_confident and is_doubted(name, our) for name, our in ours.items())


def net_us(usage: dict, one: peers.Contestant, reads: ReadSet) -> float:
    """CPU microseconds of a read beyond those of the start."""
    return 1e6 * max(usage["cpu"] - one.about["start"]["cpu"], 0) / reads.number


def table_4_1(real: RealSet, args: argparse.Namespace, work: Path) -> dict[str, Any]:
    """One set of real reads: what each program takes, and how often it is confident and questionable."""
    work.mkdir()
    args.variant = [("gassst -p 90", "gassst", REAL_OPTIONS)]
    contestants, missing = peers.enter(
        ["gassst", *args.tools], work, peers.plain_reference(real.genome, work), args
    )
    reads = peers.given_reads(str(real.reads))
    outputs, runs = {}, {}
    for one in contestants:
        one.prepare(reads, args.threads, args.timeout)
        out = work / f"{one.name}.sam"
        usage = one.run(reads, args.threads, out, args.timeout)
        outputs[one.name] = primary_alignments(out)
        out.unlink()
        index = one.about["index"]
        runs[one.name] = {"index_cpu": index["cpu"] if index else None, "net_us": net_us(usage, one, reads)}
        peers.say(f"{real.name} {one.name}: CPU {usage['cpu']:.1f} s")
    for name, ours in outputs.items():
        others = [other for key, other in outputs.items() if not is_same_program(key, name)]
        confident = sum(our.is_confident for our in ours.values())
        runs[name]["confident_share"] = confident / reads.number
        runs[name]["questionable_share"] = questionable(ours, others) / max(1, confident)
    versions = {one.name: one.about["version"] for one in contestants}
    return {
        "name": real.name,
        "genome": real.genome.name,
        "file": real.reads.name,
        "reads": reads.number,
        "length": reads.length,
        "tools": versions,
        "missing": missing,
        "runs": runs,
    }


def is_same_program(a: str, b: str) -> bool:
    """Whether two names are gassst with other options."""
    return a.split()[0] == b.split()[0]


def table_4_2(args: argparse.Namespace, work: Path) -> dict[str, Any]:
    """The twelve simulated sets, with the two settings of appendix A.2 beside our defaults; `peers.py`'s form."""
    work.mkdir()
    reference = peers.plain_reference(args.genome, work)
    args.variant = [(f"gassst {name}", "gassst", []) for name in rizk.APPENDIX_A_2]
    contestants, missing = peers.enter(["gassst", *args.tools], work, reference, args)
    contestants.sort(key=lambda one: not is_same_program(one.name, "gassst"))
    sets = []
    for length, error in peers.GRIDS["thesis"]:
        for one in contestants:
            setting = rizk.APPENDIX_A_2.get(one.name.partition(" ")[2])
            if setting:
                one.options = gassst_options(setting[length, error])
        reads = peers.simulate(reference, length, error, work, args)
        sets.append(peers.bench_set(reads, contestants, work, None, args))
        reads.path.unlink()
    return {"tools": {one.name: one.about for one in contestants}, "missing": missing, "sets": sets}


def gassst_options(setting: rizk.Settings) -> list[str]:
    """Appendix A.2 on our command line."""
    pairs = zip(("-w", "-p", "-g", "-s"), setting, strict=True)
    return ["--mode", "global", *(str(word) for pair in pairs for word in pair)]


def filter_options(number: int, setting: rizk.Settings | None = None) -> argparse.Namespace:
    """Of `filters.run_dataset`: the thesis's filters alone, on every candidate. Without a setting: 90 % (4.7.5)."""
    w, p, g, s = setting or (None, 90, None, 2)
    return argparse.Namespace(
        order=rizk.FILTERS, record=(), reads_limit=number, repeat=1,
        batch_size=16384, seed_length=w, min_identity=p, gaps=g, sensitivity=s, all=True,
    )  # fmt: skip


def filtering(args: argparse.Namespace, work: Path) -> Iterator[dict[str, Any]]:
    """What the filters discard of each simulated set, and what they cost (Table 4.4)."""
    work.mkdir()
    index = load_index(str(args.genome), 1)
    for length, error in peers.GRIDS["thesis"]:
        reads = peers.simulate(args.genome, length, error, work, args)
        options = filter_options(args.filtered_reads, rizk.APPENDIX_A_2["fast"][length, error])
        yield {
            "length": length,
            "error": error,
            **filters.run_dataset(str(reads.path), index, options),
        }
        reads.path.unlink()
        peers.say(f"filters, {reads.name}")


def real_filtering(real: RealSet, args: argparse.Namespace) -> dict[str, Any]:
    """Table 4.3: what the filters discard of one set of real reads."""
    index = load_index(str(real.genome), 1)
    options = filter_options(args.filtered_reads)
    peers.say(f"filters, {real.name}")
    return {"name": real.name, **filters.run_dataset(str(real.reads), index, options)}


def measure(args: argparse.Namespace, work: Path) -> dict[str, Any]:
    """All of it; the form of the JSON file."""
    head = {
        "date": datetime.date.today().isoformat(),
        "genome": args.genome.name,
        "number": args.number,
        "filtered_reads": args.filtered_reads,
        "threads": args.threads,
        "on": peers.machine(),
    }
    return {
        **head,
        "table_4_1": [table_4_1(real, args, work / f"real{i}") for i, real in enumerate(args.real)],
        "table_4_2": table_4_2(args, work / "simulated"),
        "table_4_3": [real_filtering(real, args) for real in args.real],
        "filters": list(filtering(args, work / "filters")),
    }


def build_parser() -> argparse.ArgumentParser:
    parser = benchmark_parser(__doc__)
    add = parser.add_argument
    add("genome", type=Path, metavar="GENOME.fa", help="of the simulated reads")
    add(
        "--real", action="append", type=parse_real, default=[], metavar="NAME=GENOME,READS", help="real reads"
    )
    add("-n", "--number", type=int, default=20_000, help="reads of each simulated set [20000]")
    add("--filtered-reads", type=int, default=2_000, help="reads of each set that the filters see [2000]")
    add("--tools", nargs="*", choices=list(peers.TOOLS), default=list(TOOLS), help="besides gassst")
    add(
        "--bin",
        action="append",
        type=peers.parse_binary,
        default=[],
        metavar="NAME=PATH",
        help="where a tool is",
    )
    add(
        "--timeout",
        type=float,
        default=peers.NO_LIMIT,
        metavar="SECONDS",
        help="give a run up after this long",
    )
    add("--work", type=Path, metavar="DIR", help="where to put indexes, reads and output; removed afterwards")
    return parser


def main(argv: list[str] | None = None) -> None:
    args = build_parser().parse_args(argv)
    if min(args.number, args.filtered_reads) < 1:
        raise UsageError("-n and --filtered-reads must be at least 1")
    args.bin = dict(args.bin)
    vars(args).update(threads=1, rounds=1, seed=1, pairs=None, agree_with=None)
    with tempfile.TemporaryDirectory(prefix="thesis-", dir=args.work) as folder:
        result = measure(args, Path(folder))
    print(thesis_page.everything(result))
    write_json(args.json, result)


if __name__ == "__main__":
    run(main)
