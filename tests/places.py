"""Where the tests find the tree, their data and the scripts; and how a child process finds the package."""

import os
from pathlib import Path

import gassst

TESTS = Path(__file__).parent
ROOT = TESTS.parent
DATA = TESTS / "data"
SCRIPTS = ROOT / "scripts"


def environment() -> dict[str, str]:
    """The environment for a child process that imports the same package as this one, and the tests' helpers."""
    package = str(Path(gassst.__file__).parents[1])
    paths = [package, str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
