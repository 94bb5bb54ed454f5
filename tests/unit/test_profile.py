"""Profiles: against plain code in double precision, and pyhmmer without its filters."""

from __future__ import annotations

import numpy as np
import pytest

from gassst.errors import GassstError
from gassst.hmm import Profile, profile


@pytest.fixture(params=profile.instruction_sets())
def instruction_set(request, monkeypatch):
    monkeypatch.setattr(profile, "instruction_sets", lambda: [request.param])


def write_profile(path, alphabet, nodes, seed):
    """A file of HMMER 3 with random probabilities: small ones for gaps, and a letter that each node prefers."""
    rng, letters = np.random.default_rng(seed), profile.ALPHABETS[alphabet]
    lines = ["HMMER3/f [made by a test]", "NAME  made", f"LENG  {nodes}", f"ALPH  {alphabet}"]
    lines += [
        "STATS LOCAL MSV       -8.0000  0.70000",
        "STATS LOCAL FORWARD   -4.0000  0.70000",
        f"HMM {' '.join(letters)}",
        "m->m m->i m->d i->m i->i d->m d->d",
    ]

    def row(numbers):
        return " ".join("*" if p == 0 else f"{-np.log(p):.5f}" for p in numbers)

    preferred = ""
    for k in range(nodes + 1):
        emission = rng.dirichlet(np.full(len(letters), 0.3))
        preferred += letters[int(emission.argmax())] if k else ""
        if k:
            lines.append(
                f"{k} {row(np.maximum(emission, 1e-4) / np.maximum(emission, 1e-4).sum())} {k} x - -"
            )
        lines.append(row(np.full(len(letters), 1 / len(letters))))
        match, insertion = rng.dirichlet([30, 1, 1]), rng.dirichlet([3, 1])
        deletion = rng.dirichlet([3, 1]) if 0 < k < nodes else [1, 0]
        if k == nodes:
            match = [match[0] + match[2], match[1], 0]
        lines.append(row([*match, *insertion, *deletion]))
    path.write_text("\n".join([*lines, "//", ""]))
    return preferred


def plain(p, codes, plus):
    """Bits, by the recurrences of Eddy (2011) in double precision; `plus` is np.logaddexp or np.maximum."""
    with np.errstate(divide="ignore"):
        steps, emission = (np.log(table) for table in p.odds())
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
            end = plus(end, plus(new_match[k], new_deletion[k]))
        insertion = plus(match + steps[:, 4], insertion + steps[:, 5])
        match, deletion = new_match, new_deletion
        j, c, n = plus(j + loop, end + np.log(0.5)), plus(c + loop, end + np.log(0.5)), n + loop
        b = plus(n, j) + move
    return (c + move - length * np.log(length / (length + 1)) + np.log(length + 1)) / np.log(2)


def codes_of(p, several):
    letters = p.alphabet + ("N" if len(p.alphabet) == 4 else "X")
    return [[letters.index(letter) for letter in text.upper()] for text in several]


def plain_filter(p, codes):
    """The best stretches without gaps, in whole thirds of a bit, which 8 bits suffice for."""
    with np.errstate(divide="ignore"):
        emission = np.maximum(np.rint(np.log2(p.odds()[1]) * 3), -99)
    nodes, length = len(p), len(codes)
    move = np.floor(3 * np.log2(3 / (length + 3)) + 0.5)
    into = move + np.floor(3 * np.log2(2 / (nodes * (nodes + 1))) + 0.5)
    match, best = np.full(nodes + 1, -999.0), -999.0
    for code in codes:
        begin = max(0, best) + into
        match[1:] = np.maximum(match[:-1], begin) + emission[1:, code]
        match[0] = -999
        best = max(best, match.max() - 3)
    null = length * np.log2(length / (length + 1)) - np.log2(length + 1)
    return (best + move) / 3 - 3 / np.log(2) - null


@pytest.mark.parametrize("alphabet", ["amino", "DNA"])
def test_the_filter_is_that_of_plain_code(alphabet, tmp_path, instruction_set):
    best = write_profile(tmp_path / "x.hmm", alphabet, 12, 1)
    p, rng = Profile(tmp_path / "x.hmm"), np.random.default_rng(2)
    several = ["".join(rng.choice(list(p.alphabet), rng.integers(1, 90))) for _ in range(150)]
    several += [best[:6], several[3] + best[2:9] + several[4]]
    found = p._bits([text.encode() for text in several], profile.FILTER, 2, None)
    assert np.allclose(found, [plain_filter(p, codes) for codes in codes_of(p, several)], atol=1e-9)
    assert np.isinf(p._bits([best.encode() * 9], profile.FILTER, 1, None)).all()
    hits = p.search([*several, best * 3], 1e-3)
    assert hits.numbers[0] == len(several) and (hits.e_values <= 1e-3).all()
    assert np.allclose(hits.bits, p.forward([[*several, best * 3][k] for k in hits.numbers]))
    assert p.search([]).numbers.tolist() == []


@pytest.mark.parametrize("alphabet", ["amino", "DNA"])
def test_scores_are_those_of_plain_code(alphabet, tmp_path, instruction_set):
    best = write_profile(tmp_path / "x.hmm", alphabet, 12, 1)
    p, rng = Profile(tmp_path / "x.hmm"), np.random.default_rng(2)
    several = ["".join(rng.choice(list(p.alphabet), k)) for k in (1, 2, 5, 30, 31, 60)]
    several += [best, several[3] + best + several[4] + best[:6] + best[8:], best.lower() * 12]
    several.append(best[:5] + ("X" if alphabet == "amino" else "N") + best[6:])
    with np.errstate(invalid="ignore"):
        for plus, found in ((np.logaddexp, p.forward(several, threads=2)), (np.maximum, p.viterbi(several))):
            wanted = [plain(p, codes, plus) for codes in codes_of(p, several)]
            assert np.allclose(found, wanted, atol=2e-3)
    assert p.forward([best * 40])[0] > 100  # numbers were made smaller on the way
    assert np.array_equal(p.forward(several[::-1])[::-1], p.forward(several))


def test_e_values_are_of_the_file(tmp_path):
    write_profile(tmp_path / "x.hmm", "DNA", 3, 1)
    p = Profile(tmp_path / "x.hmm")
    assert np.allclose(p.e_values(np.array([-9.0, -4.0, 6.0])), 3 * np.exp(-0.7 * np.array([0, 0, 10.0])))
    assert np.allclose(p.e_values(np.array([6.0]), 1000), 1000 * np.exp(-7.0)) and len(p) == 3


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


def test_bad_input_is_one_line(tmp_path):
    write_profile(tmp_path / "x.hmm", "DNA", 5, 1)
    text = (tmp_path / "x.hmm").read_text()
    p = Profile(tmp_path / "x.hmm")

    def edited(a, b):
        (tmp_path / "y.hmm").write_text(text.replace(a, b, 1))
        return lambda: Profile(tmp_path / "y.hmm")

    for call, words in [
        (lambda: Profile("/nowhere/x.hmm"), "no such file"),
        (lambda: edited("LOCAL FORWARD", "LOCAL FORWARDS")().e_values(np.ones(1)), "no STATS LOCAL FORWARD"),
        (lambda: edited("LOCAL MSV", "LOCAL MSVS")().search(["ACGT"]), "no STATS LOCAL MSV"),
        (lambda: p.search(["ACGT"], 0), "not above 0"),
        (lambda: p.forward("ACGT"), "a list of sequences"),
        (lambda: p.forward(["ACGT", "ACXT"]), "sequence 2: 'X' at letter 3 is not one of ACGTN"),
        (lambda: p.viterbi([""]), "has 0 letters"),
        (lambda: p.viterbi([1]), "must be str or bytes"),
    ]:
        with pytest.raises(GassstError, match=words) as caught:
            call()
        assert "\n" not in str(caught.value)
    for a, b, words in [
        ("HMMER3", "HMMER2", "does not begin with HMMER3/"),
        ("ALPH  DNA", "ALPH  coins", "has no alphabet"),
        ("LENG  5", "LENG  6", "is cut short: 6 nodes"),
        ("//", "", "is cut short"),
        ("\n1 ", "\n1 0.1 ", "do not add to 1"),
        ("-4.0000", "four", "2 numbers are wanted"),
    ]:
        with pytest.raises(GassstError, match=words) as caught:
            edited(a, b)()
        assert "\n" not in str(caught.value)
