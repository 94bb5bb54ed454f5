"""The scripts that judge the tests and the records, where that is quick."""

from __future__ import annotations

import mutations
import pytest
from places import ROOT


@pytest.mark.parametrize("mutation", mutations.MUTATIONS, ids=lambda mutation: mutation.name)
def test_every_fault_can_be_planted(mutation):
    """Its anchor occurs once in the source, and its test is there."""
    assert (ROOT / mutation.path).read_text().count(mutation.old) == 1
    path, _, name = mutation.test.partition("::")
    assert f"def {name}" in (ROOT / path).read_text()
