"""`gassst.hmm.Model`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
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

TOLERANCE = 1e-4  # of sums that should be 1: models are written with few digits
FORMS: dict[str, Any] = {"single": np.float32, "double": np.float64}
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
        self.start = _probabilities(start, "start", 1)
        self.transition = _probabilities(transition, "transition", 2)
        self.emission = _probabilities(emission, "emission", 2)
        n, self.symbols = self.emission.shape
        self.end = None if end is None else _probabilities(end, "end", 1)
        self.alphabet = alphabet
        self.states = [str(i) for i in range(n)] if states is None else list(states)
        shapes = [self.start.shape, self.transition.shape, (n,) if self.end is None else self.end.shape]
        if shapes != [(n,), (n, n), (n,)] or len(self.states) != n or not self.symbols:
            raise UsageError(f"a model of {n} states: start, transition, end or names have another number")
        if self.symbols > 1 << 16 or (alphabet is not None and len(set(alphabet)) != self.symbols):
            raise UsageError(f"alphabet: {self.symbols} different symbols are wanted, 65,536 at most")
        self.silent = ~self.emission.any(axis=1)
        self._sums_are_one()
        if self.silent.all():
            raise InputError("a model whose states are all silent emits nothing")

    def _sums_are_one(self) -> None:
        onward = self.transition.sum(1) + (0 if self.end is None else self.end)
        emitted = np.where(self.silent, 1, self.emission.sum(1))
        for name, found in ("start", self.start.sum()[None]), ("transition", onward), ("emission", emitted):
            if (wrong := np.abs(found - 1) > TOLERANCE).any():
                k = int(wrong.argmax())
                what = name if name == "start" else f"{name} of state {self.states[k]}"
                raise InputError(f"{what}: the probabilities add to {found[k]:.6g}, not to 1")

    def viterbi(
        self, symbols: Any, *, form: str = "double", threads: int | None = None, progress: Shown = None
    ) -> Any:
        """The most probable path: `(path int32[n], natural logarithm of its probability)`, or a list.

        `path` has the state that emits each symbol. `form` "single" takes half the time of "double", and may return a
        path that is less probable by about 1e-5. The score is computed for the path, in double precision. It is -inf,
        and the path -1, where no path has any probability.
        """
        if form not in FORMS:
            raise UsageError(f"form {form!r}: must be single or double")
        many, is_one = self._sequences(symbols)
        at = _offsets(many).tolist()
        path, chain = np.empty(at[-1], np.int32), _Chain(self._logs, -np.inf, FORMS[form])
        self._run(chain, f"path f{np.dtype(FORMS[form]).itemsize}", many, threads, progress, path)
        found = [self._scored(path[a:b], one) for a, b, one in zip(at, at[1:], many, strict=False)]
        return found[0] if is_one else found

    def _scored(self, path: NDArray[np.int32], symbols: Symbols) -> tuple[NDArray[np.int32], float]:
        """A path of emitting states as one of all states, and its score."""
        if path[0] < 0:
            return path.copy(), -np.inf
        start, transition, emission, end = self._logs
        onward = transition[path[:-1], path[1:]].sum()
        score = start[path[0]] + onward + emission[path, symbols].sum() + end[path[-1]]
        return self._emitting[path].astype(np.int32), float(score)

    def forward(self, symbols: Any, *, threads: int | None = None, progress: Shown = None) -> Any:
        """The natural logarithm of the probability of a sequence, or a list: the sum over all paths."""
        return self._sum(_Chain(self._reduced), symbols, threads, progress)

    def backward(self, symbols: Any, *, threads: int | None = None, progress: Shown = None) -> Any:
        """The same number as `forward`, from the last symbol to the first: a check of both."""
        return self._sum(_Chain(self._reduced).turned(), symbols, threads, progress, -1)

    def _sum(self, chain: _Chain, symbols: Any, threads: int | None, progress: Shown, step: int = 1) -> Any:
        many, is_one = self._sequences(symbols)
        logs = self._run(chain, "forward", [sequence[::step] for sequence in many], threads, progress)
        return logs[0] if is_one else logs

    def posterior(self, symbols: Any, *, threads: int | None = None, progress: Shown = None) -> Any:
        """float64[n, states], or a list: the probability of each state at each symbol, given the sequence.

        Silent states have 0. All is NaN where no path has any probability.
        """

        def table(total: float, states: Floats, *_: Any) -> Floats:
            found = np.zeros((len(states), len(self.states)))
            found[:, self._emitting] = states if total > -np.inf else np.nan
            return found

        return self._each(symbols, table, threads, progress)

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
        if self.silent.any():
            raise UsageError("fit: a model with silent states cannot be trained")
        if iterations < 1:
            raise UsageError(f"iterations: {iterations} is less than 1")
        model, history = self, list[float]()
        many, _ = self._sequences(sequences)
        bar = ProgressBar(progress, float(iterations))
        for _ in range(iterations):
            found = model._counts(many, threads)
            history.append(found[0])
            bar.add(1)
            if len(history) > 1 and history[-1] - history[-2] < tolerance:
                break
            _, start, transition, emission, end = found
            onward = transition.sum(1) + (0 if self.end is None else end)
            scale, used = np.where(onward > 0, onward, 1), onward > 0
            emitted = emission.sum(1, keepdims=True)
            model = Model(
                start / start.sum(),
                np.where(used[:, None], transition / scale[:, None], model.transition),
                np.where(emitted > 0, emission / np.where(emitted > 0, emitted, 1), model.emission),
                None if model.end is None else np.where(used, end / scale, model.end),
                alphabet=self.alphabet,
                states=self.states,
            )
        bar.finish()
        return model, history

    def _counts(self, many: list[Symbols], threads: int | None) -> tuple[Any, ...]:
        """Expected counts: logarithm, starts, transitions, emissions, ends."""

        def count(
            total: float, states: Floats, ahead: Floats, behind: Floats, scale: Floats, one: Symbols
        ) -> Any:
            if total == -np.inf:
                raise InputError("fit: a sequence has the probability 0")
            emission = np.stack([states[one == s].sum(0) for s in range(self.symbols)], axis=1)
            onward = self.transition * (ahead[:-1].T @ (behind[1:] * scale[1:]))
            return total, states[0], onward, emission, states[-1]

        parts = self._each(many, count, threads, None)
        return tuple(sum(part[i] for part in parts) for i in range(5))

    def _each(self, symbols: Any, function: Callable[..., Any], threads: int | None, progress: Shown) -> Any:
        """What `function` makes of each sequence: of its logarithm, probabilities of states, rows ahead and behind,
        whose products with transitions and a factor are probabilities, these factors, and symbols.
        """
        many, is_one = self._sequences(symbols)
        chain, n = _Chain(self._reduced), len(self._emitting)
        count = thread_count(threads)
        needed = 24.0 * chain.states * np.sort([len(sequence) for sequence in many])[-count:].sum()
        if needed > available_memory():
            raise UsageError(
                f"tables of sequences take {needed / 2**30:.1f} GiB of memory: use fewer threads"
            )
        found: list[Any] = [None] * len(many)
        every = chain.job("forward", [], np.empty(0))  # which ends the others

        def run(first: int, end: int) -> None:
            for i in range(first, end):
                one, log, scales = many[i], np.empty(1), np.empty((len(many[i]), 1))
                ahead, behind = (aligned((len(one), chain.states)) for _ in range(2))
                chain.turned().job("forward", [one[::-1]], log, (behind, scales), stop=every).run(0, 1)
                chain.job("forward", [one], log, (ahead, scales), stop=every).run(0, 1)
                ahead, behind, odds = ahead[:, :n], behind[::-1, :n], self._reduced[2].T[one]
                with np.errstate(divide="ignore", invalid="ignore"):
                    states = ahead * behind
                    np.divide(states, odds, out=states, where=odds > 0)
                    norm = states.sum(1, keepdims=True)
                    states /= norm
                    found[i] = function(log[0], states, ahead, behind, scales / norm, one)

        run_shown(2 * chain.cost(many), run, count, every.stop, progress)
        return found[0] if is_one else found

    def _run(
        self,
        chain: _Chain,
        kernel: str,
        many: list[Symbols],
        threads: int | None,
        progress: Shown,
        path: Any = None,
    ) -> list[float]:
        """The logarithms that a kernel writes."""
        logs = np.empty(len(many))
        job = chain.job(kernel, many, logs, path=path)
        run_shown(chain.cost(many), job.run, thread_count(threads), job.stop, progress)
        return logs.tolist()

    def _sequences(self, symbols: Any) -> tuple[list[NDArray[np.uint16]], bool]:
        """Verified sequences, and whether it is one that was no list."""
        is_one = isinstance(symbols, (str, bytes)) or (isinstance(symbols, np.ndarray) and symbols.ndim == 1)
        many = [symbols] if is_one else list(symbols)
        if many and isinstance(many[0], (int, np.integer)):
            many, is_one = [np.asarray(many)], True
        return [self._codes(sequence, k) for k, sequence in enumerate(many, 1)], is_one

    def _codes(self, sequence: Any, number: int) -> NDArray[np.uint16]:
        if isinstance(sequence, bytes):
            sequence = sequence.decode("latin-1")
        if isinstance(sequence, str):
            if self.alphabet is None:
                raise InputError(f"sequence {number}: is text, and the model has no alphabet")
            letters = np.frombuffer(sequence.encode("utf-32-le"), np.uint32)
            alphabet = np.frombuffer(self.alphabet.encode("utf-32-le"), np.uint32)
            order = np.argsort(alphabet)
            at = np.minimum(np.searchsorted(alphabet[order], letters), len(order) - 1)
            codes = np.where(alphabet[order][at] == letters, order[at], -1)
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
        if not len(s):
            return start, transition, end
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
    def _reduced(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Start, transition, emission and end as sums over silent states."""
        end = np.ones(len(self.states)) if self.end is None else self.end
        start, transition, end = self._without_silent("sum-product", self.start, self.transition, end)
        return start, transition, self.emission[self._emitting], end

    @cached_property
    def _logs(self) -> tuple[Floats, Floats, Floats, Floats]:
        """The same as natural logarithms, through the best silent states."""
        with np.errstate(divide="ignore"):
            end = np.zeros(len(self.states)) if self.end is None else np.log(self.end)
            found = self._without_silent("max-plus", np.log(self.start), np.log(self.transition), end)
            return found[0], found[1], np.log(self.emission[self._emitting]), found[2]


class _Chain:
    """A model filled up to whole vectors, of probabilities, or of logarithms, whose zero is -inf."""

    def __init__(
        self, model: tuple[Floats, Floats, Floats, Floats], zero: float = 0.0, dtype: Any = np.float64
    ):
        start, transition, emission, end = model
        n = len(start)
        self.states = -(-n // STATES) * STATES

        def padded(array: Floats, rows: int) -> NDArray[Any]:
            whole = aligned((rows, self.states), dtype)
            whole[:] = zero
            whole[: len(array), :n] = array
            return whole

        self.ends = padded(start[None], 1), padded(end[None], 1)
        self.onward = padded(transition, self.states), padded(transition.T, self.states)
        self.emission = padded(emission.T, emission.shape[1])

    def turned(self) -> _Chain:
        """Return the same model, read from its end."""
        chain = copy(self)
        chain.ends, chain.onward = self.ends[::-1], self.onward[::-1]
        return chain

    def job(
        self,
        kernel: str,
        many: list[Symbols],
        logs: Floats,
        rows: tuple[Any, ...] = (None, None),
        path: Any = None,
        stop: Job | None = None,
    ) -> Job:
        """What computes `many` sequences, and writes their logarithms, rows of states, their scales, and paths."""
        text = np.concatenate([np.empty(0, np.uint16), *many])
        members = self.states, *self.ends, *self.onward, self.emission, text, _offsets(many)
        return Job(kernel, *members, logs, *rows, path, KEPT_BYTES, stop=stop)

    def cost(self, many: list[Symbols]) -> Floats:
        """The work for each sequence, in cells of an alignment."""
        return np.diff(_offsets(many)) * float(self.states**2 + SYMBOL_COST)


def _offsets(many: list[Symbols]) -> NDArray[np.int64]:
    """Where sequences begin that lie one behind another, and the end."""
    return np.cumsum([0, *map(len, many)], dtype=np.int64)


def _probabilities(array: ArrayLike, name: str, dimensions: int) -> Floats:
    try:
        found = np.array(array, np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{name}: numbers are wanted") from None
    if found.ndim != dimensions or not found.size:
        raise UsageError(f"{name}: an array of {dimensions} dimension{'s' * (dimensions > 1)} is wanted")
    if not ((found >= 0) & (found <= 1 + TOLERANCE)).all():
        raise InputError(f"{name}: probabilities lie from 0 to 1")
    return found
