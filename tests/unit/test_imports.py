"""Imports point in one direction, without a circle (the layers are in pyproject.toml)."""

from __future__ import annotations

import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]


def test_imports_point_down_the_layers():
    """In a process of its own: the linter's set-up of logging would silence the package's log for all later tests."""
    program = "from importlinter.cli import lint_imports_command as lint; lint()"
    options = ["--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    done = subprocess.run([sys.executable, "-c", program, *options], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_module_imports_itself_in_a_circle():
    """Imports for type checkers count, too: a circle of types is a circle of knowledge."""
    graph = grimp.build_graph("gassst", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))
