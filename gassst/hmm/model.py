"""`gassst.hmm.Model`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gassst._core.chain import STATES, Chain, instruction_sets
from gassst.errors import InputError, UsageError
from gassst.semiring import closure, product
from gassst.workers.allocator import aligned, available_memory
from gassst.workers.tasks import Progress, ProgressBar, run_problems, thread_count

Floats = NDArray[np.float64]
Path = tuple[NDArray[np.int32], float]

TOLERANCE = 1e-4  # of sums that should be 1: models are written with few digits
KEPT_BYTES = (
    1 << 28
)  # of rows of a path: longer sequences keep every so-manieth row, and compute the others twice
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
        self.start, self.transition = (
            _probabilities(start, "start", 1),
            _probabilities(transition, "transition", 2),
        )
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
        sums = [
            ("start", np.array([self.start.sum()])),
            ("transition", onward),
            ("emission", self.emission.sum(1)),
        ]
        for name, found in sums:
            wrong = np.abs(found - 1) > TOLERANCE
            if name == "emission":
                wrong &= ~self.silent
            if wrong.any():
                k = int(wrong.argmax())
                what = name if name == "start" else f"{name} of state {self.states[k]}"
                raise InputError(f"{what}: the probabilities add to {found[k]:.6g}, not to 1")

    def viterbi(
        self,
        symbols: Any,
        *,
        form: str = "double",
        threads: int | None = None,
        progress: Progress | bool | None = None,
    ) -> Any:
        """The most probable path: `(path int32[n], natural logarithm of its probability)`, or a list.

        `path` has the state that emits each symbol. `form` "single" takes half the time of "double", and may return a
        path that is less probable by about 1e-5. The score is computed for the path, in double precision. It is -inf,
        and the path -1, where no path has any probability.
        """
        if form not in ("single", "double"):
            raise UsageError(f"form {form!r}: must be single or double")
        chain, logs = self._chain(form == "double", True), self._logs
        size = 8 if form == "double" else 4

        def best(sequence: NDArray[np.uint16]) -> Path:
            n, row = len(sequence), size * chain.states
            stretch = n if n * row <= KEPT_BYTES else int(np.sqrt(n)) + 1
            path = np.empty(n, np.int32)
            marks, rows = (aligned((k, row), np.uint8).reshape(-1) for k in (n // stretch + 2, stretch + 1))
            if not chain.compiled.path(sequence, stretch, marks, rows, path):
                return np.full(n, -1, np.int32), -np.inf
            start, transition, emission, end = logs
            score = (
                start[path[0]]
                + transition[path[:-1], path[1:]].sum()
                + emission[path, sequence].sum()
                + end[path[-1]]
            )
            return self._emitting[path].astype(np.int32), float(score)

        return self._each(symbols, best, chain, threads, progress)

    def forward(
        self, symbols: Any, *, threads: int | None = None, progress: Progress | bool | None = None
    ) -> Any:
        """The natural logarithm of the probability of a sequence, or a list: the sum over all paths."""
        chain = self._chain(True, False)

        def probability(sequence: NDArray[np.uint16]) -> float:
            return chain.compiled.forward(sequence, False, aligned((3, chain.states)), np.empty(1))

        return self._each(symbols, probability, chain, threads, progress)

    def backward(
        self, symbols: Any, *, threads: int | None = None, progress: Progress | bool | None = None
    ) -> Any:
        """The same number as `forward`, from the last symbol to the first: a check of both."""
        chain = self._chain(True, False)

        def probability(sequence: NDArray[np.uint16]) -> float:
            total, _, rows, scales = self._tables(chain, sequence)
            if total == -np.inf:
                return total
            first = self._reduced[0] * self._reduced[2][:, sequence[0]] * rows[0, : len(self._emitting)]
            return float(np.log(first.sum()) - np.log(scales[1:]).sum())

        return self._each(symbols, probability, chain, threads, progress)

    def posterior(
        self, symbols: Any, *, threads: int | None = None, progress: Progress | bool | None = None
    ) -> Any:
        """float64[n, states], or a list: the probability of each state at each symbol, given the sequence.

        Silent states have 0. All is NaN where no path has any probability.
        """
        chain = self._chain(True, False)

        def table(sequence: NDArray[np.uint16]) -> Floats:
            total, ahead, behind, _ = self._tables(chain, sequence)
            found = np.zeros((len(sequence), len(self.states)))
            if total == -np.inf:
                found[:] = np.nan
                return found
            both = (ahead * behind)[:, : len(self._emitting)]
            found[:, self._emitting] = both / both.sum(1, keepdims=True)
            return found

        return self._each(symbols, table, chain, threads, progress)

    def fit(
        self,
        sequences: Any,
        *,
        iterations: int = 100,
        tolerance: float = 1e-2,
        threads: int | None = None,
        progress: Progress | bool | None = None,
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

    def _counts(self, many: list[NDArray[np.uint16]], threads: int | None) -> tuple[Any, ...]:
        """Expected counts: logarithm, starts, transitions, emissions, ends."""
        chain, n = self._chain(True, False), len(self.states)

        def count(sequence: NDArray[np.uint16]) -> tuple[Any, ...]:
            total, ahead, behind, scales = self._tables(chain, sequence)
            if total == -np.inf:
                raise InputError("fit: a sequence has the probability 0")
            ahead, behind = ahead[:, :n], behind[:, :n]
            states = ahead * behind
            norm = states.sum(1, keepdims=True)
            states /= norm
            later = self.emission.T[sequence[1:]] * behind[1:] * (scales[1:, None] / norm[1:])
            emission = np.stack([states[sequence == s].sum(0) for s in range(self.symbols)], axis=1)
            return total, states[0], self.transition * (ahead[:-1].T @ later), emission, states[-1]

        parts = self._each(many, count, chain, threads, None)
        return tuple(sum(part[i] for part in parts) for i in range(5))

    def _tables(self, chain: _Padded, sequence: NDArray[np.uint16]) -> tuple[float, Floats, Floats, Floats]:
        """The logarithm, rows of forward and of backward, and scales."""
        n = len(sequence)
        ahead, behind = aligned((n, chain.states)), aligned((n, chain.states))
        scales = aligned((1, -(-n // 8) * 8 + chain.states)).reshape(-1)[-(n % -8) :]
        total = chain.compiled.forward(sequence, True, ahead, scales)
        if total > -np.inf:
            chain.compiled.backward(sequence, scales, behind, aligned((1, chain.states)).reshape(-1))
        return total, ahead, behind, scales[:n]

    def _each(
        self,
        symbols: Any,
        function: Callable[[NDArray[np.uint16]], Any],
        chain: _Padded,
        threads: int | None,
        progress: Progress | bool | None,
    ) -> Any:
        """What `function` makes of a sequence, or of each of a list."""
        many, is_one = self._sequences(symbols)
        count = thread_count(threads)
        cost = np.array([float(len(sequence)) * (chain.states**2 + SYMBOL_COST) for sequence in many])
        needed = 24.0 * chain.states * np.sort([len(sequence) for sequence in many])[-count:].sum()
        if function.__name__ in ("table", "count", "probability") and needed > available_memory():
            raise UsageError(
                f"tables of sequences take {needed / 2**30:.1f} GiB of memory: use fewer threads"
            )
        found: list[Any] = [None] * len(many)

        def run(first: int, end: int) -> None:
            for i in range(first, end):
                found[i] = function(many[i])

        bar = ProgressBar(progress, float(cost.sum()))
        run_problems(cost, run, count, chain.compiled.stop, bar)
        bar.finish()
        return found[0] if is_one else found

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

    def _chain(self, is_double: bool, is_log: bool) -> _Padded:
        start, transition, emission, end = self._logs if is_log else self._reduced
        return _Padded(start, transition, emission.T, end, is_double, -np.inf if is_log else 0.0)


class _Padded:
    """A compiled model, whose states are filled up to whole vectors."""

    def __init__(
        self, start: Floats, transition: Floats, emission: Floats, end: Floats, is_double: bool, zero: float
    ):
        n = len(start)
        self.states = -(-n // STATES) * STATES

        def padded(array: Floats) -> NDArray[np.uint8]:
            rows = self.states if array is transition or array is turned else len(array)
            whole = aligned((rows, self.states), np.float64 if is_double else np.float32)
            whole[:] = zero
            whole[: len(array), :n] = array
            return whole.reshape(-1).view(np.uint8)

        turned = transition.T
        first, last, onward, back, symbols = map(
            padded, (start[None], end[None], transition, turned, emission)
        )
        isa = instruction_sets()[0]
        self.compiled = Chain(self.states, is_double, first, last, onward, back, symbols, isa)


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
