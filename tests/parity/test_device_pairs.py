"""Pairs of which a device looks up the seeds get the records that they get on the host."""

from dataclasses import replace

import pytest
from device_searches import assert_same_rows, hard_search, pairs_of, sizes_asked
from engines import engine

from gassst.gpu import search as device
from gassst.gpu import seeds as device_seeds


@pytest.fixture(autouse=True)
def asks_for_few_reads(monkeypatch):
    monkeypatch.setattr(device_seeds, "LEAST_READS", 2)


def funnel_of(stats):
    return {name: (stage.entered, stage.left) for name, stage in stats.funnel.stages.items()}


def assert_same_records(search, mapper, batch):
    expected, counted = mapper.map_batch(batch)
    found, own = replace(mapper, on_device=search).map_batch(batch)
    assert_same_rows(found, expected)
    for name in ("occurrences", "candidates", "scored", "rescued"):
        assert getattr(own, name) == getattr(counted, name), name
    assert funnel_of(own) == funnel_of(counted)
    return own


@pytest.mark.parametrize(
    ("params", "insert"),
    [
        ({}, ("fr", 320, 30)),
        ({"mode": "global", "sensitivity": 5, "seed_length": 10}, ("fr", 330, 60)),
        ({"sensitivity": 1}, ("fr", 300, 5)),
        ({}, ("rf", 320, 30)),
        ({}, ("ff", 320, 40)),
    ],
    ids=str,
)
def test_pairs_of_every_orientation(search, index, small_genome, monkeypatch, params, insert):
    asked = sizes_asked(monkeypatch, device.DeviceSearch, "look_up", 3)
    mapper = engine(index, device="none", insert=insert[1:], orientation=insert[0], **params)
    assert_same_records(search, mapper, pairs_of(small_genome, insert[0]))
    assert len(asked) > 1 and asked[0] > asked[1]


def test_copies_borders_and_seeds_passed_over(engine, tmp_path):
    """Pairs that fit two places alike, mates on either side of a border, and elements of many copies."""
    counted = assert_same_records(*hard_search(engine, tmp_path))
    assert counted.capped > 20 and counted.funnel.stages["band32"].entered > 100
