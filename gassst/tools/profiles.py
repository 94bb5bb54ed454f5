"""Quality profiles of the simulator: the qualities of reads, and the error probability of every base.

A fitted profile (`gassst/tools/data/<name>.json`, made by scripts/fit/illumina_profile.py) is a first-order Markov
chain over Phred qualities by cycle, with the share of wrong bases counted for each quality.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from gassst.errors import UsageError

LEVELS = 64
MAX_ERROR = 0.75
"""A base called at random is right one time in four."""

ENOUGH_BASES = 100
"""Qualities seen less often than this are wrong as often as Phred promises, 10^(-q/10)."""

FITTED = ("illumina", "illumina-gaiix")


@dataclass(frozen=True)
class Uniform:
    """Every base is an error with probability `error`, and its quality says so."""

    error: float
    indel_share = 0.2

    def draw(self, rng: np.random.Generator, n: int, length: int) -> tuple[np.ndarray, float]:
        """Qualities uint8[n, length] (ASCII, phred+33) and the error probability of each base."""
        phred = 40 if self.error <= 1e-4 else max(2, round(-10 * np.log10(self.error)))
        return np.broadcast_to(np.uint8(33 + phred), (n, length)), self.error


class Fitted:
    """Qualities of a fitted chain; errors by quality, scaled to a mean of `error` unless that is None.

    Reads up to as long as the fitted ones get their first cycles; for longer ones the cycles are stretched.
    """

    indel_share = 0.02

    def __init__(self, name: str, length: int, error: float | None = None):
        model = json.loads((files("gassst.tools") / "data" / f"{name}.json").read_text())
        cycle = np.arange(length) * min(1.0, model["cycles"] / length)
        self.bin_of = np.maximum(np.searchsorted(model["bins"], cycle.astype(int), side="right") - 1, 0)
        self.first = _row(model["first"])
        self.first /= self.first.sum()
        self.chain = _transitions(model["transitions"])
        # The last table draws the first cycle, whatever came "before" it.
        tables = np.concatenate((self.chain, self.first[None, None].repeat(LEVELS, 1)))
        self.threshold, self.alias = _alias_tables(tables)
        self.error_of = self._scaled(_error_rates(model["errors"]), error)

    def levels(self) -> np.ndarray:
        """Share of each quality at each cycle, float64[length, LEVELS]."""
        share = [self.first]
        for bin_ in self.bin_of[1:]:
            share.append(share[-1] @ self.chain[bin_])
        return np.array(share)

    def _scaled(self, rates: np.ndarray, error: float | None) -> np.ndarray:
        """`rates` of each quality times the factor that makes their mean `error`, float32[LEVELS]."""
        share = self.levels().mean(axis=0)
        low, high = 0.0, 1.0 if error is None else 1e6
        for _ in range(0 if error is None else 100):
            factor = (low + high) / 2
            too_low = share @ np.minimum(rates * factor, MAX_ERROR) < error
            low, high = (factor, high) if too_low else (low, factor)
        return np.minimum(rates * high, MAX_ERROR).astype(np.float32)

    def draw(self, rng: np.random.Generator, n: int, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Qualities uint8[n, length] (ASCII, phred+33) and error probabilities float32[n, length]."""
        qualities = np.empty((length, n), dtype=np.uint8)
        state = np.zeros(n, dtype=np.intp)
        for row, table in zip(qualities, [-1, *self.bin_of[1:]], strict=True):
            ticket = rng.integers(0, LEVELS << 16, n, dtype=np.uint32)
            slot = state * LEVELS + (ticket >> 16)
            own = (ticket & 0xFFFF) < self.threshold[table].take(slot)
            state = np.where(own, slot & (LEVELS - 1), self.alias[table].take(slot))
            row[:] = state
        qualities = np.ascontiguousarray(qualities.T)
        return qualities + np.uint8(33), self.error_of.take(qualities)


def open_profile(name: str, length: int, error: float | None) -> Uniform | Fitted:
    """The profile called `name`. Raises UsageError where `error` is missing or out of range."""
    if error is not None and not 0 <= error <= 0.5:
        raise UsageError(f"-e {error}: must be between 0 and 0.5")
    if name != "uniform":
        return Fitted(name, length, error)
    if error is None:
        raise UsageError("--profile uniform needs -e")
    return Uniform(error)


def _row(counts: dict[str, int]) -> np.ndarray:
    row = np.zeros(LEVELS)
    row[[int(q) for q in counts]] = list(counts.values())
    return row


def _error_rates(errors: dict[str, list[int]]) -> np.ndarray:
    rates = 10.0 ** (np.arange(LEVELS) / -10)
    for quality, (bases, wrong) in errors.items():
        if bases >= ENOUGH_BASES:
            rates[int(quality)] = wrong / bases
    return np.minimum(rates, MAX_ERROR)


def _transitions(bins: list[dict[str, Any]]) -> np.ndarray:
    """Stochastic float64[bins, LEVELS, LEVELS]; a quality unseen in a bin follows all bins, or stays."""
    chain = np.zeros((len(bins), LEVELS, LEVELS))
    for table, rows in zip(chain, bins, strict=True):
        for quality, after in rows.items():
            table[int(quality)] = _row(after)
    pooled = chain.sum(axis=0)
    pooled[np.arange(LEVELS), np.arange(LEVELS)] += pooled.sum(axis=1) == 0
    chain += np.where(chain.sum(axis=2, keepdims=True) == 0, pooled, 0)
    return chain / chain.sum(axis=2, keepdims=True)


def _alias_tables(chain: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Walker's alias method: uint32 thresholds (of 2^16), intp aliases, [tables, LEVELS * LEVELS]."""
    threshold = np.empty(chain.shape, dtype=np.uint32)
    alias = np.empty(chain.shape, dtype=np.intp)
    for row, limits, others in zip(*(a.reshape(-1, LEVELS) for a in (chain, threshold, alias)), strict=True):
        weight = (row * LEVELS).tolist()
        limit, other = [1.0] * LEVELS, list(range(LEVELS))
        small = [q for q in range(LEVELS) if weight[q] < 1]
        large = [q for q in range(LEVELS) if weight[q] >= 1]
        while small and large:
            low, high = small.pop(), large.pop()
            limit[low], other[low] = weight[low], high
            weight[high] -= 1 - weight[low]
            (small if weight[high] < 1 else large).append(high)
        limits[:] = np.rint(np.array(limit) * 65536)
        others[:] = other
    tables = len(chain)
    return threshold.reshape(tables, -1), alias.reshape(tables, -1)
