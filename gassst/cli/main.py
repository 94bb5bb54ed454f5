"""Entry point of the `gassst` command: runs one command, turns its errors into messages and exit codes."""

from __future__ import annotations

import argparse
import logging
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from gassst._core import bus_error
from gassst.cli.console import STDERR, ConsoleHandler, one_line
from gassst.cli.parser import COMMANDS, build_parser, parse
from gassst.errors import InputError, ParameterError, report_of
from gassst.files import interrupt
from gassst.workers.thread_count import MAX_THREADS, most_threads, usable_threads

log = logging.getLogger("gassst")


@contextmanager
def _messages(quiet: bool, verbose: bool) -> Iterator[None]:
    """The package's log goes to stderr, each message a line."""
    handler = ConsoleHandler()
    handler.setFormatter(logging.Formatter("gassst: %(message)s"))
    before = log.level
    log.setLevel(logging.WARNING if quiet else logging.DEBUG if verbose else logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


def _run_command(argv: list[str]) -> int:
    if not argv:  # as other tools with commands do
        STDERR.say(build_parser().format_help().rstrip())
        return 2
    args = parse(argv)
    with _messages(getattr(args, "quiet", False), getattr(args, "verbose", False)):
        _bound_threads(args)
        code: int = COMMANDS[args.command].load().main(args)
        return code


def _bound_threads(args: argparse.Namespace) -> None:
    """No more threads than are of use, unless the number is none at all: the command says so."""
    asked, most = getattr(args, "threads", 0), most_threads()
    if most < asked <= MAX_THREADS:
        log.info(
            "-t %d: %d threads are used, as there are %d cores for this process",
            asked,
            most,
            usable_threads(),
        )
        args.threads = most


def _in_options(error: BaseException) -> BaseException:
    """The same error; one of a parameter speaks of its option."""
    if not isinstance(error, ParameterError):
        return error
    from gassst.cli.options import in_options

    return in_options(error)


def main(argv: list[str] | None = None) -> int:
    """Run a command and return its exit code; what a user can cause is one line on stderr, no traceback."""
    argv = sys.argv[1:] if argv is None else argv
    try:
        try:
            code = _run_command(argv)
        except SystemExit as done:  # of --help and --version
            code = int(done.code or 0)
        sys.stdout.flush()
        return code
    except BaseException as error:
        report = report_of(_in_options(error))
        if report is None:
            raise
    if report.message:
        interrupt.hold()
        STDERR.say(one_line(f"gassst: {report.message}"))
    return report.exit_code


def _raise_limit_of_files() -> None:
    """Let this process open as many files as the system allows: the usual limit is low for the sake of old programs."""
    with suppress(OSError, ValueError):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _open_missing_streams() -> None:
    """No file of ours may become stdin, stdout or stderr because the caller closed it; using it fails."""
    streams = (("stdin", os.O_WRONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w"))
    for name, flags, mode in streams:
        if getattr(sys, name) is None:
            fd = os.open(os.devnull, flags)  # the lowest free number: that of this stream
            setattr(sys, name, open(fd, mode, closefd=False))  # noqa: SIM115 - for the rest of the process


def run() -> None:
    """Entry point of the `gassst` command."""
    _open_missing_streams()
    _raise_limit_of_files()
    interrupt.watch()
    bus_error.install(InputError.exit_code)
    # No matrix is multiplied here: NumPy's BLAS would start threads that spin for a while, 50 ms of CPU time a run.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code = main()
    interrupt.hold()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # reported by now, or nobody reads: it must not come up once more at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    if code:
        os._exit(code)  # at once: worker threads may be deep in a batch
    sys.exit(code)
