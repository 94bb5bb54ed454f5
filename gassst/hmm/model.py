"""`gassst.hmm.Model`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gassst._core.problems import Job
from gassst.errors import InputError, UsageError
from gassst.semiring import closure, product
from gassst.workers.allocator import aligned, available_memory
from gassst.workers.tasks import ProgressBar, Shown, run_shown, thread_count

Floats = NDArray[np.float64]
Symbols = NDArray[np.uint16]
Chain = tuple[Floats, Floats, Floats, Floats]
"""Start, transition, emission and end of states that emit."""

TOLERANCE = 1e-4  # of sums that should be 1: models are written with few digits
STATES = 16  # that of chain_kernels.c: states are filled up to a multiple
KEPT_BYTES = 1 << 28  # of rows of a path: of longer sequences they are computed twice
SYMBOL_COST = 64  # of a symbol beside its states x states


class Model:
    """A hidden Markov model of one sequence of symbols.

    Parameters
    ----------
    start : float[states]
        Probability that a sequence begins in each state.
    transition : float[states, states]
        From each state, a row, to each state.
    emission : float[states, symbols]
        Of each state, a row, the probability of each symbol. A row of zeros is a silent state, which emits nothing.
    end : float[states], optional
        Probability that a sequence ends behind each state. By default it may end anywhere, at no cost.
    alphabet : str, optional
        The letters of the symbols; sequences may then be text.
    states : list of str, optional
        Names of the states.

    Raises
    ------
    UsageError
        For shapes that do not fit.
    InputError
        For what is not a probability, rows whose sum is not 1 (within 1e-4), and silent states that may never be left.

    Notes
    -----
    `symbols` is one sequence, as text or as int[n] from 0, or a list of sequences; results are then lists, and
    several threads share the work. All methods raise InputError for a sequence that is empty or has other symbols, and
    UsageError where `threads` makes no sense, or memory does not suffice.
    """

    def __init__(
        self,
        start: ArrayLike,
        transition: ArrayLike,
        emission: ArrayLike,
        end: ArrayLike | None = None,
        *,
        alphabet: str | None = None,
        states: Iterable[str] | None = None,
    ):
        self.start = _probabilities(start, "start")
        self.transition = _probabilities(transition, "transition")
        self.emission = _probabilities(emission, "emission")
        self.end = None if end is None else _probabilities(end, "end")
        n, self.symbols = self.emission.shape if self.emission.ndim == 2 else (0, 0)
        self.alphabet = alphabet
        self.states = [str(i) for i in range(n)] if states is None else list(states)
        shapes = [self.start.shape, self.transition.shape, (n,) if self.end is None else self.end.shape]
        if shapes != [(n,), (n, n), (n,)] or len(self.states) != n or not self.symbols:
            raise UsageError(f"a model of {n} states: start, transition, end or names have another number")
        if self.symbols > 1 << 16 or (alphabet is not None and len(set(alphabet)) != self.symbols):
            raise UsageError(f"alphabet: {self.symbols} different symbols are wanted, 65,536 at most")
        self.silent = ~self.emission.any(axis=1)
        onward = self.transition.sum(1) + (0 if self.end is None else self.end)
        emitted = np.where(self.silent, 1, self.emission.sum(1))
        for name, found in ("start", self.start.sum()[None]), ("transition", onward), ("emission", emitted):
            if (wrong := np.abs(found - 1) > TOLERANCE).any():
                k = int(wrong.argmax())
                what = name if name == "start" else f"{name} of state {self.states[k]}"
                raise InputError(f"{what}: the probabilities add to {found[k]:.6g}, not to 1")
        if self.silent.all():
            raise InputError("a model whose states are all silent emits nothing")

    def viterbi(self, symbols: Any, *, threads: int | None = None, progress: Shown = None) -> Any:
        """The most probable path: `(path int32[n], natural logarithm of its probability)`, or a list.

        `path` has the state that emits each symbol. Where no path has any probability, it is -1, and the score -inf.
        """
        many, is_one = self._sequences(symbols)
        path, at = np.empty(sum(map(len, many)), np.int32), np.cumsum([0, *map(len, many)]).tolist()
        logs = self._run("path", self._logs, many, threads, progress, path).tolist()
        if self.silent.any():
            path = np.where(path < 0, -1, self._emitting[path]).astype(np.int32)
        found = [(path[a:b], score) for a, b, score in zip(at, at[1:], logs, strict=False)]
        return found[0] if is_one else found

    def forward(self, symbols: Any, *, threads: int | None = None, progress: Shown = None) -> Any:
        """The natural logarithm of the probability of a sequence, or a list: the sum over all paths."""
        many, is_one = self._sequences(symbols)
        logs = self._run("forward", self._reduced, many, threads, progress).tolist()
        return logs[0] if is_one else logs

    def backward(self, symbols: Any, *, threads: int | None = None, progress: Shown = None) -> Any:
        """The same number as `forward`, from the last symbol to the first: a check of both."""
        many, is_one = self._sequences(symbols)
        turned = [one[::-1] for one in many]
        logs = self._run("forward", _turned(self._reduced), turned, threads, progress).tolist()
        return logs[0] if is_one else logs

    def posterior(self, symbols: Any, *, threads: int | None = None, progress: Shown = None) -> Any:
        """float64[n, states], or a list: the probability of each state at each symbol, given the sequence.

        Silent states have 0. All is NaN where no path has any probability.
        """

        def table(total: float, states: Floats, *_: Any) -> Floats:
            found = np.zeros((len(states), len(self.states)))
            found[:, self._emitting] = states if total > -np.inf else np.nan
            return found

        many, is_one = self._sequences(symbols)
        found = self._each(many, table, threads, progress)
        return found[0] if is_one else found

    def fit(
        self,
        sequences: Any,
        *,
        iterations: int = 100,
        tolerance: float = 1e-2,
        threads: int | None = None,
        progress: Shown = None,
    ) -> tuple[Model, list[float]]:
        """Train by Baum-Welch: `(model, natural logarithm of the probability of all sequences before each iteration)`.

        It ends after so many iterations, or where one adds less than `tolerance` to the logarithm. Probabilities of 0
        stay 0. Raises UsageError for a model with silent states, InputError for a sequence of probability 0.
        """
        if self.silent.any() or iterations < 1:
            raise UsageError("fit: a model without silent states is wanted, and an iteration or more")
        model, history = self, list[float]()
        many, _ = self._sequences(sequences)
        bar = ProgressBar(progress, float(iterations))
        for _ in range(iterations):
            parts = model._each(many, model._counts, threads, None)
            total, start, transition, emission, end = (sum(part[i] for part in parts) for i in range(5))
            history.append(total)
            bar.add(1)
            if len(history) > 1 and history[-1] - history[-2] < tolerance:
                break
            onward = transition.sum(1) + (0 if self.end is None else end)
            model = Model(
                start / start.sum(),
                _shares(transition, onward[:, None], model.transition),
                _shares(emission, emission.sum(1, keepdims=True), model.emission),
                None if model.end is None else _shares(end, onward, model.end),
                alphabet=self.alphabet,
                states=self.states,
            )
        bar.finish()
        return model, history

    def _counts(
        self, total: float, states: Floats, ahead: Floats, behind: Floats, one: Symbols
    ) -> tuple[Any, ...]:
        """Expected counts: logarithm, starts, transitions, emissions, ends."""
        if total == -np.inf:
            raise InputError("fit: a sequence has the probability 0")
        emission = np.stack([states[one == s].sum(0) for s in range(self.symbols)], axis=1)
        return total, states[0], self.transition * (ahead[:-1].T @ behind[1:]), emission, states[-1]

    def _each(
        self, many: list[Symbols], function: Callable[..., Any], threads: int | None, progress: Shown
    ) -> list[Any]:
        """What `function` makes of each sequence: of its logarithm, probabilities of states, rows ahead and behind,
        whose products with transitions are probabilities, and symbols.
        """
        turned, count, found = _turned(self._reduced), thread_count(threads), [None] * len(many)
        n, states = len(self._emitting), _whole(len(self._emitting))
        needed = 24.0 * states * np.sort([len(sequence) for sequence in many])[-count:].sum()
        if needed > available_memory():
            raise UsageError(
                f"tables of sequences take {needed / 2**30:.1f} GiB of memory: use fewer threads"
            )
        every = _job("forward", self._reduced, [], np.empty(0))  # which ends the others

        def run(first: int, end: int) -> None:
            for i in range(first, end):
                one, log, scales = many[i], np.empty(1), np.empty((len(many[i]), 1))
                ahead, behind = (aligned((len(one), states)) for _ in range(2))
                _job("forward", turned, [one[::-1]], log, (behind, scales), stop=every).run(0, 1)
                _job("forward", self._reduced, [one], log, (ahead, scales), stop=every).run(0, 1)
                ahead, behind, odds = ahead[:, :n], behind[::-1, :n], self._reduced[2].T[one]
                with np.errstate(divide="ignore", invalid="ignore"):
                    both = ahead * behind
                    np.divide(both, odds, out=both, where=odds > 0)
                    norm = both.sum(1, keepdims=True)
                    found[i] = function(log[0], both / norm, ahead, behind * (scales / norm), one)

        run_shown(2 * _cost(many, states), run, count, every.stop, progress)
        return found

    def _run(
        self,
        kernel: str,
        chain: Chain,
        many: list[Symbols],
        threads: int | None,
        progress: Shown,
        path: Any = None,
    ) -> Floats:
        """The logarithms that a kernel writes."""
        logs = np.empty(len(many))
        job = _job(kernel, chain, many, logs, path=path, zero=-np.inf if kernel == "path" else 0)
        run_shown(_cost(many, _whole(len(chain[0]))), job.run, thread_count(threads), job.stop, progress)
        return logs

    def _sequences(self, symbols: Any) -> tuple[list[Symbols], bool]:
        """Verified sequences, and whether it is one that was no list."""
        is_one = isinstance(symbols, (str, bytes)) or (isinstance(symbols, np.ndarray) and symbols.ndim == 1)
        many = [symbols] if is_one else list(symbols)
        if many and isinstance(many[0], (int, np.integer)):
            many, is_one = [np.asarray(many)], True
        return [self._codes(sequence, k) for k, sequence in enumerate(many, 1)], is_one

    def _codes(self, sequence: Any, number: int) -> Symbols:
        if isinstance(sequence, bytes):
            sequence = sequence.decode("latin-1")
        if isinstance(sequence, str):
            if self.alphabet is None:
                raise InputError(f"sequence {number}: is text, and the model has no alphabet")
            letters, code = np.unique(list(sequence), return_inverse=True)
            codes = np.array([self.alphabet.find(letter) for letter in letters.tolist()], np.int64)[code]
        else:
            codes = np.asarray(sequence)
        if codes.ndim != 1 or not codes.size or codes.dtype.kind not in "iu":
            raise InputError(f"sequence {number}: must be text or integers, one at least")
        wrong = (codes < 0) | (codes >= self.symbols)
        if wrong.any():
            raise InputError(f"sequence {number}: symbol {int(wrong.argmax()) + 1} is not one of the model's")
        return np.ascontiguousarray(codes, np.uint16)

    @cached_property
    def _emitting(self) -> NDArray[np.int64]:
        return np.flatnonzero(~self.silent)

    def _without_silent(
        self, semiring: Any, start: Floats, transition: Floats, end: Floats
    ) -> tuple[Floats, ...]:
        """What leads through silent states leads straight on: start, transition and end of the emitting states."""
        e, s = self._emitting, np.flatnonzero(self.silent)
        plus = np.add if semiring == "sum-product" else np.maximum
        onward = closure(transition[np.ix_(s, s)], semiring)

        def through(first: Floats, last: Floats) -> Floats:
            return product(product(first, onward, semiring), last, semiring)

        into, out = transition[np.ix_(e, s)], transition[np.ix_(s, e)]
        return (
            plus(start[e], through(start[None, s], out)[0]),
            plus(transition[np.ix_(e, e)], through(into, out)),
            end[e] if self.end is None else plus(end[e], through(into, end[s, None])[:, 0]),
        )

    @cached_property
    def _reduced(self) -> Chain:
        """Sums over silent states."""
        return self._chain("sum-product", lambda p: p)

    @cached_property
    def _logs(self) -> Chain:
        """The same as natural logarithms, through the best silent states."""
        with np.errstate(divide="ignore"):
            return self._chain("max-plus", np.log)

    def _chain(self, semiring: Any, number: Callable[[Floats], Floats]) -> Chain:
        end = np.ones(len(self.states)) if self.end is None else self.end
        start, transition, end = number(self.start), number(self.transition), number(end)
        if self.silent.any():
            start, transition, end = self._without_silent(semiring, start, transition, end)
        return start, transition, number(self.emission[self._emitting]), end


def _turned(chain: Chain) -> Chain:
    """Return the same model, read from its end."""
    return chain[3], chain[1].T, chain[2], chain[0]


def _job(
    kernel: str,
    chain: Chain,
    many: list[Symbols],
    logs: Floats,
    rows: tuple[Any, Any] = (None, None),
    path: Any = None,
    stop: Job | None = None,
    zero: float = 0,
) -> Job:
    """What computes `many` sequences, and writes their logarithms, rows of states, their scales, and paths.

    The model is filled up to whole vectors with `zero`, -inf of logarithms.
    """
    start, transition, emission, end = chain
    n, states = len(start), _whole(len(start))

    def padded(array: Floats, rows: int) -> Floats:
        whole = aligned((rows, states))
        whole[:] = zero
        whole[: len(array), :n] = array
        return whole

    ends = padded(start[None], 1), padded(end[None], 1)
    onward = padded(transition, states), padded(transition.T, states)
    text = np.concatenate([np.empty(0, np.uint16), *many])
    members = states, *ends, *onward, padded(emission.T, emission.shape[1]), text
    return Job(kernel, *members, np.cumsum([0, *map(len, many)]), logs, *rows, path, KEPT_BYTES, stop=stop)


def _whole(states: int) -> int:
    return -(-states // STATES) * STATES


def _cost(many: list[Symbols], states: int) -> Floats:
    """The work for each sequence, in cells of an alignment."""
    return np.array([len(one) for one in many], float) * (states**2 + SYMBOL_COST)


def _shares(counts: Floats, total: Floats, before: Floats) -> Floats:
    """Counts as shares of a total; what there was before where it is 0."""
    return np.where(total > 0, counts / np.where(total > 0, total, 1), before)


def _probabilities(array: ArrayLike, name: str) -> Floats:
    try:
        found = np.array(array, np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{name}: numbers are wanted") from None
    if not ((found >= 0) & (found <= 1 + TOLERANCE)).all():
        raise InputError(f"{name}: probabilities lie from 0 to 1")
    return found
