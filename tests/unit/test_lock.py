"""Compiled loops do not take the lock of the interpreter."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for top in ("ext", "index") for path in (ROOT / top).rglob("*.p[yx]x*"))


def lines_with_lock(text):
    """The lines of every `with gil:` block."""
    blocks = re.findall(r"(?m)^( *)with gil:\n((?:\1 +.*\n)*)", text)
    return [line.strip() for _, lines in blocks for line in lines.splitlines()]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_functions_without_lock_have_no_objects(path):
    """A function without the lock that has a variable for an object takes the lock at the end of every call.

    So it raises, or calls a function that has the lock all the time.
    """
    for line in lines_with_lock(path.read_text()):
        assert not re.match(r"\w+ = |return (?!self\.\w+\()", line), f"{path.name}: {line}"


def test_a_variable_is_seen():
    text = "  with gil:\n    if n:\n      name = text[:n]\n  n = 1\n"
    assert lines_with_lock(text) == ["if n:", "name = text[:n]"]
