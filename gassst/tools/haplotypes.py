"""Genomes for the simulator: FASTA into one array of codes, planted variants, and the way back.

Shares no code with the mapper, so that an error in one cannot hide in the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gassst.errors import InputError
from gassst.files.destination import CompressedFile
from gassst.files.fasta import fasta_stretches
from gassst.files.inflate import open_input

MASKED = 4
BASES = np.frombuffer(b"ACGTNNNN", dtype=np.uint8)
CODES = bytes("ACGT".find(chr(letter).upper()) % 5 for letter in range(128)) + bytes([MASKED]) * 128
GEOMETRIC = 0.7
"""Indels have length l with probability 0.7 * 0.3^(l-1) (Rizk 4.7.4)."""


@dataclass(frozen=True)
class Genome:
    """Contigs end to end: contig c is `codes[starts[c]:starts[c+1]]`, uint8: A 0, C 1, G 2, T 3, else 4."""

    names: list[str]
    starts: np.ndarray
    codes: np.ndarray

    def contig_of(self, positions: np.ndarray) -> np.ndarray:
        """Contig number of each concatenated position."""
        return np.searchsorted(self.starts, positions, side="right") - 1

    def runs(self, shortest: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Starts and ends of the stretches of at least `shortest` bases A, C, G, T inside one contig."""
        masked = self.codes == MASKED
        edges = np.flatnonzero(masked[1:] != masked[:-1]) + 1
        edges = np.union1d(edges, self.starts)
        starts, ends = edges[:-1], edges[1:]
        keep = (ends - starts >= shortest) & ~masked[starts]
        return starts[keep], ends[keep]


def read_fasta(path: str) -> Genome:
    """Reads FASTA, plain or compressed. Raises InputError for what is not FASTA or has unusable names."""
    names, lengths, parts = list[str](), list[int](), [np.empty(0, np.uint8)]
    with open_input(path) as file:
        for _, is_header, text in fasta_stretches(file, path):
            if is_header:
                names.append(_contig_name(path, text[1:]))
                lengths.append(0)
            elif names:
                parts.append(np.frombuffer(text.translate(CODES, b"\r\n \t"), dtype=np.uint8))
                lengths[-1] += len(parts[-1])
            else:
                break
    if not names:
        raise InputError(f"{path}: not FASTA, the first character is not '>'")
    if len(set(names)) < len(names):
        raise InputError(f"{path}: two contigs have the same name")
    return Genome(names, np.concatenate(([0], np.cumsum(lengths))), np.concatenate(parts))


def _contig_name(path: str, header: bytes) -> str:
    name = header.split(None, 1)[0].decode("ascii", "replace") if header.strip() else ""
    if not name:
        raise InputError(f"{path}: a record without a name")
    # 254 characters is the most that SAM allows for a read name; the truth of two mates needs about 100.
    if "," in name or "@" in name or not name.isascii() or len(name) > 150:
        raise InputError(f"{path}: contig {name!r} cannot be put into a read name (',', '@', or too long)")
    return name


@dataclass(frozen=True)
class Variants:
    """Planted variants, sorted and apart: `deleted[v]` bases from `position[v]` on become `inserted[v]`.

    `position`, `deleted` int64[v]; `inserted` list of uint8 arrays of codes; a SNP deletes one base and
    inserts one. `carried` bool[v, haplotypes].
    """

    position: np.ndarray
    deleted: np.ndarray
    inserted: list[np.ndarray]
    carried: np.ndarray


def plant(
    rng: np.random.Generator, genome: Genome, snp_rate: float, indel_rate: float, diploid: bool
) -> Variants:
    """Draws SNPs and left-aligned indels, `rate` of each per base; diploid: two of three are heterozygous."""
    total = len(genome.codes)
    snps = rng.integers(0, total, rng.binomial(total, snp_rate))
    indels = rng.integers(0, total, rng.binomial(total, indel_rate))
    sizes = rng.geometric(GEOMETRIC, indels.size)
    insertion = rng.random(indels.size) < 0.5
    changes = [
        (int(at), 1, ((genome.codes[at : at + 1] + step) & 3))
        for at, step in zip(snps, rng.integers(1, 4, snps.size, dtype=np.uint8), strict=True)
    ]
    for at, size, is_insertion in zip(indels.tolist(), sizes.tolist(), insertion, strict=True):
        bases = rng.integers(0, 4, size, dtype=np.uint8) if is_insertion else genome.codes[at : at + size]
        at, bases = left_aligned(genome.codes, at, bases)
        changes.append((at, 0, bases) if is_insertion else (at, size, bases[:0]))
    changes.sort(key=lambda change: change[:2])
    position = np.array([change[0] for change in changes], dtype=np.int64)
    deleted = np.array([change[1] for change in changes], dtype=np.int64)
    keep = np.flatnonzero(_apart(genome, position, deleted))
    return Variants(
        position[keep], deleted[keep], [changes[v][2] for v in keep], _carriers(rng, len(keep), 1 + diploid)
    )


def left_aligned(codes: np.ndarray, at: int, bases: np.ndarray) -> tuple[int, np.ndarray]:
    """The leftmost place, and the bases there, of an insertion before `at` or a deletion from `at` on."""
    while at > 0 and len(bases) and codes[at - 1] == bases[-1] != MASKED:
        at -= 1
        bases = np.concatenate((bases[-1:], bases[:-1]))
    return at, bases


def _apart(genome: Genome, position: np.ndarray, deleted: np.ndarray) -> np.ndarray:
    """True for variants with a plain base on both sides, none of which another variant changes."""
    starts, ends = genome.runs()
    run = np.searchsorted(starts, position - 1, side="right") - 1
    inside = (run >= 0) & (position + deleted < ends[run])
    reach = np.maximum.accumulate(position + deleted) if len(position) else position
    return inside & np.concatenate(([True], position[1:] > reach[:-1]))[: len(position)]


def _carriers(rng: np.random.Generator, n: int, haplotypes: int) -> np.ndarray:
    carried = np.ones((n, haplotypes), dtype=bool)
    if haplotypes == 2:
        heterozygous = np.flatnonzero(rng.random(n) < 2 / 3)
        carried[heterozygous, rng.integers(0, 2, heterozygous.size)] = False
    return carried


@dataclass(frozen=True)
class SampleGenome:
    """What is sequenced: all haplotypes in one Genome, and its map to the reference.

    From `at[i]` on, sample position p lies at reference position `to[i] + slope[i] * (p - at[i])`; slope 0 is
    an insertion, whose bases lie before `to[i]`. All concatenated, int64.
    """

    genome: Genome
    at: np.ndarray
    to: np.ndarray
    slope: np.ndarray

    def first_aligned(self, positions: np.ndarray) -> np.ndarray:
        """Reference position of the first base at or after each position that is not inserted."""
        i = np.searchsorted(self.at, positions, side="right") - 1
        return self.to[i] + self.slope[i] * (positions - self.at[i])

    def end_aligned(self, positions: np.ndarray) -> np.ndarray:
        """Reference end (one past) of the last base before each position that is not inserted."""
        i = np.searchsorted(self.at, positions - 1, side="right") - 1
        return self.to[i] + self.slope[i] * (positions - self.at[i])


def unchanged(reference: Genome) -> SampleGenome:
    """The reference itself."""
    return SampleGenome(reference, np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1, np.int64))


def apply(reference: Genome, variants: Variants) -> SampleGenome:
    """The haplotypes that `variants` make of the reference."""
    parts = [_haplotype(reference, variants, np.flatnonzero(carried)) for carried in variants.carried.T]
    offsets = np.concatenate(([0], np.cumsum([len(codes) for codes, *_ in parts])))
    starts = [
        _starts(reference, at, to) + offset for (_, at, to, _), offset in zip(parts, offsets, strict=False)
    ]
    genome = Genome(
        reference.names * len(parts),
        np.concatenate([*(s[:-1] for s in starts), offsets[-1:]]),
        np.concatenate([codes for codes, *_ in parts]),
    )
    at = np.concatenate([at + offset for (_, at, _, _), offset in zip(parts, offsets, strict=False)])
    return SampleGenome(genome, at, *(np.concatenate([part[column] for part in parts]) for column in (2, 3)))


def _haplotype(
    reference: Genome, variants: Variants, which: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Codes of one haplotype, and `at`, `to`, `slope` of its map."""
    lengths = np.array([len(bases) for bases in variants.inserted], dtype=np.int64)
    snp = (variants.deleted == 1) & (lengths == 1)
    codes = reference.codes.copy()
    snps = which[snp[which]]
    if snps.size:
        codes[variants.position[snps]] = np.concatenate([variants.inserted[v] for v in snps])
    pieces, anchors, done, length = [], [(0, 0, 1)], 0, 0
    for v in which[~snp[which]].tolist():
        position, deleted, bases = int(variants.position[v]), int(variants.deleted[v]), variants.inserted[v]
        pieces += [codes[done:position], bases]
        length += position - done
        if len(bases):
            anchors.append((length, position, 0))
            length += len(bases)
        done = position + deleted
        anchors.append((length, done, 1))
    codes = np.concatenate([*pieces, codes[done:]])
    return codes, *np.array(anchors, dtype=np.int64).T


def _starts(reference: Genome, at: np.ndarray, to: np.ndarray) -> np.ndarray:
    """Contig starts in a haplotype; the map inverts there, as no variant touches a contig's ends."""
    i = np.searchsorted(to, reference.starts, side="right") - 1
    return at[i] + reference.starts - to[i]


def write_vcf(file: CompressedFile, reference: Genome, variants: Variants) -> None:
    """Writes the variants as VCF 4.2 with the phased genotype of one sample."""
    lengths = np.diff(reference.starts)
    contigs = reference.contig_of(variants.position)
    file.write(b"##fileformat=VCFv4.2\n")
    for name, length in zip(reference.names, lengths, strict=True):
        file.write(f"##contig=<ID={name},length={length}>\n".encode())
    file.write(b'##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n')
    file.write(b"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tsimulated\n")
    for v, contig in enumerate(contigs.tolist()):
        file.write(_vcf_line(reference, variants, v, contig))


def _vcf_line(reference: Genome, variants: Variants, v: int, contig: int) -> bytes:
    at, deleted, bases = int(variants.position[v]), int(variants.deleted[v]), variants.inserted[v]
    anchor = 0 if deleted and len(bases) else 1
    before = reference.codes[at - anchor : at]
    ref = BASES[reference.codes[at - anchor : at + deleted]].tobytes()
    alt = BASES[np.concatenate((before, bases))].tobytes()
    genotype = b"|".join(b"1" if carried else b"0" for carried in variants.carried[v])
    name, position = reference.names[contig].encode(), at - anchor - int(reference.starts[contig]) + 1
    return b"%b\t%d\t.\t%b\t%b\t.\tPASS\t.\tGT\t%b\n" % (name, position, ref, alt, genotype)
