"""Places of reads as `_core.mapq.Rater` takes them, without an index, for tests of mapping qualities."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from local_columns import Lines, Places

from gassst._core.mapq import Cases, Odds, Rater
from gassst._core.reads import pack
from gassst.index.miss_model import SeedsLooked, dense_seeds
from gassst.index.spectrum import LENGTHS, Spectrum
from gassst.local.align import Aligner
from gassst.local.mates import PAIR_BONUS
from gassst.local.reseed import STRIDE
from gassst.model.layouts import HIT, LOCAL_LINE, NO_SCORE, RATING, READ_SUMMARY
from gassst.model.params import MAX_READ_LENGTH, MapParams, Scoring
from gassst.model.presets import EXTRA_STRATA
from gassst.model.stats import Stats
from gassst.search.arrays import Seen
from gassst.search.host import HostBackend

# Every two neighbours occur once, so that no base foretells the next: each is worth four letters.
UNIT = b"AACAGATCCGCTGGTT"
UNKEPT = SimpleNamespace(kept=lambda name, make, *made_of: make())
"""A plan that keeps nothing."""


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
    return Rater(plan, Cases(plan, odds, LENGTHS, dense_seeds), EXTRA_STRATA)


def lines_of(read, begin, end, score, given=True, **hit):
    """Alignments of the bases begin .. end - 1 of forward strands, on diagonal 0."""
    k = len(read)
    hits, lines = np.zeros(k, HIT), np.zeros(k, LOCAL_LINE)
    hits["read"], hits["score"], hits["cigar_runs"] = read, score, 1
    for name, values in hit.items():
        hits[name] = values
    lines["read_strand"], lines["begin"], lines["end"] = 2 * np.asarray(read), begin, end
    lines["total"], lines["given"] = score, given
    return Lines.of(hits, lines)


def rivals_of(lines, count, total):
    """`count` places for the same bases as each line, far away, with a `total` that is their score, too."""
    rows = np.repeat(np.arange(len(lines.read)), count)
    total = np.broadcast_to(total, len(lines.read))[rows]
    diagonal = 1000 * (1 + np.arange(len(rows)))
    strand, end, zero = lines.read_strand[rows], lines.end[rows], np.zeros(len(rows), np.int64)
    return Places(strand, diagonal, zero, total, total, zero, end, diagonal, zero, diagonal)


def aligner_of(packed, rater=None, params=None, reference=None):
    """A compiled aligner of such reads, without an index. It can report, but align nothing."""
    n = len(packed.lengths)
    if reference is None:
        masked = np.tile(np.array([0, 0, 2**64 - 1], np.uint64), (4, 1))
        reference = SimpleNamespace(planes=masked, starts=np.zeros(1, np.int64), lengths=np.full(1, 256))
    context = SimpleNamespace(
        n=n, lengths=packed.lengths, packed=packed, reference=reference, rater=rater,
        params=params or MapParams(mode="local"), plan=UNKEPT,
        flip=np.zeros(n, np.uint8), digest=np.zeros(n, np.uint64),
    )  # fmt: skip
    return Aligner(HostBackend(context, None, Stats()), PAIR_BONUS).compiled


def report_of(rater, packed, primary, places=None, parts=None, seen=None, **more):
    """An aligner that has made a report of `primary` lines and `parts`.

    `more`: `params`, `reference`; attributes of what was found (`rated`, `summary`, `proper`), of the mates (`joined`,
    `wrong`, `window_bases`, `mate`, `decided`); reads with dense seeds (`reseeded`), what was `passed_over` of them.
    """
    n = len(packed.lengths)
    found = SimpleNamespace(
        rated=more.get("rated", np.zeros(n, RATING)),
        summary=more.get("summary", summaries(np.zeros(n))),
        proper=more.get("proper", np.zeros(n, bool)),
        seen=seen_of([0] * n) if seen is None else seen,
    )
    reseeded = np.flatnonzero(more.get("reseeded", np.zeros(n))).astype(np.uint32)
    passed_over = more.get("passed_over")
    pairs = SimpleNamespace(
        mate=np.tile(np.array([1, 2], np.uint8), n)[:n], window_bases=more.get("window_bases", 0)
    )
    joined, decided = np.asarray(more.get("joined", []), np.uint32), np.zeros(n, np.uint8)
    mates = pairs, more.get("decided", decided), joined, more.get("wrong", np.zeros(n))
    lines = primary if parts is None else Lines.concatenate([primary, parts])
    places = Places.none() if places is None else places
    params = more.get("params", MapParams(scoring=Scoring(min_score=0)))
    report = aligner_of(packed, rater, params, more.get("reference"))
    report.know(places.rows, lines.hits, lines.rows)
    report.report(found, reseeded, passed_over, (16, STRIDE), False, *mates)
    return report


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
