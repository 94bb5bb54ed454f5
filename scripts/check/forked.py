"""A command line of gassst in a forked child of a process that has imported everything: a run costs no start-up."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from gassst.cli import main as cli

SECONDS = 120  # a child that hangs is ended by then


class Ended(NamedTuple):
    """A child that has ended: exit code, or less than 0 the signal; what it said on stderr."""

    code: int
    error: str


def run_forked(
    argv: list[str], folder: Path, prepare: Callable[[], object] = lambda: None, stdout: int | None = None
) -> Ended:
    """Run `argv` in `folder`, after `prepare`; `stdout` is a descriptor, None for one that takes all."""
    folder = folder.resolve()
    said = folder.parent / f"{folder.name}.stderr"
    child = os.fork()
    if child == 0:
        try:
            _become_gassst(argv, folder, said, stdout, prepare)
        finally:
            os._exit(99)
    _, status = os.waitpid(child, 0)
    error = said.read_text(errors="replace")
    said.unlink()
    return Ended(os.waitstatus_to_exitcode(status), error)


def _become_gassst(
    argv: list[str], folder: Path, said: Path, stdout: int | None, prepare: Callable[[], object]
) -> None:
    signal.alarm(SECONDS)
    os.chdir(folder)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    os.dup2(nothing if stdout is None else stdout, 1)
    os.dup2(nothing, 0)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - until the child ends
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", errors="backslashreplace", closefd=False)  # noqa: SIM115 - as Python's own
    sys.argv = ["gassst", *argv]
    sys.dont_write_bytecode = True  # what a limit of file sizes cuts off, Python would import for ever
    prepare()
    try:
        cli.run()
    except SystemExit as done:
        sys.stdout.flush()
        os._exit(int(done.code or 0))
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
