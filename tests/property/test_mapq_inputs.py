"""What mapping qualities are made of, recomputed for each of 200 reads: seeds that occur too often, strata that are
complete, and what copies weigh that no seed led to.

The oracle counts words in the text of the genome, and sums over the errors of a read one by one.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from math import ceil, comb, exp, lgamma
from types import SimpleNamespace

import brute_force as bf
import numpy as np
import pytest
from engines import engine

import gassst
from gassst.index.spectrum import DIFFERENCES, Spectrum
from gassst.model.layouts import NO_SCORE
from gassst.model.reference import Reference
from gassst.model.stats import Stats
from gassst.pairing.error_rate import UNKNOWN_LIBRARY, ErrorRate
from gassst.reads.in_memory import batch_of_records
from gassst.search.context import BatchContext
from gassst.search.host import HostBackend

COPIES, ELEMENT = 300, 60  # a seed is passed over from 257 copies on


@pytest.fixture(scope="module")
def genome():
    """Random bases with many copies of three elements: all on one strand, on either one, and with some differences."""
    rng = np.random.default_rng(7)
    elements = [bf.random_bases(rng, ELEMENT) for _ in range(3)]
    pieces = [bf.random_bases(rng, 20_000)]
    for i in range(3 * COPIES):
        copy = elements[i % 3]
        copy = bf.reverse_complement(copy) if i % 3 == 1 and rng.random() < 0.5 else copy
        copy = bf.mutate(rng, copy, int(rng.integers(0, 4)), 0.2) if i % 3 == 2 else copy
        pieces += [copy, bf.random_bases(rng, int(rng.integers(5, 30)))]
    return b"".join(pieces)


@pytest.fixture(scope="module")
def reads(genome):
    """Makes reads of all lengths and places, half of them among the copies; some have an N, some are foreign."""
    rng, reads = np.random.default_rng(8), []
    for i in range(200):
        m = (25, 36, 50, 75, 100, 150)[i % 6]
        at = int(rng.integers(20_000 if i % 2 else 0, len(genome) - m - 5))
        read = bytearray(bf.mutate(rng, genome[at : at + m + 4], i // 12 % 5)[:m])
        if i % 17 == 0:
            read[int(rng.integers(m))] = ord("N")
        if i % 25 == 0:
            read = bytearray(bf.random_bases(rng, m))
        reads.append(bf.reverse_complement(bytes(read)) if rng.random() < 0.5 else bytes(read))
    return reads


@pytest.fixture(scope="module")
def index(genome):
    made = gassst.Index.build(Reference.from_sequences([("c", genome)]))
    vars(made)["spectrum"] = Spectrum.none()  # which takes seconds to measure among so many copies
    return made


def search(index, reads, sensitivity, library):
    """The context of the reads, what was found, and what was counted."""
    mapper = engine(index, mode="global", device="none", sensitivity=sensitivity)
    packed = batch_of_records([(str(i), read.decode(), None) for i, read in enumerate(reads)]).pack()
    searched = index, mapper.parts, mapper.plan, mapper.cascade, mapper.params
    context = BatchContext.of(*searched, packed, library=library)
    stats = Stats()
    search = HostBackend(context, stats).placed()
    search.report(False)
    _, _, complete, planned, looked, _ = search.states
    found = SimpleNamespace(
        best=search.chosen[1]["best"].copy(), complete=complete, planned=planned, looked=looked
    )
    return context, found, stats


@pytest.fixture(scope="module", params=[0, 2])
def searched(request, index, reads):
    return search(index, reads, request.param, UNKNOWN_LIBRARY)


def words_in(genome):
    """How often each word occurs that begins in the genome, by its length."""

    @cache
    def words(w):
        text = genome + b"A" * w  # masked bases, as behind a contig, count as A
        return Counter(text[i : i + w] for i in range(len(genome)))

    return words


def seeds_of(read, flip, w, count, every):
    """Of each seed the base it begins at, and the bases from its first on, of either strand."""
    strand = bf.reverse_complement(read) if flip else read
    last = len(read) - w
    for j in range(0, count, every):
        at = j * last // (count - 1) if count > 1 else last // 2
        yield last - at if flip else at, (strand[at:], bf.reverse_complement(strand[: at + w]))


class SeedsLookedUp:
    """What looking up seeds of one read shows: `occurrences` that are looked at, and the bases where seeds begin that
    are `clipped`, on either strand, as they occur too often; whether one is `capped`, that is passed over."""

    def __init__(self, words, seeds, w, caps, longest_seed):
        self.occurrences, self.clipped, passed_over = 0, [], []
        for at, strands in seeds:
            clipped = False
            for bases in strands:
                longest = bases[:longest_seed].split(b"N")[0]
                n, length = words(w)[bases[:w]] if len(longest) >= w else 0, w
                if n > caps[w]:  # such a seed is made as long as it can be
                    clipped, n, length = True, words(len(longest))[longest], len(longest)
                if n > caps[length]:
                    passed_over.append((n, caps[length]))
                else:
                    self.occurrences += n
            self.clipped += [at] * clipped
        self.capped = bool(passed_over)
        if self.capped and not self.occurrences:
            # The rarest one is looked at up to the cap.
            self.occurrences = min(passed_over, key=lambda seed: seed[0])[1]


def test_seeds_passed_over_and_complete_strata_are_those_of_counting(searched, genome, reads):
    (context, found, stats), words, every, capped = searched, words_in(genome), [], 0
    plan, caps = context.plan, context.plan.caps.tolist()
    for i, read in enumerate(reads):
        looked, planned, complete = [], [0], [0]
        for stage in [stage for stage in range(8) if int(found.looked[i]) >> stage & 1]:
            columns = plan.seed_length, plan.seed_count, plan.seed_every, plan.disjoint
            w, count, step, disjoint = (int(column[stage, len(read)]) for column in columns)
            seeds = seeds_of(read, context.flip[i], w, count, step)
            looked.append(SeedsLookedUp(words, seeds, w, caps, context.index.longest_seed))
            planned.append(ceil(disjoint / step))
            complete.append(planned[-1] - min(len(looked[-1].clipped), planned[-1]))
        assert (found.planned[i], found.complete[i]) == (max(planned), max(complete)), (i, read)
        capped += any(one.capped for one in looked)
        every += looked
    assert (stats.occurrences, stats.capped) == (sum(one.occurrences for one in every), capped)
    assert sum(len(one.clipped) > 0 for one in every) > sum(one.capped for one in every) > 20


def test_dense_seeds_passed_over_are_those_of_counting(genome, index, reads):
    mapper, words, rng = (
        engine(index, mode="local", device="none"),
        words_in(genome),
        np.random.default_rng(9),
    )
    reads = [read[:-25] + bf.random_bases(rng, 25) for read in reads if len(read) > 60]
    packed = batch_of_records([(str(i), read.decode(), None) for i, read in enumerate(reads)]).pack()
    context = BatchContext.of(index, mapper.parts, mapper.plan, mapper.cascade, mapper.params, packed)
    backend = HostBackend(context, Stats())
    over = backend.placed().over
    plan, looked = mapper.plan, over["reseeded"] > 0
    caps, w = plan.caps.tolist(), plan.dense_length
    assert looked.sum() > 30
    for i in np.flatnonzero(looked):
        seeds = seeds_of(reads[i], context.flip[i], w, (len(reads[i]) - w) // 5 + 1, 1)
        at = SeedsLookedUp(words, seeds, w, caps, context.index.longest_seed).clipped
        expected = (5 * len(at), min(at), max(at) + 5) if at else (0, -1, -1)
        assert tuple(over[["bases", "first", "end"]][i].tolist()) == expected
    assert (over["bases"] > 0).sum() > 5


def log_beta(a, b):
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def odds_of(library, errors, m):
    """How much less likely a place of `m` bases is for one error more (docs/mapq.md)."""
    weights, odds = [], []
    for share, one in (0.01, UNKNOWN_LIBRARY), (0.99, library):
        a, b = one.rate * one.bases, (1 - one.rate) * one.bases
        weights.append(share * exp(log_beta(errors + a, m - errors + b) - log_beta(a, b)))
        rate = (errors + a) / (m + one.bases)
        odds.append(rate / 3 / max(1 - rate, 1 / 3))
    return sum(w * o for w, o in zip(weights, odds, strict=True)) / sum(weights)


def share_hit(m, w, starts, most):
    """By number of errors the share of all ways to put them into `m` bases that leaves none of the words free of them.

    Of words of `w` bases at `starts`, ascending. Ways are counted by errors, and by where the last one lies.
    """
    ways = np.zeros((most + 1, m + 1))
    ways[0, 0] = 1  # no error yet: as if one lay before the first base
    begun = {start + w: start for start in starts}
    for base in range(1, m + 1):
        ways[1:, base] += ways[:-1, :base].sum(axis=1)
        if base in begun:  # the last base of a word: one of it has an error
            ways[:, : begun[base] + 1] = 0
    return np.array([ways[e].sum() / comb(m, e) for e in range(min(most, m) + 1)])


@cache
def missed_by(m, w, count, every, disjoint, complete, most, clipped):
    """By number of errors the share of alignments that the seeds of a read miss; of more than `most` all of them."""
    errors = np.arange(most + 1)
    if disjoint:
        missed = (1 - (1 - errors / m) ** w) ** max(complete, 1)
    else:
        last = m - w
        starts = [j * last // (count - 1) if count > 1 else last // 2 for j in range(0, count, every)]
        missed = np.ones(most + 1)
        missed[: min(most, m) + 1] = share_hit(m, w, starts, most)
    return np.where(errors < complete, 0, missed) ** (1 if disjoint else 1 - clipped)


def weights_of(m, errors, odds, missed):
    """What copies with each number of differences weigh that no seed leads to."""
    weights = np.zeros(DIFFERENCES)
    for differences in range(min(DIFFERENCES - 1, m) + 1):
        for hit in range(min(differences, errors) + 1):  # differences where the read has errors
            if differences - hit > m - errors:
                continue
            share = comb(errors, hit) * comb(m - errors, differences - hit) / comb(m, differences)
            for same in range(hit + 1):  # of these errors as many are the base of the copy
                like = comb(hit, same) * (1 / 3) ** same * (2 / 3) ** (hit - same)
                further = differences - hit - same
                lost = missed[errors + further] if errors + further < len(missed) else 1.0
                weights[differences] += share * like * odds**further * lost
    return weights


@pytest.mark.parametrize("sensitivity", [0, 2])
@pytest.mark.parametrize("library", [UNKNOWN_LIBRARY, ErrorRate(0.01, 400.0)], ids=["unknown", "learned"])
def test_copies_weigh_what_their_sums_say(index, reads, sensitivity, library):
    context, found, _ = search(index, reads, sensitivity, library)
    plan, kinds = context.plan, set()
    kept = {(case["what"], case["how"] & (1 << 62) - 1): case for case in context.rater.cases.kept}
    for i, m in enumerate(context.packed.lengths.tolist()):
        errors, looked = int(found.best[i]), int(found.looked[i])
        if errors == NO_SCORE:
            continue
        complete, planned = int(found.complete[i]), int(found.planned[i])
        last = looked.bit_length() - 1
        w, count, every, disjoint = (
            int(a[last, m]) for a in (plan.seed_length, plan.seed_count, plan.seed_every, plan.disjoint)
        )
        clipped = max(planned - complete, 0) / max(planned, 1)
        missed = missed_by(m, w, count, every, disjoint > 0, complete, int(plan.errors[m]), clipped)
        expected = weights_of(m, errors, odds_of(library, errors, m), missed)
        case = kept[m << 48 | errors << 32 | complete << 16 | planned, m << 16 | looked]
        np.testing.assert_allclose(case["missed"], expected, rtol=1e-6, atol=1e-14)
        lost = [missed[at] if at < len(missed) else 1.0 for at in range(errors, errors + DIFFERENCES)]
        np.testing.assert_allclose(case["lost"], lost, rtol=1e-6, atol=1e-14)
        assert (case["length"], case["both"][0]) == (m, case["missed"][0])
        kinds.add((disjoint > 0, clipped > 0, errors > 0))
    assert len(kinds) >= 6
