"""`gassst --version`: this version, and what of others decides about results and speed."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from gassst.version import __version__


class PrintVersion(argparse.Action):
    """Prints the versions and exits; nothing is imported before it is asked for."""

    def __init__(self, option_strings: list[str], dest: str, help: str | None = None):
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help=help, default=argparse.SUPPRESS)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(describe_versions())
        parser.exit()


def describe_versions() -> str:
    """A line each. What cannot be loaded says why: a bug report often begins here."""
    import platform  # 2 ms that other commands need not spend, and 10
    from importlib import metadata

    def installed(package: str) -> str:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            return "not installed"

    return "\n".join(
        [
            f"gassst {__version__}",
            f"Python {platform.python_version()}, NumPy {installed('numpy')}",
            f"pysam {_or_reason(_pysam)}",
            f"pyopencl {installed('pyopencl')}",
            f"CPU code path: {_or_reason(_instruction_set)}",
        ]
    )


def _or_reason(text: Callable[[], str]) -> str:
    try:
        return text()
    except ImportError as error:
        return f"not usable: {error}"


def _pysam() -> str:
    from pysam.version import __htslib_version__, __version__

    return f"{__version__} with htslib {__htslib_version__}"


def _instruction_set() -> str:
    from gassst._core.stages import instruction_sets

    best, *_ = instruction_sets()
    return str(best)
