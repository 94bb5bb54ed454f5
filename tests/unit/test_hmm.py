"""Hidden Markov models: against all paths, plain NumPy and hmmlearn."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from gassst.errors import GassstError
from gassst.hmm import Model, model, read_model

CASINO = """
hmm casino {
  alphabet [1, 2, 3, 4, 5, 6];
  startstate start;
  state fair emits fairemission;   // a die
  state loaded emits loadedemission;
  endstate end;
  emission fairemission = [1/6, 1/6, 1/6, 1/6, 1/6, 1/6];
  emission loadedemission = [0.1, 0.1, 0.1, 0.1, 0.1, 0.5];
  start -> fair 1;
  fair -> fair 0.95;
  fair -> loaded 0.05;
  loaded -> loaded 0.97999;
  loaded -> fair 0.02;
  loaded -> end 0.00001;
  fair -> end 0.00001;
}
"""


def random_model(n, symbols, seed, silent=0, end=True):
    """Silent states lead to later ones only, or out: rows add to 1."""
    rng = np.random.default_rng(seed)
    onward = rng.dirichlet(np.ones(n + end), n)
    emission = rng.dirichlet(np.ones(symbols), n)
    emission[n - silent :] = 0
    return Model(rng.dirichlet(np.ones(n)), onward[:, :n], emission, onward[:, n] if end else None)


def enumerated(m, symbols, most=3):
    """Of all paths, with at most `most` silent states one after another: sum, largest, its states, posterior."""
    n = len(m.states)
    end = np.ones(n) if m.end is None else m.end
    silent, emitting = np.flatnonzero(m.silent), np.flatnonzero(~m.silent)
    between = [tuple(p) for k in range(most + 1) for p in product(silent, repeat=k)]
    total, best, where, table = 0.0, 0.0, None, np.zeros((len(symbols), n))

    @cache
    def step(a, b):
        return [chain(a, p, b) for p in between]

    def chain(a, way, b):
        p, at = 1.0, a
        for state in (*way, b):
            if state == "end":
                return p * (end[at] if m.end is not None or not way else 0)
            p *= m.start[state] if at is None else m.transition[at, state]
            at = state
        return p

    for path in product(emitting, repeat=len(symbols)):
        summed = largest = 1.0
        for a, b, symbol in zip((None, *path), (*path, "end"), (*symbols, None), strict=True):
            ways = step(a, b)
            e = 1.0 if symbol is None else m.emission[b, symbol]
            summed, largest = summed * sum(ways) * e, largest * max(ways) * e
        total += summed
        table[np.arange(len(path)), path] += summed
        if largest > best:
            best, where = largest, path
    return np.log(total), np.log(best), where, table / total


@pytest.mark.parametrize(("n", "silent", "end"), [(3, 0, True), (3, 0, False), (4, 1, True)])
def test_models_are_what_all_paths_say(n, silent, end, instruction_set):
    for seed in range(6):
        m = random_model(n, 3, seed, silent, end)
        symbols = np.random.default_rng(seed).integers(0, 3, 5)
        total, best, where, table = enumerated(m, symbols, 24 if silent else 0)
        for form in ("single", "double"):
            path, score = m.viterbi(symbols, form=form)
            assert score == pytest.approx(best, abs=1e-9)
            assert silent or path.tolist() == list(where)  # ways through silent states tie
        assert m.forward(symbols) == pytest.approx(total, abs=1e-9)
        assert m.backward(symbols) == pytest.approx(total, abs=1e-9)
        assert np.allclose(m.posterior(symbols), table, atol=1e-9)


@pytest.mark.parametrize("n", [2, 20, 70])
def test_long_sequences_are_those_of_plain_code(n, instruction_set, monkeypatch):
    m = random_model(n, 4, n)
    symbols = np.random.default_rng(n).integers(0, 4, 500)
    v, scale = m.start * m.emission[:, symbols[0]], 0.0
    w, back = np.log(v), []
    for symbol in symbols[1:]:
        c = v.sum()
        scale, v = scale + np.log(c), (v / c) @ m.transition * m.emission[:, symbol]
        sums = w[:, None] + np.log(m.transition)
        back.append(sums.argmax(0))
        w = sums.max(0) + np.log(m.emission[:, symbol])
    w += np.log(m.end)
    path = [int(w.argmax())]
    for step in back[::-1]:
        path.append(int(step[path[-1]]))
    assert m.forward(symbols) == pytest.approx(scale + np.log(v @ m.end), rel=1e-12)
    assert m.backward(symbols) == pytest.approx(m.forward(symbols), rel=1e-12)
    found = m.viterbi(symbols, form="double")
    assert found[0].tolist() == path[::-1] and found[1] == pytest.approx(w.max(), rel=1e-12)
    assert m.viterbi(symbols, form="single")[1] == pytest.approx(w.max(), abs=1e-3)
    monkeypatch.setattr(model, "KEPT_BYTES", 0)  # in stretches, and the same
    assert m.viterbi(symbols, form="double")[0].tolist() == path[::-1]


def test_many_sequences_are_like_one_each():
    m, rng = random_model(5, 4, 1), np.random.default_rng(2)
    many = [rng.integers(0, 4, k) for k in (1, 300, 7)]
    shown = []
    for call in (m.forward, m.backward, m.posterior, m.viterbi):
        for one, found in zip(many, call(many, threads=2, progress=shown.append), strict=True):
            single = call(one)
            for a, b in zip(
                np.atleast_1d(single[0] if call == m.viterbi else single),
                np.atleast_1d(found[0] if call == m.viterbi else found),
                strict=True,
            ):
                assert np.array_equal(a, b)
    assert shown.count(1.0) >= 4 and m.forward([]) == []


def test_what_is_impossible_has_no_probability():
    m = Model([1, 0], [[0, 1], [1, 0]], [[1, 0], [0, 1]])
    path, score = m.viterbi([0, 0])
    assert score == -np.inf and path.tolist() == [-1, -1]
    assert m.forward([0, 0]) == m.backward([1]) == -np.inf and np.isnan(m.posterior([0, 0])).all()
    assert m.forward([0, 1, 0]) == 0


def test_the_casino_of_the_notation():
    m = read_model(CASINO)
    assert m.states == ["fair", "loaded"] and m.alphabet == "123456"
    path, score = m.viterbi("1234566666666666666")
    assert [m.states[k] for k in path] == ["fair"] * 5 + ["loaded"] * 14
    assert score == pytest.approx(
        np.log(1 / 6) * 5
        + np.log(0.95) * 4
        + np.log(0.05)
        + np.log(0.5) * 14
        + np.log(0.97999) * 13
        + np.log(1e-5)
    )


def test_silent_states_and_transitions_that_emit():
    text = """hmm m { alphabet [a, b]; startstate s; state x emits e; state d; emission e = [1/4, 3/4]; endstate t;
    emission f = [1, 0]; s -> d 1; d -> x 1/2; d -> d 1/4; d -> t 1/4; x -> d 0.5; x -> t 0.5 emits f; }"""
    m = read_model(text)
    # s d+ x, then the end, or a last letter `a`
    once = (1 / 2) / (1 - 1 / 4)
    assert m.forward("ba") == pytest.approx(
        np.log(once * 0.75 * (0.5 + 0.5 * once * 0.25 * 0.5 * (1 / 3))), abs=1e-9
    )


def test_training_finds_what_hmmlearn_finds():
    hmm = pytest.importorskip("hmmlearn.hmm", reason="no hmmlearn")
    m, rng = random_model(3, 4, 3, end=False), np.random.default_rng(4)
    many = [rng.integers(0, 4, k) for k in (200, 50, 120)]
    fitted, history = m.fit(many, iterations=5, tolerance=-1)
    other = hmm.CategoricalHMM(3, n_iter=5, tol=-np.inf, init_params="", n_features=4)
    other.startprob_, other.transmat_, other.emissionprob_ = m.start, m.transition, m.emission
    other.fit(np.concatenate(many)[:, None], [len(one) for one in many])
    assert np.allclose(fitted.transition, other.transmat_, atol=1e-6)
    assert np.allclose(fitted.emission, other.emissionprob_, atol=1e-6)
    assert np.allclose(history, list(other.monitor_.history), atol=1e-6) and len(history) == 5


def test_training_never_loses():
    m, rng = random_model(4, 3, 5), np.random.default_rng(6)
    _, history = m.fit([rng.integers(0, 3, 80) for _ in range(3)], iterations=30)
    assert all(b >= a - 1e-9 for a, b in zip(history, history[1:], strict=False)) and len(history) > 2


def test_decoding_finds_what_hmmlearn_finds():
    hmm = pytest.importorskip("hmmlearn.hmm", reason="no hmmlearn")
    m, symbols = random_model(16, 5, 7, end=False), np.random.default_rng(8).integers(0, 5, 2000)
    other = hmm.CategoricalHMM(16, n_features=5)
    other.startprob_, other.transmat_, other.emissionprob_ = m.start, m.transition, m.emission
    score, path = other.decode(symbols[:, None])
    found = m.viterbi(symbols, form="double")
    assert found[0].tolist() == path.tolist() and found[1] == pytest.approx(score, rel=1e-9)
    assert m.forward(symbols) == pytest.approx(other.score(symbols[:, None]), rel=1e-9)


HALF = [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Model([1, 0], [[0.5, 0.4], [0.5, 0.5]], HALF), "transition of state 0: .* add to 0.9"),
        (lambda: Model([1, 1], HALF, HALF), "start: the probabilities add to 2"),
        (lambda: Model([1, 0], HALF, [[0.5, 0.6], [0.5, 0.5]]), "emission of state 0"),
        (lambda: Model([1, 0], HALF, [[0.5, -0.5], [0.5, 0.5]]), "emission: probabilities lie from 0 to 1"),
        (lambda: Model([1, 0, 0], HALF, HALF), "another number"),
        (lambda: Model("x", HALF, HALF), "numbers are wanted"),
        (lambda: Model([1, 0], HALF, [[0, 0], [0, 0]]), "all silent"),
        (lambda: Model([1, 0], [[1, 0], [0, 1]], [[0, 0], [0.5, 0.5]]).forward([0]), "endless"),
        (lambda: Model([1, 0], HALF, HALF, alphabet="a"), "2 different symbols"),
        (lambda: Model([1, 0], HALF, HALF).viterbi("ab"), "no alphabet"),
        (lambda: Model([1, 0], HALF, HALF, alphabet="ab").viterbi("abc"), "symbol 3 is not one of"),
        (lambda: Model([1, 0], HALF, HALF).forward([[0], []]), "sequence 2: must be text or integers"),
        (lambda: Model([1, 0], HALF, HALF).viterbi([0], form="triple"), "form 'triple'"),
        (lambda: Model([1, 0], HALF, HALF).fit([[0]], iterations=0), "iterations"),
        (lambda: read_model("/nowhere/x.hmm"), "no such file"),
        (lambda: read_model(CASINO[:200]), "hmm name"),
        (lambda: read_model(CASINO.replace("0.05;", "0.05")), "not understood"),
        (
            lambda: read_model(CASINO.replace("fair 0.95", "fair 0.85")),
            "model: transition of state fair: ",
        ),
        (lambda: read_model(CASINO.replace("emits loaded", "emits other")), "no emission otheremission"),
        (lambda: read_model(CASINO.replace("-> loaded 0.05", "-> lost 0.05")), "fair -> lost"),
        (lambda: read_model(CASINO.replace("0.02", "zwei")), "`zwei` is not a number"),
        (lambda: read_model(CASINO.replace("1, 2", "10, 2")), "single letters"),
    ],
)
def test_bad_input_is_one_line(call, words):
    with pytest.raises(GassstError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
