"""Runs the coverage-guided fuzz targets of this folder under AddressSanitizer and UBSan.

    make fuzz SECONDS=600                                  # all targets, so many seconds altogether
    python scripts/fuzz/drive.py --seconds 60 fuzz_sheet   # some of them
    python scripts/fuzz/drive.py --merge                   # adds to tests/data/fuzz/corpus what reaches more code

A target is one file. `fuzz_*.c` includes a header of ext/ and is run by libFuzzer. `fuzz_*.py` has a function
`one(data, folder)`, true for input that is sound. It is run by atheris, which counts what is reached in Python and in
the compiled modules. Any exception that `one` lets pass is a finding. Needs atheris, and clang with libFuzzer; CLANG
names another one.

tokens.dict has words that a fuzzer does not guess: what htslib tells formats by.

Begins with tests/data/fuzz/corpus, keeps what it learns in build/fuzz/corpus and findings in build/fuzz/findings.
Ends with 1 if there is a finding. A finding becomes a test once it is copied to tests/data/fuzz/corpus/TARGET.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
sys.path.append(os.fspath(ROOT / "scripts" / "check"))

from same_records import take_checkout  # noqa: E402

CORPUS = ROOT / "tests" / "data" / "fuzz" / "corpus"
WORK = ROOT / "build" / "fuzz"
COPY = WORK / "sources"
INCLUDES = ("ext/io", "ext/common")
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
DICTIONARY = FOLDER / "tokens.dict"
LONGEST = 4096  # bytes of an input
COMPILER = os.environ.get("CLANG", "clang")


class Outcome(NamedTuple):
    """What libFuzzer has said of a run; `findings` are the inputs that it has kept."""

    executions: int
    rate: int
    edges: int
    features: int
    findings: list[Path]
    code: int


def targets() -> list[str]:
    return sorted(path.name for path in FOLDER.glob("fuzz_*.[cp]*"))


def stem(target: str) -> str:
    return target.partition(".")[0]


def build_modules() -> None:
    """All compiled modules with counters of coverage, in a copy of the sources."""
    COPY.mkdir(parents=True, exist_ok=True)
    take_checkout(COPY, ROOT)
    changes = {"GASSST_SANITIZE": "1", "CC": COMPILER, "CFLAGS": "-fsanitize=fuzzer-no-link"}
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(command, cwd=COPY, env={**os.environ, **changes}, check=True)


def compiled(target: str, *more: str, compiler: Sequence[str] = (COMPILER,), folder: Path = WORK) -> str:
    """The program of a target in C; `more` brings its main function."""
    program = folder / stem(target)
    program.parent.mkdir(parents=True, exist_ok=True)
    includes = [f"-I{ROOT / name}" for name in INCLUDES]
    sources = [os.fspath(FOLDER / target), *more]
    subprocess.run([*compiler, "-g", "-O1", *includes, *sources, "-o", os.fspath(program), "-lm"], check=True)
    return os.fspath(program)


def command_of(target: str) -> tuple[list[str], dict[str, str]]:
    """What runs a target, and its environment."""
    common = {**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1"}
    if target.endswith(".c"):
        flags = ["-fsanitize=fuzzer", *SANITIZERS]
        return [compiled(target, *flags)], common
    import atheris

    library = Path(atheris.path(), "asan_with_fuzzer.so")
    changes = {
        "LD_PRELOAD": os.fspath(library),
        # What Python itself never frees is no leak of ours. Memory that a header asks for beyond all reason is refused:
        # AddressSanitizer takes a tenth of a second to mark it, and hardly any other input would be tried.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=256",
        "PYTHONMALLOC": "malloc",  # every object by itself, where an overrun shows
        "PYTHONPATH": os.pathsep.join([os.fspath(COPY), os.fspath(FOLDER)]),
        "GASSST_OPENCL": "0",
    }
    return [sys.executable, os.fspath(FOLDER / "under_atheris.py"), stem(target)], {**common, **changes}


def run(target: str, seconds: int) -> Outcome:
    """Fuzz a target for so long, or to its first finding."""
    command, environment = command_of(target)
    learnt, found = WORK / "corpus" / stem(target), WORK / "findings" / stem(target)
    for folder in (learnt, found):
        folder.mkdir(parents=True, exist_ok=True)
    before = set(found.iterdir())
    options = [
        f"-max_total_time={seconds}", f"-max_len={LONGEST}", f"-dict={DICTIONARY}",
        f"-artifact_prefix={found}/", "-print_final_stats=1",
        "-timeout=30",
        # Memory that is used counts; htslib asks for what a header says, and is content if it gets none.
        "-rss_limit_mb=3000", f"-malloc_limit_mb={1 << 20}",
    ]  # fmt: skip
    log = WORK / f"{stem(target)}.log"
    with open(log, "wb") as said:
        folders = [os.fspath(learnt), os.fspath(CORPUS / stem(target))]
        code = subprocess.run(
            [*command, *options, *folders], env=environment, stdout=said, stderr=said
        ).returncode
    return outcome(log.read_text(errors="replace"), sorted(set(found.iterdir()) - before), code)


def outcome(text: str, findings: list[Path], code: int) -> Outcome:
    """From the log of libFuzzer."""
    executions = [int(n) for n in re.findall(r"^stat::number_of_executed_units: +(\d+)", text, re.M)]
    rates = [int(n) for n in re.findall(r"^stat::average_exec_per_sec: +(\d+)", text, re.M)]
    executions = executions or [int(n) for n in re.findall(r"^#(\d+)\t", text, re.M)] or [0]
    rates = rates or [int(n) for n in re.findall(r"exec/s: (\d+)", text)] or [0]
    covered = re.findall(r"cov: (\d+) ft: (\d+)", text) or [("0", "0")]
    return Outcome(executions[-1], rates[-1], *map(int, covered[-1]), findings, code)


def merge(target: str) -> None:
    """Add the smallest inputs that reach what the corpus of the repository does not."""
    command, environment = command_of(target)
    kept = CORPUS / stem(target)
    kept.mkdir(parents=True, exist_ok=True)
    options = ["-merge=1", "-max_len=1024", os.fspath(kept), os.fspath(WORK / "corpus" / stem(target))]
    subprocess.run([*command, *options], env=environment, check=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=int, default=600, help="for all targets together")
    parser.add_argument(
        "--merge", action="store_true", help="add to the corpus of the repository; do not fuzz"
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="by default all")
    args = parser.parse_args(argv)
    chosen = [target for target in targets() if not args.targets or stem(target) in args.targets]
    if unknown := set(args.targets) - set(map(stem, targets())):
        parser.error(f"no target {min(unknown)}: there are {', '.join(map(stem, targets()))}")
    if any(target.endswith(".py") for target in chosen):
        build_modules()
    failures = 0
    for target in chosen:
        if args.merge:
            merge(target)
            continue
        done = run(target, max(1, args.seconds // len(chosen)))
        print(
            f"{stem(target):20} {done.executions:>10,} executions {done.rate:>8,}/s "
            f"{done.edges:>6,} edges {done.features:>7,} features",
            flush=True,
        )
        if done.code or done.findings:
            failures += 1
            print(
                f"  ended with {done.code}: see {WORK / stem(target)}.log",
                *done.findings,
                sep="\n  ",
                flush=True,
            )
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
