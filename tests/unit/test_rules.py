"""Optional rules of the core: each can be switched off, and a name that no rule has is an error."""

import json
import os
import shutil
import subprocess
import sys

import core_budget
import pysam
import pytest

import gassst.api.mapper  # registers all rules
from gassst.model import rules
from gassst.model.rules import PURPOSES, VARIABLE

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
