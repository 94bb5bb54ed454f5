"""The trial of a device finds what its answers have wrong, and is passed with every index and all parameters."""

import brute_force as bf
import numpy as np
import pytest
from device_searches import SPLIT
from engines import engine

import gassst
from gassst.errors import DeviceError
from gassst.gpu import dense as device_dense
from gassst.gpu.device import Engine
from gassst.gpu.requests import Searched
from gassst.gpu.search import DeviceSearch
from gassst.gpu.trial import PairTrial, Trial


def trial_of(index, kind=PairTrial, **params):
    mapper = engine(index, device="none", **params)
    of_reads = mapper.params.for_pairs() if kind is PairTrial else mapper.params.for_single()
    return kind.of(index, Searched(mapper.plan, mapper.cascade, of_reads))


@pytest.fixture(scope="module")
def trial(index):
    return trial_of(index)


def changed(monkeypatch, look, change):
    """From now on answers of a kind are changed in place before they are told."""
    answers = look.answers

    def wrong(backend):
        for found in answers(backend):
            change(found)
            yield found

    monkeypatch.setattr(look, "answers", wrong)


def add_to(array, value=1):
    assert len(array) > 100
    array[len(array) // 2] += value


@pytest.mark.parametrize("name", ["diagonal", "offset", "stretches", "clipped", "first", "last"])
@pytest.mark.parametrize("row", [0, -1])
def test_dense_seeds_that_lead_elsewhere_are_found(search, trial, monkeypatch, name, row):
    assert (trial.dense.expected.clipped > 0).sum() > 20
    changed(
        monkeypatch, device_dense.DenseLook, lambda found: add_to(np.atleast_2d(getattr(found, name))[row])
    )
    with pytest.raises(DeviceError, match="wrong results"):
        search.warm_up(trial)


@pytest.mark.parametrize(
    "params",
    [{"filters": ()}, {"filters": ("band32",)}, {"mode": "global"}, {"seed_length": 9}],
    ids=str,
)
@pytest.mark.parametrize("kind", [PairTrial, Trial])
def test_the_trial_is_passed_with_all_parameters(search, index, kind, params):
    found = trial_of(index, kind, **params)
    assert len(found.parts) == 1 + (kind is PairTrial and "mode" not in params)
    search.warm_up(found)


@pytest.mark.parametrize("kind", [PairTrial, Trial])
@pytest.mark.parametrize("genome", ["short", "repeats", "masked"])
def test_the_trial_is_passed_with_every_reference(engine, tmp_path, genome, kind):
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
    DeviceSearch(index, own, SPLIT).warm_up(trial_of(index, kind))
