"""Reads that may have lost their true place: `search.mapq.unseen_weight` where nothing else is missed."""

import math

import numpy as np
import pytest

from gassst.search.mapq import MODEL, UNSEEN_STRATA, UnseenFeatures, unseen_weight


@pytest.mark.parametrize("second", [0, 1])
@pytest.mark.parametrize(("errors", "bases", "genome"), [(20, 100, 1e7), (12, 100, 135e6), (25, 150, 2e7)])
def test_lost_reads_weigh_more_with_errors_in_large_genomes_and_beside_a_rival(errors, bases, genome, second):
    def weight(lost):
        model = MODEL if lost else type(MODEL)(lost=0.0)
        columns = [np.array([x]) for x in (errors, bases, second, 5, 0.0, False)]
        return unseen_weight(UnseenFeatures(*columns, np.zeros((1, UNSEEN_STRATA)), genome), model)[0]

    right = (
        0.0126
        * math.exp(-0.712 * (20 - 100 * errors / bases))
        * (100 / bases) ** 1.76
        * (genome / 1e7) ** 0.776
    )
    right *= 61.9 if second else 1
    assert weight(lost=True) - weight(lost=False) == pytest.approx(right, rel=1e-9)
