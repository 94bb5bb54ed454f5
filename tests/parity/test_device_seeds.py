"""Seeds that a device looks up for the host, those of stages and dense ones, lead to the same anchors."""

from dataclasses import replace

import brute_force as bf
import numpy as np
import pytest
from device_searches import assert_same_rows, context_of, pairs_of, sizes_asked, with_adapters
from engines import engine

import gassst
from gassst._core.stretches import promising_buckets
from gassst.bands.cpu import CpuExtender
from gassst.gpu import search as device
from gassst.gpu import seeds as device_seeds
from gassst.model.stats import Stats
from gassst.reads.in_memory import batch_of_pairs
from gassst.search.arrays import Anchors
from gassst.search.dense import DenseSeeds
from gassst.search.host import HostBackend


@pytest.fixture(scope="module")
def small_pairs(small_genome):
    """150 pairs of fragments of 250 to 400 bases, each mate with errors of its own; of some a mate fits nowhere."""
    rng, contig = np.random.default_rng(8), small_genome["one"]
    mates: tuple[list, list] = [], []
    for i in range(150):
        length, size = int(rng.choice([40, 50, 100, 150])), int(rng.integers(250, 400))
        at = int(rng.integers(len(contig) - size))
        fragment = contig[at : at + size]
        for each, strand in zip(mates, (fragment, bf.reverse_complement(fragment)), strict=True):
            read = bf.mutate(rng, strand[: length + 20], int(rng.integers(length // 8)))[:length]
            read = bf.random_bases(rng, length) if rng.random() < 0.05 else read
            each.append((f"pair{i}", read.decode(), None))
    return batch_of_pairs(*mates)


class TestSeeds:
    """Of pairs a device looks seeds up, and the host goes on with the anchors."""

    @pytest.mark.parametrize(
        "params", [{}, {"mode": "global", "filters": ()}, {"seed_length": 9}, {"sensitivity": 5}], ids=str
    )
    def test_pairs_get_the_same_records(self, search, index, small_pairs, monkeypatch, params):
        monkeypatch.setattr(device_seeds, "LEAST_READS", 9)
        mapper = engine(index, device="none", **params)
        batch = small_pairs
        expected, counted = mapper.map_batch(batch)
        found, own = replace(mapper, on_device=search).map_batch(batch)
        for mine, true in zip(found.rows, expected.rows, strict=True):
            np.testing.assert_array_equal(mine, true)
        assert own.nanoseconds["device"] and own.occurrences and own.scored == counted.scored
        assert own.candidates == counted.candidates

    def test_an_index_with_steps_is_looked_up_on_the_host(self, search, small_fasta, small_reads):
        context = context_of(gassst.Index.build(small_fasta, step=2), small_reads[:3])
        assert search.look_up(context, Stats(), np.arange(3, dtype=np.uint32), 0) is None


class TestDenseLook:
    """What dense seeds of some reads lead to on a device is what they lead to on the host."""

    @pytest.mark.parametrize(
        "seeds",
        [DenseSeeds(9, 5, 3), DenseSeeds(12, 1, 64), DenseSeeds(20, 5, 1)],
        ids=str,
    )
    def test_anchors_and_passed_over_seeds(self, search, index, small_reads, seeds):
        small_context = context_of(index, with_adapters(small_reads), mode="local")
        reads = np.arange(1, small_context.n, 2, dtype=np.uint32)
        found = search.look_densely(small_context, Stats(), reads, seeds)
        self.assert_same(found, small_context, reads, seeds)
        assert len(found.anchors) > 50 and (found.clipped > 0).any() == (seeds.occurrences < 64)

    def assert_same(self, found, context, reads, seeds):
        with CpuExtender(context.reference.planes).open_reads(context.packed) as bands:
            expected = HostBackend(context, bands, Stats()).look_densely(reads, seeds)
        for name in Anchors.__dataclass_fields__:
            own, true = getattr(found.anchors, name), getattr(expected.anchors, name)
            np.testing.assert_array_equal(own, true, err_msg=name)
        for name in ("clipped", "first", "last"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
        for most in (2, 40):
            of_host = promising_buckets(expected.anchors, context, most)
            own = promising_buckets(found.anchors, context, most, found.stretches)
            for mine, true in zip(own, of_host, strict=True):
                np.testing.assert_array_equal(mine, true)

    def test_pairs_get_the_same_records(self, search, index, small_genome, monkeypatch):
        """Mates of which a part is foreign are looked up again."""
        monkeypatch.setattr(device_seeds, "LEAST_DENSE", 1)
        batch = pairs_of(small_genome, "fr")
        for mate in range(0, len(batch), 5):
            at = slice(int(batch.offsets[mate]), int(batch.offsets[mate]) + 45)
            batch.bases[at] = np.random.default_rng(mate).choice(np.frombuffer(b"ACGT", np.uint8), 45)
        mapper = engine(index, device="none")
        expected, _ = mapper.map_batch(batch)
        asked = sizes_asked(monkeypatch, device.DeviceSearch, "look_densely", 3)
        found, own = replace(mapper, on_device=search).map_batch(batch)
        assert_same_rows(found, expected)
        assert sum(asked) > 20 and own.nanoseconds["device"]
