"""Line coverage of the package by its tests: of the Python modules by coverage.py, of the compiled ones by gcov.

Builds an instrumented copy of a tree, runs its tests there and prints a table: lines that can run, and those that did.

    python scripts/check/line_coverage.py                    # this tree
    python scripts/check/line_coverage.py --tree ../v0.1.0   # another one, for comparison
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "*.so", "__pycache__", ".hypothesis", ".*_cache"
)
COMPILED = "ext", "index", "gassst"  # where .pyx, .pxi, .pxd and .h files lie

# setup.py as it is, but for C whose lines are those of the .pyx files.
BUILD = """
import runpy
import Cython.Build

def cythonize(*args, **options):
    return real(*args, **{**options, "emit_linenums": True})

real, Cython.Build.cythonize = Cython.Build.cythonize, cythonize
runpy.run_path("setup.py", run_name="__main__")
"""


def run(command: Sequence[str | Path], work: Path, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run([*map(str, command)], cwd=work, env={**os.environ, **environment})


def build(work: Path) -> None:
    flags = {"CFLAGS": "--coverage", "LDFLAGS": "--coverage"}
    done = run([sys.executable, "-c", BUILD, "-q", "build_ext", "--inplace"], work, **flags)
    if done.returncode:
        sys.exit("coverage: the instrumented copy does not build")


def run_tests(work: Path, tests: Sequence[str]) -> None:
    """All processes are measured, those of pytest-xdist and those that tests start: each reads sitecustomize.py."""
    hook, config = work / "build" / "hook", work / "build" / "coveragerc"
    hook.mkdir(parents=True, exist_ok=True)
    (hook / "sitecustomize.py").write_text("import coverage\ncoverage.process_startup()\n")
    data = work / "build" / "coverage"
    config.write_text(
        f"[run]\nparallel = true\nsource = gassst\ndata_file = {data}\n[report]\nprecision = 1\n"
    )
    paths = os.pathsep.join([str(work), str(hook)])
    environment = {"PYTHONPATH": paths, "COVERAGE_PROCESS_START": str(config), "COVERAGE_RCFILE": str(config)}
    done = run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *tests], work, **environment)
    if done.returncode:
        print("coverage: tests failed; the figures are of what ran", file=sys.stderr)
    run([sys.executable, "-m", "coverage", "combine", "--quiet"], work, **environment)
    run([sys.executable, "-m", "coverage", "report"], work, **environment)


def compiled_lines(work: Path) -> dict[str, dict[int, int]]:
    """Source file -> line -> how often it ran, in whichever module it ran most."""
    lines: dict[str, dict[int, int]] = defaultdict(dict)
    for notes in sorted(work.glob("build/**/*.gcno")):
        done = subprocess.run(
            ["gcov", "--json-format", "--stdout", str(notes)], cwd=work, capture_output=True, text=True
        )
        for text in filter(None, done.stdout.splitlines()):
            for file in json.loads(text)["files"]:
                path = Path(file["file"])
                name = str(path.relative_to(work)) if path.is_relative_to(work) else str(path)
                if path.suffix == ".c" or name.startswith("/") or name.split("/")[0] not in COMPILED:
                    continue
                for line in file["lines"]:
                    number = line["line_number"]
                    lines[name][number] = max(lines[name].get(number, 0), line["count"])
    return lines


def print_compiled(lines: dict[str, dict[int, int]]) -> None:
    rows = [(name, len(found), sum(map(bool, found.values()))) for name, found in sorted(lines.items())]
    rows.append(("compiled, in all", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    for name, total, ran in rows:
        print(f"{name:<44}{total:>7}{total - ran:>7}{100 * ran / max(1, total):>8.1f}%")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tree", type=Path, default=ROOT, help="the tree to measure; default: this one")
    parser.add_argument(
        "--work", type=Path, help="keep the instrumented copy here; used again where it exists"
    )
    parser.add_argument("tests", nargs="*", help="arguments for pytest")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="coverage-") as folder:
        work = (args.work or Path(folder, "tree")).resolve()
        if not work.exists():
            shutil.copytree(args.tree, work, ignore=SKIPPED)
        build(work)
        run_tests(work, args.tests)
        print_compiled(compiled_lines(work))


if __name__ == "__main__":
    main()
