"""What is public: names, the types that signatures name, their pages, and how objects look in a session."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import pysam
from numpy.typing import NDArray

import gassst
from gassst.reads.source import ReadSource, SourceOptions
from gassst.records.options import (
    OutputChoices,
    OutputOptions,
)
from gassst.runs.file_run import FileOptions, FileRun, RunOptions

API_PAGES = Path(__file__).parents[2] / "docs" / "api"
PUBLIC = {name: getattr(owner, name) for owner in (gassst, gassst.align) for name in owner.__all__}


def functions_of(owner: Any) -> list[Callable]:
    """The functions of a public class, with the getters of its properties."""
    members = [inspect.getattr_static(owner, name) for name in vars(owner) if not name.startswith("_")]
    found = [
        getattr(m, "fget", None) or getattr(m, "func", None) or getattr(m, "__func__", m) for m in members
    ]
    return [function for function in found if inspect.isfunction(function)]


def public_functions() -> list[Callable]:
    """Those of which the pages show all: not of the types of arguments, which are made and passed on."""
    classes = [gassst.Index, gassst.Mapper, gassst.Hit, gassst.HitArrays, gassst.Scoring, gassst.Stats]
    classes += [
        value for name in gassst.align.__all__ if inspect.isclass(value := getattr(gassst.align, name))
    ]
    of_classes = [function for owner in classes for function in functions_of(owner)]
    of_modules = [value for value in PUBLIC.values() if inspect.isfunction(value)]
    return [gassst.Mapper.__init__, gassst.Mapper.header_text, *of_classes, *of_modules]


def names_in(function: Callable) -> set[str]:
    """Names in the annotations of a function, which are texts."""
    texts = [str(text) for text in inspect.get_annotations(function).values()]
    return {node.id for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}


def is_public(name: str, value: Any) -> bool:
    if hasattr(builtins, name) or name in PUBLIC or name in ("np", "os", "NDArray", "ArrayLike"):
        return True
    package = str(getattr(value, "__module__", "")).partition(".")[0]
    others = (Any, Literal, NDArray)
    return (
        hasattr(pysam, name)
        or package in ("typing", "collections", "contextlib", "numpy")
        or any(value is one for one in (*others, *PUBLIC.values()))
        or "numpy.ndarray" in repr(value)
    )


def test_types_that_signatures_name_are_public():
    """What is neither of Python, NumPy nor pysam comes from `gassst` or `gassst.align`."""
    functions = public_functions()
    assert len(functions) > 50
    hidden = {
        f"{function.__qualname__}: {name}"
        for function in functions
        for name in names_in(function)
        if not is_public(name, function.__globals__.get(name))
    }
    assert not hidden


def test_public_types_have_their_place_on_the_pages():
    pages = "".join(page.read_text() for page in API_PAGES.glob("*.md"))
    shown = re.findall(r"^::: (\S+)", pages, re.MULTILINE)
    assert len(shown) == len(set(shown))
    assert {f"{module}.{attribute}" for module, attribute in gassst._LAZY.values()} <= set(shown)


def test_public_names_are_documented_and_there():
    assert all(getattr(gassst, name) is not None for name in gassst.__all__)
    assert all(name in gassst.__doc__ for name in gassst.__all__ if not name.startswith("_"))


def test_arguments_of_map_file_are_those_that_it_passes_on():
    """Each is written where it is taken, and once more in a `TypedDict` for type checkers, with the same type."""
    own = "threads", "read_groups", "meth"  # of the mapper, and of the header
    of_output = {f.name: f.type for f in fields(OutputOptions) if f.name not in own}
    assert OutputChoices.__annotations__ == of_output
    ours = "self", "mapper", "source", "output", "options", "watch", "neighbours"
    for kind, function, others in (
        (SourceOptions, ReadSource.of, ("reads", "mates", "threads", "meth")),
        (RunOptions, FileRun.__init__, ours),
    ):
        parameters = inspect.signature(function).parameters.items()
        assert kind.__annotations__ == {
            name: one.annotation for name, one in parameters if name not in others
        }
    shown = inspect.signature(gassst.Mapper.map_file).parameters
    assert shown.keys() == {"self", "reads", "output", "progress", "markdup", *FileOptions.__annotations__}
