"""Profiles: against plain code in double precision, and pyhmmer without its filters."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hmm_profiles import write_profile

from gassst.cli.main import main
from gassst.errors import GassstError
from gassst.hmm import Profile, files, profile


def plain(p, codes, plus, mode="local"):
    """Bits, by the recurrences of Eddy (2011) in double precision; `plus` is np.logaddexp or np.maximum."""
    with np.errstate(divide="ignore"):
        steps, emission = (np.log(table) for table in p.odds(mode))
    nodes, length = len(p), len(codes)
    loop, move, none = np.log(length / (length + 3)), np.log(3 / (length + 3)), np.full(nodes + 1, -np.inf)
    match, insertion, deletion = none, none, none
    n, j, c, b = 0.0, -np.inf, -np.inf, move
    for code in codes:
        new_match, new_deletion = none.copy(), none.copy()
        end = -np.inf
        for k in range(1, nodes + 1):
            s = steps[k]
            into = plus(
                plus(match[k - 1] + s[0], insertion[k - 1] + s[1]), plus(deletion[k - 1] + s[2], b + s[3])
            )
            new_match[k] = into + emission[k, code]
            new_deletion[k] = plus(new_match[k - 1] + s[6], new_deletion[k - 1] + s[7])
            if mode == "local" or k == nodes:
                end = plus(end, plus(new_match[k], new_deletion[k]))
        insertion = plus(match + steps[:, 4], insertion + steps[:, 5])
        match, deletion = new_match, new_deletion
        j, c, n = plus(j + loop, end + np.log(0.5)), plus(c + loop, end + np.log(0.5)), n + loop
        b = plus(n, j) + move
    return (c + move - length * np.log(length / (length + 1)) + np.log(length + 1)) / np.log(2)


def codes_of(p, several):
    letters = p.alphabet + ("N" if len(p.alphabet) == 4 else "X")
    return [[letters.index(letter) for letter in text.upper()] for text in several]


def scores(p, texts, kind, **options):
    return p._logs(kind, profile.Texts.of(texts), 2, **options)


def plain_filter(p, codes):
    """The logarithm of the odds of the best stretch without gaps."""
    with np.errstate(divide="ignore"):
        emission = np.log(p.odds()[1])
    match, best = np.zeros(len(p) + 1), 0.0
    for code in codes:
        match[1:] = np.maximum(match[:-1], 0) + emission[1:, code]
        best = max(best, match.max())
    return best


def plain_composition(p, codes):
    """Sum over all ways through both compositions, in double precision."""
    usual, model, run = 0.999, 0.001, len(p) / 8
    for code in codes:
        model *= p.odds()[1][0, code]
        usual, model = usual * 400 / 401 + model / (run + 1), usual / 401 + model * run / (run + 1)
    return np.log(usual + model)


@pytest.mark.parametrize(("alphabet", "nodes"), [("amino", 12), ("DNA", 12), ("amino", 150), ("DNA", 700)])
def test_filters_are_those_of_plain_code(alphabet, nodes, tmp_path, instruction_set):
    best = write_profile(tmp_path / "x.hmm", alphabet, nodes, 1)
    p, rng = Profile(tmp_path / "x.hmm"), np.random.default_rng(2)
    several = ["".join(rng.choice(list(p.alphabet), rng.integers(1, 90))) for _ in range(150)]
    several += [best[:6], several[3] + best[2:9] + several[4], best[nodes // 2 :], best[-9:] * 40]
    several += [p.alphabet[int(p.odds()[1][0, : len(p.alphabet)].argmax())] * 400]
    codes = codes_of(p, several)
    wanted = np.array([plain_filter(p, one) for one in codes])
    for share in (
        0.9,
        1.1,
    ):  # scores are in units of the 128th of what is enough, which is more than a letter's
        enough = np.where(wanted > 5, np.minimum(wanted, 60) * share, 9).astype(np.float32)
        assert np.array_equal(scores(p, several, "filter", enough=enough) > 0, wanted > enough)
    assert (wanted > 5).sum() > 20
    wanted = [plain_composition(p, one) for one in codes]
    assert np.allclose(scores(p, several, "composition"), wanted, rtol=1e-6, atol=1e-4) and max(wanted) > 30


def test_a_search_is_a_forward_of_what_passes(tmp_path, instruction_set):
    best = write_profile(tmp_path / "x.hmm", "amino", 30, 1)
    p, rng = Profile(tmp_path / "x.hmm"), np.random.default_rng(2)
    several = ["".join(rng.choice(list(p.alphabet), 60)) for _ in range(150)] + ["", best * 3, ""]
    numbers, bits, values = p.search(several, 1e-3)
    assert numbers[0] == 151 and np.allclose(bits, p.forward([several[k] for k in numbers]))
    assert (values <= 1e-3).all() and np.allclose(values, 153 * np.exp(-0.7 * (bits + 4)))
    assert p.search([]).numbers.tolist() == [] and p.e_values(np.array([-9.0]), 7) == 7


@pytest.mark.parametrize("mode", profile.MODES)
@pytest.mark.parametrize("alphabet", ["amino", "DNA"])
def test_scores_are_those_of_plain_code(alphabet, mode, tmp_path, instruction_set):
    best = write_profile(tmp_path / "x.hmm", alphabet, 12, 1)
    p, rng = Profile(tmp_path / "x.hmm"), np.random.default_rng(2)
    several = ["".join(rng.choice(list(p.alphabet), k)) for k in (1, 2, 5, 13, 30, 31, 60)]
    several += [
        best,
        several[3] + best + several[4] + best[:6] + best[8:],
        best.lower() * 12,
        best[2:11] + best,
    ]
    several.append(best[:5] + ("X" if alphabet == "amino" else "N") + best[6:])
    with np.errstate(invalid="ignore"):
        for plus, call in ((np.logaddexp, p.forward), (np.maximum, p.viterbi)):
            wanted = [plain(p, codes, plus, mode) for codes in codes_of(p, several)]
            assert np.allclose(call(several, mode, threads=2), wanted, atol=2e-3)
    assert p.forward([best * 40], mode)[0] > 100  # numbers were made smaller on the way
    assert np.array_equal(p.forward(several[::-1], mode)[::-1], p.forward(several, mode))
    for found in (
        p.forward(["", best]),
        p.viterbi(["", best]),
        np.array([a.bits for a in p.align(["", best])]),
    ):
        assert np.isinf(found).tolist() == [True, False]


def aligned_score(p, mode, codes, a):
    """Bits of an alignment, from its CIGAR alone; the sequence must have this hit and no other."""
    with np.errstate(divide="ignore"):
        steps, emission = (np.log(table) for table in p.odds(mode))
    length, k, i, total, state = len(codes), a.model_begin, 0, 0.0, "B"
    for count, what in re.findall(r"(\d+)([SMID])", a.cigar):
        for _ in range(int(count)):
            k += what in "MD"
            i += what in "SMI"
            if what == "S" or (state == "B" and what == "D"):
                continue  # nodes left out before the first letter are one step
            step = {"BM": 3, "MM": 0, "IM": 1, "DM": 2, "MI": 4, "II": 5, "MD": 6, "DD": 7}[state + what]
            total += steps[k, step] + (emission[k, codes[i - 1]] if what == "M" else 0)
            state = what
    assert i == length and k == a.model_end
    loops = (length - (a.end - a.begin)) * np.log(length / (length + 3))
    total += loops + 2 * np.log(3 / (length + 3)) + np.log(0.5)
    return (total - length * np.log(length / (length + 1)) + np.log(length + 1)) / np.log(2)


@pytest.mark.parametrize("mode", profile.MODES)
@pytest.mark.parametrize("alphabet", ["amino", "DNA"])
def test_alignments_have_the_score_of_the_best_path(alphabet, mode, tmp_path, instruction_set):
    best = write_profile(tmp_path / "x.hmm", alphabet, 14, 3)
    p, rng = Profile(tmp_path / "x.hmm"), np.random.default_rng(4)

    def some(k):
        return "".join(rng.choice(list(p.alphabet), k))

    several = [
        some(9) + best + some(5),
        best[:7] + some(2) + best[7:],
        some(3) + best[:6] + best[9:],
        best[4:],
    ]
    several += [best[:5] + best[6:9] + some(1) + best[10:], some(20) + best[:12] + some(20), best[2:]]
    scores, found = p.viterbi(several, mode), p.align(several, mode, threads=2)
    for text, codes, bits, a in zip(several, codes_of(p, several), scores, found, strict=True):
        assert aligned_score(p, mode, codes, a) == pytest.approx(a.bits, abs=0.01)
        assert a.bits < bits + 0.01
        clips = [int(n) for n in re.findall(r"^(\d+)S|(\d+)S$", a.cigar) for n in n if n]
        assert sum(clips) == len(text) - (a.end - a.begin)
        assert mode == "local" or (a.model_begin, a.model_end) == (0, 14)
    alone = [abs(a.bits - bits) < 0.01 for a, bits in zip(found, scores, strict=True)]
    assert sum(alone) >= 5  # the others score more by a second hit
    assert re.fullmatch(r"\d+M2I\d+M", found[1].cigar) and (
        mode == "local" or re.fullmatch(r"3S\dM3D\dM", found[2].cigar)
    )
    ends = p.align([best[k:] for k in range(1, 12)] + [best[:k] for k in range(3, 14)], "global")
    assert any(re.match(r"\d+D", a.cigar) for a in ends) and any(a.cigar.endswith("D") for a in ends)
    assert p.align([]) == []


@pytest.mark.parametrize("alphabet", ["amino", "DNA"])
def test_narrow_lanes_are_near_wide_ones(alphabet, tmp_path, instruction_set):
    """Loops take e^-2 there, whatever their number, and what is too large for 16 bits is infinite."""
    best = write_profile(tmp_path / "x.hmm", alphabet, 12, 1)
    p, rng = Profile(tmp_path / "x.hmm"), np.random.default_rng(2)
    several = ["".join(rng.choice(list(p.alphabet), k)).encode() for k in range(100, 170)]
    several += [several[k][:50] + best.encode() + several[k][50:] for k in range(5)]
    wide = p.viterbi(several)
    narrow = p._bits("narrow", profile.Texts.of(several), 1)
    assert ((narrow - wide > 0) & (narrow - wide < 1.5)).all()
    best = write_profile(tmp_path / "x.hmm", alphabet, 60, 1)
    assert np.isinf(scores(Profile(tmp_path / "x.hmm"), [best], "narrow")).all()


@pytest.mark.parametrize("alphabet", ["amino", "dna"])
def test_scores_are_those_of_pyhmmer(alphabet, tmp_path):
    pyhmmer = pytest.importorskip("pyhmmer", reason="no pyhmmer")
    abc, rng = getattr(pyhmmer.easel.Alphabet, alphabet)(), np.random.default_rng(3)
    letters = list(abc.symbols[: abc.K])
    consensus = rng.choice(letters, 80)

    def member():
        changed = [rng.choice(letters) if rng.random() < 0.2 else letter for letter in consensus]
        return "".join(letter for letter in changed if rng.random() > 0.03)

    def sequences(texts):
        return [pyhmmer.easel.TextSequence(name=str(i).encode(), sequence=t) for i, t in enumerate(texts)]

    family = ["".join(rng.choice(letters) if rng.random() < 0.2 else c for c in consensus) for _ in range(12)]
    msa = pyhmmer.easel.TextMSA(name=b"fam", sequences=sequences(family)).digitize(abc)
    hmm, _, _ = pyhmmer.plan7.Builder(abc).build_msa(msa, pyhmmer.plan7.Background(abc))
    with open(tmp_path / "x.hmm", "wb") as file:
        hmm.write(file)
    several = [
        "".join(rng.choice(letters, 40)) + member() + "".join(rng.choice(letters, k)) for k in range(30)
    ]
    block = pyhmmer.easel.DigitalSequenceBlock(abc, [s.digitize(abc) for s in sequences(several)])
    options = {"bias_filter": False, "F1": 1.0, "F2": 1.0, "F3": 1.0, "E": 1e9, "cpus": 1}
    hits = {int(hit.name): hit for hit in next(iter(pyhmmer.hmmsearch(hmm, block, **options)))}
    p = Profile(tmp_path / "x.hmm")
    found = p.forward(several)
    assert len(hits) == len(several)
    # HMMER prefers the sum over domains, where it is larger once both are corrected for composition.
    whole = {i: hit.pre_score for i, hit in hits.items() if hit.score != hit.sum_score}
    assert all(abs(found[i] - score) < 0.05 for i, score in whole.items()) and len(whole) >= 10
    assert (p.viterbi(several) <= found + 1e-3).all()
    pre = np.array([hits[i].pre_score for i in range(len(several))])
    usual = next(iter(pyhmmer.hmmsearch(hmm, block, cpus=1, E=1e-3)))
    assert {int(hit.name) for hit in usual if hit.evalue <= 1e-3} <= set(
        p.search(several, 1e-3).numbers.tolist()
    )
    tau, slope = hmm.evalue_parameters.f_tau, hmm.evalue_parameters.f_lambda
    assert np.allclose(np.log(p.e_values(pre, 1)), -slope * (pre - tau), rtol=1e-3)


@pytest.mark.parametrize(
    ("old", "new", "call", "words"),
    [
        ("", "", lambda p: Profile("/nowhere/x.hmm"), "no such file"),
        ("LOCAL FORWARD", "LOCAL FORWARDS", lambda p: p.e_values(np.ones(1)), "no STATS LOCAL FORWARD"),
        ("LOCAL MSV", "LOCAL MSVS", lambda p: p.search(["ACGT"]), "no STATS LOCAL MSV"),
        ("", "", lambda p: p.search(["ACGT"], 0), "not above 0"),
        ("", "", lambda p: p.forward("ACGT"), "a list of sequences"),
        ("", "", lambda p: p.forward(["ACGT", "ACXT"]), "sequence 2: 'X' at letter 3 is not one of ACGTN"),
        ("HMMER3", "HMMER2", len, "does not begin with HMMER3/"),
        ("LENG  5", "LENG  6", len, "is cut short: 6 nodes"),
        ("\n1 ", "\n1 0.1 ", len, "do not add to 1"),
        ("-4.0000", "four", len, "2 numbers are wanted"),
    ],
)
def test_bad_input_is_one_line(old, new, call, words, tmp_path):
    write_profile(tmp_path / "x.hmm", "DNA", 5, 1)
    (tmp_path / "y.hmm").write_text((tmp_path / "x.hmm").read_text().replace(old, new, 1))
    with pytest.raises(GassstError, match=f"^[^\\n]*{words}[^\\n]*$"):
        call(Profile(tmp_path / "y.hmm"))


@pytest.fixture
def search(tmp_path, capfd):
    """Runs `gassst hmm search` over a family and sequences; returns code, rows and what is said."""

    def call(records, *options, alphabet="DNA"):
        best = write_profile(tmp_path / "x.hmm", alphabet, 20, 1)
        text = "".join(f">{name}\n{sequence}\n" for name, sequence in records(best))
        (tmp_path / "x.fa").write_text(text)
        code = main(["hmm", "search", str(tmp_path / "x.hmm"), str(tmp_path / "x.fa"), *options])
        out, error = capfd.readouterr()
        return code, [line.split("\t") for line in out.splitlines()], error

    return call


def test_the_command_writes_a_table(search, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "BATCH_LETTERS", 100)  # several batches

    def records(best):
        turned = best[::-1].translate(str.maketrans("ACGT", "TGCA"))
        few = [("no", "AC" * 30), ("in", f"GG{best}T"), ("back", f"A{turned}CCC"), ("part", best[:17])]
        return [*few, ("empty", ""), ("no2", "G" * 60)]

    code, rows, error = search(records, "-E", "0.1", "-q")
    p = Profile(tmp_path / "x.hmm")
    assert code == 0 and rows[0][0] == "sequence"
    assert error.endswith("without letters: 1; they are left out\n")
    assert [(row[0], row[2], *row[5:]) for row in rows[1:]] == [
        ("in", "+", "2", "22", "0", "20", "2S20M1S"),
        ("back", "-", "1", "21", "0", "20", "3S20M1S"),
        ("part", "+", "0", "17", "0", "17", "17M"),
    ]
    texts = [text for _, text in records(write_profile(tmp_path / "x.hmm", "DNA", 20, 1))]
    bits = p.forward([texts[1], texts[3]])
    assert [float(rows[k][4]) for k in (1, 3)] == pytest.approx(bits, abs=0.01)
    assert [float(rows[k][3]) for k in (1, 3)] == pytest.approx(p.e_values(bits, 10), rel=0.01)
    for threads in "12":
        assert search(records, "-E", "0.1", "-q", "-t", threads)[1] == rows


def test_proteins_have_one_strand(search, tmp_path):
    code, rows, error = search(lambda best: [("a", best), ("b", "MKVW" * 9)], "-E", "1e-3", alphabet="amino")
    assert code == 0 and [row[:3] for row in rows[1:]] == [["a", "20", "+"]] and "1 hit found" in error
    output = tmp_path / "o.tsv"
    code, _, error = search(lambda best: [("good", best), ("odd", "ACJT")], "-q", "-o", str(output))
    assert (
        code != 0
        and "sequence odd: 'J' at letter 3" in error
        and error.count("\n") == 1
        and not output.exists()
    )
