"""Converted reads: placed where they come from, with the errors of an oracle and the tags that callers read."""

import random
import subprocess
import sys
from collections import Counter

import numpy as np
import pysam
import pytest
from text_bases import reverse_complement

import gassst
from gassst._core.bands import Bands
from gassst._core.stages import instruction_sets
from gassst.cli.main import main
from gassst.pairing.insert_size import InsertModel
from gassst.reads.in_memory import batch_of_records

COMPLEMENT = str.maketrans("ACGT", "TGCA")


def genome_of(n, seed):
    draw = random.Random(seed)
    return "".join(draw.choice("ACGT") for _ in range(n))


def index_of(tmp_path, *contigs):
    fasta = tmp_path / "ref.fa"
    fasta.write_text("".join(f">c{i}\n{bases}\n" for i, bases in enumerate(contigs)))
    return gassst.Index.build(str(fasta), meth=True)


def converted(bases, draw, rate=0.99, methylated=0.3):
    """A strand after bisulfite."""
    return "".join(
        "T" if base == "C" and draw.random() >= methylated and draw.random() < rate else base
        for base in bases
    )


def mutated(bases, draw, errors):
    bases = list(bases)
    for _ in range(errors):
        at, kind = draw.randrange(1, len(bases) - 1), draw.random()
        if kind < 0.6:
            bases[at] = draw.choice([b for b in "ACGT" if b != bases[at]])
        elif kind < 0.8:
            del bases[at]
        else:
            bases.insert(at, draw.choice("ACGT"))
    return "".join(bases)


def fits(read_base, reference_base, conversion):
    """The rule, base by base: where C became T, a T of the read may face a C; on the other strand, an A a G."""
    changed = {"ct": ("T", "C"), "ga": ("A", "G"), None: None}[conversion]
    return read_base == reference_base or (read_base, reference_base) == changed


def errors_by_end(read, genome, conversion):
    """Least edit distance of the whole read to what ends at each position of the genome: the textbook recurrence."""
    codes, ramp = np.array(["ACGT".index(other) for other in genome]), np.arange(len(genome) + 1)
    row = np.zeros(len(genome) + 1, int)
    for base in read:
        step, differs = row + 1, np.array([not fits(base, other, conversion) for other in "ACGT"])
        step[1:] = np.minimum(step[1:], row[:-1] + differs[codes])
        row = np.minimum.accumulate(step - ramp) + ramp  # gaps in the read
    return row.tolist()


def fewest_errors(read, genome, conversion):
    return min(errors_by_end(read, genome, conversion))


@pytest.mark.parametrize("mode", ["global", "local"])
@pytest.mark.parametrize("library", ["directional", "pbat", "non-directional"])
def test_reads_lie_where_they_come_from(tmp_path, mode, library):
    draw, n = random.Random(5), 120
    genome = genome_of(20_000, 1)
    reads, truth = [], []
    for _ in range(n):
        at, reverse = draw.randrange(len(genome) - 100), draw.random() < 0.5
        bases = genome[at : at + 100]
        bases = converted(reverse_complement(bases) if reverse else bases, draw, methylated=0.05)
        if library == "pbat" or (library == "non-directional" and draw.random() < 0.5):
            bases, reverse = reverse_complement(bases), not reverse
        reads.append(bases)
        truth.append((at, reverse))
    with gassst.Mapper(index_of(tmp_path, genome), meth=library, mode=mode, threads=1) as mapper:
        records = list(mapper.map([(f"r{i}", bases) for i, bases in enumerate(reads)]))
    assert [(r.reference_start, r.is_reverse) for r in records] == truth
    assert {(r.get_tag("NM"), r.cigarstring) for r in records} == {(0, "100M")}
    assert min(r.mapping_quality for r in records) >= 20
    # YD is the strand that was converted: that of the read, unless the read is its reverse complement.
    for record in records:
        top = record.is_reverse == (record.get_tag("YC") == "GA")
        assert record.get_tag("YD") == ("f" if top else "r")


def test_errors_are_the_fewest_of_an_oracle(tmp_path):
    draw = random.Random(8)
    genome = genome_of(700, 2)
    reads = []
    for i in range(40):
        at, reverse = draw.randrange(len(genome) - 70), draw.random() < 0.5
        bases = genome[at : at + 60]
        bases = converted(reverse_complement(bases) if reverse else bases, draw)
        reads.append((f"r{i}", mutated(bases, draw, draw.randrange(4))))
    with gassst.Mapper(
        index_of(tmp_path, genome), meth="directional", mode="global", threads=1, sensitivity=5
    ) as m:
        records = list(m.map(reads))
    asymmetric = 0
    for (_, bases), record in zip(reads, records, strict=True):
        ahead = fewest_errors(bases, genome, "ct")
        behind = fewest_errors(reverse_complement(bases), genome, "ga")
        assert record.get_tag("NM") == min(ahead, behind)
        asymmetric += min(ahead, behind) < min(
            fewest_errors(b, genome, None) for b in (bases, reverse_complement(bases))
        )
    assert asymmetric > 20


@pytest.mark.parametrize("isa", instruction_sets())
@pytest.mark.parametrize("words", [1, 2])
def test_bands_of_all_instruction_sets(isa, words):
    draw = random.Random(9)
    genome = genome_of(1_000, 4)
    reference = batch_of_records([("g", genome, None)]).pack().planes[: 1_024 // 64]
    reads, first = [], []
    for _ in range(37):
        at = draw.randrange(100, 800)
        reads.append(mutated(converted(genome[at : at + 70], draw), draw, draw.randrange(4)))
        first.append(at - 32 * words)
    packed = batch_of_records([("r", bases, None) for bases in reads]).pack(
        conversions=np.ones(len(reads), np.uint8)
    )
    band = Bands(np.ascontiguousarray(reference), packed.planes, packed.plane_start, packed.lengths, isa)
    strands = 2 * np.arange(len(reads), dtype=np.uint32)
    most = np.full(len(reads), 60, np.uint16)
    best, _ = band.score(strands, np.array(first, np.int64), words, most)
    expected = [
        fewest_errors(bases, genome[at : at + 64 * words + len(bases)], "ct")
        for bases, at in zip(reads, first, strict=True)
    ]
    assert best.tolist() == expected


def pairs_of(genome, n, seed):
    draw = random.Random(seed)
    pairs, truth = [], []
    for i in range(n):
        at, size, reverse = draw.randrange(len(genome) - 300), draw.randrange(150, 290), draw.random() < 0.5
        top = genome[at : at + size]
        strand = converted(reverse_complement(top) if reverse else top, draw, methylated=0.1)
        pairs.append((f"p{i}", strand[:80], reverse_complement(strand)[:80]))
        ends = (at, at + size - 80)
        truth += [(ends[reverse], reverse), (ends[not reverse], not reverse)]
    return pairs, truth


def test_insert_sizes_are_learned_with_the_index_of_converted_seeds(tmp_path):
    genome = genome_of(60_000, 16)
    index_of(tmp_path, genome).save(tmp_path / "ref.meth.gsi")
    pairs, _ = pairs_of(genome, 3_000, 17)
    for mate in range(2):
        text = "".join(f">{name}\n{bases[mate]}\n" for name, *bases in pairs)
        (tmp_path / f"{mate}.fa").write_text(text)
    arguments = ["insert", "--meth", "ref.fa", "0.fa", "1.fa", "-o", "model.json", "--device", "none"]
    run = subprocess.run(
        [sys.executable, "-m", "gassst", *arguments], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 0 and "ref.meth.gsi" in run.stderr
    model = InsertModel.read(tmp_path / "model.json")
    assert abs(model.mean - 220) < 10


@pytest.mark.parametrize("library", ["directional", "pbat", "non-directional"])
def test_pairs_are_proper_and_of_one_strand(tmp_path, library):
    """The reads of a PBAT pair are those of a directional one, the other way round."""
    genome = genome_of(20_000, 6)
    pairs, truth = pairs_of(genome, 100, 7)
    kinds = []
    for i, (name, first, second) in enumerate(pairs):
        swapped = library == "pbat" or (library == "non-directional" and i % 3 == 0)
        if swapped:
            pairs[i] = name, second, first
            truth[2 * i : 2 * i + 2] = truth[2 * i + 1], truth[2 * i]
        kinds += ["GA", "CT"] if swapped else ["CT", "GA"]
    reads = [[(name, bases[mate]) for name, *bases in pairs] for mate in range(2)]
    with gassst.Mapper(index_of(tmp_path, genome), meth=library, threads=1) as mapper:
        records = list(mapper.map(*reads))
    assert [(r.reference_start, r.is_reverse) for r in records] == truth
    assert all(r.is_proper_pair and r.get_tag("NM") == 0 for r in records)
    assert [r.get_tag("YC") for r in records] == kinds
    assert all(a.get_tag("YD") == b.get_tag("YD") for a, b in zip(records[::2], records[1::2], strict=True))


@pytest.mark.parametrize("strata", [False, True])
def test_all_places_are_those_of_an_oracle(tmp_path, strata):
    """In a genome of diverged copies on both strands, each hit has the errors of the oracle, which finds no other."""
    draw, most = random.Random(3), 5
    unit, genome = genome_of(300, 17), genome_of(4_000, 18)
    for i in range(6):
        copy = mutated(unit, draw, 2 * i)[:290]
        copy = reverse_complement(copy) if i % 2 else copy
        genome = genome[: 600 * i + 50] + copy + genome[600 * i + 340 :]
    reads = []
    for i in range(30):
        at, reverse = 600 * (i % 6) + 50 + draw.randrange(240), draw.random() < 0.5
        bases = genome[at : at + 50]
        bases = converted(reverse_complement(bases) if reverse else bases, draw)
        reads.append((f"r{i}", mutated(bases, draw, draw.randrange(4))))
    options = {"all_hits": True, "strata": strata, "max_hits": 100, "sensitivity": 5, "min_identity": 90}
    with gassst.Mapper(index_of(tmp_path, genome), meth="directional", threads=1, **options) as mapper:
        records = list(mapper.map(reads))
    hits = 0
    for name, bases in reads:
        ends = {
            (reverse, end): errors
            for reverse, read, conversion in ((False, bases, "ct"), (True, reverse_complement(bases), "ga"))
            for end, errors in enumerate(errors_by_end(read, genome, conversion))
            if errors <= len(bases) // 10
        }
        found = {
            (r.is_reverse, r.reference_end): r.get_tag("NM")
            for r in records
            if r.query_name == name and not r.is_unmapped
        }
        assert all(ends[place] == errors for place, errors in found.items())
        best = min(ends.values())
        assert not strata or set(found.values()) == {best}
        for (reverse, end), errors in ends.items():
            near = [e for (r, other), e in found.items() if r == reverse and abs(other - end) <= 2 * most]
            assert (strata and errors > best) or (near and min(near) <= errors)
        hits += len(found)
    assert hits > 2 * len(reads)


def calls_of(record, genome):
    """XM from the record and the genome, by its definition."""
    calls = ["."] * record.query_length
    top = record.get_tag("XG") == "CT"
    strand = genome if top else reverse_complement(genome)
    for q, r in record.get_aligned_pairs(matches_only=True):
        at = r if top else len(genome) - 1 - r
        base = record.query_sequence[q] if top else record.query_sequence[q].translate(COMPLEMENT)
        if strand[at] != "C" or base not in "CT":
            continue
        behind = strand[at + 1 : at + 3]
        if behind[:1] == "G":
            call = "z"
        elif len(behind) < 2:
            call = "u"
        else:
            call = "x" if behind[1] == "G" else "h"
        calls[q] = call.upper() if base == "C" else call
    return "".join(calls)


def test_tags_of_bismark(tmp_path):
    genome = genome_of(6_000, 10)
    pairs, _ = pairs_of(genome, 60, 11)
    pairs.append(("end", converted(genome[-80:], random.Random(1)), reverse_complement(genome[-200:-120])))
    for mate in range(2):
        text = "".join(f">{name}\n{bases[mate]}\n" for name, *bases in pairs)
        (tmp_path / f"{mate}.fa").write_text(text)
    out = tmp_path / "out.bam"
    with gassst.Mapper(index_of(tmp_path, genome), meth="directional", threads=1) as mapper:
        mapper.map_file(str(tmp_path / "0.fa"), str(out), mates=str(tmp_path / "1.fa"), meth_tags="bismark")
    with pysam.AlignmentFile(str(out), check_sq=False) as file:
        records = list(file)
    assert {(r.get_tag("XR"), r.get_tag("XG")) for r in records} == {
        (a, b) for a in ("CT", "GA") for b in ("CT", "GA")
    }
    for record in records:
        assert record.get_tag("XM") == calls_of(record, genome)
        plain = sum(
            record.query_sequence[q] != genome[r] for q, r in record.get_aligned_pairs(matches_only=True)
        )
        assert record.get_tag("NM") == plain


def test_parts_list_the_differences_that_bismark_counts(tmp_path):
    genome = genome_of(20_000, 12)
    read = "".join(genome[at : at + 80].replace("C", "T") for at in (1_000, 5_000))
    (tmp_path / "reads.fa").write_text(f">split\n{read}\n")
    with gassst.Mapper(index_of(tmp_path, genome), meth="directional", threads=1) as mapper:
        mapper.map_file(tmp_path / "reads.fa", tmp_path / "out.sam", meth_tags="bismark")
    with pysam.AlignmentFile(tmp_path / "out.sam") as file:
        one, two = file
    for part, other in ((one, two), (two, one)):
        assert int(part.get_tag("SA").rstrip(";").split(",")[5]) == other.get_tag("NM") > 0


def test_a_chimera_fails(tmp_path):
    genome = genome_of(20_000, 12)
    read = "".join(genome[at : at + 40].replace("C", "T") for at in (1_000, 5_000, 9_000))
    whole = genome[3_000:3_120].replace("C", "T")
    (tmp_path / "reads.fa").write_text(f">chimera\n{read}\n>whole\n{whole}\n")
    with gassst.Mapper(index_of(tmp_path, genome), meth="directional", threads=1) as mapper:
        stats = mapper.map_file(tmp_path / "reads.fa", tmp_path / "out.sam")
    with pysam.AlignmentFile(tmp_path / "out.sam") as file:
        records = list(file)
    of_chimera = [r for r in records if r.query_name == "chimera"]
    assert all(r.is_qcfail and r.mapping_quality <= 1 for r in of_chimera)
    assert [r.is_qcfail for r in records if r.query_name == "whole"] == [False]
    primary = [r.mapping_quality for r in records if not r.is_secondary and not r.is_supplementary]
    assert dict(stats.mapq) == Counter(primary) and stats.confident == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["index", "--meth", "--step", "2", "ref.fa"], "--meth makes an index of every base"),
        (["index", "--meth", "--parts", "2", "ref.fa"], "--meth makes an index of every base"),
        (["map", "--meth", "ref.gsi", "r.fa", "-o", "out.sam"], "not an index for methylation"),
        (["map", "ref.meth.gsi", "r.fa", "-o", "out.sam"], "an index for methylation: map with --meth"),
        (["index", "--meth", "--alt", "alt.txt", "ref.fa"], "without ALT contigs"),
        (
            ["map", "--meth-library", "both", "ref.meth.gsi", "r.fa", "-o", "out.sam"],
            "invalid choice: 'both'",
        ),
        (
            ["map", "--meth", "--device", "gpu", "ref.meth.gsi", "r.fa", "-o", "out.sam"],
            "--device must be none",
        ),
        (
            ["map", "--meth", "--filters", "fd", "ref.meth.gsi", "r.fa", "-o", "out.sam"],
            "--filters must be auto",
        ),
        (["map", "--meth-tags", "bismark", "ref.gsi", "r.fa", "-o", "out.sam"], "--meth-tags needs --meth"),
    ],
)
def test_what_is_refused(tmp_path, monkeypatch, capfd, arguments, complaint):
    monkeypatch.chdir(tmp_path)
    genome = genome_of(3_000, 15)
    index_of(tmp_path, genome).save(tmp_path / "ref.meth.gsi")
    gassst.Index.build(str(tmp_path / "ref.fa")).save(tmp_path / "ref.gsi")
    (tmp_path / "r.fa").write_text(f">r\n{genome[:100]}\n")
    (tmp_path / "alt.txt").write_text("c0\n")
    before = sorted(path.name for path in tmp_path.iterdir())
    capfd.readouterr()
    assert main([*arguments, "-q"]) != 0
    [line] = capfd.readouterr().err.splitlines()
    assert complaint in line
    assert sorted(path.name for path in tmp_path.iterdir()) == before
