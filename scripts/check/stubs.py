"""Whether the stubs of the compiled modules (`gassst/_core/*.pyi`) say what these contain. `make lint` runs it.

What Python cannot tell is left out: signatures of `__cinit__`, buffers before Python 3.12, and names that are there for
type checkers alone.
"""

from __future__ import annotations

import sys
import tempfile

from mypy import stubtest

import gassst.files.htslib  # noqa: F401 - modules that link its htslib cannot be imported before it

UNKNOWN_AT_RUNTIME = r"gassst\._core\..*\.(__init__|__buffer__)", r"gassst\._core\.records\.(Bytes|Reads)"


def main() -> int:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as allowed:
        allowed.write("\n".join(UNKNOWN_AT_RUNTIME))
        allowed.flush()
        known = [
            "--mypy-config-file", "pyproject.toml", "--allowlist", allowed.name, "--ignore-unused-allowlist",
        ]  # fmt: skip
        options = ["--concise", "--ignore-missing-stub", "--ignore-disjoint-bases"]
        return stubtest.test_stubs(stubtest.parse_options(["gassst._core", *known, *options]))


if __name__ == "__main__":
    sys.exit(main())
