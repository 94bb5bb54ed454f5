"""Libraries of a kind of their own: amplicons (ivar), ChIP-seq (MACS3), ancient DNA (mapDamage)."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pysam
from donors import Edit, N, complement, edit_of, edited, fragments, write_reads
from field import Data, Figure, Row, World, reference_in, sh

SIMULATE = f"{sys.executable} -m gassst simulate"
AMPLICON, STEP, PRIMER, LENGTH, DEPTH = 400, 340, 24, 220, 400
SHARES = (0.06, 0.2, 0.5, 1.0)
CLASSES = (("SNP", 0, 0), ("indel of 3-9", 1, 9), ("indel of 30", 10, 30), ("indel of 60", 31, 99))
SMALL = [("SNP", 1)] * 4 + [("deletion", size) for size in (3, 9, 30, 60)] + [("insertion", 6)]


def amplicons(data: Data, folder: Path) -> World:
    """30,000 bases of E. coli as a virus, tiled; edits that a part of the reads or all have, none under primers."""
    rng = np.random.default_rng(41)
    bases = next(iter(data.ecoli.values()))[500_000:530_000]
    edits: list[tuple[float, Edit]] = []
    primers, files = [], (folder / "1.fq", folder / "2.fq")
    for number, low in enumerate(range(0, len(bases) - AMPLICON, STEP)):
        high = low + AMPLICON
        for at, side, strand in ((low, "LEFT", "+"), (high - PRIMER, "RIGHT", "-")):
            primers.append(f"virus\t{at}\t{at + PRIMER}\tv_{number}_{side}\t{1 + number % 2}\t{strand}\n")
        here = [(SHARES[(number + n) % 4], edit_of(rng, bases, low + at, *SMALL[(number + n) % len(SMALL)]))
                for n, at in enumerate((90, 240))]  # fmt: skip
        edits += here
        for below, share in pairwise((0.0, *SHARES)):
            source = edited(bases, [edit for level, edit in here if level >= share], low=low, high=high)
            copies = round(DEPTH * (share - below))
            made = fragments(rng, [source], copies, LENGTH, (len(source), 0), np.zeros(copies, np.int64))
            write_reads(rng, files, made.mates, (f"{number}:{share}:{n}" for n in range(copies)))
    (folder / "primers.bed").write_text("".join(primers))
    return World(reference_in(folder, {"virus": bases}), files, [edit for _, edit in edits])


def ivar(world: World, bam: Path, folder: Path) -> list[Figure]:
    """Variants that pass, from a share of 3 % on, after the primers are cut."""
    reference, primers = world.reference, world.reads[0].with_name("primers.bed")
    sh(f"ivar trim -e -i {bam} -b {primers} -p cut && samtools sort -o sorted.bam cut.bam", folder)
    pileup = f"samtools mpileup -aa -A -d 0 -B -Q 0 --reference {reference} sorted.bam"
    sh(f"{pileup} | ivar variants -p out -q 20 -t 0.03 -r {reference}", folder)
    rows = [line.split("\t") for line in (folder / "out.tsv").read_text().splitlines()[1:]]
    signs = {"+": 1, "-": -1}
    called = [(int(r[1]), (len(r[3]) - 1) * signs.get(r[3][0], 0), r[3]) for r in rows if r[13] == "TRUE"]
    figures = []
    for what, low, high in CLASSES:
        planted = [edit for edit in world.truth if low <= abs(len(edit.put) - edit.gone) <= high]
        hits = []
        for edit in planted:
            size, put = len(edit.put) - edit.gone, edit.put.decode()
            near = {call for call in called if call[1] == size and abs(call[0] - edit.at) <= 10}
            hits.append({call for call in near if size or (call[0] - 1, call[2]) == (edit.at, put)})
        others = {call for call in called if low <= abs(call[1]) <= high} - set().union(*hits)
        figures.append(Figure(what, len(planted), sum(map(bool, hits)), len(others)))
    return figures


PEAKS, NEAR = 125, 100
"""Bases between the summit of a called peak and the planted one."""


def chip(data: Data, folder: Path) -> World:
    """Reads of 50 bases: a control, and as many of which a tenth come from peaks anywhere."""
    rng = np.random.default_rng(42)
    (name, bases), *_ = data.human.items()
    known = [at for at in range(10_000, len(bases) - 10_000, 1000) if (bases[at - 500 : at + 500] != N).all()]
    peaks, weights = np.sort(rng.choice(known, PEAKS, replace=False)), rng.exponential(1, PEAKS) + 0.3
    bound = rng.choice(peaks, 15_000, p=weights / weights.sum()) + rng.normal(-100, 40, 15_000).astype(int)
    for kind, starts, number in (("C", None, 150_000), ("T", None, 135_000), ("T-bound", bound, 15_000)):
        made = fragments(rng, [bases], number, 50, (200, 20), starts)
        write_reads(rng, [folder / "1.fq"], made.mates[:1], (f"{kind}{n}" for n in range(len(made.starts))))
    return World(reference_in(folder, {name: bases}), (folder / "1.fq",), peaks)


def macs3(world: World, bam: Path, folder: Path) -> list[Figure]:
    for kind in "CT":
        sh(f"samtools view -b -e 'qname=~\"^{kind}\"' -o {kind}.bam {bam}", folder)
    size = world.reference.stat().st_size
    sh(f"macs3 callpeak -t T.bam -c C.bam -f BAM -g {size} -n out -q 0.01 --nomodel --extsize 200", folder)
    rows = [line.split("\t") for line in (folder / "out_peaks.narrowPeak").read_text().splitlines()]
    is_near = abs(np.array([int(row[1]) + int(row[9]) for row in rows])[:, None] - world.truth) <= NEAR
    return [Figure("peaks", PEAKS, int(is_near.any(axis=0).sum()), int((~is_near.any(axis=1)).sum()))]


ENDS = {"5": (b"C", b"T"), "3": (b"G", b"A")}


def ancient(data: Data, folder: Path) -> World:
    """Fragments of 30 to 90 human bases, damaged at both ends; the truth: the share of each that is, in per cent."""
    reference, damage = reference_in(folder, data.human), "--damage double,0.3,0.3,0.01 --indel-share 0"
    sh(f"{SIMULATE} {reference} -n 30000 -l 90 --inserts 30,90 {damage} -e 0.003 --seed 43 -o 1.fq", folder)
    counts = {(end, at): [0, 0] for end in ENDS for at in (1, 10)}
    with pysam.FastxFile(str(folder / "1.fq")) as file:
        for read in file:
            _, name, first, last, strand, *_ = read.name.split(",")
            piece = data.human[name][int(first) - 1 : int(last)]
            true = (piece if strand == "+" else complement(piece)).tobytes()
            for (end, at), count in counts.items():
                here = slice(at - 1, at) if end == "5" else slice(len(true) - at, len(true) - at + 1)
                count[0] += true[here] == ENDS[end][0]
                count[1] += true[here] == ENDS[end][0] and read.sequence[here].encode() == ENDS[end][1]
    truth = {key: round(100 * changed / whole, 2) for key, (whole, changed) in counts.items()}
    return World(reference, (folder / "1.fq",), truth)


def mapdamage(world: World, bam: Path, folder: Path) -> list[Figure]:
    """What mapDamage says of the ends, in per cent; and the reads that are where they come from."""
    sh(f"mapDamage -i {bam} -r {world.reference} --no-stats -d out --merge-reference-sequences", folder)
    figures, counts = [], {True: 0, False: 0, None: 0}
    for (end, at), true in world.truth.items():
        before, after = (base.decode() for base in ENDS[end])
        lines = (folder / "out" / f"{end}p{before}to{after}_freq.txt").read_text().splitlines()
        what = f"{before} to {after} at base {at} from the {end}' end, %"
        figures.append(Figure(what, true, round(100 * float(lines[at].split()[1]), 2), measured=True))
    with pysam.AlignmentFile(str(bam)) as records:
        for r in (r for r in records if not r.flag & 0x900):
            lead = r.cigartuples[0][1] if r.cigartuples and r.cigartuples[0][0] == pysam.CSOFT_CLIP else 0
            is_right = abs(r.reference_start + 1 - lead - int(r.query_name.split(",")[2])) <= 10
            counts[is_right if r.mapping_quality >= 25 else None] += 1
    return [*figures, Figure("reads with MAPQ 25 or more", sum(counts.values()), counts[True], counts[False])]


ROWS = [
    Row("amplicons", "variants of a virus by ivar, from tiled amplicons", ("ivar",), amplicons, ivar),
    Row("peaks", "ChIP-seq peaks by MACS3", ("macs3",), chip, macs3, human=True),
    Row("damage", "damage of ancient DNA by mapDamage", ("mapDamage",), ancient, mapdamage,
        options=("--preset ancient", ""), human=True),
]  # fmt: skip
