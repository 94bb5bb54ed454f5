"""What a release is built from does not change by itself, and its wheels name the pysam that they run with."""

from __future__ import annotations

import re
import runpy
import subprocess
import tomllib
from pathlib import Path

import pytest

from gassst.cli.main import main
from gassst.version import __version__

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "scripts" / "packaging"


def test_the_same_pythons_are_declared_tested_and_built():
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "wheels.yml").read_text())["jobs"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    classified = re.findall(r"Python :: (3\.\d+)", " ".join(project["project"]["classifiers"]))
    assert jobs["test"]["strategy"]["matrix"]["python"] == classified
    assert project["tool"]["cibuildwheel"]["build"] == [
        f"cp{python.replace('.', '')}-*" for python in classified
    ]
    assert project["project"]["requires-python"] == f">={classified[0]}"
    assert project["tool"]["ruff"]["target-version"] == f"py{classified[0].replace('.', '')}"
    image = (PACKAGING / "Dockerfile").read_text()
    assert re.findall(r"^ARG PYTHON=(.*)", image, re.MULTILINE)[0] in classified


# --- one version, and where the project is --------------------------------------------------------------------


def test_one_version_everywhere(tmp_path, small_index, small_fastq, capfd):
    """What --version prints, what records say, and what the changelog calls this."""
    assert main(["--version"]) == 0
    assert capfd.readouterr().out.splitlines()[0] == f"gassst {__version__}"
    path = tmp_path / "out.sam"
    assert main(["map", "-q", "--device", "none", str(small_index), str(small_fastq), "-o", str(path)]) == 0
    [program] = [line.split("\t") for line in path.read_text().splitlines() if line.startswith("@PG\t")]
    assert f"VN:{__version__}" in program
    latest, *released = re.findall(r"^## \[(.*?)\]", (ROOT / "CHANGES.md").read_text(), re.MULTILINE)
    if ".dev" in __version__:  # on the way to a version that is not there yet
        assert latest == "Unreleased"
        assert as_numbers(__version__.partition(".dev")[0]) > max(map(as_numbers, released))
    else:
        assert latest == __version__


def as_numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def test_a_checkout_on_the_way_to_a_release_names_its_commit(tmp_path):
    """On a branch, with packed references, and at no branch; a copy without git, or a release, names none."""
    source = tmp_path / "gassst" / "version.py"
    source.parent.mkdir()
    text = re.sub(
        '__version__ = ".*"', '__version__ = "9.9.9.dev0"', (ROOT / "gassst/version.py").read_text()
    )
    source.write_text(text)

    def git(*words: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=b"]
        done = subprocess.run(
            ["git", *identity, *words], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def version() -> str:
        return runpy.run_path(str(source))["__version__"]

    assert version() == "9.9.9.dev0"
    git("init", "-q")
    assert version() == "9.9.9.dev0"
    git("add", "gassst/version.py")
    git("commit", "-qm", "One")
    expected = f"9.9.9.dev0+g{git('rev-parse', 'HEAD')[:7]}"
    assert version() == expected
    git("pack-refs", "--all")
    assert version() == expected
    git("checkout", "-q", "--detach")
    assert version() == expected
    source.write_text(text.replace("9.9.9.dev0", "9.9.9"))
    assert version() == "9.9.9"
