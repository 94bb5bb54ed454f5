"""The compiled search finds in blocks of any size what the passes over a whole batch find, one after another."""

import dataclasses

import numpy as np
import pytest
from engines import engine

import gassst
from gassst.bands.cpu import CpuExtender
from gassst.model.reference import Reference
from gassst.model.stats import Stats
from gassst.reads.in_memory import batch_of_records
from gassst.search import host, single
from gassst.search.context import BatchContext
from gassst.search.host import HostBackend

STATE = ("best", "limit", "complete", "capped", "looked", "planned")
COUNTS = ("occurrences", "candidates", "scored")


@pytest.fixture(scope="module")
def mixed_reads(small_reads):
    """Reads of all lengths up to 300 bases, some in a repeat, with N, or of another genome."""
    rng = np.random.default_rng(7)
    reads = [(n, s[: 15 + 3 * i % 90], q[: 15 + 3 * i % 90]) for i, (n, s, q) in enumerate(small_reads)]
    for i in range(40):
        length = int(rng.integers(60, 300))
        foreign = "".join(rng.choice(list("ACGT"), length))
        reads.append((f"foreign{i}", foreign, "I" * length))
        reads.append((f"joined{i}", (reads[i][1] * 20)[:length], "I" * length))
    return reads


def found_in_blocks(context, size, monkeypatch):
    monkeypatch.setattr(host, "BLOCK", size)
    counts = Stats()
    state, found = HostBackend(context, None, counts).best_places()
    return state, found, counts


def assert_same(one, other):
    (state, found, counts), (expected_state, expected, expected_counts) = one, other
    for name in STATE:
        np.testing.assert_array_equal(getattr(state, name), getattr(expected_state, name), err_msg=name)
    for name, column in dataclasses.asdict(expected.bands).items():
        np.testing.assert_array_equal(getattr(found.bands, name), column, err_msg=name)
    np.testing.assert_array_equal(found.start, expected.start)
    for name in COUNTS:
        assert getattr(counts, name) == getattr(expected_counts, name), name
    flow = [
        {name: (s.entered, s.left) for name, s in c.funnel.stages.items()} for c in (counts, expected_counts)
    ]
    assert flow[0] == flow[1]


@pytest.mark.parametrize(
    ("options", "step"),
    [
        ({}, 1),
        ({"mode": "global"}, 2),
        ({"mode": "global", "sensitivity": 5, "min_identity": 85}, 4),
        ({"sensitivity": 0, "filters": ("tnw4-4", "fd", "duplicate", "tnw4-16", "tnw5-full")}, 1),
        ({"filters": ("fd", "band32"), "gaps": 40, "min_identity": 70}, 1),
        ({"filters": ()}, 1),
        ({"memory": 1 << 20}, 1),
    ],
    ids=str,
)
def test_a_block_of_any_size_finds_what_the_passes_find(
    small_genome, mixed_reads, options, step, monkeypatch
):
    index = gassst.Index.build(Reference.from_sequences(small_genome.items()), threads=1, step=step)
    mapper = engine(index, device="none", **options)
    packed = batch_of_records(mixed_reads, 4000).pack()
    searched = mapper.index, mapper.parts, mapper.plan, mapper.cascade, mapper.params.for_single()
    context = BatchContext.of(*searched, packed, whole_reads=mapper.params.mode == "local")
    left_out = np.arange(len(index.reference.names)) == 1
    for some in (context, dataclasses.replace(context, left_out=left_out, whole_reads=False)):
        with CpuExtender(context.reference.planes).open_reads(packed) as bands:
            passes = HostBackend(some, bands, Stats())
            state = single.run_stages(passes)
            expected = state, passes.group(state.bands), passes.stats
        assert len(expected[1].bands.edits) > 100
        for size in (1, 64, context.n):
            assert_same(found_in_blocks(some, size, monkeypatch), expected)
