"""The scripts that judge the tests and the records, where that is quick."""

from __future__ import annotations

import re

import mutations
import numpy as np
import pytest
from places import ROOT
from test_scripts_peers import script

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


def test_local_alignments_have_the_best_score(genome):
    done = script("check/local_scores.py", *genome, "-n", 300)
    assert int(re.search(r"compared (\d+)", done.stdout)[1]) > 270


def test_trimmed_reads_lie_where_whole_ones_do(genome):
    done = script("check/trimmed.py", *genome, "-n", 200)
    assert "of 400 reads" in done.stdout
