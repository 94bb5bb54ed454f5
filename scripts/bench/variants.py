"""Precision and recall of variants called on each mapper's alignments: what a mapper is for.

    python scripts/bench/variants.py genome.fa --tools gassst bwa-mem2 --json variants.json
    python scripts/bench/variants.py genome.fa --region chr20:2000001-3000000 --variant 'local=gassst --mode local'
    python scripts/bench/variants.py genome.fa --bed vntr.bed --pad 1000 --callers bcftools freebayes
    python scripts/bench/variants.py genome.fa --bed segmental.bed --pad 1000 --seeds 211-218

SNPs and indels are planted in two haplotypes of one region, or of many, read pairs drawn from these, and mapped to the
whole genome. `--bed` names the regions that are judged, as `scripts/bench/hard_places.py` finds them, and reads come
from `--pad` bases on both sides, too. Then, for every mapper, as a user would: `samtools sort`, `bcftools mpileup |
bcftools call -mv` or `freebayes`, defaults throughout. Calls and planted variants are compared after `bcftools norm`,
allele by allele; `--tsv` lists what was missed and what was called in error, for people to look at.

With `--seeds` all is done for each of several samples. Counts are then sums. *Ahead* is by how many right and false
calls a tool has more than the first one, over all samples. Both saw the same reads of each, so the standard error comes
from the differences of the samples.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pysam
from harness import benchmark_parser, describe_machine, run, table, write_json
from peer_tools import TOOLS, ReadSet
from peers import Contestant, RunFailed, enter, parse_binary, parse_variant, plain_reference, shown

from gassst.errors import GassstError, InputError, UsageError
from gassst.tools.evaluate import count_reads

QUALITIES = (0, 20)
"""Least QUAL of the calls that are counted: all, and those that a user would keep."""
KINDS = ("SNP", "indel")


@dataclass(frozen=True)
class Region:
    """Bases `start` to `end` of `contig`, 1-based and inclusive."""

    contig: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.contig}:{self.start}-{self.end}"

    @property
    def size(self) -> int:
        return self.end - self.start + 1


@dataclass(frozen=True, order=True)
class Allele:
    """One changed allele, normalised."""

    contig: str
    position: int
    ref: str
    alt: str

    @property
    def kind(self) -> str:
        return KINDS[len(self.ref) != 1 or len(self.alt) != 1]


@dataclass(frozen=True)
class Call:
    """How sure a caller is of an allele, and how many haplotypes have it."""

    quality: float
    copies: int


Calls = dict[Allele, Call]


def parse_region(text: str) -> Region:
    """Region of "chr20:1000001-2000000"; commas are allowed."""
    match = re.fullmatch(r"(.+):([\d,]+)-([\d,]+)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is not CONTIG:START-END")
    start, end = (int(number.replace(",", "")) for number in match.groups()[1:])
    if not 0 < start <= end:
        raise argparse.ArgumentTypeError(f"{text!r}: no bases")
    return Region(match[1], start, end)


def parse_seeds(text: str) -> range:
    """Seeds of "51-58"."""
    match = re.fullmatch(r"(\d+)-(\d+)", text)
    if not match or int(match[1]) > int(match[2]):
        raise argparse.ArgumentTypeError(f"{text!r} is not FIRST-LAST")
    return range(int(match[1]), int(match[2]) + 1)


def first_region(reference: Path, size: int) -> Region:
    """The first `size` bases without N; all of the longest stretch if none is as long."""
    longest = Region("", 1, 0)
    with pysam.FastxFile(str(reference)) as file:
        for record in file:
            for match in re.finditer("[ACGT]+", (record.sequence or "").upper()):
                found = Region(record.name or "", match.start() + 1, min(match.end(), match.start() + size))
                if found.size == size:
                    return found
                longest = max(longest, found, key=lambda region: region.size)
    if not longest.size:
        raise InputError(f"{reference}: no bases")
    return longest


def pipe(*commands: Sequence[str | Path]) -> None:
    """Runs commands, each reading what the one before writes. Raises RunFailed."""
    running: list[subprocess.Popen] = []
    with tempfile.TemporaryFile("w+") as said:
        for command in commands:
            source = running[-1].stdout if running else subprocess.DEVNULL
            last = len(running) + 1 == len(commands)
            out = subprocess.DEVNULL if last else subprocess.PIPE
            running.append(subprocess.Popen([*map(str, command)], stdin=source, stdout=out, stderr=said))
            if running[:-1]:
                running[-2].stdout.close()  # type: ignore[union-attr]
        failed = [shown([*map(str, c)]) for c, p in zip(commands, running, strict=True) if p.wait()]
        if failed:
            said.seek(0)
            raise RunFailed(f"{failed[-1]}: {(said.read().strip() or 'no message').splitlines()[-1]}")


def merged(regions: Sequence[Region]) -> list[Region]:
    """The same bases, ascending, without overlaps."""
    found: list[Region] = []
    for region in sorted(regions, key=lambda region: (region.contig, region.start)):
        if found and found[-1].contig == region.contig and region.start <= found[-1].end + 1:
            found[-1] = Region(region.contig, found[-1].start, max(found[-1].end, region.end))
        else:
            found.append(region)
    return found


def regions_of_bed(path: Path) -> list[Region]:
    """Raises InputError."""
    rows = [line.split("\t") for line in path.read_text().splitlines() if line and not line.startswith("#")]
    try:
        return merged([Region(row[0], int(row[1]) + 1, int(row[2])) for row in rows])
    except (IndexError, ValueError):
        raise InputError(f"{path}: no BED") from None


@dataclass(frozen=True)
class Sample:
    """What is sequenced: the reference, the regions that are judged, their planted alleles, and the reads."""

    reference: Path
    regions: list[Region]
    bed: Path
    truth: Calls
    reads: ReadSet

    @property
    def name(self) -> str:
        """Of the regions."""
        size = sum(region.size for region in self.regions)
        return (
            str(self.regions[0]) if len(self.regions) == 1 else f"{len(self.regions)} regions, {size} bases"
        )


def normalised(vcf: Path, reference: Path, regions: Sequence[Region], work: Path) -> Calls:
    """Alleles of a VCF in these regions, left-aligned, one alternative each. Raises RunFailed."""
    plain = work / "normalised.vcf"
    # freebayes joins neighbouring variants to one allele: atoms can be compared.
    atoms = ["bcftools", "norm", "--atomize", "-Ou", "-f", reference, vcf]
    pipe(atoms, ["bcftools", "norm", "-m", "-any", "-f", reference, "-Ov", "-o", plain])
    starts = {
        region.contig: np.array([r.start for r in regions if r.contig == region.contig]) for region in regions
    }
    ends = {
        region.contig: np.array([r.end for r in regions if r.contig == region.contig]) for region in regions
    }
    found: Calls = {}
    for line in plain.read_text().splitlines():
        if line.startswith("#"):
            continue
        contig, position, _, ref, alt, quality, *_, values = line.split("\t")
        if alt == "*":  # a base that the other allele of the genotype covers
            continue
        at = np.searchsorted(starts.get(contig, np.empty(0)), int(position), side="right") - 1
        if at < 0 or int(position) > ends[contig][at]:
            continue
        genotype = values.split(":")[0]
        call = Call(float(quality) if quality != "." else float("inf"), genotype.count("1"))
        found[Allele(contig, int(position), ref.upper(), alt.upper())] = call
    return found


def lifted(vcf: Path, target: Path, lengths: dict[str, int]) -> None:
    """Writes a VCF of regions cut out, each a contig named as `Region` is shown, as one of the whole contigs."""
    lines, rows = ["##fileformat=VCFv4.2"], []
    for line in vcf.read_text().splitlines():
        if line.startswith("#CHROM"):
            header = line
        elif line.startswith("##") and not line.startswith(("##contig", "##fileformat")):
            lines.append(line)
        elif not line.startswith("#"):
            name, position, rest = line.split("\t", 2)
            region = parse_region(name)
            rows.append((region.contig, int(position) + region.start - 1, rest))
    lines += [f"##contig=<ID={name},length={length}>" for name, length in lengths.items()]
    lines += [header, *(f"{contig}\t{position}\t{rest}" for contig, position, rest in sorted(rows))]
    target.write_text("\n".join(lines) + "\n")


def make_sample(args: argparse.Namespace, work: Path) -> Sample:
    """Cuts out the region, plants, draws reads. Raises InputError, RunFailed."""
    reference = plain_reference(args.reference, work)
    pipe(["samtools", "faidx", reference, "--fai-idx", work / "genome.fai"])
    # bcftools wants the index of a FASTA file beside it.
    (work / "genome.fa").symlink_to(reference)
    (work / "genome.fai").rename(work / "genome.fa.fai")
    judged = regions_of_bed(args.bed) if args.bed else [args.region or first_region(reference, args.size)]
    if not judged:
        raise InputError(f"{args.bed}: no regions")
    with pysam.FastaFile(str(work / "genome.fa")) as fasta:
        lengths = dict(zip(fasta.references, fasta.lengths, strict=True))
        for region in judged:
            if region.end > lengths.get(region.contig, 0):
                raise InputError(f"{args.reference}: has no {region}")
        drawn = merged([padded(region, args.pad, lengths[region.contig]) for region in judged])
        with (work / "region.fa").open("w") as target:
            for region in drawn:
                target.write(f">{region}\n{fasta.fetch(region.contig, region.start - 1, region.end)}\n")
    bed = work / "judged.bed"
    bed.write_text("".join(f"{region.contig}\t{region.start - 1}\t{region.end}\n" for region in judged))
    pairs = round(args.coverage * sum(region.size for region in drawn) / (2 * args.length))
    reads = simulate(work, pairs, args)
    lifted(work / "planted.vcf", work / "truth.vcf", lengths)
    truth = normalised(work / "truth.vcf", work / "genome.fa", judged, work)
    return Sample(work / "genome.fa", judged, bed, truth, reads)


def padded(region: Region, pad: int, length: int) -> Region:
    """With `pad` bases more on both sides, as far as its contig goes."""
    return Region(region.contig, max(1, region.start - pad), min(length, region.end + pad))


def simulate(work: Path, pairs: int, args: argparse.Namespace) -> ReadSet:
    files = [work / "reads_1.fq", work / "reads_2.fq"]
    options = ["-n", pairs, "-l", args.length, "--profile", args.profile, "--pairs", args.pairs]
    options += ["-e", args.error] if args.error is not None else []
    options += [
        "--snp-rate",
        args.snp_rate,
        "--indel-rate",
        args.indel_rate,
        "--diploid",
        "--seed",
        args.seed,
    ]
    options += ["--truth-vcf", work / "planted.vcf", "-o", files[0], "-o", files[1]]
    pipe([sys.executable, "-m", "gassst", "simulate", *map(str, options), work / "region.fa"])
    name = f"{args.coverage:g}x of {'single reads' if args.single else 'pairs'} 2 x {args.length}"
    if args.single:
        single = work / "reads.fq"
        with single.open("wb") as target:
            for file in files:
                with file.open("rb") as source:
                    shutil.copyfileobj(source, target)
        return ReadSet(name, single, count_reads(str(single)), args.length, args.error)
    return ReadSet(name, files[0], 2 * pairs, args.length, args.error, mates=files[1], insert=args.pairs)


def bcftools_call(sample: Sample, bam: Path, vcf: Path, *options: str) -> None:
    """Raises RunFailed."""
    pipe(
        ["bcftools", "mpileup", *options, "-f", sample.reference, "-R", sample.bed, "-Ou", bam],
        ["bcftools", "call", "-mv", "-Ov", "-o", vcf],
    )


def bcftools_without_baq(sample: Sample, bam: Path, vcf: Path) -> None:
    """Base alignment quality nowhere, neither computed nor taken from a tag. Raises RunFailed."""
    bcftools_call(sample, bam, vcf, "--no-BAQ")


def bcftools_with_baq(sample: Sample, bam: Path, vcf: Path) -> None:
    """Base alignment quality everywhere: by default it is used where it seems to matter. Raises RunFailed."""
    bcftools_call(sample, bam, vcf, "--full-BAQ")


def freebayes_call(sample: Sample, bam: Path, vcf: Path, *options: str) -> None:
    """Raises RunFailed."""
    pipe(["freebayes", *options, "-f", sample.reference, "-t", sample.bed, "-v", vcf, bam])


def freebayes_of_sure_reads(sample: Sample, bam: Path, vcf: Path) -> None:
    """Reads from MAPQ 10 on: by default one of MAPQ 1 counts as much as one of MAPQ 60. Raises RunFailed."""
    freebayes_call(sample, bam, vcf, "--min-mapping-quality", "10")


CALLERS = {
    "bcftools": bcftools_call,
    "bcftools-no-baq": bcftools_without_baq,
    "bcftools-full-baq": bcftools_with_baq,
    "freebayes": freebayes_call,
    "freebayes-mapq10": freebayes_of_sure_reads,
}


def call(alignments: Path, sample: Sample, work: Path, callers: Sequence[str]) -> dict[str, Calls]:
    """What a user would do to get variants from a mapper's output, by caller. Raises RunFailed."""
    bam, vcf = work / "sorted.bam", work / "called.vcf"
    group = "@RG\\tID:1\\tSM:sample"  # freebayes wants to know of whom a read is
    pipe(["samtools", "addreplacerg", "-r", group, "-u", alignments], ["samtools", "sort", "-o", bam])
    pipe(["samtools", "index", bam])
    found = {}
    for caller in callers:
        CALLERS[caller](sample, bam, vcf)
        found[caller] = normalised(vcf, sample.reference, sample.regions, work)
    return found


def score(calls: Calls, truth: Calls, kind: str, quality: float) -> dict[str, Any]:
    """Precision, recall and F1 of the alleles of one kind; `genotype`: share of the right ones with right copies."""
    called = {allele for allele, one in calls.items() if allele.kind == kind and one.quality >= quality}
    planted = {allele for allele in truth if allele.kind == kind}
    right = called & planted
    same = sum(calls[allele].copies == truth[allele].copies for allele in right)
    counts = len(planted), len(called), len(right), same
    return {"kind": kind, "quality": quality, **shares(*counts)}


def shares(planted: int, called: int, right: int, same: int) -> dict[str, Any]:
    """These counts, and what they are worth; `same`: right ones with right copies."""
    return {
        "planted": planted,
        "called": called,
        "right": right,
        "same": same,
        "precision": _share(right, called),
        "recall": _share(right, planted),
        "f1": _share(2 * right, called + planted),
        "genotype": _share(same, right),
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def judge(calls: Calls, truth: Calls) -> list[dict[str, Any]]:
    return [score(calls, truth, kind, quality) for kind in KINDS for quality in QUALITIES]


def errors(name: str, calls: Calls, truth: Calls) -> Iterator[list[str]]:
    """Rows of a TSV: what was missed, what was called in error."""
    for allele in sorted(calls.keys() ^ truth.keys()):
        one = calls.get(allele) or truth[allele]
        what = "false" if allele in calls else "missed"
        quality = f"{one.quality:g}" if allele in calls else "-"
        place = [allele.contig, str(allele.position), allele.ref, allele.alt]
        yield [name, what, allele.kind, *place, quality, str(one.copies)]


TSV = ["tool", "what", "kind", "contig", "position", "ref", "alt", "qual", "copies", "seed"]


def bench(one: Contestant, sample: Sample, work: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Maps, calls and judges; a tool that fails says why. `rows` are for the TSV."""
    out = work / "out.sam"
    command = shown(one.command(sample.reads, args.threads, out))
    try:
        one.prepare(sample.reads, args.threads, args.timeout)
        usage = one.run(sample.reads, args.threads, out, args.timeout)
        calls = call(out, sample, work, args.callers)
    except RunFailed as error:
        return {"version": one.about["version"], "command": command, "failed": str(error)}
    finally:
        out.unlink(missing_ok=True)
    figures = {
        "version": one.about["version"],
        "command": command,
        **usage,
        "calls": [
            {"caller": caller, **row} for caller, some in calls.items() for row in judge(some, sample.truth)
        ],
    }
    rows = [
        row for caller, some in calls.items() for row in errors(f"{one.name} {caller}", some, sample.truth)
    ]
    return {**figures, "rows": rows}


def summed(samples: Sequence[dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Results of several samples as those of one: sums of calls and of CPU and wall seconds.

    A tool that fails in one has failed. Rows have `ahead` and `false_ahead`: by how many right and false calls the tool
    has more than the first one, and the standard error of that.
    """
    found = {name: _summed([results[name] for results in samples]) for name in samples[0]}
    done = [name for name, result in found.items() if "failed" not in result]
    for name in done[1:]:
        for i, row in enumerate(found[name]["calls"]):
            own, first = ([results[tool]["calls"][i] for results in samples] for tool in (name, done[0]))
            row["ahead"] = difference([r["right"] for r in own], [r["right"] for r in first])
            row["false_ahead"] = difference(
                *([r["called"] - r["right"] for r in rows] for rows in (own, first))
            )
    return found


def _summed(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    for result in results:
        if "failed" in result:
            return result
    total = dict(results[0])
    for key in ("wall", "cpu"):
        if key in total:
            total[key] = sum(result[key] for result in results)
    total["calls"] = [
        {
            **rows[0],
            **shares(*(sum(row[key] for row in rows) for key in ("planted", "called", "right", "same"))),
        }
        for rows in zip(*(result["calls"] for result in results), strict=True)
    ]
    return total


def difference(ours: Sequence[int], others: Sequence[int]) -> list[float | None]:
    """Of the sums of pairs of counts, and its standard error; None for one pair."""
    apart = [own - other for own, other in zip(ours, others, strict=True)]
    return [sum(apart), statistics.stdev(apart) * len(apart) ** 0.5 if len(apart) > 1 else None]


def report(results: dict[str, dict[str, Any]]) -> str:
    """One row for each kind, least QUAL and tool, so that tools stand below each other."""
    rows = []
    done = {name: result for name, result in results.items() if "failed" not in result}
    for i in range(max((len(result["calls"]) for result in done.values()), default=0)):
        for name, result in done.items():
            row = result["calls"][i]
            values = [_percent(row[key]) for key in ("precision", "recall", "f1", "genotype")]
            counts = [row["planted"], row["called"], row["right"]]
            apart = [_difference(row.get(key)) for key in ("ahead", "false_ahead")]
            about = f"{row['caller']}, {row['kind']}, QUAL >= {row['quality']}"
            rows.append([about, name, *counts, *values, *apart])
    lines = [f"{name}: {result['failed']}" for name, result in results.items() if "failed" in result]
    counts = ["planted", "called", "right"]
    header = ["caller, kind", "tool", *counts, "precision %", "recall %", "F1 %", "genotype %"]
    return "\n".join([*lines, table([*header, "right ahead", "false ahead"], rows)])


def _difference(value: list[float | None] | None) -> str:
    if value is None:
        return ""
    return f"{value[0]:+d}" if value[1] is None else f"{value[0]:+d} +- {value[1]:.1f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f}"


def build_parser() -> argparse.ArgumentParser:
    p = benchmark_parser(__doc__)
    add = p.add_argument
    add("reference", type=Path, metavar="GENOME.fa")
    add("--region", type=parse_region, metavar="CONTIG:START-END", help="[the first --size bases without N]")
    add("--bed", type=Path, help="regions, judged together; instead of --region")
    add("--pad", type=int, default=0, help="bases beside each region from which reads are drawn, too [0]")
    add("--size", type=int, default=1_000_000, help="bases of the region [1000000]")
    add("--coverage", type=float, default=30.0, help="[30]")
    add("--length", type=int, default=150, help="of a read [150]")
    add("--pairs", default="400,40", metavar="MEAN,SD", help="insert size [400,40]")
    add("--profile", default="illumina", help="of errors and qualities [illumina]")
    add("--error", type=float, help="mean errors per base [the profile's]")
    add("--snp-rate", type=float, default=0.001, help="planted SNPs per base [0.001]")
    add("--indel-rate", type=float, default=0.0002, help="planted indels per base [0.0002]")
    add("--seed", type=int, default=1, help="[1]")
    add(
        "--seeds",
        type=parse_seeds,
        metavar="FIRST-LAST",
        help="a sample of each, and sums; instead of --seed",
    )
    add("--single", action="store_true", help="map both files as single reads")
    add("--callers", nargs="+", choices=list(CALLERS), default=["bcftools"], help="[bcftools]")
    add("--tools", nargs="+", choices=list(TOOLS), default=["gassst", "bwa-mem2"], help="[gassst bwa-mem2]")
    add("--bin", action="append", type=parse_binary, default=[], metavar="NAME=PATH", help="where a tool is")
    add("--variant", action="append", type=parse_variant, default=[], metavar="'NAME=TOOL OPTIONS'",
        help="a tool once more, with options of its own")  # fmt: skip
    add("--threads", type=int, default=2, help="of every mapper [2]")
    add("--timeout", type=float, default=10**9, metavar="SECONDS", help="give a mapper up after this long")
    add("--work", type=Path, metavar="DIR", help="where to put indexes, reads and output; removed afterwards")
    add("--tsv", type=Path, metavar="OUT.tsv", help="list missed variants and false calls")
    return p


def verify(args: argparse.Namespace) -> None:
    """Raises UsageError for arguments that make no sense, GassstError for programs that are missing."""
    if min(args.size, args.length, args.threads) < 1 or not 0 < args.coverage < np.inf:
        raise UsageError("--size, --length, --threads and --coverage must be positive")
    if missing := missing_programs(args.callers):
        raise GassstError(f"not installed: {', '.join(missing)}")
    if args.work:
        args.work.mkdir(parents=True, exist_ok=True)


def missing_programs(callers: Sequence[str]) -> list[str]:
    needed = {"samtools", "bcftools", *(caller.split("-")[0] for caller in callers)}
    return [name for name in sorted(needed) if not shutil.which(name)]


def main(argv: Sequence[str] | None = None) -> None:
    args = build_parser().parse_args(argv)
    args.bin, args.agree_with = dict(args.bin), None
    verify(args)
    print(describe_machine(), end="\n\n")
    with tempfile.TemporaryDirectory(prefix="variants-", dir=args.work) as folder:
        work = Path(folder)
        contestants, missing = enter(args.tools, work, plain_reference(args.reference, work), args)
        samples, planted, seeds = [], 0, list(args.seeds or [args.seed])
        for args.seed in seeds:
            here = work / f"sample_{args.seed}"
            here.mkdir()
            try:
                sample = make_sample(args, here)
            except RunFailed as error:
                raise GassstError(str(error)) from None
            samples.append({one.name: bench(one, sample, here, args) for one in contestants})
            planted += len(sample.truth)
            shutil.rmtree(here)
    rows = [
        [*row, str(seed)]
        for seed, results in zip(seeds, samples, strict=True)
        for result in results.values()
        for row in result.pop("rows", [])
    ]
    results = summed(samples)
    for name, how in missing.items():
        print(f"not found: {name}; {how}, or --bin {name}=PATH", file=sys.stderr)
    times = f"{len(samples)} samples of " if len(samples) > 1 else ""
    print(f"{sample.name} of {args.reference.name}, {times}{sample.reads.name}: {planted} alleles planted\n")
    print(report(results))
    if args.tsv:
        args.tsv.write_text("".join("\t".join(row) + "\n" for row in [TSV, *rows]))
    about = {"reference": args.reference.name, "region": sample.name, "missing": missing}
    about["seeds"] = seeds
    keys = ("coverage", "length", "pairs", "profile", "error", "snp_rate", "indel_rate", "single")
    write_json(args.json, {**about, **{key: getattr(args, key) for key in keys}, "tools": results})


if __name__ == "__main__":
    run(main)
