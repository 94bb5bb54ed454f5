"""Reads with known truth (Rizk 4.7.4), drawn by numpy for a whole chunk of reads at once.

Every base of a read is an error with probability `error`. A share `indel_share` of the errors are indels,
half of them insertions, of length l with probability 0.7 * 0.3^(l-1); the rest are substitutions by another
base. At the first base of a read an indel would not be visible as one: all its errors are substitutions.

With adapters an insert may be shorter than its read, which then runs on into the adapter (`gassst.tools.foreign`).
Single reads without adapters end where their inserts end, as trimmed or merged ones do. Fragments of ancient DNA are
deaminated before they are sequenced (`gassst.tools.damage`).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gassst.errors import InputError, UsageError
from gassst.files.destination import CompressedFile, completed
from gassst.tools.arguments import add_seed, file_path, output_path
from gassst.tools.damage import Damage, open_damage
from gassst.tools.foreign import ADAPTERS, OWN, ForeignEnds, open_adapters
from gassst.tools.haplotypes import (
    BASES,
    GEOMETRIC,
    Genome,
    SampleGenome,
    apply,
    plant,
    read_fasta,
    unchanged,
    write_vcf,
)
from gassst.tools.methylation import Methylation
from gassst.tools.profiles import FITTED, Fitted, Uniform, open_profile

CELLS_PER_CHUNK = 1 << 21
"""Read bases drawn at once: the working arrays of a chunk stay near the cache."""


@dataclass(frozen=True)
class Errors:
    """Sequencing errors of n reads of `length` bases, in read direction.

    `template` int32[n, length]: offset from the first template base of the one each read base copies.
    `substituted`, `inserted` int64[]: flat indices into n x length. `deletions` int64[n]: deleted bases.
    """

    template: np.ndarray
    substituted: np.ndarray
    inserted: np.ndarray
    deletions: np.ndarray

    @property
    def span(self) -> np.ndarray:
        """Template bases between the first and the last aligned one, both included."""
        return self.template[:, -1].astype(np.int64) + 1

    def per_read(self, flat: np.ndarray) -> np.ndarray:
        n, length = self.template.shape
        return np.bincount(flat // length, minlength=n)

    def within(self, own: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Of the first `own` (int64[n]) bases of each read: span, substitutions, insertions, deletions, int64[n]."""
        n, length = self.template.shape
        span = self.template[np.arange(n), own - 1].astype(np.int64) + 1
        substituted, inserted = (
            self.per_read(flat[flat % length < own[flat // length]])
            for flat in (self.substituted, self.inserted)
        )
        return span, substituted, inserted, span - own + inserted


def draw_errors(rng: np.random.Generator, n: int, length: int, rate: Any, indel_share: float) -> Errors:
    """Draws the errors of n reads; `rate` is one probability or float32[n, length]."""
    at = np.flatnonzero((rng.random((n, length), dtype=np.float32) < rate).ravel())
    kind = rng.random(at.size)
    indel = (kind < indel_share) & (at % length != 0)
    insertion = indel & (kind < indel_share / 2)
    inserted = _inserted_cells(rng, at[insertion], length)

    step = np.ones((n, length), dtype=np.int32)
    flat_step = step.reshape(-1)
    flat_step[inserted] = 0
    deleted_at = at[indel & ~insertion]
    deleted_at = deleted_at[flat_step[deleted_at] == 1]
    sizes = rng.geometric(GEOMETRIC, deleted_at.size)
    flat_step[deleted_at] += sizes.astype(np.int32)
    substituted = at[~indel]
    substituted = substituted[flat_step[substituted] == 1]
    deletions = np.bincount(deleted_at // length, weights=sizes, minlength=n).astype(np.int64)
    template = np.cumsum(step, axis=1, dtype=np.int32)
    template -= 1
    return Errors(template, substituted, inserted, deletions)


def _inserted_cells(rng: np.random.Generator, at: np.ndarray, length: int) -> np.ndarray:
    """Flat indices of inserted bases; insertions end with their read at the latest, and merge."""
    sizes = np.minimum(rng.geometric(GEOMETRIC, at.size), length - at % length)
    first = np.repeat(at - np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes) if at.size else at
    return np.unique(first + np.arange(sizes.sum()))


def template_codes(
    rng: np.random.Generator,
    genome: Genome,
    errors: Errors,
    origin: np.ndarray,
    reverse: np.ndarray,
    methylation: Methylation | None = None,
    mate: int = 0,
) -> np.ndarray:
    """Codes uint8[n, length] of what each base copies; the first is `genome.codes[origin]`, or its complement.

    `methylation`: the template was converted, of which this is the `mate`, 0 or 1.
    """
    sign = np.where(reverse, -1, 1).astype(np.int32)
    at = origin[:, None] + errors.template * sign[:, None]
    codes = genome.codes.take(at, mode="clip")
    codes ^= np.where(reverse, 3, 0).astype(np.uint8)[:, None]
    if methylation is not None:
        methylation.convert(rng, codes, at, mate)
    return codes


def sequenced(
    rng: np.random.Generator, codes: np.ndarray, errors: Errors, foreign: np.ndarray | None
) -> np.ndarray:
    """Codes uint8[n, length] of reads that copy `codes`, with their errors.

    `foreign` uint8[n, length]: codes of bases that are not of the genome, `OWN` at all others; None: there are none.
    """
    if foreign is not None:
        codes = np.where(foreign == OWN, codes, foreign)
    flat = codes.reshape(-1)
    flat[errors.substituted] += rng.integers(1, 4, errors.substituted.size, dtype=np.uint8)
    flat[errors.inserted] = rng.integers(0, 4, errors.inserted.size, dtype=np.uint8)
    codes &= 3
    return codes


class Windows:
    """Draws windows uniformly from the stretches of a genome that hold A, C, G and T only."""

    def __init__(self, genome: Genome, shortest: int):
        self.starts, self.ends = genome.runs(shortest)
        if not len(self.starts):
            raise InputError(f"the reference has no {shortest} bases in a row without N")
        self.shortest = shortest
        self.cumulative = np.cumsum(self.ends - self.starts - shortest + 1)

    def draw(self, rng: np.random.Generator, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Starts of one window for each size, and whether it fits; one that does not is to be thrown away."""
        ticket = rng.integers(0, self.cumulative[-1], sizes.size)
        run = np.searchsorted(self.cumulative, ticket, side="right")
        start = self.ends[run] - self.shortest - (self.cumulative[run] - 1 - ticket)
        return start, start + sizes <= self.ends[run]


def decimal(values: np.ndarray) -> np.ndarray:
    """ASCII of non-negative numbers, uint8[n, width], with NUL in place of leading zeros."""
    values = np.asarray(values, dtype=np.uint32 if values.max(initial=0) < 2**32 else np.uint64)
    digits = np.zeros((len(str(values.max(initial=0))), values.size), dtype=np.uint8)
    for row in digits[::-1]:
        rest = values // values.dtype.type(10)
        row[:] = values - rest * values.dtype.type(10) + 48
        row[values == 0] = 0
        values = rest
    digits[-1][digits[-1] == 0] = 48
    return digits.T


def texts(strings: list[str], which: np.ndarray) -> np.ndarray:
    """`strings[which]` as uint8[n, width], padded with NUL."""
    table = np.array([s.encode() for s in strings])
    return table.view(np.uint8).reshape(len(strings), -1)[which]


def assemble(n: int, *columns: Any) -> np.ndarray:
    """Joins columns (bytes, or uint8[n, width]) row by row into one flat uint8 array, leaving out NULs."""
    parts = [
        np.frombuffer(c, dtype=np.uint8)[None].repeat(n, 0) if isinstance(c, bytes) else c for c in columns
    ]
    flat = np.concatenate(parts, axis=1).ravel()
    return flat[flat != 0]


@dataclass(frozen=True)
class Inserts:
    """Insert sizes: normal, with `first` and `second` as mean and deviation, or `uniform` from one to the other."""

    first: float
    second: float
    uniform: bool = False

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """int64[n]; they may be too small for a read."""
        if self.uniform:
            return rng.integers(int(self.first), int(self.second) + 1, n)
        return np.rint(rng.normal(self.first, self.second, n)).astype(np.int64)


@dataclass(frozen=True)
class Simulator:
    """Draws reads of `length` from `sample`, or FR pairs where `paired`.

    `insert`: how long the inserts are; None for single reads as long as their inserts. `ends`: what reads hold behind
    their inserts, or None where nothing follows. `damage`: of the ends of single reads. `methylation`: of templates
    that are converted.
    """

    reference: Genome
    sample: SampleGenome
    length: int
    profile: Uniform | Fitted
    indel_share: float
    insert: Inserts | None = None
    paired: bool = False
    ends: ForeignEnds | None = None
    damage: Damage | None = None
    methylation: Methylation | None = None

    def chunks(self, number: int, seed: int) -> Iterator[list[np.ndarray]]:
        """FASTQ text, one uint8 array a mate, until `number` reads or pairs are out."""
        rng = np.random.default_rng(seed)
        windows = Windows(self.sample.genome, self.shortest)
        size = max(1, CELLS_PER_CHUNK // self.length)
        done = misses = 0
        while done < number:
            # A little more than is missing: windows that hang over a run's end are thrown away.
            n = min(size, (number - done) * 9 // 8 + 8)
            rows, made = self._chunk(rng, windows, n, done, number - done)
            misses = 0 if made else misses + 1
            if misses > 100:
                raise InputError(
                    "the reference contains no stretch without N that is long enough for these pairs"
                )
            done += made
            if made:
                yield rows

    def _chunk(
        self, rng: np.random.Generator, windows: Windows, n: int, done: int, wanted: int
    ) -> tuple[list[np.ndarray], int]:
        qualities, errors = [], []
        for _ in range(self.mates):
            quality, rate = self.profile.draw(rng, n, self.length)
            if self.ends:
                quality, rate = self.ends.spoil(rng, quality, rate)
            qualities.append(quality)
            errors.append(draw_errors(rng, n, self.length, rate, self.indel_share))
        fragment = self._fragments(rng, errors)
        low, fits = windows.draw(rng, fragment)
        keep = np.flatnonzero(fits)[:wanted]
        first_reverse = rng.random(n) < 0.5

        contig = self.reference.contig_of(self.sample.first_aligned(low[keep]))
        name = [b"@s", decimal(done + 1 + np.arange(len(keep))), b",", texts(self.reference.names, contig)]
        bases = []
        for mate in range(self.mates):
            reverse = first_reverse ^ bool(mate)
            origin = np.where(reverse, low + fragment - 1, low)
            foreign, own = None, np.full(n, self.length)
            if self.ends:
                foreign, own = self.ends.draw(rng, mate, errors[mate].template, fragment)
            of_template = errors[mate], origin, reverse, self.methylation, mate
            codes = template_codes(rng, self.sample.genome, *of_template)
            if self.damage:
                codes = self.damage.deaminate(rng, codes, errors[mate].template, fragment)
            letters = BASES[sequenced(rng, codes, errors[mate], foreign)]
            if self._trims:
                own = np.minimum(own, (errors[mate].template < fragment[:, None]).sum(axis=1))
                behind = np.arange(self.length) >= own[:, None]
                letters[behind] = 0  # `assemble` leaves it out
                qualities[mate] = np.where(behind, np.uint8(0), qualities[mate])
            bases.append(letters[keep])
            name += self._truth(errors[mate], own, origin, reverse, contig, keep)
        rows = [
            assemble(len(keep), *name, b"\n", base, b"\n+\n", quality[keep], b"\n")
            for base, quality in zip(bases, qualities, strict=True)
        ]
        return rows, len(keep)

    @property
    def mates(self) -> int:
        return 2 if self.paired else 1

    @property
    def shortest(self) -> int:
        """Bases of the shortest window that is drawn."""
        return 1 if self._shortens else self.length

    @property
    def _shortens(self) -> bool:
        return self._trims or (self.ends is not None and self.ends.shortens)

    @property
    def _trims(self) -> bool:
        """Whether reads end where their inserts end."""
        return self.insert is not None and not self.paired and not (self.ends and self.ends.shortens)

    def _fragments(self, rng: np.random.Generator, errors: list[Errors]) -> np.ndarray:
        """Window sizes: what a read spans, or the insert size (outer ends).

        Of pairs without adapters it is at least what each mate spans.
        """
        longest = np.maximum.reduce([e.span for e in errors])
        if self.insert is None:
            return longest
        return np.maximum(self.insert.draw(rng, longest.size), 1 if self._shortens else longest)

    def _truth(
        self,
        errors: Errors,
        own: np.ndarray,
        origin: np.ndarray,
        reverse: np.ndarray,
        contig: np.ndarray,
        keep: np.ndarray,
    ) -> list[Any]:
        span, *numbers = errors.within(own)
        low = np.where(reverse, origin - span + 1, origin)[keep]
        begin = self.reference.starts[contig]
        start = self.sample.first_aligned(low) - begin + 1
        end = self.sample.end_aligned(low + span[keep]) - begin
        strand = np.where(reverse[keep], ord("-"), ord("+")).astype(np.uint8)[:, None]
        columns = [b",", decimal(start), b",", decimal(end), b",", strand]
        for number in numbers:
            columns += [b",", decimal(number[keep])]
        return columns


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `gassst simulate`."""
    add = parser.add_argument
    add(
        "reference",
        metavar="REF.fa",
        type=file_path,
        help="Simulate reads of this FASTA, plain or compressed.",
    )
    add("-n", "--number", type=int, required=True, metavar="N", help="Simulate this many reads, or pairs.")
    add("-l", "--length", type=int, required=True, metavar="BASES", help="Make reads this long.")
    add(
        "-e",
        "--error",
        type=float,
        metavar="RATE",
        help="Set the mean errors per base (default: that of a fitted profile; uniform needs it).",
    )
    add(
        "-o",
        "--output",
        action="append",
        required=True,
        metavar="FASTQ",
        type=output_path,
        help="Write to this FASTQ[.gz] file; give it twice for pairs.",
    )
    add(
        "--pairs",
        metavar="MEAN,SD",
        help="Simulate pairs that face each other, with a normal insert size between outer ends.",
    )
    add(
        "--inserts",
        metavar="LOW,HIGH",
        help="Spread insert sizes evenly from LOW to HIGH bases. The reads are pairs where -o is given twice. Single "
        "reads without --adapter end where their insert ends, as merged ones do.",
    )
    add(
        "--damage",
        metavar="double|single[,END,DECAY,INSIDE]",
        help="Deaminate single reads as ancient DNA: C is read as T near the 5' end, and near the 3' end G as A "
        "(double-stranded protocol) or C as T (single-stranded). END is the share at the last base (default: 0.3). "
        "Each further base loses the share DECAY of it (0.3), down to INSIDE (0.01).",
    )
    add(
        "--adapter",
        metavar=f"SEQ1[,SEQ2]|{'|'.join(ADAPTERS)}",
        help="Let reads that are longer than their insert continue into this adapter, then into G or random bases.",
    )
    add(
        "--bad-tails",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="Give this share of the reads a tail of quality 2.",
    )
    add(
        "--poly-g",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="Give this share of the reads a tail of G.",
    )
    profiles = ("uniform", *FITTED)
    add("--profile", choices=profiles, default=profiles[0], help="Base qualities, and where errors lie.")
    add(
        "--indel-share",
        type=float,
        metavar="SHARE",
        help="Set the share of errors that are indels (default: 0.2, for fitted profiles 0.02).",
    )
    add(
        "--snp-rate",
        type=float,
        default=0.0,
        metavar="RATE",
        help="Plant SNPs at this rate per reference base.",
    )
    add(
        "--indel-rate",
        type=float,
        default=0.0,
        metavar="RATE",
        help="Plant indels at this rate per reference base.",
    )
    add(
        "--diploid",
        action="store_true",
        help="Simulate two haplotypes: two of three variants are heterozygous.",
    )
    add("--truth-vcf", metavar="OUT.vcf", type=output_path, help="Write the planted variants to this file.")
    add(
        "--meth",
        metavar="CPG,CHG,CHH",
        help="Convert the reads with bisulfite, as a directional library has them. These are the mean methylation "
        "levels by context, such as 0.7,0.01,0.01.",
    )
    add(
        "--meth-rate",
        type=float,
        default=0.99,
        metavar="SHARE",
        help="Convert this share of the cytosines that are not methylated.",
    )
    add(
        "--meth-truth",
        metavar="OUT.bedGraph",
        type=output_path,
        help="Write the methylation level of every CpG to this file, in percent.",
    )
    add_seed(add)


def main(args: argparse.Namespace) -> int:
    """Runs `gassst simulate`. Raises UsageError, InputError, OutputError."""
    verify(args)
    damage = open_damage(args.damage) if args.damage is not None else None
    profile = open_profile(args.profile, args.length, args.error)
    share = profile.indel_share if args.indel_share is None else args.indel_share
    reference = read_fasta(args.reference)
    vcf = [args.truth_vcf] if args.truth_vcf else []
    levels = [args.meth_truth] if args.meth_truth else []
    methylation = open_methylation(reference, args)
    with completed([*args.output, *vcf, *levels]) as files:
        sample = make_sample(reference, args, *files[len(args.output) :][: len(vcf)])
        if methylation is not None and levels:
            methylation.write(files[-1])
        paired = len(args.output) == 2
        ends = open_ends(args)
        simulator = Simulator(
            reference,
            sample,
            args.length,
            profile,
            share,
            open_inserts(args),
            paired,
            ends,
            damage,
            methylation,
        )
        write(simulator.chunks(args.number, args.seed), files[: len(args.output)])
    return 0


def make_sample(
    reference: Genome, args: argparse.Namespace, vcf: CompressedFile | None = None
) -> SampleGenome:
    """The reference, or the haplotypes with planted variants, which are written to `vcf`."""
    if not (args.snp_rate or args.indel_rate or vcf):
        return unchanged(reference)
    # Its own stream: the variants do not depend on the reads asked for.
    rng = np.random.default_rng((args.seed, 1))
    variants = plant(rng, reference, args.snp_rate, args.indel_rate, args.diploid)
    if vcf:
        write_vcf(vcf, reference, variants)
    return apply(reference, variants)


def open_methylation(reference: Genome, args: argparse.Namespace) -> Methylation | None:
    """What --meth asks for. Raises UsageError."""
    if args.meth is None:
        if args.meth_truth:
            raise UsageError("--meth-truth needs --meth")
        return None
    try:
        means = [float(level) for level in args.meth.split(",")]
        if len(means) != 3 or not all(0 <= level <= 1 for level in means):
            raise ValueError
    except ValueError:
        raise UsageError(
            f"--meth {args.meth}: must be CPG,CHG,CHH of 0 to 1, for example 0.7,0.01,0.01"
        ) from None
    if not 0 <= args.meth_rate <= 1:
        raise UsageError("--meth-rate must be between 0 and 1")
    if args.snp_rate or args.indel_rate or args.truth_vcf:
        raise UsageError("--meth goes with no variants: levels are those of the reference")
    # Its own stream: levels do not depend on the reads asked for.
    return Methylation.draw(np.random.default_rng((args.seed, 2)), reference, means, args.meth_rate)


def verify(args: argparse.Namespace) -> None:
    """Raises UsageError for arguments that make no sense."""
    if args.number < 0 or args.length < 1 or args.seed < 0:
        raise UsageError("-n and --seed must not be negative and -l must be at least 1")
    if args.indel_share is not None and not 0 <= args.indel_share <= 1:
        raise UsageError("--indel-share must be between 0 and 1")
    if not (0 <= args.snp_rate <= 0.5 and 0 <= args.indel_rate <= 0.5):
        raise UsageError("--snp-rate and --indel-rate must be between 0 and 0.5")
    if not (0 <= args.bad_tails <= 1 and 0 <= args.poly_g <= 1):
        raise UsageError("--bad-tails and --poly-g must be between 0 and 1")
    if args.pairs and args.inserts:
        raise UsageError("--pairs and --inserts exclude each other")
    if len(args.output) > 2 or (len(args.output) == 2) < bool(args.pairs):
        raise UsageError("-o must be given once for reads and twice for --pairs")
    if len(args.output) == 2 and not (args.pairs or args.inserts):
        raise UsageError("-o can be given twice only with --pairs or --inserts")
    if args.damage is not None and len(args.output) == 2:
        raise UsageError("--damage is of single reads: give -o once")
    if args.adapter and not (args.pairs or args.inserts):
        raise UsageError("--adapter needs --pairs or --inserts")
    if args.diploid and not (args.snp_rate or args.indel_rate):
        raise UsageError("--diploid needs --snp-rate or --indel-rate")


def open_inserts(args: argparse.Namespace) -> Inserts | None:
    """What --pairs or --inserts ask for. Raises UsageError."""
    if args.pairs:
        mean, deviation = _two_numbers("--pairs", args.pairs, "MEAN,SD, for example 350,40")
        return Inserts(mean, deviation)
    if args.inserts:
        low, high = _two_numbers("--inserts", args.inserts, "LOW,HIGH, for example 40,145")
        if not 1 <= low <= high:
            raise UsageError(f"--inserts {args.inserts}: LOW must be at least 1 and at most HIGH")
        return Inserts(low, high, uniform=True)
    return None


def open_ends(args: argparse.Namespace) -> ForeignEnds | None:
    """What reads hold behind their inserts; None where none has such an end. Raises UsageError."""
    if not (args.adapter or args.bad_tails or args.poly_g):
        return None
    adapters = open_adapters(args.adapter) if args.adapter else None
    return ForeignEnds(adapters, args.bad_tails, args.poly_g)


def _two_numbers(option: str, text: str, form: str) -> tuple[float, float]:
    try:
        first, second = (float(x) for x in text.split(","))
        if not (0 < first < np.inf and 0 <= second < np.inf):
            raise ValueError
    except ValueError:
        raise UsageError(f"{option} {text}: must be {form}") from None
    return first, second


def write(chunks: Iterator[list[np.ndarray]], files: list[CompressedFile]) -> None:
    """Writes each mate's text to its file."""
    for rows in chunks:
        for file, text in zip(files, rows, strict=True):
            file.write(text.data)
