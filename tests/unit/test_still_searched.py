"""Anchors of reads that are searched on are copied run by run, or as a whole: with the same result."""

import brute_force as bf
import numpy as np
import pytest

import gassst
from gassst.io.read_records import batch_of_records
from gassst.search import host, single
from gassst.search.context import BatchContext
from gassst.search.host import HostBackend
from gassst.stats import Stats


@pytest.fixture(scope="module")
def reads(small_reads):
    """Half of them from nowhere."""
    rng = np.random.default_rng(12)
    lengths = rng.choice([24, 100, 150, 250], 150).tolist()
    foreign = [(f"foreign{i}", bf.random_bases(rng, m).decode(), None) for i, m in enumerate(lengths)]
    return [(name, read, None) for name, read, _ in small_reads[:150]] + foreign


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("mode", ["local", "global"])
def test_how_anchors_are_copied_changes_nothing(small_fasta, reads, mode, step, monkeypatch):
    index = gassst.Index.build(small_fasta, step=step)
    mapper = gassst.Mapper(index, device="none", mode=mode)
    packed = batch_of_records(reads).pack(mapper.params.longest_read)
    searched = index, mapper.parts, mapper.plan, mapper.cascade, mapper.params, packed
    context = BatchContext.of(*searched, whole_reads=mapper.params.reports_whole_reads)
    found = []
    for many_runs in (0, 1 << 30):
        monkeypatch.setattr(host, "MANY_RUNS", many_runs)
        counts = Stats()
        with mapper.extender.open_reads(packed) as bands:
            result = single.search(HostBackend(context, bands, counts))
        found.append((result, counts))
    (first, counted), *others = found
    assert counted.candidates > 1000 and first.left_to_local.any() == (mode == "local")
    for other, counts in others:
        for name in ("occurrences", "candidates", "scored", "capped"):
            assert getattr(counts, name) == getattr(counted, name), name
        for name in ("summary", "quality", "left_to_local", "hopeless", "rows", "start"):
            assert getattr(other, name).tolist() == getattr(first, name).tolist(), name
        for name in ("complete", "capped", "looked", "planned"):
            assert getattr(other.seen, name).tolist() == getattr(first.seen, name).tolist(), name
        for name in ("read_strand", "band_start", "end", "edits"):
            assert getattr(other.bands, name).tolist() == getattr(first.bands, name).tolist(), name
