"""Loads pysam's htslib, which the compiled modules link. Import this before `_core.records` and `_core.alignment_text`.

These use structures of htslib, so pysam must be of the series that the build found. With another one, records could be
damaged without a word. pysam itself is not imported, as that would take a tenth of a short run.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
from importlib.machinery import EXTENSION_SUFFIXES, SourceFileLoader
from typing import Any

from gassst._core.build_facts import HTSLIB, HTSLIB_MODE, PYSAM
from gassst.errors import InstallationError
from gassst.frozen import NamedTuple


class Linked(NamedTuple):
    """pysam's version, its htslib's, and "builtin" where that htslib is part of pysam or "external" where not."""

    pysam: str
    htslib: str
    mode: str

    @property
    def series(self) -> tuple[int, ...]:
        """Versions that share it have the same structures: 0.24.0 and 0.24.1."""
        return _numbers(self.pysam)[:2]

    def __str__(self) -> str:
        return f"pysam {self.pysam} ({self.mode} htslib {self.htslib})"


def _numbers(version: str) -> tuple[int, ...]:
    """'1.23.1' -> (1, 23, 1); what follows the numbers is left out."""
    parts = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        parts.append(int(digits))
    return tuple(parts)


def check(built: Linked, found: Linked) -> None:
    """InstallationError where `found` is not what this gassst was `built` with.

    A later htslib of the same series is taken: htslib keeps its structures and adds functions.
    """
    if (
        built.series == found.series
        and built.mode == found.mode
        and _numbers(built.htslib) <= _numbers(found.htslib)
    ):
        return
    series = ".".join(map(str, built.series))
    raise InstallationError(
        f"gassst was built with {built}, but finds {found}: install pysam=={series}.*, or build gassst again"
    )


def _folder() -> str:
    """Where pysam is. Raises ModuleNotFoundError."""
    spec = importlib.util.find_spec("pysam")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'pysam'", name="pysam")
    return spec.submodule_search_locations[0]


def _found(folder: str) -> Linked:
    """What the pysam of this folder says of itself."""
    facts: dict[str, Any] = {}
    for name in ("version", "config"):
        exec(SourceFileLoader(name, os.path.join(folder, f"{name}.py")).get_code(name) or "", facts)
    return Linked(facts["__version__"], facts["__htslib_version__"], facts["HTSLIB"])


def _library(folder: str) -> ctypes.CDLL:
    """htslib, so loaded that the compiled modules find it by its name, wherever pysam is.

    That takes a module that links it: the system forgets the name of a file that is loaded by its path. This one
    links nothing else of pysam.
    """
    files = (os.path.join(folder, f"libcsamtools{suffix}") for suffix in EXTENSION_SUFFIXES)
    return ctypes.CDLL(next(filter(os.path.exists, files)))


check(Linked(PYSAM, HTSLIB, HTSLIB_MODE), _found(_folder()))
LIBRARY = _library(_folder())
