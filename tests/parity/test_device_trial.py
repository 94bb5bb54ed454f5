"""The trial of a device finds what its answers have wrong, and is passed with every index and all parameters."""

from operator import attrgetter

import brute_force as bf
import numpy as np
import pytest
from device_searches import SPLIT
from engines import engine

import gassst
from gassst.errors import DeviceError
from gassst.gpu.device import Engine
from gassst.gpu.search import DeviceSearch
from gassst.gpu.trial import Trial


def trial_of(index, **params):
    mapper = engine(index, device="none", **params)
    return Trial.of(index, mapper.plan, mapper.cascade, mapper.params.for_single())


def changed(monkeypatch, change):
    """From now on what a device has found is changed in place before it is told."""
    find = DeviceSearch._found

    def wrong(*arguments):
        found = find(*arguments)
        change(found)
        return found

    monkeypatch.setattr(DeviceSearch, "_found", wrong)


def add_to(array, value=1):
    assert len(array) > 100
    numbers = array["key"] if array.dtype.names else array
    numbers[len(array) // 2] += 2 * value


@pytest.mark.parametrize(
    "name, params",
    [
        ("edits", {}),
        ("ends", {}),
        ("edits", {"all_hits": True}),
        ("traced.diagonal", {"all_hits": True, "min_identity": 90}),
    ],
    ids=str,
)
def test_places_and_alignments_that_are_others_are_found(search, index, monkeypatch, name, params):
    trial, column = trial_of(index, **params), attrgetter(name)
    trial.put_to(search)
    changed(monkeypatch, lambda found: add_to(column(found)))
    with pytest.raises(DeviceError, match="wrong results"):
        trial.put_to(search)


@pytest.mark.parametrize(
    "params",
    [{"filters": ()}, {"filters": ("band32",)}, {"mode": "global"}, {"seed_length": 9}],
    ids=str,
)
def test_the_trial_is_passed_with_all_parameters(search, index, params):
    trial_of(index, **params).put_to(search)


@pytest.mark.parametrize("genome", ["short", "repeats", "masked"])
def test_the_trial_is_passed_with_every_reference(engine, tmp_path, genome):
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
    trial_of(index).put_to(DeviceSearch(index, own, SPLIT))
