"""What a release is built from does not change by itself, and its wheels name the pysam that they run with."""

from __future__ import annotations

import re
import runpy
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from gassst._core.build_facts import PYSAM
from gassst.cli.main import main
from gassst.version import __version__

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
BUILDS = [*WORKFLOWS, ROOT / ".ci" / "run"]
PACKAGING = ROOT / "scripts" / "packaging"
CONSTRAINTS = [PACKAGING / "constraints.txt", PACKAGING / "build-constraints.txt"]


def pinned(path: Path) -> dict[str, str]:
    """The versions that a file of constraints has."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return dict(line.split("==") for line in lines)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_to_commits(path):
    actions = re.findall(r"uses: (.*)", path.read_text())
    assert actions
    assert [action for action in actions if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", action)] == []


@pytest.mark.parametrize("path", CONSTRAINTS, ids=lambda path: path.name)
def test_constraints_name_one_version_each(path):
    assert all(re.fullmatch(r"[\d.]+", version) for version in pinned(path).values())


def test_tools_are_pinned():
    text = "\n".join(path.read_text() for path in BUILDS)
    installs = re.findall(r"pip install (?:--quiet )?(.*)", text)
    tools = [install for install in installs if "wheelhouse" not in install]
    assert len(tools) > 2
    for install in tools:
        file, *names = install.removeprefix("-c ").split()
        assert set(names) <= pinned(ROOT / file).keys()


def test_every_change_is_checked_and_tested_on_two_more_systems():
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    events, jobs = workflow[True], workflow["jobs"]  # "on" is a boolean of YAML 1.1
    assert "pull_request" in events and events["push"] == {"branches": ["main"]}
    steps = {name: [step.get("run", "") for step in job["steps"]] for name, job in jobs.items()}
    assert ".ci/run" in steps["run"] and "make test" in steps["test"]
    assert {each["os"] for each in jobs["test"]["strategy"]["matrix"]["include"]} == {
        "macos-14",
        "ubuntu-24.04-arm",
    }
    assert any("scripts/check/commits.py" in step for step in steps["commits"])


def test_tests_pass_before_anything_is_published():
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "wheels.yml").read_text())["jobs"]
    assert set(jobs["publish"]["needs"]) == jobs.keys() - {"publish"}
    assert "make test" in [step.get("run") for step in jobs["test"]["steps"]]


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


def test_what_is_installed_needs_the_series_of_pysam_it_was_built_with():
    installed = [found for found in metadata.distributions(name="gassst") if found.read_text("WHEEL")]
    if not installed:
        pytest.skip("not installed as a wheel")
    [needed] = [name for name in installed[0].requires if name.startswith("pysam")]
    assert f"=={'.'.join(PYSAM.split('.')[:2])}.*" in needed


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
