"""Folding: against all structures, with random energies, and ViennaRNA."""

from __future__ import annotations

import random

import numpy as np
import pytest
from fold_parameters import PAIRS, energy_of, pairs_of, random_parameters, structures

from gassst.cli import main as cli
from gassst.errors import GassstError
from gassst.fold import device, files, fold, folding, parameters, probabilities, zuker

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


def test_longer_structures_have_the_energy_that_is_said(tmp_path, instruction_set, monkeypatch):
    """Groups of different lengths, and lanes that are not full; all loops occur. Threads, neighbours and the width of
    lanes change nothing."""
    rng, tables = random.Random(5), random_parameters(tmp_path / "x.par", 5)
    several = ["".join(rng.choices("ACGU", k=rng.randrange(1, 130))) for _ in range(70)]
    found = fold(several, tmp_path / "x.par", threads=2)
    for sequence, one in zip(several, found, strict=True):
        assert energy_of(sequence, pairs_of(one.structure), tables) == round(one.energy * 100)
    assert fold(several, tmp_path / "x.par", structures=False) == [(one.energy, "") for one in found]
    monkeypatch.setattr(folding, "LANE_BASES", 1)
    assert fold(several[::-1], tmp_path / "x.par", threads=1) == found[::-1]
    monkeypatch.undo()
    many = "".join("G" + "".join(rng.choices("ACGU", k=9)) + "C" for _ in range(8))  # on both sides of a pair
    seen = set()
    for one in zuker(many, tmp_path / "x.par", 1000):
        pairs = pairs_of(one.structure)
        assert energy_of(many, pairs, tables) == round(one.energy * 100) and not seen.issuperset(pairs)
        seen |= set(pairs)
    assert len(seen) > 300


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
    assert fold([], random_file) == [] and fold(["", HAIRPIN, ""], random_file) == [(0, ""), *best, (0, "")]
    assert [(one.energy, one.pairs.size) for one in probabilities(["", "A"], random_file)] == [(0, 0), (0, 1)]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("# int22", "# END\n# int", "has no section int22"),
        ("# END", "", "is cut short"),
        ("v2.0", "v3.0", "does not begin with"),
        ("# stack\n", "# stack\n7 ", "stack has 50 numbers; 49 are wanted"),
        ("# bulge\n", "# bulge\nx ", "bulge has what is not a number"),
        ("# Triloops\n", "# Triloops\nACGT 5 0\n", "'ACGT' is not a hairpin of 5 bases"),
    ],
)
def test_a_damaged_parameter_file_is_one_line(old, new, words, random_file, tmp_path):
    (tmp_path / "y.par").write_text(random_file.read_text().replace(old, new))
    with pytest.raises(GassstError, match=f"^[^\n]*y.par[^\n]*{words}[^\n]*$"):
        fold(["ACGU"], tmp_path / "y.par")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda path: fold(["ACGU"]), "ViennaRNA writes one"),
        (lambda path: fold(["ACGU"], "/nowhere/x.par"), "no such file"),
        (lambda path: fold(["ACGU", "ACGN"], path), "sequence 2: 'N' at letter 4 is not one of ACGU"),
        (lambda path: fold(["A" * 30_001], path), "has 30,001 letters"),
        (lambda path: fold(["ACGU"], path, device="gpu"), "take structures=False"),
        (lambda path: fold(["ACGU"], path, False, device="gpu"), "OpenCL device"),
        (lambda path: zuker("ACGU", path, -1), "range of energies"),
        (lambda path: zuker("A" * 1001, path), "has 1,001 bases; suboptimal structures are of 1 to"),
    ],
)
def test_bad_input_is_one_line(call, words, random_file):
    with pytest.raises(GassstError, match=f"^[^\n]*{words}[^\n]*$"):
        call(random_file)


@pytest.fixture
def run(tmp_path, capfd, random_file):
    """Runs `gassst fold` over sequences; returns code, what is written, and what is said."""
    scanned = f">a one\n{HAIRPIN}\n>b\n{'A' * 40}{HAIRPIN}{'A' * 40}N{'A' * 20}\n>c\nACGU\n"

    def gassst(*options, text=scanned):
        (tmp_path / "x.fa").write_text(text)
        given = tmp_path / "x.fa", "--parameters", random_file, "-t", 2, *options
        return cli.main(["fold", *map(str, given)]), *capfd.readouterr()

    return gassst


def test_the_command_writes_structures(run, random_file):
    ((energy, structure),) = fold([HAIRPIN], random_file)
    code, out, error = run("-q", text=f">a one\n{HAIRPIN}\n>b\n>c\nACGU\n")
    assert code == 0 and out == f"a\t26\t{energy:.2f}\t{structure}\nc\t4\t0.00\t....\n"
    assert "records without letters: 1" in error


def test_the_command_scans(run, tmp_path, random_file, monkeypatch):
    code, out, error = run("--scan", "--window", 26, "--step", 5)
    rows = [line.split("\t") for line in out.splitlines()]
    assert code == 0 and rows[0] == ["contig", "start", "end", "strand", "energy", "structure"]
    assert [row[:4] for row in rows[1:3]] == [["a", "0", "26", "+"], ["a", "0", "26", "-"]]
    assert {int(row[1]) for row in rows[3:]} == set(range(0, 81, 5)) and "36 windows folded" in error
    turned = HAIRPIN[::-1].translate(str.maketrans("ACGU", "UGCA"))
    assert rows[2][5] == fold([turned], random_file)[0].structure
    options = "--scan", "--window", 60, "--step", 1, "--hairpins", 20, "-q", "-o", tmp_path / "h.bed"
    found = []
    for size in (1 << 22, 60):  # a window at a time
        monkeypatch.setattr(files, "BATCH_BASES", size)
        assert run(*options)[0] == 0
        found.append(sorted((tmp_path / "h.bed").read_text().splitlines()))
    beds = [line.split("\t") for line in found[0]]
    assert beds and len(set(found[0])) == len(found[0]) and found[0] == found[1]
    assert all(int(bed[2]) - int(bed[1]) >= 20 and bed[5] in "+-" and float(bed[3]) < 100 for bed in beds)


def test_stacks_are_where_reads_lie_one_upon_another(run, tmp_path):
    rng, depth = np.random.default_rng(1), files.DEPTH
    begin = rng.integers(0, 115, 700)
    end, contig = begin + rng.integers(1, 12, 700), rng.choice(np.array(["a", "b", ""], object), 700)
    found = files.stacks([(contig[:20], begin[:20], end[:20]), (contig[20:], begin[20:], end[20:])])
    covered, marked = np.zeros(127, int), np.zeros(127, bool)
    for i in np.flatnonzero(contig == "b"):
        covered[begin[i] : end[i]] += 1
    for i, j in zip(*found["b"], strict=True):
        assert not marked[max(i - 1, 0) : j].any()
        marked[i:j] = True
    assert np.array_equal(marked, covered >= depth) and marked.any()
    rows = [
        f"r\t0\tb\t{a + 1}\t9\t{b - a}M\t*\t0\t0\t{'A' * (b - a)}\t*\n"
        for a, b in zip(begin[contig == "b"], end[contig == "b"], strict=True)
    ]
    (tmp_path / "x.sam").write_text("@SQ\tSN:b\tLN:127\n" + "".join(rows))
    code, out, _ = run("--scan", "--window", 10, "--step", 5, "--regions", tmp_path / "x.sam", "-q")
    wanted = [k for k in [*range(0, 97, 5), 110, 115, 117] if marked[k : k + 10].any()]
    assert code == 0 and sorted({int(line.split("\t")[1]) for line in out.splitlines()[1:]}) == wanted


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--hairpins", 63), "go with --scan"),
        (("--scan", "--regions", __file__), "test_fold.py: "),
        (("--scan", "--window", 4), "--window must be"),
        (("--scan", "--hairpins", 121), "--hairpins must be"),
        (("--scan", "--window", 300), "longer than every sequence: 127"),
        ((), "sequence b: 'N' at letter 107"),
    ],
)
def test_bad_options_are_one_line(run, options, words):
    code, out, error = run("-q", *options)
    assert code != 0 and words in error and error.count("\n") == 1 and len(out.splitlines()) <= 1
