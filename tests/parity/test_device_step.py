"""A device finds with an index of about half of all positions (step 2) what the host finds there."""

import brute_force as bf
import numpy as np
import pytest
from device_searches import SPLIT, assert_all_places, assert_same, context_of, with_adapters

import gassst
from gassst.gpu.device import Engine
from gassst.gpu.search import DeviceSearch
from gassst.index import seed_index

K = 10
"""Of the index, as if it were of 7 Mb: the least with which seeds have a base before their first position."""


@pytest.fixture(scope="module")
def genome():
    """Copies that differ, tandem repeats, a run of one base, and what chance makes."""
    rng = np.random.default_rng(21)
    unit = bf.random_bases(rng, 23)
    return {
        "copies": bf.repetitive_genome(rng, 20_011),
        "tandem": unit * 60 + b"A" * 90 + bf.mutate(rng, unit * 20, 6) + b"CA" * 200,
        "chance": bf.random_bases(rng, 40_003),
    }


@pytest.fixture(scope="module")
def half(genome, tmp_path_factory):
    fasta = tmp_path_factory.mktemp("half") / "half.fa"
    fasta.write_bytes(b"".join(b">%s\n%s\n" % (n.encode(), s) for n, s in genome.items()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seed_index, "base_length", lambda *_: K)
        return gassst.Index.build(fasta, step=2)


@pytest.fixture(scope="module")
def search(engine, half):
    planes = half.reference.planes
    return DeviceSearch(half, Engine(engine.info, engine.device, planes), SPLIT << 5)


@pytest.fixture(scope="module")
def reads(genome):
    rng = np.random.default_rng(22)
    found = []
    for i in range(360):
        contig = genome[["copies", "tandem", "chance"][i % 3]]
        at = int(rng.integers(len(contig) - 170))
        length = int(rng.choice([30, 50, 100, 150]))
        read = bf.mutate(rng, contig[at : at + length + 20], int(rng.integers(length // 10)))[:length]
        found.append((f"r{i}", (bf.reverse_complement(read) if i % 2 else read).decode(), None))
    return found


def test_seeds_have_bases_before_their_first_position(half):
    assert 0.4 < len(half.positions) / half.reference.unmasked < 0.7


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"sensitivity": 0},
        {"sensitivity": 5, "min_identity": 85},
        {"min_identity": 75, "seed_length": K - 2},
        {"mode": "local", "seed_length": 12},
    ],
    ids=["auto", "few occurrences", "all occurrences", "short seeds", "local"],
)
def test_it_finds_what_the_host_finds(search, half, reads, params):
    assert_same(search, context_of(half, [*reads, *with_adapters(reads[:60])], **params))


@pytest.mark.parametrize(
    "params",
    [
        {"min_identity": 90},
        {"min_identity": 80, "seed_length": K - 2, "sensitivity": 0},
        {"min_identity": 85, "sensitivity": 5},
    ],
    ids=["-p 90", "few occurrences", "all occurrences"],
)
def test_it_finds_all_places_of_the_host(search, half, reads, params):
    assert_all_places(search, context_of(half, reads, all_hits=True, **params), len(reads))
