"""The compiled search of single reads against plain Python, and in blocks of any size."""

import dataclasses

import brute_force as bf
import numpy as np
import pytest
from device_searches import placed
from engines import engine
from plain_search import PlainReads, fragment_of, genome_of, text_of

import gassst
from gassst.index.spectrum import Spectrum
from gassst.model.reference import Reference
from gassst.model.stats import Stats
from gassst.reads.in_memory import batch_of_records
from gassst.search import host
from gassst.search.context import BatchContext

COUNTS = ("occurrences", "candidates", "scored")


def context_of(mapper, records, **more):
    packed = batch_of_records(records, 4000).pack()
    searched = mapper.index, mapper.parts, mapper.plan, mapper.cascade, mapper.params.for_single()
    return BatchContext.of(*searched, packed, **more)


@pytest.mark.parametrize(
    ("options", "step"),
    [
        ({"filters": ()}, 1), ({}, 1), ({"sensitivity": 1, "gaps": 3}, 1), ({"gaps": 20, "filters": ()}, 2),
        ({"mode": "local"}, 1), ({"sensitivity": 4, "seed_length": 9}, 4),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("damage", [False, True])
def test_reads_have_the_places_of_plain_python(options, step, damage):
    """Places, what is known of each read, and how many candidates there were and bands were scored."""
    rng = np.random.default_rng(step)
    genome = genome_of(rng)
    index = gassst.Index.build(Reference.from_sequences(genome.items()), threads=1, step=step)
    mapper = engine(index, device="none", **{"mode": "global", "min_identity": 85, **options})
    mapper.plan.caps[:] = 0xFFFFFFFF
    mapper.plan.spectrum = Spectrum.none()  # so that no place is looked at for copies
    reads = [mate for _ in range(60) for mate in fragment_of(rng, genome, "fr")]
    reads += [bf.random_bases(rng, 80), reads[0][:15], reads[1][:21]]
    context = context_of(mapper, [(str(i), read.decode(), None) for i, read in enumerate(reads)])
    given_up = host.given_up(mapper.params)
    counts = Stats()
    if damage:  # two more strata are wanted of such a library
        library = dataclasses.replace(context.library, damage=(0.1,))
        context = dataclasses.replace(context, library=library)
    plain = PlainReads(
        text_of(index, genome), reads, context.flip.tolist(), mapper.plan, given_up,
        narrow=bool(mapper.cascade.names), further=2 * damage,
    )  # fmt: skip
    plain.run()
    found = placed(context, counts)
    for name in ("best", "limit", "looked", "complete"):
        assert found[name].tolist() == getattr(plain, name), name
    # Worse ones are among them or not, by the order of bands.
    bands = found["places"][["read_strand", "first", "end", "edits"]].tolist()
    got, expected = (
        sorted(band for band in some if band[3] <= found["limit"][band[0] >> 1])
        for some in (bands, plain.found)
    )
    assert got == expected
    searched = Stats()  # without local ends
    host.HostBackend(context, searched).placed()
    assert (searched.scored, searched.candidates) == (plain.scored, plain.candidates)
    for funnel in counts.funnel.stages.values():
        assert (funnel.entered, funnel.left) == (plain.entered, plain.passed)
    assert len(plain.found) > 60 and (found["looked"] > 1).sum() > 10


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
    return placed(context, counts), counts


def assert_same(one, other):
    (found, counts), (expected, expected_counts) = one, other
    for name, column in expected.items():
        np.testing.assert_array_equal(found[name], column, err_msg=name)
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
        ({"mode": "global", "sensitivity": 5, "min_identity": 85}, 4),
        ({"sensitivity": 0, "filters": ("tnw4-4", "fd", "duplicate", "tnw4-16", "tnw5-full")}, 1),
        ({"filters": ("fd", "band32"), "gaps": 40, "min_identity": 70}, 1),
        ({"memory": 1 << 20}, 1),
        ({"mode": "global", "all_hits": True, "min_identity": 80}, 1),
        ({"mode": "global", "all_hits": True, "strata": True, "min_identity": 80}, 2),
    ],
    ids=str,
)
def test_a_block_of_any_size_finds_the_same(small_genome, mixed_reads, options, step, monkeypatch):
    index = gassst.Index.build(Reference.from_sequences(small_genome.items()), threads=1, step=step)
    mapper = engine(index, device="none", **options)
    context = context_of(mapper, mixed_reads, whole_reads=mapper.params.mode == "local")
    left_out = np.arange(len(index.reference.names)) == 1
    for some in (context, dataclasses.replace(context, left_out=left_out, whole_reads=False)):
        expected = found_in_blocks(some, context.n, monkeypatch)
        assert len(expected[0]["places"]) > 100
        for size in (1, 64):
            assert_same(found_in_blocks(some, size, monkeypatch), expected)
