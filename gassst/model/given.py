"""Parameters of a run from what was given: presets, and what options imply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gassst.model.params import ANCIENT, EVERY_HIT, NO_DEVICE, SMALL_RNA, MapParams

PRESETS: dict[str, dict[str, Any]] = {
    "hic": {"pairing": False, "mate_rescue": False, "five_prime": True},
    "small-rna": SMALL_RNA,
    "ancient": ANCIENT,
}
SINGLE_READ_PRESETS = ("small-rna", "ancient")
"""Presets that refuse pairs."""


def params_of(options: Mapping[str, Any]) -> MapParams:
    """The parameters with these options. By default all cores map, and no device where methylation is."""
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    given = PRESETS.get(given.get("preset", ""), {}) | given
    if given.get("strata"):
        given = {"max_hits": EVERY_HIT} | given | {"all_hits": True}
    usual: dict[str, Any] = {"device": NO_DEVICE} if "meth" in given else {}
    return MapParams(**usual | given)
