"""Circular contigs: reads over the origin have both parts, and pairs over it are proper, with their true length."""

import json
import random

import numpy as np
import pysam
import pytest
from text_bases import reverse_complement

import gassst
from gassst.cli.main import main
from gassst.errors import UsageError

LENGTH, READ, ROUNDS = 6000, 100, 2
PROPER, SUPPLEMENTARY = 0x2, 0x800


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A circular contig and a line, with an index that knows it and one that does not."""
    draw, folder = random.Random(3), tmp_path_factory.mktemp("circular")
    ring, line = ("".join(draw.choice("ACGT") for _ in range(LENGTH)) for _ in range(2))
    (folder / "ref.fa").write_text(f">line\n{line}\n>ring\n{ring}\n")
    assert main(["index", "-q", str(folder / "ref.fa"), "-o", str(folder / "line.gsi")]) == 0
    assert main(["index", "-q", str(folder / "ref.fa"), "--circular", "ring"]) == 0
    return folder, ring


def write(path, reads):
    path.write_text("".join(f"@{name}\n{bases}\n+\n{'I' * len(bases)}\n" for name, bases in reads))
    return str(path)


def mapped(world, tmp_path, *argv, index="ref.gsi"):
    out = tmp_path / "o.bam"
    assert main(["map", "-q", "--device", "none", "-o", str(out), str(world[0] / index), *argv]) == 0
    with pysam.AlignmentFile(str(out)) as file:
        return list(file), file.header.to_dict()


def over_origin(ring, before, length=READ):
    """A read of which so many bases lie before the origin."""
    return (ring + ring)[LENGTH - before : LENGTH - before + length]


@pytest.mark.parametrize("reverse", [False, True])
def test_a_read_over_the_origin_has_both_parts(world, tmp_path, reverse):
    befores = range(5, READ - 4)
    reads = [(str(n), over_origin(world[1], n)) for n in befores]
    reads = [(name, reverse_complement(bases)) if reverse else (name, bases) for name, bases in reads]
    records, header = mapped(world, tmp_path, write(tmp_path / "r.fq", reads))
    assert [line.get("TP") for line in header["SQ"]] == [None, "circular"]
    for before in befores:
        primary, part = (r for r in records if r.query_name == str(before))
        assert not primary.flag & SUPPLEMENTARY and part.flag & SUPPLEMENTARY
        assert primary.is_reverse == part.is_reverse == reverse
        places = {(r.reference_start, r.reference_end) for r in (primary, part)}
        assert places == {(LENGTH - before, LENGTH), (0, READ - before)}
        for own, other in ((primary, part), (part, primary)):
            strand, mapq = "-" if reverse else "+", other.mapping_quality
            cigar = other.cigarstring.replace("H", "S")
            assert own.get_tag("SA") == f"ring,{other.reference_start + 1},{strand},{cigar},{mapq},0;"
            assert own.get_tag("NM") == 0 and own.mapping_quality >= 20


@pytest.mark.parametrize("mode", [[], ["--mode", "global"]], ids=["", "global"])
@pytest.mark.parametrize("paired", [False, True])
def test_a_read_of_which_neither_part_is_found_alone_is_mapped(world, tmp_path, mode, paired):
    """Half of it lies on each side: 25 bases are too few to be searched for."""
    ring = world[1]
    befores = range(1, 50) if mode else range(20, 31)
    reads = [(str(n), over_origin(ring, n, 50)) for n in befores]
    files = [write(tmp_path / "1.fq", reads)]
    if paired:
        mates = [(str(n), reverse_complement((ring + ring)[LENGTH + 200 - n :][:50])) for n in befores]
        files = [*files, write(tmp_path / "2.fq", mates), "--insert", "250,20"]
    records, _ = mapped(world, tmp_path, *files, *mode, "--stats", str(tmp_path / "s.json"))
    counted = gassst.Stats.read_json(tmp_path / "s.json")
    assert counted.mapped == counted.reads == counted.confident == sum(counted.errors.values())
    for name, bases in reads:
        primary, *parts = (r for r in records if r.query_name == name and not r.is_read2)
        before = int(name)
        assert [part.flag & SUPPLEMENTARY for part in parts] == [SUPPLEMENTARY]
        places = {(r.reference_start, r.reference_end) for r in (primary, *parts)}
        assert places == {(LENGTH - before, LENGTH), (0, 50 - before)}
        assert primary.query_sequence == bases and primary.mapping_quality >= 20
        assert [r.get_tag("NM") for r in (primary, *parts)] == [0, 0]
        if paired:
            assert primary.is_proper_pair and primary.template_length == 250
        else:
            assert primary.query_alignment_length == max(before, 50 - before)


@pytest.mark.parametrize("mode", ["local", "global"])
def test_errors_beside_the_origin_cost_neither_bases_nor_length(world, tmp_path, mode):
    """Where the search clips one part, or both, some bases before the end of the contig."""
    two, one, last = world[1] + world[1], [], []
    for before in range(12, READ - 11):
        for off in (-4, -2, 1, 3):
            piece = two[LENGTH - before :][:300]
            wrong = (
                piece[: before + off] + "CATG"["ACGT".index(piece[before + off])] + piece[before + off + 1 :]
            )
            one.append((f"{before}:{off}", wrong[:READ]))
            last.append((f"{before}:{off}", reverse_complement(piece[-READ:])))
    files = [write(tmp_path / f"{i}.fq", reads) for i, reads in enumerate((one, last))]
    records, _ = mapped(world, tmp_path, *files, "--insert", "300,20", "--mode", mode)
    for name, _ in one:
        primary, part = (r for r in records if r.query_name == name and r.is_read1)
        before, length = int(name.split(":")[0]), abs(primary.template_length)
        assert primary.is_proper_pair and primary.mapping_quality >= 20
        if min(before, READ - before) >= 30:
            assert length == 300, name
        if length == 300:
            covered = {
                i + r.cigartuples[0][1] * (r.cigartuples[0][0] == 5)
                for r in (primary, part)
                for i, _ in r.get_aligned_pairs(matches_only=True)
            }
            assert len(covered) >= READ - 4, name
    assert sum(abs(r.template_length) == 300 for r in records if r.flag & 0x940 == 0x40) > 0.9 * len(one)


def test_other_ends_stay_clipped(world, tmp_path):
    """What does not go on at the other border; what does on a line; what ends before the border."""
    ring = world[1]
    foreign = "".join(random.Random(8).choice("ACGT") for _ in range(30))
    reads = [
        ("foreign", ring[-70:] + foreign),
        ("short", ring[-96:] + ring[:4]),
        ("inside", ring[-75:-5] + ring[:30]),
    ]
    line = write(tmp_path / "r.fq", reads)
    records, _ = mapped(world, tmp_path, line)
    assert [r.query_name for r in records if r.is_supplementary] in ([], ["inside"])
    records, header = mapped(
        world, tmp_path, write(tmp_path / "s.fq", [("r", over_origin(ring, 85))]), index="line.gsi"
    )
    assert len(records) == 1 and not any("TP" in contig for contig in header["SQ"])


def pairs_around(ring, n=400, mean=300, sd=20, orientation="fr"):
    """Pairs from everywhere on a ring, and where the outer ends of each lie."""
    draw, one, two, truth = random.Random(5), [], [], {}
    for i in range(n):
        at, size = (
            draw.randrange(LENGTH) if i % 4 else LENGTH - draw.randrange(mean),
            round(draw.gauss(mean, sd)),
        )
        piece = (ring + ring)[at : at + size]
        flipped = i % 2 == 1
        piece = reverse_complement(piece) if flipped else piece
        first, last = piece[:READ], reverse_complement(piece[-READ:])
        if orientation == "rf":
            first, last = reverse_complement(first), reverse_complement(last)
        one.append((f"p{i}", first))
        two.append((f"p{i}", last))
        truth[f"p{i}"] = size
    return one, two, truth


@pytest.mark.parametrize("orientation", ["fr", "rf"])
def test_pairs_over_the_origin_are_proper_with_their_true_length(world, tmp_path, orientation):
    one, two, truth = pairs_around(world[1], orientation=orientation)
    files = [write(tmp_path / f"{i}.fq", reads) for i, reads in enumerate((one, two))]
    records, _ = mapped(world, tmp_path, *files, "--insert", "300,20", f"--{orientation}")
    lines, _ = mapped(world, tmp_path, *files, "--insert", "300,20", f"--{orientation}", index="line.gsi")
    first = {r.query_name: r for r in records if r.is_read1 and not r.is_supplementary}
    of_line = {r.query_name: r for r in lines if r.is_read1 and not r.is_supplementary}
    second = {r.query_name: r for r in records if r.is_read2 and not r.is_supplementary}
    over = {name for name in first if not of_line[name].is_proper_pair}
    assert len(over) > 60
    for name, size in truth.items():
        a, b = first[name], second[name]
        assert a.template_length == -b.template_length
        if orientation == "fr" and a.cigarstring == b.cigarstring == "100M":
            assert abs(a.template_length) == size and (a.template_length > 0) == (not a.is_reverse)
        if name not in over and a.cigarstring == b.cigarstring == "100M":
            assert a.to_string() == of_line[name].to_string()
    assert sum(r.is_proper_pair for r in first.values()) >= 395


def test_in_python(world):
    folder, ring = world
    index = gassst.Index.build(folder / "ref.fa", circular=["all"])
    assert index.reference.circular.tolist() == [True, True]
    mapper = gassst.Mapper(index, device="none", threads=1)
    hits = mapper.map_one(over_origin(ring, 90))
    assert sorted((hit.start, hit.end) for hit in hits) == [(0, 10), (LENGTH - 90, LENGTH)]
    with pytest.raises(UsageError, match="circular: no contig has the name 'plasmid'"):
        gassst.Index.build(folder / "ref.fa", circular=["plasmid"])


def test_a_wrong_ordinal_is_damage(world, tmp_path):
    data = (world[0] / "ref.gsi").read_bytes()
    assert data.count(b'"circular": [1]') == 1
    (tmp_path / "bad.gsi").write_bytes(data.replace(b'"circular": [1]', b'"circular": [9]'))
    assert main(["info", str(tmp_path / "bad.gsi")]) != 0


def test_random_reads_keep_their_oracle(world, tmp_path):
    """Every part, laid over the ring, is what the read has there."""
    ring, draw, reads = world[1], random.Random(9), []
    for i in range(300):
        bases = np.array(list(over_origin(ring, draw.randrange(1, 150), 150)))
        for at in draw.sample(range(150), draw.randrange(6)):
            bases[at] = draw.choice("ACGT")
        if i % 3 == 0:  # two bases of the ring are missing near the origin
            before = draw.randrange(40, 110)
            bases = [
                *over_origin(ring, before, before - 6 + 12 * (i % 2)),
                *over_origin(ring, 8 - 12 * (i % 2), 50),
            ]
        text = "".join(bases)
        reads.append((f"r{i}", reverse_complement(text) if i % 2 else text))
    records, _ = mapped(world, tmp_path, write(tmp_path / "r.fq", reads), "-Y")
    both = 0
    for record in records:
        text = dict(reads)[record.query_name]
        assert record.query_sequence == (reverse_complement(text) if record.is_reverse else text)
        pairs = record.get_aligned_pairs(matches_only=True)
        wrong = sum(record.query_sequence[q] != ring[r] for q, r in pairs)
        gaps = sum(size for kind, size in record.cigartuples if kind in (1, 2))
        assert record.get_tag("NM") == wrong + gaps
        assert all(
            base == ring[r].lower() or base == ring[r] for _, r, base in record.get_aligned_pairs(True, True)
        )
        if not gaps:
            assert record.get_tag("AS") == len(pairs) - 5 * wrong
        both += record.is_supplementary
    assert both > 250


@pytest.mark.parametrize("mode", ["local", "global"])
def test_a_read_that_nearly_fits_a_line_elsewhere_goes_over_the_origin(tmp_path, mode):
    """As of mitochondria, of which a nucleus has old copies."""
    draw = random.Random(8)
    ring, line = ("".join(draw.choice("ACGT") for _ in range(LENGTH)) for _ in range(2))
    copy = list(ring[-300:] + ring[:300])
    for at in range(10, len(copy), 25):
        copy[at] = {"A": "C", "C": "G", "G": "T", "T": "A"}[copy[at]]
    (tmp_path / "ref.fa").write_text(f">line\n{line}{''.join(copy)}{line[::-1]}\n>ring\n{ring}\n")
    assert main(["index", "-q", str(tmp_path / "ref.fa"), "--circular", "ring"]) == 0
    reads = [(str(n), over_origin(ring, n)) for n in range(10, READ - 9)]
    fastq = write(tmp_path / "r.fq", reads)
    records, _ = mapped((tmp_path, ring), tmp_path, fastq, "--mode", mode)
    assert len(records) == 2 * len(reads)
    assert {record.reference_name for record in records} == {"ring"}


def test_a_read_that_fits_a_line_elsewhere_as_well_is_sure_of_neither(tmp_path):
    """As of phages, of which a bacterium has the joined ends."""
    draw = random.Random(9)
    ring, line = ("".join(draw.choice("ACGT") for _ in range(LENGTH)) for _ in range(2))
    (tmp_path / "ref.fa").write_text(f">line\n{line}{ring[-300:]}{ring[:300]}{line[::-1]}\n>ring\n{ring}\n")
    assert main(["index", "-q", str(tmp_path / "ref.fa"), "--circular", "ring"]) == 0
    reads = [(str(n), over_origin(ring, n)) for n in range(10, READ - 9)]
    fastq, stats = write(tmp_path / "r.fq", reads), tmp_path / "o.json"
    records, _ = mapped((tmp_path, ring), tmp_path, fastq, "--stats", str(stats))
    assert [record.mapping_quality for record in records] == [0] * len(reads)
    found = json.loads(stats.read_text())
    assert found["mapq"] == {"0": len(reads)} and found["confident"] == 0 and found["mapped"] == len(reads)
