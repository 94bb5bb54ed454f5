"""What a release is built from does not change by itself, and its wheels name the pysam that they run with."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

import pytest

from gassst._core.build_facts import PYSAM

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
BUILDS = [*WORKFLOWS, ROOT / ".ci" / "run"]
PACKAGING = ROOT / "scripts" / "packaging"
CONSTRAINTS = [PACKAGING / "constraints.txt", PACKAGING / "build-constraints.txt"]
WIDE, NARROW = "Requires-Dist: pysam<0.25,>=0.22\n", "Requires-Dist: pysam==0.24.*,>=0.24.1\n"


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


@pytest.mark.parametrize("path", BUILDS, ids=lambda path: path.name)
def test_tools_are_pinned(path):
    installs = re.findall(r"pip install (?:--quiet )?(.*)", path.read_text())
    tools = [install for install in installs if "wheelhouse" not in install]
    assert tools
    for install in tools:
        file, *names = install.removeprefix("-c ").split()
        assert set(names) <= pinned(ROOT / file).keys()


def test_wheels_are_built_with_pinned_packages():
    text = (ROOT / "pyproject.toml").read_text()
    tables = re.findall(r"^environment = (.*)", text, re.MULTILINE)
    constraint = f'PIP_CONSTRAINT = "{CONSTRAINTS[1].relative_to(ROOT)}"'
    assert len(tables) == 2 and all(constraint in table for table in tables)


def test_tests_pass_before_anything_is_published():
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "wheels.yml").read_text())["jobs"]
    assert set(jobs["publish"]["needs"]) == jobs.keys() - {"publish"}
    assert "make test" in [step.get("run") for step in jobs["test"]["steps"]]


def test_what_is_installed_needs_the_series_of_pysam_it_was_built_with():
    installed = [found for found in metadata.distributions(name="gassst") if found.read_text("WHEEL")]
    if not installed:
        pytest.skip("not installed as a wheel")
    [needed] = [name for name in installed[0].requires if name.startswith("pysam")]
    assert f"=={'.'.join(PYSAM.split('.')[:2])}.*" in needed


def test_a_wheel_that_takes_several_series_is_found(monkeypatch):
    monkeypatch.syspath_prepend(PACKAGING)
    monkeypatch.delitem(sys.modules, "check_wheel", raising=False)
    from check_wheel import names_one_series

    assert names_one_series(NARROW) and not names_one_series(WIDE)
