"""THIRD-PARTY.md has every dependency, with its licence as the package itself states it."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Licences under which a program with the licence Apache-2.0 may import, link, or be built or tested with a library.
COMPATIBLE = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "MIT-CMU", "MPL-2.0",
    "PSF-2.0", "LicenseRef-Biopython-License-Agreement", "Zlib",
    "LicenseRef-Intel-EULA-Developer-Tools", "LicenseRef-Intel-Simplified",  # of a driver, which nothing links
}  # fmt: skip
ROWS = dict(re.findall(r"^\| ([\w.-]+) \| ([^|]+) \|", (ROOT / "THIRD-PARTY.md").read_text(), re.MULTILINE))
LICENCES = {name: licence for name, licence in ROWS.items() if name not in {"package", "---"}}


def normal(requirement: str) -> str:
    """The name of a requirement, as in the table."""
    return re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-")


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = project["project"].get("optional-dependencies", {}).values()
    named = [*project["build-system"]["requires"], *metadata.requires("gassst"), *sum(groups, [])]
    for folder in ("tests", "docs"):
        named += (ROOT / folder / "requirements.txt").read_text().split()
    return set(map(normal, named))


def needed_by(name: str) -> set[str]:
    """What an installed package needs where it runs here, without extras."""
    found = set()
    for requirement in metadata.requires(name) or []:
        text, _, marker = requirement.partition(";")
        if "extra" not in marker and "python_version" not in marker and "sys_platform" not in marker:
            found.add(normal(text))
    return found


def test_every_declared_dependency_has_a_row():
    assert declared() <= LICENCES.keys()


def test_what_run_time_dependencies_need_has_a_row():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    named = [*extras["dask"], *extras["opencl"], *extras["report"]]
    todo, seen = [*needed_by("gassst"), *map(normal, named)], set()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            try:
                todo += needed_by(name)
            except metadata.PackageNotFoundError:  # not needed on this platform
                continue
    assert seen <= LICENCES.keys()


@pytest.mark.parametrize("name", LICENCES)
def test_the_licence_is_compatible_and_that_of_the_package(name):
    assert set(re.split(r" OR ", LICENCES[name].strip())) & COMPATIBLE
    try:
        stated = metadata.metadata(name).get("License-Expression")
    except metadata.PackageNotFoundError:
        pytest.skip("not installed")
    if stated is not None:  # of several parts the first is that of the package itself
        assert LICENCES[name].strip() in (stated, stated.split(" AND ")[0])
