"""Jobs of the rooms of dynamic programmes: what is not a member of a kernel is refused."""

from __future__ import annotations

import numpy as np
import pytest

from gassst._core.problems import Job
from gassst.workers.allocator import aligned

D = np.zeros((64, 64))


@pytest.mark.parametrize(
    ("members", "words"),
    [
        (("pivots f8", D, 64, 0), "no kernel pivots f8 of 3 members"),
        (("pivot f8", D, 64), "no kernel pivot f8 of 2 members"),
        (("pivot f4", D, 64, 0), "member 1 is no array of f4"),
        (("pivot f8", D[:, ::2], 64, 0), "contiguous"),
    ],
)
def test_other_members_are_refused(members, words):
    with pytest.raises(ValueError, match=words):
        Job(*members)


def test_a_job_that_is_stopped_computes_nothing():
    found = aligned((64, 64))
    found[:] = d = np.random.default_rng(1).random((64, 64))
    first = Job("pivot f8", found, 64, 0)
    first.stop()
    Job("pivot f8", found, 64, 0, stop=first).run(0, 1)
    assert np.array_equal(found, d)
    Job("pivot f8", found, 64, 0).run(0, 1)
    assert (found < d).any()
