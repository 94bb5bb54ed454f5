"""What a build lacks is said in a line, before the compiler says it in forty."""

import os
import runpy
import sys
import sysconfig
from pathlib import Path

import pytest

PACKAGING = Path(__file__).parents[2] / "scripts" / "packaging"


@pytest.fixture(scope="module")
def missing():
    return runpy.run_path(str(PACKAGING / "needs.py"))["missing"]


@pytest.fixture(scope="module")
def why_failed():
    return runpy.run_path(str(PACKAGING / "install.py"))["why_failed"]


@pytest.mark.parametrize("where", ["folder", "CPATH", "C_INCLUDE_PATH"])
def test_headers_of_python(missing, tmp_path, where):
    none, some = tmp_path / "none", tmp_path / "some"
    some.mkdir()
    (some / "Python.h").touch()
    assert "`apt install python3-dev`" in missing(
        sys.executable, [str(none)], {"CPATH": f"{none}{os.pathsep}"}
    )
    if where == "folder":
        assert missing(sys.executable, [str(none), str(some)], {}) == ""
    else:
        assert missing(sys.executable, [], {where: f"{none}{os.pathsep}{some}"}) == ""


def test_compiler(missing, tmp_path):
    folders = [sysconfig.get_paths()["include"]]
    said = missing(str(tmp_path / "no-cc"), folders, {})
    assert said.startswith("there is no C compiler (") and "`apt install gcc`" in said


def test_an_installation_ends_with_what_is_missing(why_failed):
    log = "\n".join(["  gassst: error: Python.h is missing: install", *map(str, range(50)), "× failed"])
    assert why_failed(log) == []  # it was shown as it came
    assert why_failed("\n".join(map(str, range(50)))) == [str(i) for i in range(10, 50)]
