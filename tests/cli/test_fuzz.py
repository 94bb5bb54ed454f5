"""A fixed part of what scripts/check/fuzz.py tries, all that it ever found, and whether it would find anything."""

from __future__ import annotations

import json
from pathlib import Path

import fuzz
import pytest

from gassst.cli import main as cli
from gassst.files import destination

FOUND = sorted((Path(__file__).parents[1] / "data" / "fuzz").glob("*.json"))
CASES = dict.fromkeys(fuzz.LINES, 4) | {"stats": 2, "dask": 1}  # a report or a cluster takes a second


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
