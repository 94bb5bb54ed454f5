"""Layouts and rules that several modules share agree."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import core_budget
import numpy as np
import pysam
import pytest

import gassst.api.mapper  # registers all rules
from gassst.model import layouts, rules, sam_flags
from gassst.model.rules import PURPOSES, VARIABLE

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


assert gassst.api.mapper


MAP = """
import json, sys
from gassst.cli.main import main
for argv in json.loads(sys.argv[1]):
    if code := main(["map", "-q", "-t", "1", "--device", "none", *argv]):
        sys.exit(code)
"""


def mapped(without, *runs):
    """Runs of `gassst map` in a process without rules: they are left out as modules are imported."""
    command = [sys.executable, "-c", MAP, json.dumps([[*map(str, argv)] for argv in runs])]
    environment = {**os.environ, VARIABLE: without}
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_the_sources_and_the_table_name_the_rules_that_are_registered():
    assert core_budget.counted().rules == PURPOSES.keys()
    assert {one.rule for one in core_budget.mechanisms() if one.rule} == PURPOSES.keys()


@pytest.mark.parametrize("name", sorted(PURPOSES))
def test_reads_map_without_a_rule(small_index, small_fastq, tmp_path, name):
    """As single reads and as pairs: every read has its records, and they are sound."""
    other = tmp_path / "other.fq.gz"
    shutil.copy(small_fastq, other)
    inputs = {tmp_path / "1.bam": [small_fastq], tmp_path / "2.bam": [small_fastq, other]}
    done = mapped(name, *([small_index, *files, "-o", output] for output, files in inputs.items()))
    assert (done.returncode, done.stderr) == (0, "")
    for output, files in inputs.items():
        with pysam.AlignmentFile(output, check_sq=False) as file:
            primary = [record for record in file if not record.flag & 0x900]
        with pysam.FastxFile(str(files[0])) as reads:
            assert len(primary) == len(files) * sum(1 for _ in reads)
        assert sum(not record.is_unmapped for record in primary) > len(primary) / 2


def test_a_name_that_no_rule_has_is_an_error(small_index, small_fastq, tmp_path):
    done = mapped("dense-seeds,no-such-rule", [small_index, small_fastq, "-o", tmp_path / "out.sam"])
    assert done.returncode == 2 and not (tmp_path / "out.sam").exists()
    assert len(done.stderr.splitlines()) == 1 and "'no-such-rule'" in done.stderr


def test_two_rules_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two rules"):
        rules.rule("dense-seeds", "Does another thing.")
