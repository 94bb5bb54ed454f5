"""The constants agree with htslib's, and stay plain integers."""

import re
from pathlib import Path

import pysam
import pytest

from gassst.model import sam_flags

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
