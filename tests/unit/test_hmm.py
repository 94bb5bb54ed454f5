"""Hidden Markov models: against all paths, plain NumPy and hmmlearn."""

from __future__ import annotations

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


def enumerated(m, symbols):
    """Of all paths: sum, largest, its states, posterior. Silent states are passed through up to 24 times in a row."""
    n, table = len(m.states), np.zeros((len(symbols), len(m.states)))
    whole = np.zeros((n + 2, n + 2))  # the start, and the end behind the states
    whole[0, 1:-1], whole[1:-1, 1:-1] = m.start, m.transition
    whole[1:-1, -1] = np.where(m.silent, 0, 1) if m.end is None else m.end
    quiet = np.append([False], np.append(m.silent, False))
    ways = [whole]
    for _ in range(24):
        ways.append(ways[-1][:, quiet] @ whole[quiet])
    summed = sum(ways)
    best_ways = whole
    for _ in range(24):
        through = (best_ways[:, quiet, None] * whole[quiet]).max(1) if quiet.any() else 0
        best_ways = np.maximum(best_ways, through)
    total, best, where = 0.0, 0.0, None
    for path in product(np.flatnonzero(~m.silent), repeat=len(symbols)):
        steps = [0, *(state + 1 for state in path)], [*(state + 1 for state in path), n + 1]
        emitted = m.emission[path, symbols].prod()
        probability, largest = summed[steps].prod() * emitted, best_ways[steps].prod() * emitted
        total += probability
        table[np.arange(len(path)), path] += probability
        if largest > best:
            best, where = largest, path
    return np.log(total), np.log(best), where, table / total


@pytest.mark.parametrize(("n", "silent", "end"), [(3, 0, True), (3, 0, False), (4, 1, True)])
def test_models_are_what_all_paths_say(n, silent, end, instruction_set):
    for seed in range(6):
        m = random_model(n, 3, seed, silent, end)
        symbols = np.random.default_rng(seed).integers(0, 3, 5)
        total, best, where, table = enumerated(m, symbols)
        path, score = m.viterbi(symbols)
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
    total = pytest.approx(scale + np.log(v @ m.end), rel=1e-12)
    many = [symbols[:1], symbols, symbols[:7]]  # beside others, and alone
    for call in (m.forward, m.backward):
        assert call(many, threads=2) == [call(one) for one in many] and call(symbols) == total
    assert np.array_equal(m.posterior(many, threads=2)[1], m.posterior(symbols))
    for kept in (model.KEPT_BYTES, 0):  # in stretches, and the same
        monkeypatch.setattr(model, "KEPT_BYTES", kept)
        states, score = m.viterbi(many, threads=2)[1]
        assert states.tolist() == path[::-1] and score == pytest.approx(w.max(), rel=1e-12)
    assert m.forward([]) == []


def test_what_is_impossible_has_no_probability():
    m = Model([1, 0], [[0, 1], [1, 0]], [[1, 0], [0, 1]])
    path, score = m.viterbi([0, 0])
    assert score == -np.inf and path.tolist() == [-1, -1]
    assert m.forward([0, 0]) == m.backward([1]) == -np.inf and np.isnan(m.posterior([0, 0])).all()


def test_the_casino_of_the_notation():
    m = read_model(CASINO)
    path, score = m.viterbi("1234566666666666666")
    assert [m.states[k] for k in path] == ["fair"] * 5 + ["loaded"] * 14
    factors = np.log([1 / 6, 0.95, 0.05, 0.5, 0.97999, 1e-5])
    assert score == pytest.approx(factors @ [5, 4, 1, 14, 13, 1])


def test_silent_states_and_transitions_that_emit():
    text = """hmm m { alphabet [a, b]; startstate s; state x emits e; state d; emission e = [1/4, 3/4]; endstate t;
    emission f = [1, 0]; s -> d 1; d -> x 1/2; d -> d 1/4; d -> t 1/4; x -> d 0.5; x -> t 0.5 emits f; }"""
    once = (1 / 2) / (1 - 1 / 4)  # s d+ x, then the end, or a last letter `a`
    wanted = np.log(once * 0.75 * (0.5 + 0.5 * once * 0.25 * 0.5 * (1 / 3)))
    assert read_model(text).forward("ba") == pytest.approx(wanted, abs=1e-9)


def test_paths_and_training_are_those_of_hmmlearn():
    hmm = pytest.importorskip("hmmlearn.hmm", reason="no hmmlearn")
    m, rng = random_model(16, 4, 3, end=False), np.random.default_rng(4)
    many = [rng.integers(0, 4, k) for k in (2000, 50, 120)]
    other = hmm.CategoricalHMM(16, n_iter=5, tol=-np.inf, init_params="", n_features=4)
    other.startprob_, other.transmat_, other.emissionprob_ = m.start, m.transition, m.emission
    score, path = other.decode(many[0][:, None])
    states, own = m.viterbi(many[0])
    assert states.tolist() == path.tolist() and own == pytest.approx(score, rel=1e-9)
    assert m.forward(many[0]) == pytest.approx(other.score(many[0][:, None]), rel=1e-9)
    fitted, history = m.fit(many, iterations=5, tolerance=-1)
    other.fit(np.concatenate(many)[:, None], [len(one) for one in many])
    assert np.allclose(fitted.transition, other.transmat_, atol=1e-6)
    assert np.allclose(fitted.emission, other.emissionprob_, atol=1e-6)
    assert np.allclose(history, list(other.monitor_.history), atol=1e-6)


HALF = [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Model([1, 0], [[0.5, 0.4], [0.5, 0.5]], HALF), "transition of state 0: .* add to 0.9"),
        (lambda: Model([1, 1], HALF, HALF), "start: the probabilities add to 2"),
        (lambda: Model([1, 0], HALF, [[0.5, -0.5], [0.5, 0.5]]), "emission: probabilities lie from 0 to 1"),
        (lambda: Model([1, 0, 0], HALF, HALF), "another number"),
        (lambda: Model([1, 0], HALF, 0.5), "another number"),
        (lambda: Model("x", HALF, HALF), "numbers are wanted"),
        (lambda: Model([1, 0], HALF, [[0, 0], [0, 0]]), "all silent"),
        (lambda: Model([1, 0], [[1, 0], [0, 1]], [[0, 0], [0.5, 0.5]]).forward([0]), "endless"),
        (lambda: Model([1, 0], HALF, HALF, alphabet="a"), "2 different symbols"),
        (lambda: Model([1, 0], HALF, HALF).viterbi("ab"), "no alphabet"),
        (lambda: Model([1, 0], HALF, HALF, alphabet="ab").viterbi("abc"), "symbol 3 is not one of"),
        (lambda: Model([1, 0], HALF, HALF).forward([[0], []]), "sequence 2: must be text or integers"),
        (lambda: Model([1, 0], HALF, HALF).fit([[0]], iterations=0), "an iteration or more"),
        (lambda: read_model("/nowhere/x.hmm"), "no such file"),
        (lambda: read_model(CASINO[:200]), "hmm name"),
        (lambda: read_model(CASINO.replace("0.05;", "0.05")), "not understood"),
        (lambda: read_model(CASINO.replace("fair 0.95", "fair 0.85")), "model: transition of state fair: "),
        (lambda: read_model(CASINO.replace("emits loaded", "emits other")), "no emission otheremission"),
        (lambda: read_model(CASINO.replace("-> loaded 0.05", "-> lost 0.05")), "fair -> lost"),
        (lambda: read_model(CASINO.replace("0.02", "zwei")), "`zwei` is not a number"),
    ],
)
def test_bad_input_is_one_line(call, words):
    with pytest.raises(GassstError, match=f"^[^\n]*{words}[^\n]*$"):
        call()
