"""Loads pysam, whose htslib the compiled modules link. Import this before `_core.records` and `_core.alignment_text`.

These use structures of htslib and of pysam's own modules. So pysam must be of the series that the build found: with
another one, records could be damaged without a word.
"""

from __future__ import annotations

from typing import NamedTuple

from pysam import config
from pysam.version import __htslib_version__, __version__

from gassst._core.build_facts import HTSLIB, HTSLIB_MODE, PYSAM
from gassst.errors import InstallationError


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


check(
    Linked(PYSAM, HTSLIB, HTSLIB_MODE),
    Linked(__version__, __htslib_version__, config.HTSLIB),
)
