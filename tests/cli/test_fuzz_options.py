"""A fixed part of what scripts/check/fuzz_options.py tries, and whether it would find anything."""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import fuzz_options
import pytest
from option_lines import actions_of, values_of
from random_reads import World, random_reads
from record_oracle import Run, faults_of_file

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


@pytest.fixture(scope="module")
def pairs(world):
    """A run on pairs: the path of its SAM, and what it was given."""
    rng, folder = random.Random(5), world.folder.parent / "pairs"
    folder.mkdir()
    genome = world.genomes["phix"]
    source = fuzz_options.Source(random_reads(rng, genome, 60, 1), "phix", world, ["plain"])
    names = [str(folder / name) for [name] in source.put_lanes(folder, "plain", 1)]
    path = folder / "out.sam"
    reference = str(world.folder / "phix.gsi")
    assert cli.main(["map", "--device", "none", reference, *names, "-o", str(path), "-q"]) == 0
    return SimpleNamespace(
        text=path.read_text(),
        folder=folder,
        run=Run(genome, source.reads, {}, "sam"),
        fasta=world.folder / "phix.fa",
    )


def faults_of(pairs, text, **given):
    path = pairs.folder / "changed.sam"
    path.write_text(text)
    run = Run(pairs.run.genome, pairs.run.reads, given, "sam")
    return list(faults_of_file(path, run, pairs.fasta))


PROPER = r"^(\S+\t)(99|163)(\t\S+\t)(\d+)(\t\d+\t)(\d+M)(\t=\t)(\d+)(\t)(\d+)(\t)(\S+)(\t)(\S+)(.*)$"


@pytest.mark.parametrize(
    "group, other, expected",
    [
        (2, lambda old: str(int(old) ^ 2), "proper"), (2, lambda old: str(int(old) | 1024), "flag"),
        (2, lambda old: str(int(old) ^ 32), "flags of the mate"), (4, lambda old: str(int(old) + 1), "NM|MD"),
        (6, lambda old: "9M1I9M", "cannot be read"), (8, lambda old: str(int(old) + 1), "PNEXT"),
        (10, lambda old: str(int(old) + 1), "TLEN"), (12, lambda old: old[1:] + old[0], "SEQ"),
        (14, lambda old: old[:-1] + "~", "qualities"),
        (15, lambda old: re.sub(r"NM:i:\d+", "NM:i:77", old), "NM 77"),
        (15, lambda old: re.sub(r"MD:Z:\w+", "MD:Z:1", old), "MD 1,"),
        (15, lambda old: re.sub(r"AS:i:\d+", "AS:i:7", old), "AS 7,"),
        (15, lambda old: re.sub(r"MC:Z:\w+", "MC:Z:7M", old), "MC"),
        (15, lambda old: re.sub(r"MQ:i:\d+", "MQ:i:7", old), "MQ"),
    ],
)  # fmt: skip
def test_the_oracle_finds(group, other, expected, pairs):
    assert not faults_of(pairs, pairs.text)
    match = re.search(PROPER, pairs.text, re.M)
    changed = pairs.text[: match.start(group)] + other(match[group]) + pairs.text[match.end(group) :]
    assert any(re.search(expected, fault) for fault in faults_of(pairs, changed))


def test_the_oracle_finds_what_files_lack(pairs):
    lines = pairs.text.splitlines(keepends=True)
    swapped = [*lines[:-3], lines[-1], lines[-3], lines[-2]]
    for text, expected in {
        "".join(lines[:-1]): "no primary record",
        "".join([*lines, lines[-1]]): "two primary",
        "".join(swapped): "order",
        pairs.text[:-200]: "read|primary",
    }.items():
        assert any(re.search(expected, fault) for fault in faults_of(pairs, text)), expected
    assert any("SO:" in fault for fault in faults_of(pairs, pairs.text, sort=""))
