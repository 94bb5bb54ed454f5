"""Hands one target of this folder to atheris: its name, then options and folders of libFuzzer."""

import importlib
import sys
import tempfile
from pathlib import Path

import atheris

import gassst.files.htslib  # noqa: F401 - before the compiled modules that link its htslib


def fuzz(name: str) -> None:
    """Until libFuzzer ends the process; its arguments are those of the process."""
    with atheris.instrument_imports(include=["gassst", name]):
        target = importlib.import_module(name)
    with tempfile.TemporaryDirectory(prefix="gassst-fuzz-") as folder:

        def one(data: bytes) -> None:
            target.one(data, Path(folder))

        atheris.Setup(sys.argv, one, internal_libfuzzer=False)
        atheris.Fuzz()


if __name__ == "__main__":
    fuzz(sys.argv.pop(1))
