"""Reads up to the longest of which one end alone maps, at the first and the last base of a reference."""

from __future__ import annotations

import numpy as np
import pytest
from text_bases import random_bases

import gassst
from gassst.model.params import MAX_READ_LENGTH

GENOME = 12_000
COMPLEMENT = str.maketrans("ACGT", "TGCA")


@pytest.fixture(scope="module")
def genome() -> str:
    return random_bases(np.random.default_rng(11), GENOME)


@pytest.fixture(scope="module")
def index(genome, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ends")
    (folder / "g.fa").write_text(f">c\n{genome}\n")
    gassst.Index.build(folder / "g.fa").save(folder / "g.gsi")
    return folder / "g.gsi"


@pytest.mark.parametrize("step", [1, 4])
@pytest.mark.parametrize("is_reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize("foreign", [2049, MAX_READ_LENGTH - 150])
def test_one_end_of_a_long_read_maps(genome, tmp_path, foreign, is_reverse, step):
    (tmp_path / "g.fa").write_text(f">c\n{genome}\n")
    gassst.Index.build(tmp_path / "g.fa", step=step).save(tmp_path / "g.gsi")
    other = random_bases(np.random.default_rng(foreign), foreign)
    reads = {"first": other + genome[:150], "last": genome[-150:] + other}
    if is_reverse:
        reads = {name: bases[::-1].translate(COMPLEMENT) for name, bases in reads.items()}
    mapper = gassst.Mapper(tmp_path / "g.gsi", device="none")
    got = {s.query_name: (s.reference_start, s.cigarstring, s.is_reverse) for s in mapper.map(reads.items())}
    assert got == {
        "first": (0, f"{foreign}S150M", is_reverse),
        "last": (GENOME - 150, f"150M{foreign}S", is_reverse),
    }


def test_a_split_read_keeps_the_part_at_the_first_base(genome, index):
    read = genome[5000:7500] + genome[:1200]
    parts = gassst.Mapper(index, device="none").map([("split", read)])
    assert [(s.reference_start, s.cigarstring) for s in parts] == [(5000, "2500M1200S"), (0, "2500H1200M")]


def test_longest_reads_map_end_to_end_at_both_ends(genome, index):
    reads = [genome[:MAX_READ_LENGTH], genome[-MAX_READ_LENGTH:]]
    found = gassst.Mapper(index, device="none", mode="global").map(reads)
    assert [s.reference_start for s in found] == [0, GENOME - MAX_READ_LENGTH]
