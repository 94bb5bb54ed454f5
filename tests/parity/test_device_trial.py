"""The trial of a device finds what its answers have wrong, and is passed with every index and all parameters."""

from operator import attrgetter

import brute_force as bf
import numpy as np
import pytest
from device_searches import SPLIT
from engines import engine

import gassst
from gassst.errors import DeviceError
from gassst.gpu.backend import DeviceBackend
from gassst.gpu.dense import DenseLook
from gassst.gpu.device import Engine
from gassst.gpu.search import DeviceSearch
from gassst.gpu.trial import Trial


def trial_of(index, with_mates=True, **params):
    mapper = engine(index, device="none", **params)
    of_reads = mapper.params.for_pairs() if with_mates else mapper.params.for_single()
    return Trial.of(index, mapper.plan, mapper.cascade, of_reads, with_mates)


@pytest.fixture(scope="module")
def trial(index):
    return trial_of(index)


def changed(monkeypatch, kind, method, change):
    """From now on what a device has found is changed in place before it is told."""
    find = getattr(kind, method)

    def wrong(*arguments):
        found = find(*arguments)
        change(found)
        return found

    monkeypatch.setattr(kind, method, wrong)


def add_to(array, value=1):
    assert len(array) > 100
    array[len(array) // 2] += value


@pytest.mark.parametrize(
    "name", ["anchors.diagonal", "anchors.offset", "stretches", "clipped", "first", "last"]
)
@pytest.mark.parametrize("row", [0, -1])
def test_dense_seeds_that_lead_elsewhere_are_found(search, trial, monkeypatch, name, row):
    (_, dense), column = trial.questions, attrgetter(name)
    assert sum(np.count_nonzero(array > 0) > 20 for array in dense[1][-4:-1]) == 3
    changed(monkeypatch, DenseLook, "looked", lambda found: add_to(np.atleast_2d(column(found))[row]))
    with pytest.raises(DeviceError, match="wrong results"):
        trial.put_to(search)


@pytest.mark.parametrize(
    "name, params",
    [
        ("edits", {}),
        ("edits", {"all_hits": True}),
        ("traced.diagonal", {"all_hits": True, "min_identity": 90}),
    ],
    ids=str,
)
def test_places_and_alignments_that_are_others_are_found(search, index, monkeypatch, name, params):
    trial, column = trial_of(index, False, **params), attrgetter(name)
    trial.put_to(search)
    changed(monkeypatch, DeviceBackend, "searched", lambda found: add_to(column(found)))
    with pytest.raises(DeviceError, match="wrong results"):
        trial.put_to(search)


@pytest.mark.parametrize("name", ["anchors.diagonal", "complete", "capped"])
def test_seeds_that_lead_elsewhere_are_found(search, trial, monkeypatch, name):
    changed(monkeypatch, DeviceBackend, "looked_up", lambda found: add_to(attrgetter(name)(found)))
    with pytest.raises(DeviceError, match="wrong results"):
        trial.put_to(search)


@pytest.mark.parametrize(
    "params",
    [{"filters": ()}, {"filters": ("band32",)}, {"mode": "global"}, {"seed_length": 9}],
    ids=str,
)
@pytest.mark.parametrize("with_mates", [True, False])
def test_the_trial_is_passed_with_all_parameters(search, index, with_mates, params):
    found = trial_of(index, with_mates, **params)
    assert len(found.questions) == 1 + (with_mates and "mode" not in params)
    found.put_to(search)


@pytest.mark.parametrize("with_mates", [True, False])
@pytest.mark.parametrize("genome", ["short", "repeats", "masked"])
def test_the_trial_is_passed_with_every_reference(engine, tmp_path, genome, with_mates):
    rng = np.random.default_rng(3)
    contig = {
        "short": bf.random_bases(rng, 300),
        "repeats": bf.random_bases(rng, 90) * 60,
        "masked": (bf.random_bases(rng, 100) + b"N" * 60) * 30,
    }[genome]
    fasta = tmp_path / "one.fa"
    fasta.write_bytes(b">one\n%s\n" % contig)
    index = gassst.Index.build(fasta)
    own = Engine(engine.info, engine.device, index.reference.planes)
    trial_of(index, with_mates).put_to(DeviceSearch(index, own, SPLIT))
