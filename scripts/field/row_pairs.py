"""Pairs as others read them: Hi-C contacts by pairtools, duplicates by samtools and Picard, libraries that change."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial, update_wrapper
from pathlib import Path

import numpy as np
import pysam
from donors import complement, fragments, write_reads
from field import Data, Figure, Row, World, reference_in, sh

LENGTH = 100
NEAR = 10
"""Bases between the true 5' end of a read and the one that is reported."""
NOT_PRIMARY = 0x900
LIGATED = np.frombuffer(b"GATCGATC", np.uint8)


def contacts(data: Data, folder: Path) -> World:
    """Ligated pieces of human DNA, cut at GATC; half of the contacts are within 100,000 bases.

    The truth of a pair is the 5' end, from 1 on, and the strand of both reads.
    """
    rng = np.random.default_rng(31)
    (name, bases), *_ = data.human.items()
    text = bases.tobytes()
    sites = np.array([match.start() for match in re.finditer(b"GATC", text[: len(text) - 2000])])
    sites = sites[sites > 2000]
    reads, truth, files = [], {}, (folder / "1.fq", folder / "2.fq")
    while len(reads) < 60_000:
        one = int(sites[rng.integers(len(sites))])
        near = min(np.searchsorted(sites, one + rng.integers(-100_000, 100_000)), len(sites) - 1)
        other, arms, ends = int(sites[rng.choice([near, rng.integers(len(sites))])]), [], []
        for site in (one, other):
            size, is_left = int(rng.integers(40, 300)), rng.random() < 0.5
            first = site - size if is_left else site + 4
            piece = bases[first : first + size]
            arms.append(piece if is_left else complement(piece))
            ends.append((first + 1, "+") if is_left else (first + size, "-"))
        joined = np.concatenate([arms[0], LIGATED, complement(arms[1])])
        if len(joined) >= LENGTH and b"N" not in joined.tobytes():
            truth[str(len(reads))] = ends
            reads.append((joined[:LENGTH], complement(joined[-LENGTH:])))
    write_reads(rng, files, np.array(reads).transpose(1, 0, 2), truth)
    return World(reference_in(folder, {name: bases}), files, truth)


def pairtools(world: World, bam: Path, folder: Path) -> list[Figure]:
    """Pairs whose both sides are unique, or rescued as parts of a ligated read."""
    options = "--min-mapq 30 --drop-sam --drop-seq -o out.pairs"
    sh(f"pairtools parse -c {world.reference}.fai {options} {bam}", folder)
    counts: Counter[bool] = Counter()
    for line in (folder / "out.pairs").read_text().splitlines():
        if line.startswith("#") or (fields := line.split("\t"))[7] not in ("UU", "UR", "RU"):
            continue
        said = [(int(fields[2]), fields[5]), (int(fields[4]), fields[6])]
        pairs = (zip(said, world.truth[fields[0]][::turn], strict=True) for turn in (1, -1))
        counts[any(all(abs(a[0] - b[0]) <= NEAR and a[1] == b[1] for a, b in both) for both in pairs)] += 1
    return [Figure("contacts", len(world.truth), counts[True], counts[False])]


def copied(data: Data, folder: Path) -> World:
    """A tenth of the fragments twice or more often, each time with errors of its own; many run into adapters.

    Fragments with the same ends are duplicates for everybody. The truth is the fragment of each name.
    """
    rng = np.random.default_rng(32)
    (name, bases), *_ = data.ecoli.items()
    bases, files = bases[:1_000_000], (folder / "1.fq", folder / "2.fq")
    made = fragments(rng, [bases], 60_000, LENGTH, (180, 70))
    times = np.where(rng.random(len(made.starts)) < 0.1, 1 + rng.geometric(0.6, len(made.starts)), 1)
    order = rng.permutation(np.repeat(np.arange(len(times)), times))
    write_reads(rng, files, [mate[order] for mate in made.mates], range(len(order)))
    is_forward = made.mates[0][:, 0] == bases[made.starts]
    ends = np.array([made.starts, made.sizes, is_forward]).T[order].tolist()
    truth = {str(number): tuple(one) for number, one in enumerate(ends)}
    return World(reference_in(folder, {name: bases}), files, truth)


def flagged(world: World, marked: Path, what: str) -> Figure:
    """All but one of the templates with the same ends are to be flagged."""
    with pysam.AlignmentFile(str(marked)) as file:
        names = {r.query_name for r in file if r.is_duplicate and not r.flag & NOT_PRIMARY}
    sizes, marks = Counter(world.truth.values()), Counter(world.truth[name] for name in names)
    found = sum(min(marks[ends], size - 1) for ends, size in sizes.items())
    return Figure(what, len(world.truth) - len(sizes), found, marks.total() - found)


def duplicates(world: World, bam: Path, folder: Path) -> list[Figure]:
    fixed = f"samtools sort -n -u {bam} | samtools fixmate -m -u - - | samtools sort -u -"
    sh(f"{fixed} | samtools markdup - samtools.bam", folder)
    sh(f"PicardCommandLine MarkDuplicates I={bam} O=picard.bam M=metrics.txt", folder)
    return [flagged(world, folder / f"{program}.bam", program) for program in ("samtools", "picard")]


HEAD, BODY = 4_200, 20_000
LIBRARIES = {
    "inserts of 300, then of 450": (((300, 30), 1.0), ((450, 40), 1.0)),
    "inserts of 450 throughout": (((450, 40), 1.0), ((450, 40), 1.0)),
    "few errors, then many": (((400, 40), 0.2), ((400, 40), 5.0)),
    "many errors throughout": (((400, 40), 5.0), ((400, 40), 5.0)),
}
"""Insert sizes and a factor of errors, of the head and of the body."""


def changing(library: str, data: Data, folder: Path) -> World:
    """Pairs of E. coli after pairs of another kind; the truth is the fragment of each name of the body."""
    (name, bases), *_ = data.ecoli.items()
    files, truth = (folder / "1.fq", folder / "2.fq"), {}
    for seed, number, (insert, factor) in zip((33, 34), (HEAD, BODY), LIBRARIES[library], strict=True):
        rng = np.random.default_rng(seed)  # the same body after each head
        made = fragments(rng, [bases], number, LENGTH, insert)
        names = [f"{seed}:{n}" for n in range(len(made.starts))]
        write_reads(rng, files, made.mates, names, factor)
        truth = dict(zip(names, zip(made.starts.tolist(), made.sizes.tolist(), strict=True), strict=True))
    return World(reference_in(folder, {name: bases}), files, truth)


def placed(world: World, bam: Path, folder: Path) -> list[Figure]:
    """Reads of the body at their place with MAPQ 20 or more, and elsewhere with it."""
    counts: Counter[bool] = Counter()
    with pysam.AlignmentFile(str(bam)) as file:
        for r in file:
            if r.query_name in world.truth and not r.flag & (NOT_PRIMARY | 4) and r.mapping_quality >= 20:
                start, size = world.truth[r.query_name]
                begin = r.reference_start - r.cigartuples[0][1] * (r.cigartuples[0][0] in (4, 5))
                counts[min(abs(begin - start), abs(begin - start - size + LENGTH)) <= NEAR] += 1
    return [Figure("reads with MAPQ 20 or more", 2 * len(world.truth), counts[True], counts[False])]


def library(number: int, name: str) -> Row:
    prepare = update_wrapper(partial(changing, name), changing)
    prepare.__name__ = f"library-{number}"
    return Row(prepare.__name__, f"pairs, {name}", (), prepare, placed)


ROWS = [
    Row("hic", "Hi-C contacts by pairtools", ("pairtools",), contacts, pairtools,
        options=("--preset hic", "-5SP"), sort=False, human=True),
    Row("duplicates", "duplicates by samtools and Picard", ("PicardCommandLine",), copied, duplicates),
    *(library(number, name) for number, name in enumerate(LIBRARIES, 1)),
]  # fmt: skip
