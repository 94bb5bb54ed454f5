"""The simulator against plain Python on strings: names are split here, sequences compared by letter."""

import argparse
import gzip
from collections import Counter

import edlib
import numpy as np
import pytest
from text_bases import COMPLEMENT

from gassst.errors import InputError, UsageError
from gassst.tools import foreign, simulate
from gassst.tools.profiles import Fitted


def write_fasta(path, contigs):
    path.write_text(
        "".join(f">{name} note\n" + "\n".join(wrapped(seq)) + "\n" for name, seq in contigs.items())
    )
    return str(path)


def wrapped(seq, width=61):
    return [seq[i : i + width] for i in range(0, len(seq), width)]


def random_sequence(n, seed):
    return "".join(np.random.default_rng(seed).choice(list("ACGT"), n))


@pytest.fixture(scope="module")
def genome(tmp_path_factory):
    contigs = {"chr1": random_sequence(40_000, 1), "HLA*01:02_x": random_sequence(20_000, 2).lower()}
    path = tmp_path_factory.mktemp("genome") / "g.fa"
    return write_fasta(path, contigs), {name: seq.upper() for name, seq in contigs.items()}


def run(*arguments):
    parser = argparse.ArgumentParser()
    simulate.add_arguments(parser)
    return simulate.main(parser.parse_args([str(a) for a in arguments]))


def read_fastq(path):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt") as file:
        lines = file.read().split("\n")
    assert lines.pop() == "" and len(lines) % 4 == 0
    assert all(line.startswith("@") for line in lines[::4]) and set(lines[2::4]) <= {"+"}
    return list(zip((line[1:] for line in lines[::4]), lines[1::4], lines[3::4], strict=True))


def truth_of(name, mate=0):
    serial, contig, *rest = name.split(",")
    start, end, strand, subs, ins, dels = rest[6 * mate : 6 * mate + 6]
    return int(serial[1:]), contig, int(start), int(end), strand, int(subs), int(ins), int(dels)


def forward(sequence, strand):
    return sequence if strand == "+" else sequence.translate(COMPLEMENT)[::-1]


def simulated(tmp_path, fasta, *arguments, name="r.fq"):
    assert run(fasta, "-o", tmp_path / name, *arguments) == 0
    return read_fastq(tmp_path / name)


@pytest.mark.parametrize("error", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("length", [36, 150])
def test_reads_lie_where_their_names_say(tmp_path, genome, error, length):
    fasta, contigs = genome
    reads = simulated(tmp_path, fasta, "-n", 2000, "-l", length, "-e", error)
    assert [truth_of(name)[0] for name, *_ in reads] == list(range(1, 2001))
    for name, sequence, quality in reads:
        _, contig, start, end, strand, subs, ins, dels = truth_of(name)
        template = contigs[contig][start - 1 : end]
        assert len(sequence) == len(quality) == length
        assert len(template) == end - start + 1 == length - ins + dels
        distance = edlib.align(forward(sequence, strand), template, mode="NW")["editDistance"]
        assert distance <= subs + ins + dels
        if error == 0:
            assert subs + ins + dels == 0


def test_error_rates_and_indel_lengths_are_those_of_the_thesis():
    n, length, rate = 20_000, 100, 0.05
    errors = simulate.draw_errors(np.random.default_rng(3), n, length, rate, 0.2)
    bases = n * length
    assert errors.substituted.size / bases == pytest.approx(0.8 * rate, rel=0.05)
    steps = np.diff(errors.template, axis=1)
    deleted = steps[steps > 1] - 1
    inserted = np.zeros(bases, dtype=bool)
    inserted[errors.inserted] = True
    assert not inserted[errors.substituted].any()
    assert not inserted.reshape(n, length)[:, 0].any()
    rows = inserted.reshape(n, length)[:, :-5].astype(np.uint8) + 48
    runs = np.array([len(run) for row in rows for run in row.tobytes().split(b"0") if run])
    # No indel is at the first base, and the last five were left out of the runs.
    for sizes, positions in ((deleted, length - 1), (runs, length - 6)):
        assert sizes.size / (n * positions) == pytest.approx(0.1 * rate, rel=0.04)
        assert np.mean(sizes == 1) == pytest.approx(0.7, abs=0.02)
        assert np.mean(sizes == 2) == pytest.approx(0.21, abs=0.02)
    assert errors.deletions.sum() == deleted.sum()
    assert np.array_equal(errors.span, length - inserted.reshape(n, length).sum(1) + errors.deletions)


def test_both_strands_and_all_positions_are_equally_likely(tmp_path):
    fasta = write_fasta(
        tmp_path / "g.fa", {"a": "ACGTACGTACGT" + "N" * 5 + "ACGTTGCATG", "b": "ACGTTTGACA", "c": "ACG"}
    )
    reads = simulated(tmp_path, fasta, "-n", 8000, "-l", 10, "-e", 0)
    places = Counter((truth_of(name)[1], truth_of(name)[2]) for name, *_ in reads)
    assert set(places) == {("a", 1), ("a", 2), ("a", 3), ("a", 18), ("b", 1)}
    assert all(1400 < count < 1800 for count in places.values())
    assert 3800 < sum(truth_of(name)[4] == "+" for name, *_ in reads) < 4200


def test_pairs_face_each_other_at_the_insert_size(tmp_path, genome):
    fasta, contigs = genome
    out = tmp_path / "1.fq", tmp_path / "2.fq.gz"
    run(fasta, "-n", 3000, "-l", 100, "-e", 0.02, "--pairs", "300,25", "-o", out[0], "-o", out[1])
    first, second = map(read_fastq, out)
    inserts, first_strands = [], Counter()
    for (name, *read1), (name2, *read2) in zip(first, second, strict=True):
        assert name == name2
        mates = [truth_of(name, mate) for mate in (0, 1)]
        for (sequence, _), (_, contig, start, end, strand, *counts) in zip(
            (read1, read2), mates, strict=True
        ):
            template = contigs[contig][start - 1 : end]
            assert edlib.align(forward(sequence, strand), template)["editDistance"] <= sum(counts)
        assert {mate[4] for mate in mates} == {"+", "-"}
        left, right = sorted(mates, key=lambda mate: mate[4])
        assert left[4] == "+" and left[2] <= right[2] and left[3] <= right[3]
        inserts.append(right[3] - left[2] + 1)
        first_strands[mates[0][4]] += 1
    assert np.mean(inserts) == pytest.approx(300, abs=2)
    assert np.std(inserts) == pytest.approx(25, abs=1.5)
    assert 1380 < first_strands["+"] < 1620


@pytest.mark.parametrize("profile", ["illumina", "illumina-gaiix"])
def test_fitted_qualities_and_the_errors_they_promise(tmp_path, genome, profile):
    fasta, contigs = genome
    reads = simulated(
        tmp_path, fasta, "-n", 6000, "-l", 100, "--profile", profile, "-e", 0.04, "--indel-share", 0
    )
    wrong, bases = np.zeros(64), np.zeros(64)
    for name, sequence, letters in reads:
        _, contig, start, end, strand, *_ = truth_of(name)
        template = forward(contigs[contig][start - 1 : end], strand)
        levels = np.frombuffer(letters.encode(), dtype=np.uint8) - 33
        different = np.frombuffer(template.encode(), np.uint8) != np.frombuffer(sequence.encode(), np.uint8)
        wrong += np.bincount(levels[different], minlength=64)
        bases += np.bincount(levels, minlength=64)
    assert wrong.sum() / bases.sum() == pytest.approx(0.04, rel=0.05)
    model = Fitted(profile, 100, 0.04)
    common = bases > 5000
    assert common.sum() > 5
    assert wrong[common] / bases[common] == pytest.approx(model.error_of[common], rel=0.25, abs=0.003)
    assert bases / bases.sum() == pytest.approx(model.levels().mean(axis=0), abs=0.006)
    assert wrong[2] / bases[2] > 5 * wrong[38] / bases[38]


def haplotypes_of(vcf, contigs):
    """{contig: [(sequence, reference index of each base or None)]} by editing lists, last variant first."""
    lines = [line.split("\t") for line in vcf.read_text().split("\n") if line and line[0] != "#"]
    count = len(lines[0][9].split("|"))
    built = {
        name: [(list(seq), list(range(len(seq)))) for _ in range(count)] for name, seq in contigs.items()
    }
    for contig, position, _, ref, alt, *_, genotype in reversed(lines):
        at = int(position) - 1
        assert contigs[contig][at : at + len(ref)] == ref and alt != ref
        for (bases, index), carried in zip(built[contig], genotype.split("|"), strict=True):
            if carried == "1":
                bases[at : at + len(ref)] = alt
                index[at : at + len(ref)] = [*range(at, at + len(ref))][: len(alt)] + [None] * (
                    len(alt) - len(ref)
                )
    return lines, {name: [("".join(b), i) for b, i in pair] for name, pair in built.items()}


@pytest.mark.parametrize("diploid", [False, True])
def test_planted_variants_are_in_the_reads_and_the_truth_is_in_reference_coordinates(
    tmp_path, genome, diploid
):
    fasta, contigs = genome
    vcf = tmp_path / "t.vcf"
    options = ["-n", 4000, "-l", 60, "-e", 0, "--snp-rate", 0.01, "--indel-rate", 0.01, "--truth-vcf", vcf]
    reads = simulated(tmp_path, fasta, *options, *["--diploid"] * diploid)
    lines, haplotypes = haplotypes_of(vcf, contigs)
    used = Counter()
    for name, sequence, _ in reads:
        _, contig, start, end, strand, *counts = truth_of(name)
        assert counts == [0, 0, 0]
        sequence, fits = forward(sequence, strand), []
        for number, (bases, index) in enumerate(haplotypes[contig]):
            at = bases.find(sequence)
            if at >= 0:
                aligned = [i for i in index[at : at + 60] if i is not None]
                fits.append((aligned[0] + 1, aligned[-1] + 1))
                used[number] += 1
        assert (start, end) in fits
    if diploid:
        assert used[0] == pytest.approx(used[1], rel=0.1)


@pytest.mark.parametrize(
    ("fasta", "message"),
    [
        ("ACGT\n", "not FASTA"),
        ("", "not FASTA"),
        (">\nACGT\n", "without a name"),
        (">a,b\nACGT\n", "'a,b'"),
        (">a\nACGT\n>a x\nACGT\n", "same name"),
        (">a\nACGTNNNACGT\n", "without N"),
    ],
)
def test_unusable_references_are_refused(tmp_path, fasta, message):
    (tmp_path / "g.fa").write_text(fasta)
    with pytest.raises(InputError, match=message):
        run(tmp_path / "g.fa", "-n", 1, "-l", 5, "-e", 0, "-o", tmp_path / "o.fq")


@pytest.mark.parametrize(
    "options",
    [
        ["-l", 0, "-e", 0], ["-l", 50], ["-l", 50, "-e", 0.7], ["-l", 50, "-e", 0.1, "--indel-share", 2],
        ["-l", 50, "-e", 0.1, "--pairs", "300,20"], ["-l", 50, "-e", 0.1, "--snp-rate", -1],
        ["-l", 50, "-e", 0.1, "--diploid"], ["-l", 50, "-e", 0.1, "--pairs", "300", "-o", "x"],
        *(["-l", 50, "-e", 0, *options.split()] for options in (
            "--adapter nextera", "--adapter ACGN --inserts 40,90", "--adapter A,C,G --inserts 40,90",
            "--adapter A, --inserts 40,90", "--inserts 90,40 --adapter A", "--inserts 90 --adapter A",
            "--bad-tails 1.5", "--poly-g -1", "--damage both", "--damage double,0.3", "--damage double,0.3,0.3,1.1",
            "--damage double,0.3,-1,0", "--damage single,a,b,c", "--damage 0.3,0.3,0", "--damage double,nan,0,0",
        )),
    ],
)  # fmt: skip
def test_senseless_arguments_are_refused(tmp_path, genome, options):
    with pytest.raises(UsageError, match="--damage" if "--damage" in options else None):
        run(genome[0], "-n", 1, "-o", tmp_path / "o.fq", *options)


LENGTH = 150


@pytest.fixture(scope="module")
def contig(tmp_path_factory):
    sequence = "".join(np.random.default_rng(1).choice(list("ACGT"), 40_000))
    path = tmp_path_factory.mktemp("contig") / "g.fa"
    path.write_text(f">c\n{sequence}\n")
    return str(path), sequence


def mates_of(tmp_path, fasta, *arguments, mates=2):
    """[(name, bases, qualities)] of each mate."""
    paths = [tmp_path / f"{mate}.fq" for mate in range(mates)]
    assert run(fasta, *arguments, *(word for path in paths for word in ("-o", path))) == 0
    return list(map(read_fastq, paths))


@pytest.mark.parametrize("error", [0.0, 0.02])
def test_a_read_is_its_insert_and_then_the_adapter(tmp_path, contig, error):
    fasta, sequence = contig
    options = ("-n", 400, "-l", LENGTH, "-e", error, "--inserts", "40,145", "--adapter", "nextera")
    inserts = []
    for mate, reads in enumerate(mates_of(tmp_path, fasta, *options)):
        adapter = foreign.ADAPTERS["nextera"][mate]
        for name, bases, qualities in reads:
            _, _, start, end, strand, subs, ins, dels = truth_of(name, mate)
            own = end - start + 1 + ins - dels
            assert len(bases) == len(qualities) == LENGTH
            template = forward(sequence[start - 1 : end], strand)
            assert edlib.align(bases[:own], template, mode="NW")["editDistance"] <= subs + ins + dels
            if error == 0:
                assert bases[own:].startswith(adapter[: LENGTH - own])
                inserts.append(own)
    if error == 0:
        assert min(inserts) == 40 and max(inserts) == 145


def test_bad_tails_and_poly_g_have_their_shares(tmp_path, contig):
    options = ("-n", 2000, "-l", 100, "-e", 0, "--bad-tails", 0.3, "--poly-g", 0.2)
    (reads,) = mates_of(tmp_path, contig[0], *options, mates=1)
    bad = [q for _, _, q in reads if "#" in q]
    assert 0.26 < len(bad) / len(reads) < 0.34
    assert all(q.index("#") >= 50 and set(q[q.index("#") :]) == {"#"} for q in bad)
    truths = [truth_of(name) for name, *_ in reads]
    own = [end - start + 1 + ins - dels for _, _, start, end, _, _, ins, dels in truths]
    assert 0.17 < sum(n < 100 for n in own) / len(reads) < 0.23
    assert all(
        set(bases[n:]) <= {"G", *"ACT"[: 3 * ("#" in q)]} for n, (_, bases, q) in zip(own, reads, strict=True)
    )


END, DECAY, INSIDE = 0.4, 0.25, 0.02


def damaged(tmp_path, contig, *arguments):
    """(bases, what they copy) of each read, in the direction of the read."""
    found = []
    for name, bases, qualities in simulated(tmp_path, contig[0], *arguments):
        assert len(bases) == len(qualities)
        _, _, start, end, strand, *_ = truth_of(name)
        found.append((bases, forward(contig[1][start - 1 : end], strand)))
    return found


def expected(distance):
    return INSIDE + (END - INSIDE) * (1 - DECAY) ** distance


@pytest.mark.parametrize("protocol", ["double", "single"])
def test_deaminated_bases_have_their_shares_by_distance_from_the_ends(tmp_path, contig, protocol):
    options = ("-n", 16_000, "-l", 90, "-e", 0, "--inserts", "30,90")
    damage = "--damage", f"{protocol},{END},{DECAY},{INSIDE}"
    seen, deaminated = Counter(), Counter()
    for bases, template in damaged(tmp_path, contig, *options, *damage):
        assert 30 <= len(bases) == len(template) <= 90
        for i, (base, copied) in enumerate(zip(bases, template, strict=True)):
            far = len(bases) - 1 - i
            if copied == "C":
                nearest = min(i, far) if protocol == "single" else i
                seen["C", nearest] += 1
                deaminated["C", nearest] += base == "T"
                assert base in "CT"
            elif copied == "G" and protocol == "double":
                seen["G", far] += 1
                deaminated["G", far] += base == "A"
                assert base in "GA"
            else:
                assert base == copied
    for base in "CG" if protocol == "double" else "C":
        for distance in (0, 1, 2, 5, 10, 14):
            n, share = seen[base, distance], expected(distance)
            deviation = (share * (1 - share) / n) ** 0.5
            assert abs(deaminated[base, distance] / n - share) < 4 * deviation


def test_reads_end_where_their_inserts_end_or_after_the_length_asked_for(tmp_path, contig):
    reads = damaged(tmp_path, contig, "-n", 3000, "-l", 60, "-e", 0, "--inserts", "30,90")
    assert all(bases == template for bases, template in reads)
    lengths = Counter(len(bases) for bases, _ in reads)
    assert set(lengths) == set(range(30, 61))
    assert 0.45 < lengths[60] / len(reads) < 0.57  # 31 of 61 inserts are that long


def test_damage_is_at_the_ends_of_the_fragment_not_of_a_shorter_read(tmp_path, contig):
    reads = damaged(
        tmp_path, contig, "-n", 3000, "-l", 50, "-e", 0, "--inserts", "90,90", "--damage", "double,1,1,0"
    )
    for bases, template in reads:
        assert bases == template[0].replace("C", "T") + template[1:]
