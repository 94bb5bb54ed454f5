"""Exceptions of the package, and what the command line makes of an exception: one line on stderr and an exit code.

docs/guide/errors.md says in words what is an error, what is a warning, and what is left on disk.
"""

from __future__ import annotations

from gassst.frozen import NamedTuple

EXIT_CODES = {
    0: "done: every output is complete",
    1: "an input, an output, a device, or a lack of memory or threads",
    2: "wrong usage; no work was begun",
    129: "the terminal was closed (SIGHUP)",
    130: "interrupted (SIGINT, Ctrl-C)",
    141: "whoever read the output has closed the pipe, as `head` does; no message",
    143: "terminated (SIGTERM)",
}
"""All exit codes of the command line, but those of signals that no process can take."""

READER_GONE = 141
INTERRUPTED = 130


class GassstError(Exception):
    """Base of all errors a user can cause; `exit_code` is what the command line returns."""

    exit_code = 1


class UsageError(GassstError):
    """Arguments that make no sense, alone or together."""

    exit_code = 2


class ParameterError(UsageError):
    """A parameter out of its range.

    Attributes
    ----------
    parameter : str
        Its name in Python; the command line names the option instead.
    complaint : str
        What is wrong with it: the message without the name.
    """

    def __init__(self, parameter: str, complaint: str):
        super().__init__(f"{parameter} {complaint}")
        self.parameter, self.complaint = parameter, complaint

    def __reduce__(self) -> tuple[object, ...]:
        return ParameterError, (self.parameter, self.complaint)


class InputError(GassstError):
    """A file that cannot be read as what it should be; the message names the file and the record."""


class MissingFileError(InputError, FileNotFoundError):
    """A file to read that does not exist; the message names it."""


class IndexFormatError(InputError):
    """An index file that is not one, is of another version, is truncated or is damaged."""


class OutputError(GassstError):
    """A file that cannot be written."""


class DeviceError(GassstError):
    """No usable OpenCL device, or a device that failed."""


class InstallationError(GassstError, ImportError):
    """A package that this build of gassst does not fit."""


class WorkerError(GassstError):
    """A worker that died."""


def unreadable(path: object, error: OSError) -> InputError:
    """The error for a file that the system does not let us read."""
    if isinstance(error, InputError):  # of another file, which it names
        return error
    kind = MissingFileError if isinstance(error, FileNotFoundError) else InputError
    return kind(f"{path}: {error.strerror or error}")


class Report(NamedTuple):
    """What the command line says of an exception, "" for nothing, and the exit code."""

    message: str
    exit_code: int


OUT_OF_MEMORY = Report("out of memory; --memory or a smaller --batch-size may help", 1)


def report_of(error: BaseException) -> Report | None:
    """What is to be said of an exception that ended a command; None for a fault of the program: a traceback."""
    text = str(error)
    match error:
        case BrokenPipeError():
            return Report("", READER_GONE)
        case KeyboardInterrupt():
            return Report("interrupted", INTERRUPTED)
        case GassstError():
            return Report(" ".join(text.splitlines()), error.exit_code)
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            return Report(f"{where}{error.strerror or error}", 1)
        case RuntimeError() if "can't start new thread" in text:
            return Report("the system allows this process no more threads; -t asks for fewer", 1)
        case ImportError() if any(
            sign in text for sign in ("failed to map segment", "Cannot allocate memory")
        ):
            return OUT_OF_MEMORY
        case SystemError():  # C code of a library that fails to allocate does not always say MemoryError
            return Report(f"{text}; memory may be exhausted", 1)
        case MemoryError():
            return OUT_OF_MEMORY
    return None
