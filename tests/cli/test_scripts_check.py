"""The scripts that judge the tests and the records, where that is quick."""

from __future__ import annotations

import json

import calibration
import mutations
import numpy as np
import pytest
from places import ROOT

import gassst


@pytest.mark.parametrize("mutation", mutations.MUTATIONS, ids=lambda mutation: mutation.name)
def test_every_fault_can_be_planted(mutation):
    """Its anchor occurs once in the source, and its test is there."""
    assert (ROOT / mutation.path).read_text().count(mutation.old) == 1
    path, _, name = mutation.test.partition("::")
    assert f"def {name}" in (ROOT / path).read_text()


@pytest.fixture(scope="module")
def genome(tmp_path_factory):
    """A FASTA file of 60,000 random bases, and its index."""
    folder = tmp_path_factory.mktemp("genome")
    bases = "".join(np.random.default_rng(4).choice(list("ACGT"), 60_000))
    fasta, index = folder / "g.fa", folder / "g.gsi"
    fasta.write_text(f">c\n{bases}\n")
    gassst.Index.build(fasta).save(index)
    return fasta, index


# --- calibration --------------------------------------------------------------------------------------------


def test_calibration_counts_every_read_of_every_set(genome, tmp_path, capsys):
    reads, found = tmp_path / "reads", tmp_path / "found.json"
    options = ["--reads", reads, "-n", 600, "--models", "illumina", "--json", found]
    calibration.main([*map(str, [genome[0], *options])])
    said = capsys.readouterr().out
    cells = json.loads(found.read_text())["cells"]
    assert list(cells) == [f"g illumina {kind}" for kind in calibration.KINDS]
    assert "all single" in said and "all pairs" in said
    # Of a genome without repeats all lie where they belong.
    for counts in cells.values():
        wrong, right = np.array(counts).T
        assert 1000 < right.sum() <= 1200 and wrong.sum() < 10


def test_calibration_marks_bins_that_are_off():
    assert not any(calibration.is_off(*one) for one in ((9, 4.5), (12, 7.0), (0, 9.0), (10, 10.0)))
    assert calibration.is_off(12, 5.0) and calibration.is_off(4, 10.0)
