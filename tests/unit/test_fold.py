"""Folding: against all structures, with random energies, and ViennaRNA."""

from __future__ import annotations

import random

import numpy as np
import pytest
from fold_parameters import PAIRS, energy_of, pairs_of, random_parameters, structures

from gassst.cli import main as cli
from gassst.errors import GassstError
from gassst.fold import Parameters, device, fold, folding, parameters, probabilities, windows, zuker
from gassst.fold.files import hairpins_of, stacks

HAIRPIN = "GGGGCCCAAGAAAACCAUUGGGCCCC"


@pytest.fixture(scope="module")
def random_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("par") / "random.par"
    random_parameters(path, 1)
    return path


def best_with_pairs(found):
    """The least energy of those that have each pair."""
    least = {}
    for pairs, energy in found:
        for pair in pairs:
            least[pair] = min(energy, least.get(pair, energy))
    return least


def every_structure(sequence, tables):
    """All structures that have an energy, as pairs, with it."""
    every = structures(len(sequence), lambda i, j: sequence[i] + sequence[j] in PAIRS)
    energies = {pairs: energy_of(sequence, pairs, tables) for pairs in every}
    return {pairs: energy for pairs, energy in energies.items() if energy is not None}


@pytest.mark.parametrize("seed", range(4))
def test_structures_are_the_best_of_all(seed, tmp_path, instruction_set):
    rng = random.Random(seed)
    tables = random_parameters(tmp_path / "x.par", seed)
    several = ["".join(rng.choices("ACGU", k=n)) for n in (1, 4, 5, 9, 14, 17, 18, 18)]
    several += ["GG" + "".join(rng.choices("GC", k=14)) + "CC", "GGAAACGAAAGCGAAAGCACC"[: 17 + seed]]
    for sequence, found in zip(several, fold(several, tmp_path / "x.par", threads=2), strict=True):
        energies = every_structure(sequence, tables)
        assert round(found.energy * 100) == min(energies.values()) == energies[pairs_of(found.structure)]


@pytest.mark.parametrize("seed", range(3))
def test_ensembles_are_those_of_all_structures(seed, tmp_path, monkeypatch):
    monkeypatch.setattr(parameters, "SMOOTH_HIGH", -1.0)  # weights of the energies as they are
    rng, tables, path = random.Random(seed), random_parameters(tmp_path / "x.par", seed), tmp_path / "x.par"
    several = ["A", "GGAAACGAAAGCGAAAGCACC", *("".join(rng.choices("GCAU", k=n)) for n in (8, 15, 17, 18))]
    for sequence, ensemble in zip(several, probabilities(several, path, threads=2), strict=True):
        energies = every_structure(sequence, tables)
        weights = {pairs: np.exp(-energy / parameters.KT) for pairs, energy in energies.items()}
        whole, wanted = sum(weights.values()), np.zeros((len(sequence), len(sequence)))
        for pairs, weight in weights.items():
            for pair in pairs:
                wanted[pair] += weight / whole
        assert np.allclose(ensemble.pairs, wanted, atol=1e-9)
        assert ensemble.energy == pytest.approx(-parameters.KT / 100 * np.log(whole))
        several_best, with_pair = zuker(sequence, path, 1000), best_with_pairs(energies.items())
        found = {pairs_of(one.structure): round(one.energy * 100) for one in several_best}
        assert best_with_pairs(found.items()) == with_pair and found.items() <= energies.items()
        assert len(found) == len(several_best) <= len(with_pair)
        best = min(energies.values()) / 100
        near = [one for one in several_best if one.energy < best + 2.005]
        assert zuker(sequence, path, 2.0) == near


@pytest.mark.parametrize("seed", range(3))
def test_structures_around_a_pair_have_the_energy_that_is_said(seed, tmp_path):
    """Loops with many stems, on both sides of a pair."""
    rng, tables = random.Random(seed), random_parameters(tmp_path / "x.par", seed)
    sequence = "".join("G" + "".join(rng.choices("ACGU", k=9)) + "C" for _ in range(8))
    found, most, seen = zuker(sequence, tmp_path / "x.par", 1000), 0, set()
    for one in found:
        pairs = pairs_of(one.structure)
        assert energy_of(sequence, pairs, tables) == round(one.energy * 100)
        assert not seen.issuperset(pairs)
        seen |= set(pairs)
        most = max(most, *(sum(pairs_within(pair, pairs)) for pair in pairs))
    assert (
        most > 2 and len(found) > 100 and [one.energy for one in found] == sorted(one.energy for one in found)
    )


def pairs_within(outer, pairs):
    """Whether each pair lies directly within another."""
    inside = [pair for pair in pairs if outer[0] < pair[0] and pair[1] < outer[1]]
    return [not any(a < i and j < b for a, b in inside) for i, j in inside]


def test_longer_structures_have_the_energy_that_is_said(tmp_path, instruction_set, monkeypatch):
    """Groups of different lengths, and lanes that are not full; all loops occur. Threads, neighbours and the width of
    lanes change nothing."""
    rng, tables = random.Random(5), random_parameters(tmp_path / "x.par", 5)
    several = ["".join(rng.choices("ACGU", k=rng.randrange(1, 130))) for _ in range(70)]
    found = fold(several, tmp_path / "x.par", threads=2)
    for sequence, one in zip(several, found, strict=True):
        assert energy_of(sequence, pairs_of(one.structure), tables) == round(one.energy * 100)
        assert len(one.structure) == len(sequence)
    alone = fold(several, tmp_path / "x.par", structures=False)
    assert alone == [(one.energy, "") for one in found]
    order = np.random.default_rng(1).permutation(70)
    assert fold([several[i] for i in order], tmp_path / "x.par", threads=1) == [found[i] for i in order]
    monkeypatch.setattr(folding, "LANE_BASES", 1)
    assert fold(several, tmp_path / "x.par") == found


@pytest.mark.device("cpu")
def test_a_device_finds_the_same_energies(random_file, monkeypatch):
    rng = random.Random(6)
    several = ["", HAIRPIN, *("".join(rng.choices("ACGU", k=rng.randrange(1, 70))) for _ in range(40))]
    several.append("GC" * 95 + "AAAA" + "GC" * 95)  # too much for 16 bits
    wanted = [one.energy for one in fold(several, random_file, False)]
    assert [one.energy for one in fold(several, random_file, False, device="cpu")] == wanted
    monkeypatch.setattr(device, "CALL", 3)
    assert [one.energy for one in fold(several[:9], random_file, False, device="cpu")] == wanted[:9]


def test_lanes_that_are_too_narrow_are_done_again(tmp_path):
    tables = random_parameters(tmp_path / "x.par", 3)
    stem = "".join(random.Random(3).choices("GC", k=190))
    sequence = stem + "GAAAACCA" + stem[::-1].translate(str.maketrans("GC", "CG"))
    found = fold([sequence, "ACGU"], tmp_path / "x.par")
    assert energy_of(sequence, pairs_of(found[0].structure), tables) == round(found[0].energy * 100)
    assert found[0].energy < -150 and found[1].energy == 0


@pytest.mark.parametrize("name", ["Turner2004", "Turner1999", "Andronescu2007"])
def test_energies_are_those_of_viennarna(name, tmp_path):
    rna = pytest.importorskip("RNA", reason="no ViennaRNA")
    getattr(rna, f"params_load_RNA_{name}")()
    rna.params_save(str(tmp_path / "x.par"))
    rng = random.Random(name)
    several = [
        "".join(rng.choices(rng.choice(["ACGU", "AGGCCU"]), k=rng.randrange(18, 121))) for _ in range(300)
    ]
    few = [one for one in several if len(one) < 60][:40]
    settings = rna.md()
    settings.uniq_ML = 1
    for sequence, ensemble in zip(few, probabilities(few, tmp_path / "x.par"), strict=True):
        fc = rna.fold_compound(sequence, settings)
        fc.exp_params_rescale(fc.mfe()[1])
        assert ensemble.energy == pytest.approx(fc.pf()[1], abs=1e-4)
        assert np.allclose(ensemble.pairs, np.array(fc.bpp())[1:, 1:], atol=1e-6)
        own = zuker(sequence, tmp_path / "x.par", 1000)
        every = rna.zukersubopt(sequence)
        theirs = [every.get(k) for k in range(every.size())]
        theirs, mine = (
            best_with_pairs((pairs_of(one.structure), round(one.energy * 100)) for one in each)
            for each in (theirs, own)
        )
        assert mine == theirs
    for sequence, found in zip(several, fold(several, tmp_path / "x.par", threads=2), strict=True):
        fc = rna.fold_compound(sequence)
        assert round(found.energy * 100) == round(fc.mfe()[1] * 100)
        assert round(fc.eval_structure(found.structure) * 100) == round(found.energy * 100)


def test_dna_small_letters_and_nothing_are_read(random_file):
    best = fold([HAIRPIN], random_file)
    assert fold([HAIRPIN.replace("U", "t").lower().encode()], random_file) == best
    assert fold([], random_file) == []
    assert fold([""], random_file) == fold([""], random_file, structures=False) == [(0, "")]
    several = ["", HAIRPIN, ""]
    assert fold(several, random_file) == [(0, ""), *best, (0, "")]
    found = probabilities(several, random_file)
    assert [one.pairs.shape for one in found] == [(0, 0), (26, 26), (0, 0)]
    assert [one.energy for one in found] == [0, probabilities([HAIRPIN], random_file)[0].energy, 0]
    assert probabilities([""], random_file)[0].energy == 0


def test_windows_reach_the_end_and_hairpins_have_one_loop():
    assert windows(10, 4, 3).tolist() == [0, 3, 6] and windows(9, 4, 3).tolist() == [0, 3, 5]
    assert windows(3, 4, 1).tolist() == [] and windows(4, 4, 1).tolist() == [0]
    assert hairpins_of("((...))..(.((...)))", 7) == [(0, 6), (9, 18)]
    assert hairpins_of("(((...))..(.((...))))", 8) == [(10, 19)]
    assert hairpins_of("((.((...)).(...)).)", 5) == [(3, 9), (11, 15)]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("# int22", "# END\n# int", "has no section int22"),
        ("# END", "", "is cut short"),
        ("v2.0", "v3.0", "does not begin with"),
        ("# NINIO", "# NONE", "has no section NINIO"),
        ("# stack\n", "# stack\n7 ", "stack has 50 numbers; 49 are wanted"),
        ("# bulge\n", "# bulge\nx ", "bulge has what is not a number"),
        ("# Triloops\n", "# Triloops\nACGT 5 0\n", "'ACGT' is not a hairpin of 5 bases"),
    ],
)
def test_a_damaged_parameter_file_is_one_line(old, new, words, random_file, tmp_path):
    (tmp_path / "y.par").write_text(random_file.read_text().replace(old, new))
    with pytest.raises(GassstError, match=words) as caught:
        fold(["ACGU"], tmp_path / "y.par")
    assert "\n" not in str(caught.value) and "y.par" in str(caught.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda path: fold(["ACGU"]), "ViennaRNA writes one"),
        (lambda path: fold(["ACGU"], "/nowhere/x.par"), "no such file"),
        (lambda path: fold(["ACGU", "ACGN"], path), "sequence 2: 'N' at letter 4 is not one of ACGU"),
        (lambda path: fold("ACGU", path), "a list of sequences"),
        (lambda path: fold([5], path), "must be str or bytes"),
        (lambda path: fold(["A" * 30_001], path), "has 30,001 letters"),
        (lambda path: fold(["ACGU"], path, threads=0), "threads"),
        (lambda path: fold(["ACGU"], path, device="gpu"), "take structures=False"),
        (lambda path: fold(["ACGU"], path, False, device="gpu"), "OpenCL device"),
        (lambda path: probabilities(["ACGU"]), "ViennaRNA writes one"),
        (lambda path: zuker("ACGU", path, -1), "range of energies"),
        (lambda path: zuker("A" * 1001, path), "has 1,001 bases; suboptimal structures are of 1 to"),
        (lambda path: zuker("", path), "has 0 bases"),
    ],
)
def test_bad_input_is_one_line(call, words, random_file):
    with pytest.raises(GassstError, match=words) as caught:
        call(random_file)
    assert "\n" not in str(caught.value)


@pytest.fixture
def run(tmp_path, capfd, random_file):
    """Runs `gassst fold` over sequences; returns code, what is written, and what is said."""
    scanned = f">a one\n{HAIRPIN}\n>b\n{'A' * 40}{HAIRPIN}{'A' * 40}N{'A' * 20}\n>c\nACGU\n"

    def gassst(*options, text=scanned):
        (tmp_path / "x.fa").write_text(text)
        given = tmp_path / "x.fa", "--parameters", random_file, "-t", 2, *options
        return cli.main(["fold", *map(str, given)]), *capfd.readouterr()

    return gassst


def test_the_command_writes_structures_and_pairs(run, random_file):
    best = fold([HAIRPIN], Parameters(random_file))[0]
    code, out, error = run("-q", text=f">a one\n{HAIRPIN}\n>b\n>c\nACGU\n")
    assert code == 0 and out == f"a\t26\t{best.energy:.2f}\t{best.structure}\nc\t4\t0.00\t....\n"
    assert "records without letters: 1" in error
    code, out, error = run("--zuker", 1.5, text=f">a one\n{HAIRPIN}\n>c\nACGU\n")
    found = [f"a\t26\t{one.energy:.2f}\t{one.structure}" for one in zuker(HAIRPIN, random_file, 1.5)]
    assert code == 0 and [line for line in out.splitlines() if line.startswith("a")] == found
    assert found and "2 sequences folded" in error
    code, out, _ = run("--probabilities", 0.3, "-q", text=f">a\n{HAIRPIN}\n")
    pairs = probabilities([HAIRPIN], random_file)[0].pairs
    wanted = [f"a\t{i}\t{j}\t{pairs[i, j]:.6f}" for i, j in np.argwhere(pairs >= 0.3)]
    assert code == 0 and out.splitlines() == wanted and wanted


def test_the_command_scans(run, tmp_path, random_file):
    code, out, error = run("--scan", "--window", 26, "--step", 5, "-o", tmp_path / "w.tsv")
    rows = [line.split("\t") for line in (tmp_path / "w.tsv").read_text().splitlines()]
    assert code == 0 and rows[0] == ["contig", "start", "end", "strand", "energy", "structure"]
    assert [row[:3] for row in rows[1:3]] == [["a", "0", "26"]] * 2 and [row[3] for row in rows[1:3]] == [
        "+",
        "-",
    ]
    assert len(rows) == 1 + 2 * (1 + 17) and "36 windows folded" in error  # none with the N
    turned = HAIRPIN[::-1].translate(str.maketrans("ACGU", "UGCA"))
    assert rows[2][5] == fold([turned], random_file)[0].structure
    code, *_ = run("--scan", "--window", 60, "--step", 1, "--hairpins", 20, "-o", tmp_path / "h.bed", "-q")
    beds = [line.split("\t") for line in (tmp_path / "h.bed").read_text().splitlines()]
    assert code == 0 and beds and len({tuple(bed) for bed in beds}) == len(beds)
    assert all(int(bed[2]) - int(bed[1]) >= 20 and bed[5] in "+-" and float(bed[3]) < 100 for bed in beds)


@pytest.mark.device("cpu")
def test_a_scan_on_a_device_writes_the_same(run):
    options = "--scan", "--window", 40, "--step", 3, "--hairpins", 12, "--max-energy", -4, "-q"
    code, out, _ = run(*options)
    assert code == 0 and len(out.splitlines()) > 2 and run(*options, "--device", "cpu")[:2] == (0, out)


def test_stacks_are_where_reads_lie_one_upon_another():
    rng = np.random.default_rng(1)
    for depth in (1, 2, 5):
        begin = rng.integers(0, 80, 60)
        end, contig = begin + rng.integers(1, 12, 60), rng.choice(np.array(["a", "b", ""], object), 60)
        found = stacks([(contig[:20], begin[:20], end[:20]), (contig[20:], begin[20:], end[20:])], depth)
        for name in "ab":
            covered = np.zeros(100, int)
            for i in np.flatnonzero(contig == name):
                covered[begin[i] : end[i]] += 1
            marked = np.zeros(100, bool)
            for i, j in zip(*found[name], strict=True):
                assert not marked[max(i - 1, 0) : j].any()
                marked[i:j] = True
            assert np.array_equal(marked, covered >= depth)


def test_the_command_scans_under_stacks(run, tmp_path):
    reads = [("r", 0, 45, 20)] * 3 + [("r", 16, 100, 9)] * 2 + [("s", 256, 10, 9)] * 9 + [("u", 4, 0, 0)]
    rows = [
        f"{name}\t{flag}\t{'b' if at else '*'}\t{at}\t9\t{f'{n}M' if n else '*'}\t*\t0\t0\t{'A' * (n or 3)}\t*\n"
        for name, flag, at, n in reads
    ]
    (tmp_path / "x.sam").write_text("@SQ\tSN:b\tLN:127\n" + "".join(rows))
    options = ["--scan", "--window", 10, "--step", 5, "--regions", tmp_path / "x.sam", "--depth", 3, "-q"]
    code, out, _ = run(*options)
    assert code == 0
    assert sorted({int(line.split("\t")[1]) for line in out.splitlines()[1:]}) == [35, 40, 45, 50, 55, 60]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--hairpins", 63), "go with --scan"),
        (("--scan", "--zuker", 1), "--scan and --zuker are two tasks"),
        (("--scan", "--device", "gpu"), "--device goes with --scan and --max-energy"),
        (("--depth", 3), "--depth goes with --regions"),
        (("--regions", __file__), "--regions goes with --scan"),
        (("--scan", "--regions", __file__), "test_fold.py: "),
        (("--probabilities", 0), "above 0 and at most 1"),
        (("--zuker", -1), "must be from 0 to 1,000"),
        (("--window", 63), "go with --scan"),
        (("--scan", "--window", 4), "--window must be"),
        (("--scan", "--step", 0), "--step 1"),
        (("--scan", "--hairpins", 121), "--hairpins must be"),
        (("--scan", "--window", 300), "longer than every sequence: 127"),
        ((), "sequence b: 'N' at letter 107"),
    ],
)
def test_bad_options_are_one_line(run, options, words):
    code, out, error = run("-q", *options)
    assert code != 0 and words in error and error.count("\n") == 1 and len(out.splitlines()) <= 1
