"""Local alignment of a batch: reads whose ends may be clipped, and reads that lie in several places (--mode local).

It starts from the places that the whole-read search found: they are scored once more, and the best one of each read is
aligned. Where nothing was found, or where much is clipped, the filters' bounds mean nothing: they speak of whole reads.
For these few reads seeds are looked up once more, densely, and the best supported buckets are scored without filters.

Places compare by their score with the bonus for each end that is reached; AS and XS are scores without it.
"""

from __future__ import annotations

import numpy as np

from gassst._core import local_places as _local_places
from gassst._core.local_places import SCORED
from gassst._core.pair_stages import PairStages
from gassst._core.read_search import ReadSearch
from gassst.local.align import Aligner
from gassst.local.mates import MATES, PAIR_BONUS
from gassst.local.reseed import STRIDE, PassedOver, diagonals_of_copies, look_again, seed_length
from gassst.model.array_types import U32
from gassst.model.params import EVERY_HIT
from gassst.model.presets import EXTRA_STRATA
from gassst.model.rules import optional, rule
from gassst.search.arrays import BatchResult, GlobalResult
from gassst.search.context import PairContext
from gassst.search.host import BLOCK, HostBackend, given_up

SPLIT = rule("supplementary", "Reports further parts of a read elsewhere.")


def realign(backend: HostBackend, found: GlobalResult) -> BatchResult:
    """The best local alignments of a batch of single reads: its primary, supplementary and secondary rows."""
    with backend.stats.timed("local"):
        aligner = Aligner(backend, PAIR_BONUS)
        context, compiled = backend.context, aligner.compiled
        rows, given = _local_places.known_places(found, compiled.worse, context.flip)
        stay = bool(context.library.damage)
        reads = compiled.known(found.bands, rows, given.view(np.uint8), stay, context.plan.gaps)
        compiled.report(found, *_looked_up(aligner, reads))
        return _reported(aligner)


def place_pairs(backend: HostBackend, pairs: PairContext) -> BatchResult:
    """Search and align a batch in which some reads are pairs, from seeds to rows in two compiled calls."""
    context, stats, plan = backend.context, backend.stats, backend.context.plan
    aligner, given = Aligner(backend, PAIR_BONUS), given_up(context.params)
    with backend.stages_of(PairStages) as stages:
        made_of = stages, aligner.compiled
        search = plan.kept(
            "pair_search", lambda: ReadSearch(*made_of, EXTRA_STRATA, EVERY_HIT, plan.gaps), *made_of
        )
        stay = bool(context.library.damage)
        reads = search.place(context, pairs, None, BLOCK, given, stay, MATES)
    with stats.timed("local"):
        dense = _looked_up(aligner, reads)
    search.report(*dense)
    stats.capped += search.capped
    stats.nanoseconds["select"] += search.select_ns
    stats.nanoseconds["local"] += search.local_ns
    with stats.timed("local"):
        return _reported(aligner)


def _looked_up(aligner: Aligner, reads: U32) -> tuple[U32, PassedOver | None, tuple[int, int], bool]:
    """What `LocalAligner.report` is told of another look at `reads` (uint32[a])."""
    seeds = seed_length(aligner.context), STRIDE
    return reads, _look_up(aligner, reads) if reads.size else None, seeds, SPLIT


def _reported(aligner: Aligner) -> BatchResult:
    context, compiled = aligner.context, aligner.compiled
    if context.params.most_hits > 1:
        for promising in diagonals_of_copies(aligner.backend, *compiled.least_listed()):
            compiled.with_further(*promising)
        compiled.add_further(*compiled.align(*compiled.further_places()))
    hits, summary = compiled.rows()
    cigars = compiled.cigars
    aligner.close()
    return BatchResult(hits, summary[: context.n], cigars, summary[context.n :])


@optional(
    "dense-seeds",
    "Looks up seeds at every fifth base of reads that fit at one end only.",
    instead=lambda aligner, reads: None,
)
def _look_up(aligner: Aligner, reads: U32) -> PassedOver:
    """Make the places known that dense seeds of some `reads` (uint32[a]) lead to."""
    promising, passed_over = look_again(aligner.backend, reads, SCORED)
    aligner.compiled.look_further(*promising)
    return passed_over


@optional(
    "whole-reads",
    "Reports reads that score too little with clipped ends as wholes.",
    instead=lambda backend, found, result: result,
)
def with_whole_reads(backend: HostBackend, found: GlobalResult, result: BatchResult) -> BatchResult:
    """What `realign` made of single reads, where those without a place get the one that they have as a whole, if any.

    A score of 30 leaves out a read of 36 bases with two mismatches, and most reads of 50 bases with 10 % errors. The
    limit of errors in whole reads asks for no score, but is so tight that chance puts one random read in a hundred
    anywhere (`search.plan.CHANCE_HITS`). Added rows are those of --mode global: alignment and mapping quality, which
    was fitted to whole reads. Their scores, and those of the next best places, are affine ones, as in all other rows.
    """
    return backend.trace_back(found, result)
