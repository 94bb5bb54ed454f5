"""Places of reads as `_core.mapq.Rater` takes them, without an index, for tests of mapping qualities."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from gassst._core.mapq import Odds, Rater
from gassst._core.reads import pack
from gassst.index.miss_model import SeedsLooked, dense_seeds
from gassst.index.spectrum import LENGTHS, Spectrum
from gassst.model.layouts import NO_SCORE, READ_SUMMARY
from gassst.model.params import MAX_READ_LENGTH, Scoring
from gassst.search.arrays import Seen
from gassst.search.plan import EXTRA_STRATA

# Every two neighbours occur once, so that no base foretells the next: each is worth four letters.
UNIT = b"AACAGATCCGCTGGTT"


def packed_of(lengths):
    """Reads of so many bases, none of which foretells the next."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)
    bases = b"".join((UNIT * (1 + m // 16))[:m] for m in lengths)
    lengths, planes, plane_start = pack(np.frombuffer(bases, np.uint8), offsets, MAX_READ_LENGTH, None)
    return SimpleNamespace(lengths=lengths, planes=planes, plane_start=plane_start)


def context_of(lengths):
    """Of such reads."""
    return SimpleNamespace(
        n=len(lengths), packed=packed_of(lengths), params=SimpleNamespace(scoring=Scoring())
    )


def alike(odds: float) -> Odds:
    """A library of reads that are all alike, whatever errors they have."""
    rate = 3 * odds / (1 + 3 * odds)
    return Odds(rate, 1e12, rate, 1e12, 0.0)


def rater(
    seeds: list[SeedsLooked],
    odds: Odds,
    genome: Spectrum | None = None,
    n_bases: float = 1.0,
    letters: float = 4.0,
):
    """Of reads that `looked` up one of the `seeds` each."""
    plan = SimpleNamespace(
        looked_up=lambda m, complete, looked, passed_over: seeds[looked],
        spectrum=genome or Spectrum.none(),
        letters=letters,
        n_bases=n_bases,
    )
    return Rater(plan, odds, LENGTHS, EXTRA_STRATA, dense_seeds)


def seen_of(looked, complete=0, planned=0):
    """Of n reads."""
    n = len(looked)
    return Seen(np.full(n, complete, np.uint16), np.asarray(looked, np.uint8), np.full(n, planned, np.uint16))


def summaries(best, n_best=1, second=NO_SCORE, n_second=0):
    """READ_SUMMARY[n]"""
    summary = np.zeros(len(best), READ_SUMMARY)
    summary["best"], summary["n_best"], summary["second"], summary["n_second"] = (
        best,
        n_best,
        second,
        n_second,
    )
    return summary
