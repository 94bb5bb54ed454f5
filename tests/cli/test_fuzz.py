"""The fuzzers find what is wrong, and nothing in the first cases; what they once found stays mended."""

from __future__ import annotations

import importlib
import json
import random
import subprocess
import sys
import sysconfig
from collections import Counter
from pathlib import Path

import drive
import fuzz
import fuzz_options
import pytest
from option_lines import actions_of, values_of
from random_reads import World

from gassst.cli import main as cli
from gassst.files import destination

FOUND = sorted((Path(__file__).parents[1] / "data" / "fuzz").glob("*.json"))
CASES = dict.fromkeys(fuzz.LINES, 2) | {"stats": 1, "dask": 1}  # a report or a cluster takes a second


@pytest.fixture(scope="module")
def place():
    """The world, and a folder for runs."""
    with fuzz.working_folder() as (world, folder):
        yield world, folder


@pytest.mark.parametrize("kind", fuzz.LINES)
def test_first_cases(kind, place):
    world, folder = place
    faults = {
        seed: fuzz.verdict(fuzz.case_of(kind, seed, world), world, folder) for seed in range(CASES[kind])
    }
    assert not any(faults.values()), faults


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_was_found_once(path, place):
    assert fuzz.verdict(fuzz.Case.from_json(json.loads(path.read_text())), *place) == ""


def bad_exit(argv=None):
    return 7


def bug(argv=None):
    raise ZeroDivisionError


def no_word(argv=None):
    return 1


def half_file(argv=None):
    Path("out.sam").write_text("half")
    return cli._real(["map", "missing", "missing"])


def hidden_file(argv=None):
    destination.Scratch.remove = lambda scratch: None
    return cli._real(argv)


FAULTS = {
    bad_exit: "exit code 7",
    bug: "traceback: ZeroDivisionError",
    no_word: "0 lines of an error",
    half_file: "exit code 1, but there are outputs",
    hidden_file: "left behind",
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_the_fuzzer_finds(fault, place, monkeypatch):
    monkeypatch.setattr(cli, "_real", cli.main, raising=False)
    monkeypatch.setattr(cli, "main", fault)
    case = fuzz.Case(["map", "-q", "--device", "none", "ref.gsi", "reads.fq", "-o", "out.sam"])
    assert fuzz.verdict(case, *place).startswith(FAULTS[fault])


COMMANDS = ("map", "insert", "gather", "index", "simulate", "evaluate", "align", "split", "report")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return World(tmp_path_factory.mktemp("options") / "world")


def test_first_lines_of_options(world):
    tally, seeds = Counter(), range(8)
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


def test_a_fault_of_an_option_is_found(world, monkeypatch):
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


TARGETS = drive.targets()
IN_PYTHON = [drive.stem(target) for target in TARGETS if target.endswith(".py")]
IN_C = [target for target in TARGETS if target.endswith(".c")]


def corpus(name):
    return sorted((drive.CORPUS / name).iterdir())


@pytest.mark.parametrize("name", IN_PYTHON)
def test_python_target(name, tmp_path):
    target = importlib.import_module(name)
    taken = [target.one(path.read_bytes(), tmp_path) for path in corpus(name)]
    assert any(taken), (
        "all inputs are refused at once: the format has changed, and the corpus must be made again"
    )


@pytest.mark.parametrize("target", IN_C)
def test_c_target(target, tmp_path):
    compiler = (sysconfig.get_config_var("CC") or "cc").split()
    main = str(drive.FOLDER / "replay.c")
    try:
        program = drive.compiled(target, main, *drive.SANITIZERS, compiler=compiler, folder=tmp_path)
    except subprocess.CalledProcessError:  # it has no sanitizers
        program = drive.compiled(target, main, compiler=compiler, folder=tmp_path)
    subprocess.run([program, *corpus(drive.stem(target))], check=True)
