"""Copies of pairs and of single reads that no seed led to (the term `unseen` of `_core.read_search`)."""

import numpy as np
import pytest
from rating import alike, rated_wholes, rater

from gassst.index.miss_model import NO_SEEDS, SeedsLooked, Stage, stage_misses
from gassst.index.spectrum import LENGTHS, Spectrum
from gassst.model.layouts import NO_SCORE
from gassst.pairing.insert_size import InsertModel

INSERT = InsertModel("ff", 250.0, 100.0, 100, 400)


def spectrum(alone=0.01, beside=0.3):
    shares = np.zeros(Spectrum.SHAPE, np.float32)
    shares[:, 0], shares[:, 1] = alone, beside
    return Spectrum(shares)


def seeds(m, length, number):
    return SeedsLooked.of(length, stage_misses(m, (Stage(length, number, True),))[0])


# Each (bases, errors, seeds).
CASES = (
    (100, 3, seeds(100, 25, 4)),
    (100, 3, seeds(100, 12, 8)),
    (60, 1, seeds(60, 20, 3)),
    (0, 0, NO_SEEDS),
)


def weigher(genome=None):
    return rater([case[2] for case in CASES], alike(0.01), genome or spectrum())


def rated(cases, near, rivals=None, some=None):
    """The ratings of reads of these cases. `near`: another place with as many errors is known. `rivals`: they are
    mates, with another pair of places that have so many errors more; 0: without."""
    length, least, _ = zip(*(CASES[case] for case in cases), strict=True)
    errors = [
        [e, e + rival if rival else NO_SCORE, *[NO_SCORE] * (r & 1), e if is_near else NO_SCORE]
        for r, (e, is_near, rival) in enumerate(zip(least, near, rivals or [0] * len(near), strict=True))
    ]
    return rated_wholes(some or weigher(), length, errors, (0, cases, 0), rivals and INSERT)


def weigh(own, other, near=(False, False), rival=0, some=None):
    """Of a mate of the case `own` beside one of `other`."""
    return rated([own, other], near, [rival, rival], some)["unseen"][0]


def alone(case, near=False, some=None):
    return rated([case], [near], some=some)["unseen"][0]


def test_both_mates_must_hide_a_copy():
    few, mixed, many = (weigh(one, two) for one, two in ((0, 0), (0, 1), (1, 1)))
    assert few > 3 * mixed > 9 * many > 0


def test_beside_known_copies_there_are_more():
    none, one, both = (weigh(0, 0, near) for near in ((False, False), (False, True), (True, True)))
    assert both / none == pytest.approx(30) and one / none == pytest.approx(30**0.5)
    assert weigh(0, 0, (True, False)) == one and weigh(0, 0, rival=1) == both
    assert weigh(0, 0, rival=3) == none


def shares_of(genome, m):
    """float64[2, 2, differences]: the shares of substrings of `m` bases, between those of two lengths."""
    return np.array(
        [
            [[np.interp(np.log(m), np.log(LENGTHS), shares) for shares in kind.T] for kind in axis]
            for axis in genome.shares
        ]
    )


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("case", [0, 1, 2])
def test_of_a_single_read_every_share_counts_by_itself(case, near):
    """Against the sum over differences, with shares of substrings that those of templates do not have."""
    genome, rng = spectrum(), np.random.default_rng(1)
    genome.shares[0] = rng.random(genome.shares[0].shape)
    some = weigher(genome)
    weight = alone(case, near, some)
    [kept] = some.cases.kept
    missed, both = np.array(kept["missed"]), np.array(kept["both"])
    shares = shares_of(genome, CASES[case][0])[0, int(near)]
    assert weight == pytest.approx((shares * (missed - both)).sum() / (1 - kept["lost"][0]))


def test_of_a_pair_every_share_is_divided_between_both():
    """Against the sum over the differences of either mate, of which each lies in one of its bases."""
    genome, rng = spectrum(), np.random.default_rng(3)
    genome.shares[1] = rng.random(genome.shares[1].shape)
    some = weigher(genome)
    weight = weigh(0, 2, some=some)
    one, two = sorted(some.cases.kept, key=lambda kept: -kept["length"])
    shares = shares_of(genome, round((100 * 60) ** 0.5))[1, 0]
    hidden = 0.0
    for differences in range(20):
        for first in range(differences + 1):
            ways = np.prod([(differences - i) / (i + 1) for i in range(first)])
            share = shares[differences] * ways * (100 / 160) ** first * (60 / 160) ** (differences - first)
            rest = differences - first
            hidden += share * (
                one["missed"][first] * two["missed"][rest] - one["both"][first] * two["both"][rest]
            )
    assert weight == pytest.approx(hidden / (1 - one["lost"][0] * two["lost"][0]))


def test_a_mate_without_bases_is_none():
    assert weigh(0, 3) == pytest.approx(alone(0))


def test_a_pair_does_not_depend_on_the_others():
    rng = np.random.default_rng(2)
    cases, near = rng.integers(0, 3, 600).tolist(), (rng.random(600) < 0.5).tolist()
    rivals = np.repeat(rng.integers(0, 2, 300), 2).tolist()
    together = rated(cases, near, rivals)["unseen"]
    for i in range(600):
        assert together[i] == weigh(cases[i], cases[i ^ 1], (near[i], near[i ^ 1]), rivals[i])
