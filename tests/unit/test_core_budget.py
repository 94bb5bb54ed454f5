"""What the core holds is counted from the sources: scripts/check/core_budget.py."""

from __future__ import annotations

import core_budget


def test_the_core_holds_no_more_than_its_page_allows():
    """A mechanism, a number or a line more pays with one that goes: scripts/check/core_budget.py --write."""
    most = core_budget.allowed(core_budget.PAGE.read_text())
    totals = core_budget.counted().totals
    assert totals.keys() == most.keys()
    assert all(totals[name] <= most[name] for name in most), (totals, most)
    assert core_budget.lost_mechanisms() == []
