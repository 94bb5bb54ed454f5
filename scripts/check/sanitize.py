"""Builds all compiled modules with AddressSanitizer and UBSan, and runs tests and the fuzzer on them.

    python scripts/check/sanitize.py                      # build, tests of parity, 300 cases of the fuzzer
    python scripts/check/sanitize.py --cases 0 tests/unit/test_bands.py

The build lies in build/sanitize, a copy of the sources of its own, and is used again. The first report of a sanitizer
ends the process that caused it, so that its test fails. It needs gcc or clang, on Linux. OpenCL is left out, as a
driver is not ours.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from same_records import take_checkout

ROOT = Path(__file__).resolve().parents[2]
COPY = ROOT / "build" / "sanitize"
REPORT = COPY / "report"  # with the number of the process behind it: pytest would swallow it on stderr
TESTS = (
    "tests/parity",
    "tests/unit/test_bam_bytes.py",
    "tests/unit/test_reads.py",
    "tests/unit/test_seeding.py",
)


def libraries() -> str:
    """What must be there before Python: AddressSanitizer, and what of C++ it watches."""
    compiler = os.environ.get("CC", "cc").split()[-1]
    sanitizer = ("libasan.so", "libclang_rt.asan-x86_64.so", "libclang_rt.asan-aarch64.so")
    found = [path for name in (*sanitizer, "libstdc++.so.6") if (path := _library(compiler, name))]
    if len(found) < 2:
        sys.exit(f"{compiler} has no library of AddressSanitizer")
    return " ".join(found)


def _library(compiler: str, name: str) -> str:
    """The path of a library, "" where the compiler knows none of this name."""
    command = [compiler, f"-print-file-name={name}"]
    path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return path if os.path.isabs(path) else ""


def environment() -> dict[str, str]:
    """Of a process under the sanitizers."""
    return {
        **os.environ,
        "LD_PRELOAD": libraries(),
        # What Python itself never frees is no leak of ours; memory that is refused is a MemoryError.
        "ASAN_OPTIONS": f"detect_leaks=0:allocator_may_return_null=1:log_path={REPORT}",
        "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={REPORT}",
        "PYTHONMALLOC": "malloc",  # every object by itself, where an overrun shows
        "PYTHONPATH": os.fspath(COPY),
        "GASSST_OPENCL": "0",
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=300, help="of the fuzzer")
    parser.add_argument("--workers", default="2", help="processes of pytest")
    parser.add_argument("tests", nargs="*", default=TESTS, help="what pytest runs")
    args = parser.parse_args(argv)
    COPY.mkdir(parents=True, exist_ok=True)
    take_checkout(COPY, ROOT)  # with its times, so that only what has changed is built again
    for path in COPY.glob("report.*"):
        path.unlink()
    build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(build, cwd=COPY, env={**os.environ, "GASSST_SANITIZE": "1"}, check=True)
    steps = [[sys.executable, "-m", "pytest", "-n", args.workers, "-x", *args.tests]]
    if args.cases:
        steps.append([sys.executable, "scripts/check/fuzz.py", "--count", str(args.cases)])
    for step in steps:
        print(f"== {' '.join(step[1:])}", flush=True)
        code = subprocess.run(step, cwd=COPY, env=environment()).returncode
        reports = sorted(COPY.glob("report.*"))
        for path in reports:
            print(path.read_text(), path, sep="\n")
        if code or reports:
            return code or 1
    print("no report of AddressSanitizer or UBSan")
    return 0


if __name__ == "__main__":
    sys.exit(main())
