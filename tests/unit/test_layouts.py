"""The layouts and sentinels of compiled code (`gassst/_core/common.pxd`) are those of `gassst.model.layouts`."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from gassst.model import layouts

TEXT = (Path(layouts.__file__).parents[1] / "_core" / "common.pxd").read_text()
STRUCTS = {
    "hit_t": layouts.HIT,
    "read_summary_t": layouts.READ_SUMMARY,
    "rating_t": layouts.RATING,
    "local_place_t": layouts.LOCAL_PLACE,
    "local_line_t": layouts.LOCAL_LINE,
}


@pytest.mark.parametrize("name", STRUCTS)
def test_fields_agree(name):
    body = re.search(rf"cdef packed struct {name}:\n((?:    .*\n)+)", TEXT)
    assert body is not None
    fields = re.findall(r"^    (u?int\d+|coordinate|double|bool|rating)(?:_t)? (\w+)", body[1], re.MULTILINE)
    kinds = {"coordinate": "int64", "double": "float64", "rating": layouts.RATING}
    assert np.dtype([(field, kinds.get(kind, kind)) for kind, field in fields]) == STRUCTS[name]


def test_sentinels_agree():
    values = dict(re.findall(r"^    (NO_\w+) = ([-\w ]+?) *#", TEXT, re.MULTILINE))
    assert int(values.pop("NO_SCORE"), 16) == layouts.NO_SCORE
    high, low = values.pop("NO_SUBOPTIMAL").split(" - ")
    assert int(high, 16) - int(low) == layouts.NO_SUBOPTIMAL
    assert not values
