"""The benchmark scripts on a tiny genome: they run, and their counts are those of independent reckoning."""

from __future__ import annotations

import importlib

import pytest
from places import SCRIPTS


@pytest.fixture(scope="module")
def script():
    """Imports a script by name."""
    return importlib.import_module


@pytest.mark.parametrize("name", sorted(path.stem for path in (SCRIPTS / "bench").glob("*.py")))
def test_every_script_finds_what_it_imports(script, name):
    """Nobody checks the types of scripts: a class of the package that has another name is missed here."""
    script(name)
