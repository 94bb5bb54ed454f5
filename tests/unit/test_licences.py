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


def test_every_declared_dependency_has_a_row():
    assert declared() <= LICENCES.keys()


@pytest.mark.parametrize("name", LICENCES)
def test_the_licence_is_compatible_and_that_of_the_package(name):
    assert set(re.split(r" OR ", LICENCES[name].strip())) & COMPATIBLE
    try:
        stated = metadata.metadata(name).get("License-Expression")
    except metadata.PackageNotFoundError:
        pytest.skip("not installed")
    if stated is not None:  # of several parts the first is that of the package itself
        assert LICENCES[name].strip() in (stated, stated.split(" AND ")[0])
