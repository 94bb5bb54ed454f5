"""Imports point in one direction, without a circle (the layers are in pyproject.toml)."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
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


def test_compiled_modules_know_words_and_errors_alone():
    """The linter does not read Cython: what a `.pyx` or `.pxi` imports at run time lies below every room."""
    sources = [path for folder in ("ext", "index") for path in (ROOT / folder).rglob("*.p[xy][ix]")]
    assert len(sources) > 30
    imported = re.compile(r"^\s*(?:from|import) (gassst\.\w+)", re.MULTILINE)
    found = {(path.name, name) for path in sources for name in imported.findall(path.read_text())}
    known = {"gassst._core", "gassst.errors", "gassst.model"}
    assert {(path, name) for path, name in found if name not in known} == set()
    assert {name for _, name in found} == known


def test_rooms_of_dynamic_programmes_are_not_imported_at_start():
    """Neither the package, nor the mapper, nor a command line that does not name them needs them."""
    program = (
        "import sys, gassst, gassst.api, gassst.runs\n"
        "from gassst.cli import main, map\n"
        "from gassst.cli.parser import build_parser\n"
        "gassst.Mapper, gassst.FileOptions, build_parser('map')\n"
        "print(*sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    rooms = {f"gassst.{room}" for room in ("align", "fold", "hmm", "semiring")}
    compiled = {f"gassst._core.{name}" for name in ("pairwise", "problems")}
    assert "gassst.mapping" in loaded
    assert loaded & (rooms | compiled) == set()


def test_a_class_name_means_one_thing():
    classes = Counter(
        node.name
        for path in (ROOT / "gassst").rglob("*.py*")
        if path.suffix in (".py", ".pyi")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert max(classes.values()) == 1, classes.most_common(3)
