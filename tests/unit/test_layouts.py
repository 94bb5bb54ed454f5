"""The layouts, flags and sentinels of compiled code (`gassst/_core/common.pxd`) are those of Python and htslib."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pysam
import pytest

from gassst.model import layouts, sam_flags

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


HTSLIB = {
    "PAIRED": pysam.FPAIRED, "PROPER_PAIR": pysam.FPROPER_PAIR, "UNMAPPED": pysam.FUNMAP,
    "MATE_UNMAPPED": pysam.FMUNMAP, "REVERSE": pysam.FREVERSE, "MATE_REVERSE": pysam.FMREVERSE,
    "FIRST_IN_PAIR": pysam.FREAD1, "SECOND_IN_PAIR": pysam.FREAD2, "SECONDARY": pysam.FSECONDARY,
    "FAILED_QC": pysam.FQCFAIL, "DUPLICATE": pysam.FDUP, "SUPPLEMENTARY": pysam.FSUPPLEMENTARY,
    "NOT_PRIMARY": pysam.FSECONDARY | pysam.FSUPPLEMENTARY,
}  # fmt: skip


@pytest.mark.parametrize("name", HTSLIB)
def test_flag_is_that_of_htslib(name):
    flag = getattr(sam_flags, name)
    assert type(flag) is int
    assert flag == HTSLIB[name]


def test_compiled_flags_are_the_same():
    text = (Path(sam_flags.__file__).parents[1] / "_core" / "common.pxd").read_text()
    flags = re.search(r"cdef enum:\n((?:    \w+ = 0x\w+\n)+)", text)
    assert flags is not None
    compiled = {name: int(value, 16) for name, value in re.findall(r"(\w+) = (0x\w+)", flags[1])}
    assert compiled == {name: getattr(sam_flags, name) for name in HTSLIB}
