"""As bwa mem: ligated pairs, and contigs that are alternatives."""

from __future__ import annotations

import os
import shutil
import subprocess

import numpy as np
import pysam
import pytest
from brute_force import reverse_complement as reverse

from gassst.cli.main import main

JUNCTION = b"GATCGATC"  # of MboI, filled in
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


COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")
SURE, UNSURE = 20, 3  # mapping qualities


def random_bases(rng, n):
    return bytes(rng.choice(list(b"ACGT"), n).astype(np.uint8))


def mutated(rng, bases, every):
    """With a mismatch in the middle of each stretch of `every` bases."""
    text = bytearray(bases)
    for i in range(every // 2, len(text), every):
        text[i] = rng.choice([base for base in b"ACGT" if base != text[i]])
    return bytes(text)


@pytest.fixture(scope="module")
def alternatives(tmp_path_factory):
    """FASTA, its .alt file, and reads whose names say where they are from.

    The ALT contig has a stretch like the main assembly, and two that differ in one base of 25 and one of 60. The main
    assembly lacks another stretch, and has one twice.
    """
    rng = np.random.default_rng(17)
    chr1, chr2, insertion = (random_bases(rng, n) for n in (30_000, 20_000, 1500))
    chr2 = chr2[:15_000] + chr1[14_000:15_000] + chr2[15_000:]
    parts = {
        "same": chr1[10_000:11_200],
        "far": mutated(rng, chr1[11_200:12_400], 25),
        "near": mutated(rng, chr1[12_400:13_600], 60),
        "only": insertion,
        "twice": chr1[13_900:15_100],
    }
    alt = random_bases(rng, 300) + b"".join(parts.values()) + random_bases(rng, 300)
    folder = tmp_path_factory.mktemp("alt")
    fasta = folder / "ref.fa"
    contigs = {"chr1": chr1, "chr1_alt": alt, "chr2": chr2}
    fasta.write_bytes(b"".join(b">%s\n%s\n" % (n.encode(), s) for n, s in contigs.items()))
    (folder / "ref.fa.alt").write_text(
        "@SQ\tSN:x\tLN:1\nchr1_alt\t0\tchr1\t10001\t60\t1M\t*\t0\t0\t*\t*\nother\n"
    )
    sources = parts | {
        "chr1far": chr1[11_200:12_400],
        "chr1near": chr1[12_400:13_600],
        "chr2": chr2[2000:3200],
    }
    with open(folder / "reads.fq", "w") as file:
        for name, bases in sources.items():
            for i, at in enumerate(range(0, len(bases) - 150, 30)):
                read = bases[at : at + 150]
                read = read.translate(COMPLEMENT)[::-1] if i % 2 else read
                file.write(f"@{name}:{at}\n{read.decode()}\n+\n{'I' * 150}\n")
    with open(folder / "R1.fq", "w") as one, open(folder / "R2.fq", "w") as two:
        for name, bases in sources.items():
            for at in range(0, len(bases) - 400, 15):
                mates = bases[at : at + 100], bases[at + 300 : at + 400].translate(COMPLEMENT)[::-1]
                for file, mate in zip((one, two), mates, strict=True):
                    file.write(f"@{name}:{at}\n{mate.decode()}\n+\n{'I' * 100}\n")
    assert main(["index", str(fasta), "-q"]) == 0
    return folder


def records_by_read(path):
    """The primary record and the contigs of supplementary ones, by name and mate."""
    primary, parts = {}, {}
    with pysam.AlignmentFile(str(path)) as file:
        for record in file:
            key = record.query_name, record.is_read2
            if record.is_supplementary:
                parts.setdefault(key, []).append((record.reference_name, record.reference_start))
            elif not record.is_secondary:
                primary[key] = record
    return primary, parts


def of_gassst(folder, *arguments):
    options = ["--mode", "local", "--device", "none", "-t", "2", "-q", "-o", str(folder / "gassst.sam")]
    assert main(["map", str(folder / "ref.gsi"), *arguments, *options]) == 0
    return records_by_read(folder / "gassst.sam")


def of_bwa(folder, *arguments):
    if not (folder / "ref.fa.bwt").exists():
        subprocess.run(["bwa", "index", str(folder / "ref.fa")], check=True, capture_output=True)
    with open(folder / "bwa.sam", "wb") as out:
        command = ["bwa", "mem", *arguments[:-1], str(folder / "ref.fa"), *arguments[-1]]
        subprocess.run(command, check=True, stdout=out, stderr=subprocess.DEVNULL)
    return records_by_read(folder / "bwa.sam")


@pytest.mark.external("bwa")
@pytest.mark.parametrize("reads", [["reads.fq"], ["R1.fq", "R2.fq"]], ids=["single", "pairs"])
@pytest.mark.parametrize("options", [[], ["-j"]], ids=["with the list", "without"])
def test_reads_lie_where_bwa_mem_puts_them(alternatives, reads, options):
    files = [str(alternatives / name) for name in reads]
    found, parts = of_gassst(alternatives, *files, *options)
    expected, expected_parts = of_bwa(alternatives, *options, files)
    assert found.keys() == expected.keys() and len(found) > 200
    for key, record in found.items():
        other = expected[key]
        if key[0].startswith("twice") and record.is_proper_pair:
            continue  # bwa mem does not always let a unique mate decide where the other one ties
        qualities = sorted([record.mapping_quality, other.mapping_quality])
        assert qualities[0] > UNSURE or qualities[1] < SURE, key
        assert record.is_unmapped == other.is_unmapped
        if qualities[0] >= SURE:
            assert (record.reference_name, record.reference_start, record.cigarstring) == (
                other.reference_name,
                other.reference_start,
                other.cigarstring,
            ), key
    if not options:
        assert all(
            record.reference_name != "chr1_alt" for (name, _), record in found.items() if "only" not in name
        )
        assert parts == expected_parts and len(parts) > 30
        with pysam.AlignmentFile(str(alternatives / "gassst.sam")) as file:
            assert [contig.get("AH") for contig in file.header.to_dict()["SQ"]] == [None, "*", None]


def test_alt_copies_are_listed_where_more_hits_are_wanted(alternatives):
    """As in bwa's XA; the primary stays on the main assembly."""
    found, _ = of_gassst(alternatives, str(alternatives / "reads.fq"), "-k", "5", "--xa")
    same = [record for (name, _), record in found.items() if name.startswith("same")]
    assert len(same) > 20
    for record in same:
        assert record.reference_name == "chr1" and record.mapping_quality >= SURE
        assert record.get_tag("XA").startswith("chr1_alt,")


def test_a_fasta_has_the_rules_of_its_list(alternatives, tmp_path, capfd):
    """Indexed in memory, or by an index of its name that is not older than the list."""
    fasta = tmp_path / "ref.fa"
    fasta.write_bytes((alternatives / "ref.fa").read_bytes())
    assert main(["index", str(fasta), "-q"]) == 0
    expected = by_read_of(alternatives / "ref.gsi", alternatives, tmp_path)
    assert by_read_of(fasta, alternatives, tmp_path) != expected  # there is no list
    shutil.copy(alternatives / "ref.fa.alt", tmp_path)
    newer = os.stat(tmp_path / "ref.gsi").st_mtime_ns + 10**9
    os.utime(tmp_path / "ref.fa.alt", ns=(newer, newer))
    capfd.readouterr()
    assert by_read_of(fasta, alternatives, tmp_path) == expected
    assert "ref.gsi is not used: it is older than the list of ALT contigs" in capfd.readouterr().err


def by_read_of(reference, alternatives, folder):
    out = folder / "out.sam"
    argv = [
        "map",
        str(reference),
        str(alternatives / "reads.fq"),
        "--device",
        "none",
        "-t",
        "1",
        "-o",
        str(out),
    ]
    assert main(argv) == 0
    with pysam.AlignmentFile(str(out)) as file:
        return [record.to_string() for record in file]


def test_a_list_that_names_no_contig(alternatives, tmp_path, capfd):
    wrong = tmp_path / "wrong.alt"
    wrong.write_text("@HD\nchrX\n")
    argv = ["index", str(alternatives / "ref.fa"), "-o", str(tmp_path / "x.gsi"), "-q", "--alt", str(wrong)]
    assert main(argv) == 1
    assert f"{wrong}: it does not name any contig of the reference" in capfd.readouterr().err
    assert not (tmp_path / "x.gsi").exists()
