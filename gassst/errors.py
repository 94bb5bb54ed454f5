"""Exceptions of the package; `gassst.cli.main` turns each into one line on stderr and an exit code."""


class GassstError(Exception):
    """Base of all errors a user can cause; `exit_code` is what the command line returns."""

    exit_code = 1


class UsageError(GassstError):
    """Arguments that make no sense, alone or together."""

    exit_code = 2


class InputError(GassstError):
    """A file that cannot be read as what it should be; the message names the file and the record."""


class IndexFormatError(InputError):
    """An index file that is not one, is of another version, is truncated or is damaged."""


class OutputError(GassstError):
    """A file that cannot be written."""


class DeviceError(GassstError):
    """No usable OpenCL device, or a device that failed."""


class WorkerError(GassstError):
    """A worker process that died."""
