"""Imports point in one direction, without a circle (the layers are in pyproject.toml)."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).parents[2]


def test_imports_point_down_the_layers(capsys):
    code = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert code == 0, capsys.readouterr().out


def test_no_module_imports_itself_in_a_circle():
    """Imports for type checkers count, too: a circle of types is a circle of knowledge."""
    graph = grimp.build_graph("gassst", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))
