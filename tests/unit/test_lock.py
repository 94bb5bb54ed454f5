"""Compiled loops do not take the lock of the interpreter."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for top in ("ext", "index") for path in (ROOT / top).rglob("*.p[yx]x*"))


def blocks_with_lock(text):
    """The first line of every `with gil:` block."""
    return [line.strip() for line in re.findall(r"(?m)^ *with gil:\n(.*)", text)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_functions_without_lock_have_no_objects(path):
    """A function without the lock that has a variable for an object takes the lock at the end of every call.

    So it raises, or calls a function that has the lock all the time.
    """
    for line in blocks_with_lock(path.read_text()):
        assert not re.match(r"\w+ = |return\b", line), f"{path.name}: {line}"


def test_a_variable_is_seen():
    assert blocks_with_lock("    with gil:\n        name = text[:n]\n") == ["name = text[:n]"]
