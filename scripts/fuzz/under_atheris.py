"""Hands one target of this folder to atheris: its name, then options and folders of libFuzzer."""

import importlib
import sys
import tempfile
from pathlib import Path

import atheris

import gassst.io.htslib  # noqa: F401 - before the compiled modules that link its htslib


def main() -> None:
    name = sys.argv.pop(1)
    with atheris.instrument_imports(include=["gassst", name]):
        target = importlib.import_module(name)
    with tempfile.TemporaryDirectory(prefix="gassst-fuzz-") as folder:
        atheris.Setup(sys.argv, lambda data: target.one(data, Path(folder)), internal_libfuzzer=False)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
