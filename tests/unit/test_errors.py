"""The policy of errors: docs/guide/errors.md says what gassst/errors.py does; a pysam that does not fit is one, too."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gassst import errors
from gassst.errors import EXIT_CODES, GassstError, InstallationError, ParameterError, report_of
from gassst.files import interrupt
from gassst.files.htslib import Linked, check
from gassst.model.stats import Stats
from gassst.runs.run import WARNINGS

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "errors.md").read_text()


def test_the_page_lists_all_exit_codes():
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", PAGE, re.MULTILINE)
    assert {int(code): meaning for code, meaning in rows} == EXIT_CODES


def test_the_page_lists_all_warnings():
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == list(WARNINGS)
    assert all(hasattr(Stats(), name) for name in WARNINGS)


def subclasses(kind: type) -> set[type]:
    return {kind}.union(*map(subclasses, kind.__subclasses__()))


@pytest.mark.parametrize("kind", sorted(subclasses(GassstError), key=lambda kind: kind.__name__))
def test_every_error_has_a_code_of_the_page_and_one_line(kind):
    report = report_of(kind("a", "b") if kind is ParameterError else kind("a\nb"))
    assert report == ("a b", kind.exit_code) and report.exit_code in EXIT_CODES


@pytest.mark.parametrize(
    "error, message, code",
    [
        (BrokenPipeError(), "", 141),
        (KeyboardInterrupt(), "interrupted", 130),
        (FileNotFoundError(2, "No such file or directory", "x"), "x: No such file or directory", 1),
        (OSError("no number"), "no number", 1),
        (MemoryError(), errors.OUT_OF_MEMORY.message, 1),
        (ImportError("x.so: failed to map segment from shared object"), errors.OUT_OF_MEMORY.message, 1),
        (SystemError("error return without exception set"), "error return", 1),
        (RuntimeError("can't start new thread"), "no more threads", 1),
    ],
    ids=str,
)
def test_reports(error, message, code):
    report = report_of(error)
    assert message in report.message and report.exit_code == code and code in EXIT_CODES


@pytest.mark.parametrize("fault", [ValueError("x"), RuntimeError("x"), ImportError("x"), AssertionError()])
def test_a_fault_of_the_program_is_not_dressed_up(fault):
    assert report_of(fault) is None


def test_signals():
    assert {128 + number for number in interrupt.WATCHED} <= EXIT_CODES.keys()
    assert 128 + signal.SIGPIPE == errors.READER_GONE and 128 + signal.SIGINT == errors.INTERRUPTED


BUILT = Linked("0.24.1", "1.23", "builtin")


@pytest.mark.parametrize(
    "found", [("0.24.1", "1.23"), ("0.24.0", "1.23"), ("0.24.2", "1.23.1"), ("0.24", "1.30")]
)
def test_the_same_series_with_no_older_htslib_is_taken(found):
    check(BUILT, Linked(*found, "builtin"))


@pytest.mark.parametrize(
    "found",
    [
        Linked("0.23.3", "1.23", "builtin"),
        Linked("0.25.0", "1.23", "builtin"),
        Linked("0.24.0", "1.22.1", "builtin"),
        Linked("0.24.1", "1.23", "external"),
    ],
)
def test_any_other_is_refused(found):
    with pytest.raises(InstallationError) as refused:
        check(BUILT, found)
    assert str(refused.value) == (
        "gassst was built with pysam 0.24.1 (builtin htslib 1.23), but finds "
        f"pysam {found.pysam} ({found.mode} htslib {found.htslib}): install pysam==0.24.*, or build gassst again"
    )


def test_the_command_says_it_in_one_line(small_index, small_fastq, tmp_path):
    """Before any module that links htslib is loaded, and without pysam's own."""
    (tmp_path / "pysam").mkdir()
    for name, text in (
        ("__init__.py", "raise SystemExit('imported')"),
        ("config.py", "HTSLIB = 'builtin'"),
        ("version.py", "__version__, __htslib_version__ = '0.7.8', '1.3'"),
    ):
        (tmp_path / "pysam" / name).write_text(text)
    code = (
        "import sys\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "from gassst.cli.main import main\n"
        "code = main(sys.argv[1:])\n"
        "assert 'gassst._core.records' not in sys.modules\n"
        "sys.exit(code)\n"
    )
    command = [sys.executable, "-c", code, "map", str(small_index), str(small_fastq)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert (
        done.stderr.startswith("gassst: gassst was built with pysam")
        and "but finds pysam 0.7.8" in done.stderr
    )
