"""The policy of errors: docs/guide/errors.md says what gassst/errors.py and the warnings of a run do."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from gassst import errors
from gassst.errors import EXIT_CODES, GassstError, ParameterError, report_of
from gassst.files import interrupt
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
