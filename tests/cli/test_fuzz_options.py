"""A fixed part of what scripts/check/fuzz_options.py tries, and whether it would find anything."""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path

import fuzz_options
import pytest
from option_lines import actions_of, values_of
from random_reads import World

from gassst.cli import main as cli

COMMANDS = ("map", "insert", "gather", "index", "simulate", "evaluate", "align", "split", "report")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return World(tmp_path_factory.mktemp("options") / "world")


@pytest.mark.parametrize("first", (0, 8))
def test_first_cases(first, world):
    tally = Counter()
    seeds = range(first, first + 8)
    faults = {seed: fuzz_options.faults_of_case(seed, world, world.folder.parent, tally) for seed in seeds}
    assert not any(faults.values()), "\n".join(line for lines in faults.values() for line in lines)
    assert tally["exit 0"] > 12, tally


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_values(command):
    for name, action in actions_of(command).items():
        assert action.nargs == 0 or values_of(action), name


def forgetful(argv=None):
    """A command that forgets its last record where it has two threads."""
    code = cli._real(argv)
    if sys.argv[-2:] == ["-t", "2"]:
        lines = Path("out.sam").read_text().splitlines(keepends=True)
        Path("out.sam").write_text("".join(lines[:-1]))
    return code


def test_a_fault_is_found(world, monkeypatch):
    monkeypatch.setattr(cli, "_real", cli.main, raising=False)
    monkeypatch.setattr(cli, "main", forgetful)
    source = fuzz_options.source_of(random.Random(3), world, {"strata": ""})
    for more, expected in (([], 0), (["-t", "2"], 1)):
        shell = fuzz_options.Shell(world, world.folder.parent / "found" / str(expected), Counter())
        reads = source.put(random.Random(1), shell.folder, ["plain"])
        reference = f"../../world/{source.name}.gsi"
        assert shell.run("map", "--device", "none", reference, *reads, "-o", "out.sam", *more)
        shell.judged({}, source, "out.sam", "sam")
        assert len(shell.faults) == expected, shell.faults
