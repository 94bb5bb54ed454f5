"""Right against wrong over all thresholds of MAPQ, beside other mappers: ancient DNA, bisulfite, other simulators.

    python scripts/bench/curves.py ancient chr20.fa klebsiella.fa aureus.fa --json lab/data/ancient.json
    python scripts/bench/curves.py unseen dictyostelium.fa klebsiella.fa --json lab/data/unseen.json
    python scripts/bench/curves.py meth human20.fa human4.fa -n 100000 --rounds 3 --json lab/data/methylation.json
    python scripts/bench/make_benchmarks.py     # the tables and figures of the pages

`ancient`: fragments of 30 to 90 bases by `gassst simulate --damage double --profile illumina`. Each genome also gets
fragments of another one, which ought to stay unmapped: the first genome those of the second, all others those of the
first. `unseen`: single reads and pairs of dwgsim, and pairs of mason 2, with the errors of Illumina. `meth`: pairs by
`gassst simulate --meth`, for mappers of bisulfite reads; where MethylDackel is on PATH, it makes levels of CpG of each
output, and those are compared with the truth. Every tool maps every set, in turn. CPU seconds are of whole processes,
index from disk, the median of --rounds. The last genome comes first, and a tool that is missing is left out.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import peers
import plots
import pysam
from harness import benchmark_parser, by_dwgsim, commit, machine, markdown, measured, quietly, run, write_json
from peers import Contestant, bench_set, plain
from timed import NO_LIMIT, timed

from gassst.tools.evaluate import Tally, count_reads, tally
from gassst.tools.mappers import METH_TOOLS, TOOLS, ReadSet

TOLERANCE = 10
ALN = ("-l", "1024", "-n", "0.01", "-o", "2")
ALN_NAME = f"bwa aln {' '.join(ALN)}"
CONTESTANTS = {
    "ancient": ("gassst", ALN_NAME, "bwa", "bowtie2", "minibwa", "strobealign"),
    "unseen": ("gassst", "bwa-mem2", "bowtie2", "minibwa", "strobealign"),
    "meth": tuple(METH_TOOLS),
}
SHOWN = {"bwa": "bwa mem"}
OPTIONS = {"ancient": {"gassst": ("--preset", "ancient")}, "unseen": {}, "meth": {}}
FRAGMENTS = ("-l", "90", "--inserts", "30,90", "--damage", "double", "--profile", "illumina")
LENGTH, INSERT = 100, "350,50"
DWGSIM = ("-e", "0.001-0.01", "-E", "0.001-0.02", "-d", "350", "-s", "50")
BISULFITE = ("--meth", "0.7,0.01,0.01", "--profile", "illumina")
LEAST_CALLS = 5  # of a CpG, both strands together: fewer tell little of its level
Levels = dict[tuple[str, int], float]
MASON = ("mason_simulator", "/usr/lib/seqan/bin/mason_simulator")  # on PATH, or where Debian puts it
COLOURS = {**plots.COLOURS, ALN_NAME: "#0072B2", "bwa": "#56B4E9", "bowtie2": "#E69F00"}
COLOURS |= {"bwa-meth": "#0072B2", "bismark": "#E69F00"}


@dataclass(frozen=True)
class Set:
    """Reads of one genome to map to `reference`; `truth` a file of true alignments, where names tell none.

    `levels`: a bedGraph of the methylation of CpG that the reads were drawn with.
    """

    name: str
    reference: Path
    reads: ReadSet
    truth: str | None = None
    is_foreign: bool = False
    levels: Path | None = None


def simulate(genome: Path, number: int, seed: int, out: Path) -> ReadSet:
    """Fragments of ancient DNA."""
    words = ["-n", number, *FRAGMENTS, "--seed", seed, "-o", out]
    quietly(sys.executable, "-m", "gassst", "simulate", genome, *words)
    return ReadSet(out.stem, out, number, 60)


def ancient(genomes: list[Path], args: argparse.Namespace, work: Path) -> Iterator[Set]:
    """Two sets of each genome: its own fragments, and those of another."""
    for i, genome in reversed(list(enumerate(genomes))):
        own = simulate(genome, args.number, args.seed + i, work / f"own{i}.fq")
        yield Set(genome.stem, genome, own)
        if len(genomes) > 1:
            other = genomes[0 if i else 1]
            foreign = simulate(other, args.foreign, args.seed + 100 + i, work / f"foreign{i}.fq")
            yield Set(f"{genome.stem}, foreign", genome, foreign, is_foreign=True)


def unseen(genomes: list[Path], args: argparse.Namespace, work: Path) -> Iterator[Set]:
    """Single reads and pairs of dwgsim, and pairs of mason."""
    for i, genome in reversed(list(enumerate(genomes))):
        for mates in (1, 2):
            files = [work / f"dwgsim{i}_{mates}_{mate}.fq" for mate in range(mates)]
            size = ("-1", LENGTH, "-2", LENGTH if mates == 2 else 0, "-N", args.number, "-z", args.seed + i)
            by_dwgsim(genome, files, *DWGSIM, *size)
            yield Set(f"{genome.stem}, dwgsim, {'2 x ' * (mates == 2)}{LENGTH}", genome, read_set(files))
        program = next((path for name in MASON if (path := shutil.which(name))), None)
        if program:
            files, truth = [work / f"mason{i}_{mate}.fq" for mate in (1, 2)], work / f"mason{i}.sam"
            size = ("-n", args.number, "--illumina-read-length", LENGTH, "--seed", args.seed + i)
            outputs = ("-o", files[0], "-or", files[1], "-oa", truth)
            quietly(program, "-q", "-ir", genome, *size, *outputs)
            yield Set(f"{genome.stem}, mason, 2 x {LENGTH}", genome, read_set(files), str(truth))


def meth(genomes: list[Path], args: argparse.Namespace, work: Path) -> Iterator[Set]:
    """Pairs of 100 and of 150 bases of a directional library."""
    for i, genome in reversed(list(enumerate(genomes))):
        for length, insert in ((100, "300,40"), (150, "350,50")):
            files = [work / f"meth{i}_{length}_{mate}.fq" for mate in (1, 2)]
            levels = work / f"meth{i}_{length}.bedGraph"
            size = ("-n", args.number, "-l", length, "--pairs", insert, "--seed", args.seed + i)
            outputs = ("-o", files[0], "-o", files[1], "--meth-truth", levels)
            quietly(sys.executable, "-m", "gassst", "simulate", genome, *BISULFITE, *size, *outputs)
            yield Set(f"{genome.stem}, 2 x {length}", genome, read_set(files, length), levels=levels)


KINDS = {"ancient": ancient, "unseen": unseen, "meth": meth}


class Aln(Contestant):
    """`bwa aln` and `bwa samse`."""

    def command(self, reads: ReadSet, threads: int, out: Path) -> list[str]:
        job = self.job(reads, threads)
        return [*self.program, "aln", *ALN, "-t", str(threads), job.index, *job.fastq]

    def run(self, reads: ReadSet, threads: int, out: Path, timeout: float) -> dict:
        job, sai = self.job(reads, threads), out.with_suffix(".sai")
        aligned = timed(self.command(reads, threads, out), sai, timeout)
        placed = timed([*self.program, "samse", job.index, str(sai), *job.fastq], out, timeout)
        return {key: value + placed[key] for key, value in aligned.items()}


def contestants(args: argparse.Namespace, reference: Path, indexes: Path) -> list[Contestant]:
    """The mappers of the kind that are there."""
    tools = METH_TOOLS if args.kind == "meth" else {**TOOLS, ALN_NAME: TOOLS["bwa"]}
    names = args.tools or CONTESTANTS[args.kind]
    found = peers.enter(names, indexes / reference.stem, reference, {}, tools)
    given = OPTIONS[args.kind]
    return [
        Aln(**vars(one)) if one.name == ALN_NAME else replace(one, options=given.get(one.name, ()))
        for one in found
    ]


def read_set(files: list[Path], length: int = LENGTH) -> ReadSet:
    reads = sum(count_reads(str(path)) for path in files)
    return ReadSet(files[0].stem, files[0], reads, length, mates=files[1] if len(files) > 1 else None)


def judged(path: Path, one: Set) -> dict[str, Any]:
    """Cumulative right and wrong alignments from the highest MAPQ down, and what the cells of the table show."""
    found: Tally = tally(str(path), TOLERANCE, one.truth)
    by_mapq = found.mapped.sum(axis=0)
    if one.is_foreign:
        by_mapq = np.stack([by_mapq.sum(axis=1), np.zeros(256, np.int64)], axis=1)
    above = by_mapq[::-1].cumsum(axis=0)[::-1]
    curve = [
        [mapq, *above[mapq, ::-1].tolist()] for mapq in np.flatnonzero(by_mapq.sum(axis=1))[::-1].tolist()
    ]
    cells = {
        f"{what}{q}": int(above[q, i]) for i, what in enumerate(("wrong", "right")) for q in (0, 20, 25, 30)
    }
    return {**cells, "curve": curve}


def called(alignments: Path, reference: Path) -> Levels:
    """Levels of the CpG with `LEAST_CALLS` calls or more, in percent, by contig and position, by MethylDackel."""
    place = alignments.with_suffix(".sorted.bam")
    beside = alignments.with_name(reference.name)  # an index of the reference is written beside it
    if not beside.exists():
        beside.symlink_to(reference)
    pysam.sort("-o", str(place), str(alignments))
    pysam.index(str(place))
    quietly("MethylDackel", "extract", "--mergeContext", "-o", alignments, beside, place)
    return levels_of(Path(f"{alignments}_CpG.bedGraph"))


def levels_of(path: Path) -> Levels:
    """A bedGraph of levels, without what has too few calls where it counts them."""
    levels = {}
    for line in path.read_text().splitlines()[1:]:
        contig, start, _, level, *calls = line.split("\t")
        if not calls:
            levels[contig, int(start)] = float(level)
        elif (depth := sum(map(int, calls))) >= LEAST_CALLS:
            levels[contig, int(start)] = 100 * int(calls[0]) / depth
    return levels


def compare_levels(truth: Levels, by_tool: dict[str, Levels]) -> dict[str, dict[str, float]]:
    """For each tool how many CpG it covers, and its mean absolute error where all tools cover them, in points."""
    shared = set(truth).intersection(*by_tool.values())
    return {
        name: {
            "cpg": len(levels),
            "shared": len(shared),
            "error": sum(abs(levels[at] - truth[at]) for at in shared) / max(1, len(shared)),
        }
        for name, levels in by_tool.items()
    }


def measure(args: argparse.Namespace, work: Path) -> dict[str, Any]:
    """All sets; what has been measured is written as soon as it is there."""
    results: list[dict[str, Any]] = []
    indexes = Path(args.indexes).resolve() if args.indexes else work / "indexes"
    genomes = [plain(Path(path), work) for path in args.genomes]
    entered = {genome: contestants(args, genome, indexes) for genome in genomes}
    tools = {one.name: one.version for one in entered[genomes[0]]}
    report = {"kind": args.kind, "tools": tools, "rounds": args.rounds, "sets": results}
    how = SimpleNamespace(rounds=args.rounds, threads=1, timeout=NO_LIMIT)
    for one in KINDS[args.kind](genomes, args, work):
        about = {"name": one.name, "reads": one.reads.number, "foreign": one.is_foreign, "seed": args.seed}
        levels: dict[str, Levels] = {}

        def judge(mapper: Contestant, out: Path, one: Set = one, levels: dict[str, Levels] = levels) -> dict:
            if one.levels and shutil.which("MethylDackel"):
                levels[mapper.name] = called(out, one.reference)
            return judged(out, one)

        runs = bench_set(one.reads, entered[one.reference], work, how, judge)["runs"]
        if one.levels and levels:
            for name, numbers in compare_levels(levels_of(one.levels), levels).items():
                runs[name].update(numbers)
        results.append({**about, "runs": runs})
        results.sort(key=lambda row: [genome.stem for genome in genomes].index(row["name"].split(",")[0]))
        write_json(args.json, report)
    return report


def cells(result: dict[str, Any]) -> str:
    """A row for each set and tool: what is right and wrong, in all and by usual filters, and CPU time."""
    rows = []
    for one in result["sets"]:
        if one["foreign"]:
            continue
        for name, found in one["runs"].items():
            if "failed" in found:
                continue
            right = [f"{100 * found[f'right{q}'] / one['reads']:.2f}" for q in (0, 20, 25, 30)]
            wrong = [str(found[f"wrong{q}"]) for q in (20, 25, 30)]
            times = f"{found['cpu'] / one['runs']['gassst']['cpu']:.1f}"
            rows.append([one["name"], SHOWN.get(name, name), *right, *wrong, f"{found['cpu']:.1f}", times])
    header = ["reads", "mapper", "right %", "at Q20 %", "at Q25 %", "at Q30 %", "wrong at Q20", "Q25", "Q30"]
    return about(result) + "\n\n" + markdown([*header, "CPU s", "CPU / ours"], rows)


def filters(result: dict[str, Any]) -> str:
    """What the filters of users keep: a row for each set, of gassst and of bwa aln."""
    rows = []
    for one in result["sets"]:
        if one["foreign"]:
            continue
        row = [one["name"]]
        for name in ("gassst", ALN_NAME):
            found = one["runs"][name]
            for q in (25, 30):
                row.append(f"{100 * found[f'right{q}'] / one['reads']:.2f} %, {found[f'wrong{q}']}")
        rows.append(row)
    header = [f"{name}, MAPQ {q}" for name in ("gassst", "bwa aln") for q in (25, 30)]
    return markdown(["reads", *header], rows)


def foreign(result: dict[str, Any]) -> str:
    """A row for each tool: fragments of another genome that are mapped, in all and with MAPQ 20, 25 and 30."""
    rows = [
        [one["name"], SHOWN.get(name, name), *(str(found[f"wrong{q}"]) for q in (0, 20, 25, 30))]
        for one in result["sets"]
        if one["foreign"]
        for name, found in one["runs"].items()
        if "failed" not in found
    ]
    return markdown(["reads", "mapper", "mapped", "Q20", "Q25", "Q30"], rows)


def levels(result: dict[str, Any]) -> str:
    """A row for each set and tool: how far its levels of CpG are from the truth."""
    rows = [
        [one["name"], name, f"{found['cpg']:,}", f"{found['shared']:,}", f"{found['error']:.3f}"]
        for one in result["sets"]
        for name, found in one["runs"].items()
        if "error" in found
    ]
    header = ["reads", "mapper", f"CpG with {LEAST_CALLS} calls", "of all mappers", "mean error, points"]
    return markdown(header, rows)


def about(result: dict[str, Any]) -> str:
    tools = ", ".join(f"{SHOWN.get(name, name)} {number}" for name, number in result["tools"].items())
    sizes = sorted({one["reads"] for one in result["sets"] if not one["foreign"]})
    return (
        f"{measured(result)}. A set has {' or '.join(f'{n:,}' for n in sizes)} reads, and each mapper one thread.\n\n"
        f"Versions: {tools}."
    )


def plot(result: dict[str, Any], target: Path) -> None:
    """A panel for each set: right against wrong alignments with at least each MAPQ."""
    pyplot = plots.quiet_pyplot()
    sets = [one for one in result["sets"] if not one["foreign"]]
    columns = min(3, len(sets))
    lines = -(-len(sets) // columns)
    figure, axes = pyplot.subplots(lines, columns, figsize=(4 * columns, 3.4 * lines + 0.6), squeeze=False)
    for axis in axes.flat[len(sets) :]:
        axis.set_visible(False)
    for axis, one in zip(axes.flat, sets, strict=False):
        mapped = [found["right20"] for found in one["runs"].values() if "failed" not in found]
        least = min(mapped) - 0.02 * one["reads"]  # what lies further down would flatten the rest
        for name, found in one["runs"].items():
            if "failed" in found:
                continue
            points = [(right, wrong) for _, right, wrong in found["curve"] if right >= least]
            style = {"color": COLOURS[name], "linewidth": 2.2 if name == "gassst" else 1.2}
            axis.plot(*on_axes(points, one["reads"]), **style)
            axis.plot(
                *on_axes([(found["right20"], found["wrong20"])], one["reads"]), "o", **style, markersize=5
            )
        axis.set(xscale="log", xlabel="wrong, share of all reads", title=one["name"])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    for row in axes:
        row[0].set_ylabel("right, % of all reads")
    handles = [
        pyplot.Line2D([], [], color=COLOURS[name], linewidth=2.2, label=SHOWN.get(name, name))
        for name in result["tools"]
    ]
    figure.tight_layout(rect=(0, 0.5 / (3.4 * lines + 0.6), 1, 1))
    figure.legend(handles=handles, loc="lower center", ncols=3, frameon=False, fontsize="small")
    plots.save(figure, target)


def on_axes(points: list[tuple[int, int]], reads: int) -> tuple[list[float], list[float]]:
    """Wrong as a share and right in percent; no wrong alignment counts as half of one, which a logarithm can show."""
    wrong = [max(wrong, 0.5) / reads for _, wrong in points]
    return wrong, [100 * right / reads for right, _ in points]


def shown(result: dict[str, Any], figure: Path) -> str:
    """The markdown of the figure, which is drawn."""
    plot(result, figure)
    return f"![right against wrong alignments, by threshold of MAPQ]({figure.name})"


def main(argv: list[str] | None = None) -> None:
    parser = benchmark_parser(__doc__)
    add = parser.add_argument
    add("kind", choices=list(KINDS))
    add("genomes", nargs="+", metavar="GENOME.fa")
    add("-n", "--number", type=int, default=60_000, help="reads, or pairs, of a set [60000]")
    add("--foreign", type=int, default=20_000, help="fragments of another genome [20000]")
    add("--rounds", type=int, default=1, help="runs of each tool on each set [1]")
    add("--seed", type=int, default=431)
    add("--tools", nargs="+", help="some of the mappers [all]")
    add("--indexes", metavar="DIR", help="keep the indexes here, for the next run")
    add("--work", metavar="DIR", help="where indexes and reads lie while it runs")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="curves-", dir=args.work) as work:
        result = measure(args, Path(work).resolve())
    print(cells({**result, "machine": machine(), "commit": commit()}))


if __name__ == "__main__":
    run(main)
