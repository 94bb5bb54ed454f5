"""Check `gassst map --all` against Rabema: every interval of its gold standard must be found.

Rabema (Holtgrewe et al. 2011) takes the places where a read ends with at most so many errors, joins
neighbouring ones to intervals, and asks a mapper for one alignment into each. RazerS 3 with `-rr 100` says
where to look, Rabema itself scores every place around. Both are in Debian's package seqan-apps.

The genome is made up (or --genome), and nasty: diverged copies on both strands, tandem repeats of many
periods, runs of N, several contigs. Reads come from everywhere, some with an N, some from the very ends of
contigs and over them.

gassst reports every local minimum of the errors over the ends of an alignment on the forward strand. In
tandem repeats Rabema has more intervals than there are such minima: it also splits by where an alignment
starts, so that a shoulder beside a better alignment can be an interval of its own, and it takes the ends of
reads on the reverse strand from the other side. At a contig's end it knows no alignment that hangs over, which
gassst may choose among equals. So each read of which an interval was missed is aligned anew,
by textbook dynamic programming: if gassst reported every local minimum of it, and nothing twice, the interval
is counted as a *shoulder*, else as *lost*. The check fails if one interval is lost.
"""

from __future__ import annotations

import argparse
import csv
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pysam

PROGRAMS = ("razers3", "rabema_prepare_sam", "rabema_build_gold_standard", "rabema_evaluate", "samtools")
CATEGORIES = ("all", "all-best")
BASES = np.frombuffer(b"ACGT", dtype=np.uint8)
COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")
LONGEST_SEED = 20

Genome = dict[str, bytes]


def random_bases(rng: np.random.Generator, n: int) -> bytes:
    return BASES[rng.integers(4, size=n)].tobytes()


def reverse_complement(sequence: bytes) -> bytes:
    return sequence.translate(COMPLEMENT)[::-1]


def mutate(rng: np.random.Generator, sequence: bytes, errors: int, indel_share: float = 0.4) -> bytes:
    """`sequence` after `errors` random edits, each of one base."""
    out = bytearray(sequence)
    for _ in range(errors):
        at = int(rng.integers(len(out)))
        base = random_bases(rng, 1)
        if rng.random() >= indel_share:
            out[at : at + 1] = base
        elif rng.random() < 0.5:
            out[at:at] = base
        elif len(out) > 1:
            del out[at]
    return bytes(out)


def repetitive_contig(rng: np.random.Generator, size: int) -> bytes:
    """A fifth of it diverged copies of a few elements, some in tandem repeats, some runs of N."""
    contig = bytearray(random_bases(rng, size))

    def put(piece: bytes) -> None:
        at = int(rng.integers(max(size - len(piece), 1)))
        contig[at : at + len(piece)] = piece

    elements = [random_bases(rng, n) for n in (1200, 300, 300, 120)]
    for _ in range(size // 2500):
        element = elements[int(rng.integers(len(elements)))]
        copy = mutate(rng, element, int(rng.integers(len(element) // 8)))
        put(copy if rng.random() < 0.5 else reverse_complement(copy))
    for period in (1, 2, 3, 4, 5, 7, 13, 24, 47):
        repeat = random_bases(rng, period) * (150 // period + 3)
        put(mutate(rng, repeat, int(rng.integers(8)), 0.2))
    for run in (1, 3, 60):
        put(b"N" * run)
    return bytes(contig[:size])


def make_genome(rng: np.random.Generator, size: int) -> Genome:
    """Three contigs of together `size` bases."""
    sizes = (size * 6 // 10, size * 3 // 10, size - size * 6 // 10 - size * 3 // 10)
    return {f"c{i}": repetitive_contig(rng, n) for i, n in enumerate(sizes, 1)}


def make_reads(rng: np.random.Generator, genome: Genome, length: int, errors: int, n: int) -> list[bytes]:
    """Reads with up to one error more than `errors`; every tenth from a contig end, half of those over it."""
    contigs = list(genome.values())
    weights = np.array([len(c) for c in contigs]) / sum(map(len, contigs))
    reads = []
    for i in range(n):
        contig = contigs[rng.choice(len(contigs), p=weights)]
        span = length + errors + 1
        over = int(rng.integers(errors + 1)) if i % 20 == 0 else 0
        at = int(rng.integers(len(contig) - span))
        if i % 10 == 0:
            at = int(rng.integers(3)) if i % 4 else len(contig) - span + over
        source = random_bases(rng, over) + contig[at : at + span - over]
        if i % 10 == 0 and i % 4 == 0:
            # Over the right end: the last bases are foreign, so the read is cut from its right.
            source = contig[len(contig) - length + over :] + random_bases(rng, over)
        read = bytearray(mutate(rng, source, int(rng.integers(errors + 2)))[:length])
        read += random_bases(rng, length - len(read))
        if i % 33 == 0:
            read[int(rng.integers(length))] = ord("N")
        reads.append(reverse_complement(bytes(read)) if rng.random() < 0.5 else bytes(read))
    return reads


def run(*command: str | Path) -> str:
    """Runs `command` and returns what it wrote to stdout and stderr; ends the program if it fails."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    said = done.stdout + done.stderr
    if done.returncode:
        sys.exit(f"{command[0]} failed:\n{said}")
    return said


@dataclass(frozen=True)
class Interval:
    """Last bases (0-based, in the direction of `strand`, F or R) of alignments that Rabema counts as one."""

    read: str
    contig: str
    strand: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.read} {self.contig} {self.strand} {self.first}-{self.last}"


@dataclass
class Outcome:
    """What Rabema says of one mapping: counts of intervals; (error rate %, to find, found); those missed."""

    to_find: int
    found: int
    additional: int
    by_rate: list[tuple[int, int, int]]
    missed: list[Interval]


MISSED = re.compile(r"MISSED\t(\S+)\t\d+\t(\S+)\t([FR])\t(\d+)\t(\d+)")


def parse_report(path: Path, said: str) -> Outcome:
    values, by_rate = {}, []
    for row in csv.reader(path.open(), delimiter="\t"):
        if row and row[0].startswith("##") and len(row) == 2:
            values[row[0][2:]] = row[1]
        elif row and row[0].isdigit():
            by_rate.append((int(row[0]), int(row[1]), int(row[2])))
    missed = [Interval(*where, int(first), int(last)) for *where, first, last in MISSED.findall(said)]
    counts = (int(values[key]) for key in ("intervals_to_find", "intervals_found", "additional_hits"))
    return Outcome(*counts, by_rate, missed)


@dataclass(frozen=True)
class Check:
    """One read length at one error rate (integer %), in the folder `work` with the genome and its index."""

    work: Path
    length: int
    rate: int

    @property
    def errors(self) -> int:
        return self.length * self.rate // 100

    @property
    def seed_length(self) -> int:
        """The longest seed of which an alignment with `errors` errors must contain one free of errors."""
        return min(LONGEST_SEED, self.length // (self.errors + 1))

    def path(self, suffix: str) -> Path:
        return self.work / f"{self.length}_{self.rate}{suffix}"

    def write_reads(self, reads: list[bytes]) -> Path:
        path = self.path(".fq")
        quality = "I" * self.length
        path.write_text("".join(f"@r{i}\n{read.decode()}\n+\n{quality}\n" for i, read in enumerate(reads)))
        return path

    def gold_standard(self, genome: Path, reads: Path) -> Path:
        perfect, prepared = self.path(".razers.sam"), self.path(".prepared.sam")
        by_place, gold = self.path(".gold.bam"), self.path(".gold.gsi")
        # A hundredth below the identity: RazerS counts in floating point, which must not cost it an error.
        razers = ("razers3", "-i", f"{99.99 - self.rate}", "-rr", "100", "-m", "1000000000", "-rl", "1000000")
        run(*razers, "-ds", "-o", perfect, genome, reads)
        run("rabema_prepare_sam", "-i", perfect, "-o", prepared)
        run("samtools", "sort", "-o", by_place, prepared)
        run("rabema_build_gold_standard", "-e", str(self.rate), "-o", gold, "-r", genome, "-b", by_place)
        return gold

    def map(self, mapper: list[str], index: Path, reads: Path) -> Path:
        mapped = self.path(".sam")
        options = ("--all", "-s", "5", "-p", str(100 - self.rate), "-q")
        run(*mapper, "map", index, reads, "-o", mapped, *options)
        return mapped

    def evaluate(self, genome: Path, gold: Path, mapped: Path, category: str) -> Outcome:
        report = self.path(f".{category}.rabema_report_tsv")
        files = ("-r", genome, "-g", gold, "-b", mapped, "--out-tsv", report)
        options = ("-e", str(self.rate), "-c", category, "--show-missed-intervals")
        said = run("rabema_evaluate", *files, *options, "--dont-check-sorting", "--DONT-PANIC")
        return parse_report(report, said)


def errors_by_end(read: bytes, contig: bytes) -> np.ndarray:
    """int32[len + 1]: fewest errors of the whole read against any stretch of the contig ending before j."""
    text = np.frombuffer(contig, np.uint8)
    column = np.arange(len(text) + 1, dtype=np.int32)
    row = np.zeros(len(text) + 1, np.int32)
    for base in read:
        differs = (text != base) | (text == ord("N")) | (base == ord("N"))
        row, diagonal = row + 1, row[:-1] + differs
        row[1:] = np.minimum(row[1:], diagonal)
        row = np.minimum.accumulate(row - column) + column
    return row


def local_minima(row: np.ndarray, limit: int) -> list[tuple[int, int, int]]:
    """(first end, last end, errors) of each run of equal errors within `limit` lower than its neighbours."""
    starts = np.flatnonzero(np.diff(row, prepend=row[0] + 1))
    padded = np.concatenate([[limit + 1], row[starts], [limit + 1]])
    lower = (padded[1:-1] < padded[:-2]) & (padded[1:-1] < padded[2:]) & (padded[1:-1] <= limit)
    ends = np.append(starts[1:], row.size) - 1
    return [(int(starts[i]), int(ends[i]), int(row[starts[i]])) for i in np.flatnonzero(lower)]


def is_complete(read: bytes, hits: list[tuple], genome: Genome, errors: int) -> bool:
    """Whether `hits` (contig, reverse, end, NM) are the local minima of `read`, each of them once."""
    left = Counter(hits)
    for contig, sequence in genome.items():
        for reverse in (False, True):
            row = errors_by_end(reverse_complement(read) if reverse else read, sequence)
            for first, last, edits in local_minima(row, errors):
                ends = range(first, last + 1)
                of_run = [h for h in left if h[:2] == (contig, reverse) and h[2] in ends and h[3] == edits]
                if len(of_run) != 1 or left.pop(of_run[0]) != 1:
                    return False
    return not left


def sort_missed(missed: list[Interval], reads: list[bytes], mapped: Path, genome: Genome, errors: int):
    """Missed intervals of reads all of whose local minima were reported (shoulders), and of others (lost)."""
    wanted = {interval.read for interval in missed}
    hits = defaultdict(list)
    with pysam.AlignmentFile(str(mapped)) as file:
        for s in file:
            if s.query_name in wanted and not s.is_unmapped:
                hits[s.query_name].append((s.reference_name, s.is_reverse, s.reference_end, s.get_tag("NM")))
    complete = {name for name in wanted if is_complete(reads[int(name[1:])], hits[name], genome, errors)}
    return [i for i in missed if i.read in complete], [i for i in missed if i.read not in complete]


def read_genome(path: Path) -> Genome:
    with pysam.FastxFile(str(path)) as file:
        return {contig.name: contig.sequence.upper().encode() for contig in file}


def write_genome(path: Path, genome: Genome) -> Path:
    path.write_text("".join(f">{name}\n{sequence.decode()}\n" for name, sequence in genome.items()))
    return path


def missing_programs() -> list[str]:
    return [program for program in PROGRAMS if shutil.which(program) is None]


HEADER = "bases  rate%  errors  seed  intervals  found    all%  all-best%  shoulders  lost  additional"
ROW = "{:5}  {:5}  {:6}  {:4}  {:9}  {:5}  {:6.2f}  {:9.2f}  {:9}  {:4}  {:10}"


def check(one: Check, fasta: Path, genome: Genome, index: Path, args: argparse.Namespace) -> int:
    """Prints a line, below it what was lost and, if asked for, one for each error rate; returns losses."""
    rng = np.random.default_rng([args.seed, one.length, one.rate])
    reads = make_reads(rng, genome, one.length, one.errors, args.reads)
    fastq = one.write_reads(reads)
    gold = one.gold_standard(fasta, fastq)
    mapped = one.map(args.gassst.split(), index, fastq)
    every, best = (one.evaluate(fasta, gold, mapped, category) for category in CATEGORIES)
    missed = [*every.missed, *(i for i in best.missed if i not in every.missed)]
    shoulders, lost = sort_missed(missed, reads, mapped, genome, one.errors)
    cells = (one.length, one.rate, one.errors, one.seed_length, every.to_find, every.found, percent(every))
    print(ROW.format(*cells, percent(best), len(shoulders), len(lost), every.additional))
    if args.by_rate:
        for rate, to_find, found in (row for row in every.by_rate if row[1]):
            print(f"    errors of {rate} %: {found} of {to_find}")
    for interval in lost:
        print(f"    lost: {interval} {reads[int(interval.read[1:])].decode()}")
    return len(lost) + every.additional


def percent(outcome: Outcome) -> float:
    return 100 * outcome.found / outcome.to_find if outcome.to_find else 100.0


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--genome", type=Path, metavar="FASTA", help="use this one instead; ten megabases at the most")
    add("--size", type=int, default=120_000, help="bases of the genome made up [120000]")
    add("-l", "--length", type=int, nargs="+", default=[36, 50, 100], help="read lengths [36 50 100]")
    add("-e", "--rate", type=int, nargs="+", default=[0, 4, 8, 10], help="error rates in %% [0 4 8 10]")
    add("-n", "--reads", type=int, default=1000, help="reads for each length and rate [1000]")
    add("--seed", type=int, default=1, help="the same seed gives the same genome and reads [1]")
    add("--gassst", default=f"{sys.executable} -m gassst", metavar="COMMAND", help="how to run gassst")
    add("--by-rate", action="store_true", help="also intervals found by their error rate")
    add("--keep", type=Path, metavar="DIR", help="keep all files there")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    if missing := missing_programs():
        sys.exit(f"not installed: {', '.join(missing)} (Debian: seqan-apps, samtools)")
    with tempfile.TemporaryDirectory(prefix="rabema-") as scratch:
        work = args.keep or Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(args.seed)
        genome = read_genome(args.genome) if args.genome else make_genome(rng, args.size)
        fasta, index = write_genome(work / "genome.fa", genome), work / "index.gsi"
        run(*args.gassst.split(), "index", fasta, "-o", index, "-q")
        print(HEADER)
        pairs = [(length, rate) for length in args.length for rate in args.rate]
        failed = sum(check(Check(work, *pair), fasta, genome, index, args) for pair in pairs)
    print(f"{failed} intervals lost or not in the gold standard" if failed else "no interval lost")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
