"""Hi-C: mates across ligated fragments lie where `bwa mem -5SP` puts them."""

from __future__ import annotations

import subprocess

import numpy as np
import pysam
import pytest
from brute_force import reverse_complement as reverse

from gassst.cli.main import main

JUNCTION = b"GATCGATC"  # of MboI, filled in
SURE = 20
LENGTH = 120


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """FASTA, index and 300 pairs of fragments that are ligated from two places; every third one from one place."""
    rng = np.random.default_rng(23)
    contigs = [bytes(rng.choice(list(b"ACGT"), n).astype(np.uint8)) for n in (60_000, 40_000)]
    folder = tmp_path_factory.mktemp("hic")
    fasta = folder / "ref.fa"
    fasta.write_bytes(b"".join(b">c%d\n%s\n" % (i, s) for i, s in enumerate(contigs)))

    def piece(length):
        contig = contigs[rng.integers(2)]
        at = int(rng.integers(len(contig) - length))
        bases = contig[at : at + length]
        return reverse(bases) if rng.random() < 0.5 else bytes(bases)

    with open(folder / "R1.fq", "w") as one, open(folder / "R2.fq", "w") as two:
        for i in range(300):
            lengths = rng.integers(40, 300, 2)
            fragment = piece(400) if i % 3 == 0 else piece(lengths[0]) + JUNCTION + piece(lengths[1])
            for file, bases in ((one, fragment), (two, reverse(fragment))):
                read = bytearray(bases[:LENGTH])
                for error in rng.integers(len(read), size=int(rng.integers(3))):
                    read[error] = rng.choice(list(b"ACGT"))
                file.write(f"@p{i}\n{read.decode()}\n+\n{'I' * len(read)}\n")
    assert main(["index", str(fasta), "-q"]) == 0
    return folder


def by_read(path):
    """The primary record and the supplementary ones, by name and mate."""
    found = {}
    with pysam.AlignmentFile(str(path)) as file:
        for record in file:
            if not record.is_secondary:
                primary, parts = found.get((record.query_name, record.is_read2), (None, []))
                if record.is_supplementary:
                    parts = [*parts, record]
                else:
                    primary = record
                found[record.query_name, record.is_read2] = primary, parts
    return found


def mapped(folder, *options):
    out = folder / "gassst.sam"
    argv = ["map", str(folder / "ref.gsi"), str(folder / "R1.fq"), str(folder / "R2.fq"), *options]
    assert main([*argv, "--device", "none", "-t", "2", "-q", "-o", str(out)]) == 0
    return by_read(out)


def first_base(record):
    """Contig, strand and coordinate of the first base sequenced, clips included."""
    cigar = record.cigartuples
    if record.is_reverse:
        end = record.reference_end + (cigar[-1][1] if cigar[-1][0] in (4, 5) else 0)
        return record.reference_id, True, end
    return record.reference_id, False, record.reference_start - (cigar[0][1] if cigar[0][0] in (4, 5) else 0)


@pytest.mark.external("bwa")
def test_ligated_pairs_lie_where_bwa_mem_puts_them(world):
    found = mapped(world, "--preset", "hic")
    subprocess.run(["bwa", "index", str(world / "ref.fa")], check=True, capture_output=True)
    with open(world / "bwa.sam", "wb") as out:
        files = [str(world / name) for name in ("ref.fa", "R1.fq", "R2.fq")]
        subprocess.run(["bwa", "mem", "-5SP", *files], check=True, stdout=out, stderr=subprocess.DEVNULL)
    expected = by_read(world / "bwa.sam")
    assert found.keys() == expected.keys() and len(found) == 600
    split = 0
    for key, (record, parts) in found.items():
        other, other_parts = expected[key]
        assert record.is_unmapped == other.is_unmapped, key
        if min(record.mapping_quality, other.mapping_quality) < SURE:
            continue
        assert first_base(record) == first_base(other), key
        assert record.next_reference_id == other.next_reference_id
        assert sorted(map(first_base, parts)) == sorted(map(first_base, other_parts)), key
        split += bool(parts)
        for part in parts:
            assert query_start(record) <= query_start(part)
    assert split > 40


def query_start(record):
    """Bases of the read as sequenced before the alignment."""
    operation, length = record.cigartuples[-1 if record.is_reverse else 0]
    return length if operation in (4, 5) else 0


def test_mates_alone_are_mapped_as_single_reads(world):
    found = mapped(world, "-P")
    out = world / "single.sam"
    for mate in (1, 2):
        argv = ["map", str(world / "ref.gsi"), str(world / f"R{mate}.fq"), "--mode", "local"]
        assert main([*argv, "--device", "none", "-t", "1", "-q", "-o", str(out)]) == 0
        for (name, _), (record, parts) in by_read(out).items():
            primary, others = found[name, mate == 2]
            columns = [(r.reference_start, r.cigarstring, r.mapping_quality) for r in (record, *parts)]
            assert columns == [
                (r.reference_start, r.cigarstring, r.mapping_quality) for r in (primary, *others)
            ] or (record.is_unmapped and primary.is_unmapped)


def test_without_rescue_a_mate_needs_its_own_seeds(world, tmp_path):
    """A mate of 40 bases with an error in every tenth is found around its partner only."""
    with pysam.FastaFile(str(world / "ref.fa")) as file:
        contig = file.fetch("c0").encode()
    with open(tmp_path / "R1.fq", "w") as one, open(tmp_path / "R2.fq", "w") as two:
        for i in range(60):
            at = 500 * i + 100
            mate = bytearray(reverse(contig[at + 260 : at + 300]))
            for error in range(5, 40, 7):
                mate[error] = ord("A") if mate[error] != ord("A") else ord("C")
            for file, bases in ((one, contig[at : at + LENGTH]), (two, mate)):
                file.write(f"@p{i}\n{bases.decode()}\n+\n{'I' * len(bases)}\n")
    counts = []
    for options in ([], ["--no-rescue"]):
        out = tmp_path / "out.sam"
        argv = ["map", str(world / "ref.gsi"), str(tmp_path / "R1.fq"), str(tmp_path / "R2.fq"), *options]
        argv += ["--insert", "300,20", "--device", "none", "-q", "-t", "1", "-o", str(out)]
        assert main(argv) == 0
        counts.append(sum(not record.is_unmapped for record, _ in by_read(out).values()))
    assert counts[0] > counts[1] >= 60
