"""Variants by size of a bacterium and of a person: bcftools, freebayes, and snippy's way to call them."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from donors import KINDS, SIZES, Edit, edited, edits_by_size, fragments, write_reads
from field import Data, Figure, Row, World, reference_in, sh

COVERAGE, LENGTH, INSERT = 30, 150, (400, 40)
LEAST_QUALITY = 20
NEAR = 10
"""Bases between a called indel and the planted one, after both are normalised."""
Call = tuple[str, int, str, str]
CALLERS = {
    "bcftools": "bcftools mpileup -Ou -f {fa} {bam} | bcftools call -mv --ploidy {ploidy} -Ov -o raw.vcf",
    "freebayes": "freebayes -p {ploidy} -f {fa} {bam} > raw.vcf",
}
# As snippy 4.6 runs them, from the records to its filter.
SNIPPY = (
    "samtools view -h {bam} | samclip --max 10 --ref {fa}.fai | samtools sort -n -u - | samtools fixmate -m -u - - "
    "| samtools sort -u - | samtools markdup -r -s - snps.bam && samtools index snps.bam "
    "&& freebayes -p 2 -P 0 -C 2 -F 0.05 --min-coverage 10 --min-repeat-entropy 1.0 -q 13 -m 60 --strict-vcf "
    "-f {fa} snps.bam > all.vcf && bcftools view -Ov -o raw.vcf --include "
    "'FMT/GT=\"1/1\" && QUAL>=100 && FMT/DP>=10 && (FMT/AO)/(FMT/DP)>=0' all.vcf"
)


def vcf_of(contig: str, bases: np.ndarray, edits: list[Edit]) -> str:
    lines = ["##fileformat=VCFv4.2", f"##contig=<ID={contig},length={len(bases)}>"]
    lines.append("#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO")
    for at, gone, put, _ in edits:
        before = at - (gone != len(put))  # an indel needs the base before it
        ref, kept = bases[before : at + gone].tobytes().decode(), bases[before:at].tobytes().decode()
        lines.append(f"{contig}\t{before + 1}\t.\t{ref}\t{kept}{put.decode()}\t.\t.\t.")
    return "\n".join([*lines, ""])


def planted(
    folder: Path, genome: dict[str, Any], low: int, high: int, copies: Any, apart: int = 1000
) -> World:
    """Reads of bases `low` to `high` of the first contig."""
    rng = np.random.default_rng(11)
    contig, bases = next(iter(genome.items()))
    reference, files = reference_in(folder, genome), (folder / "1.fq", folder / "2.fq")
    edits = edits_by_size(rng, bases, range(low + 500, high - apart, apart), copies)
    sources = [edited(bases, edits, copy, low, high) for copy in {c for some in copies for c in some}]
    made = fragments(rng, sources, COVERAGE * (high - low) // (2 * LENGTH), LENGTH, INSERT)
    write_reads(rng, files, made.mates, range(len(made.starts)))
    (folder / "truth.vcf").write_text(vcf_of(contig, bases, edits))
    return World(reference, files, normalised(folder / "truth.vcf", reference))


def bacterium(data: Data, folder: Path) -> World:
    """A million bases of E. coli, one copy."""
    (name, bases), *_ = data.ecoli.items()
    return planted(folder, {name: bases[:1_000_000]}, 0, 1_000_000, ((0,),))


def person(data: Data, folder: Path) -> World:
    """Two copies of a million human bases, within 20 million."""
    return planted(folder, data.human, 8_000_000, 9_000_000, ((0,), (1,), (0, 1)))


def normalised(vcf: Path, reference: Path) -> list[Call]:
    """Alleles, left-aligned, one by one, of QUAL 20 or more."""
    atoms = f"bcftools norm --atomize -Ou -f {reference} {vcf} | bcftools norm -m -any -Ov -f {reference} -"
    found = set()
    for line in sh(atoms).splitlines():
        if not line.startswith("#"):
            contig, at, _, ref, alt, quality, *_ = line.split("\t")
            if alt != "*" and (quality == "." or float(quality) >= LEAST_QUALITY):
                found.add((contig, int(at), ref.upper(), alt.upper()))
    return sorted(found)


def class_of(size: int) -> str:
    """Of so many bases more than the reference."""
    for low, high in SIZES:
        if low <= abs(size) <= high:
            return f"{KINDS[1 + (size > 0)]} of {low}" + f"-{high}" * (low < high)
    return "larger indel" if size else KINDS[0]


CLASSES = [class_of(size) for sign in (-1, 1) for size in (0, *(sign * low for low, _ in SIZES))]
CLASSES = list(dict.fromkeys([*CLASSES, "larger indel"]))


def by_class(truth: list[Call], called: list[Call], prefix: str = "") -> list[Figure]:
    """SNPs are the same allele, indels of the same size within `NEAR` bases."""
    left = defaultdict(list)
    for one in called:
        left[one[0], len(one[3]) - len(one[2])].append(one)
    counts = {name: [0, 0, 0] for name in CLASSES}
    for one in truth:
        size = len(one[3]) - len(one[2])
        same, count = left[one[0], size], counts[class_of(size)]
        near = [call for call in same if (abs(call[1] - one[1]) <= NEAR if size else call == one)]
        count[0] += 1
        if near:
            count[1] += 1
            same.remove(min(near, key=lambda call: abs(call[1] - one[1])))
    for (_, size), others in left.items():
        counts[class_of(size)][2] += len(others)
    return [Figure(prefix + name, *count) for name, count in counts.items()]


def calls(world: World, bam: Path, folder: Path, callers: dict[str, str], ploidy: int) -> list[Figure]:
    figures = []
    for name, command in callers.items():
        sh(command.format(fa=world.reference, bam=bam, ploidy=ploidy), folder)
        figures += by_class(world.truth, normalised(folder / "raw.vcf", world.reference), f"{name}, ")
    return figures


def haploid(world: World, bam: Path, folder: Path) -> list[Figure]:
    return calls(world, bam, folder, CALLERS, 1)


def diploid(world: World, bam: Path, folder: Path) -> list[Figure]:
    return calls(world, bam, folder, CALLERS, 2)


def snippy(world: World, bam: Path, folder: Path) -> list[Figure]:
    return calls(world, bam, folder, {"snippy": SNIPPY}, 2)


ROWS = [
    Row("bacterium", "variants of E. coli, by size", tuple(CALLERS), bacterium, haploid),
    Row("snippy", "the same, called and filtered as snippy does", (*CALLERS, "samclip"), bacterium, snippy,
        options=("-Y -M", "-Y -M")),
    Row("person", "variants of a diploid human genome, by size", tuple(CALLERS), person, diploid, human=True),
]  # fmt: skip
