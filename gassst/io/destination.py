"""Where an output goes: files that take their name only when complete, streams, and sorting on the way."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, TYPE_CHECKING

from xopen import xopen

from gassst.errors import OutputError, UsageError
from gassst.io import interrupt

if TYPE_CHECKING:
    from typing_extensions import Buffer

MAX_BAI_CONTIG = 2**29  # beyond it only a CSI index works
SORT_MEMORY = 1 << 30


def remove_folder(path: str) -> None:
    """Remove a folder and all in it, though other threads may still create files there."""
    gone = path + ".gone"
    with suppress(OSError):
        os.rename(path, gone)  # from here on nothing can be created under the old name
        path = gone
    shutil.rmtree(path, ignore_errors=True)


class Destination:
    """A file that takes its name when it is complete; standard output, a device or a named pipe as it is."""

    def __init__(self, path: str | os.PathLike[str] | None):
        self.path = "-" if path is None else os.fspath(path)
        self.is_stdout = self.path == "-"
        self.name = "standard output" if self.is_stdout else self.path
        self.is_stream = self.is_stdout or _exists_irregular(self.path)
        self.final = self.path if self.is_stream else os.path.realpath(self.path)
        self.directory, base = os.path.split(self.final)
        # The end of the name stays as it is: a compressor is chosen by it.
        hidden = os.path.join(self.directory, f".{secrets.token_hex(4)}.{base[-100:]}")
        self.working = self.final if self.is_stream else hidden

    def open(self) -> int:
        self.begin()
        with self.errors():
            if self.is_stdout:
                return os.dup(1)
            create = 0 if self.is_stream else os.O_CREAT | os.O_EXCL
            return os.open(self.working, os.O_WRONLY | create, 0o666)

    def begin(self) -> None:
        """From here on, until `commit` or `discard`, the working file is removed if the process must stop."""
        if not self.is_stream:
            interrupt.on_stop(self.discard)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Makes an OSError an OutputError that names the file; a reader gone away stays a BrokenPipeError."""
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(f"cannot write {self.name}: {error.strerror or error}") from error

    def commit(self) -> None:
        if not self.is_stream:
            with self.errors():
                os.replace(self.working, self.final)
            interrupt.settled(self.discard)

    def discard(self) -> None:
        if not self.is_stream:
            with suppress(OSError):
                os.unlink(self.working)
            interrupt.settled(self.discard)


@contextmanager
def completed(paths: Iterable[str | os.PathLike[str]]) -> Iterator[list[IO[bytes]]]:
    """Files compressed as their names say, which take these names, all of them, when the block has ended well.

    Raises OutputError when one cannot be opened or finished; what fails in the block is left to the caller.
    """
    destinations = [Destination(path) for path in paths]
    with ExitStack() as stack:
        files: list[IO[bytes]] = []
        for destination in destinations:
            destination.begin()
            stack.callback(destination.discard)
            with destination.errors():
                level = 1 if destination.final.endswith(".gz") else None
                files.append(stack.enter_context(xopen(destination.working, "wb", compresslevel=level)))
        yield files
        for destination, file in zip(destinations, files, strict=True):
            with destination.errors():
                file.close()
        for destination in destinations:
            destination.commit()


def _exists_irregular(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    # Renaming over /dev/stdout would not reach the file that the shell opened.
    return not stat.S_ISREG(mode) or path.startswith(("/dev/", "/proc/"))


class SortedDestination:
    """Takes unsorted BAM in a folder of its own beside the output; `commit` sorts, indexes and moves it.

    `file_format` is "sam", "bam" or "cram", `level` a digit or "" for the default, `longest_contig` in bases.
    """

    def __init__(
        self, destination: Destination, file_format: str, level: str, threads: int, longest_contig: int
    ):
        self._destination, self._format, self._level = destination, file_format, level
        self._threads = max(1, threads)
        bam_index = ".csi" if longest_contig > MAX_BAI_CONTIG else ".bai"
        self._index = {"bam": bam_index, "cram": ".crai", "sam": ""}[file_format]
        self.errors = destination.errors
        self._sorting: subprocess.Popen[str] | None = None
        place = None if destination.is_stream else destination.directory
        with ExitStack() as on_failure, self.errors():
            self._folder = tempfile.mkdtemp(prefix=".gassst-sort-", dir=place)
            on_failure.callback(shutil.rmtree, self._folder)
            self._stream = destination.open() if destination.is_stream else None
            on_failure.pop_all()
        interrupt.on_stop(self.discard)
        self._unsorted = os.path.join(self._folder, "unsorted.bam")
        self._sorted = os.path.join(self._folder, "sorted")

    def open(self) -> int:
        with self.errors():
            return os.open(self._unsorted, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)

    def commit(self) -> None:
        self._sort()
        with self.errors():
            if self._stream is None:
                self._move()
            else:
                stream, self._stream = self._stream, None
                self._copy(stream)
        self.discard()

    def _sort(self) -> None:
        options = ["--no-PG", "-m", str(SORT_MEMORY // self._threads), "-@", str(self._threads - 1)]
        options += ["-T", os.path.join(self._folder, "chunk"), "-O", self._output_format()]
        output = self._sorted
        if self._index and self._stream is None:
            options.append("--write-index")
            output = f"{output}##idx##{self._sorted}{self._index}"
        with self.errors():
            self._sorting = samtools_sort(*options, "-o", output, self._unsorted)
        try:
            _, complaint = self._sorting.communicate()
        finally:
            self._sorting.kill()
        if self._sorting.returncode:
            reason = (complaint.strip() or f"samtools ended with {self._sorting.returncode}").splitlines()[-1]
            raise OutputError(f"cannot sort {self._destination.name}: {reason}")

    def _output_format(self) -> str:
        level = f",level={self._level}" if self._level and self._format != "sam" else ""
        return self._format + level + (",no_ref=1" if self._format == "cram" else "")

    def _move(self) -> None:
        final = self._destination.final
        os.replace(self._sorted, final)
        if self._index:
            os.replace(self._sorted + self._index, final + self._index)
            os.utime(final + self._index)  # samtools warns of an index older than its file

    def _copy(self, stream: int) -> None:
        with open(self._sorted, "rb") as source, os.fdopen(stream, "wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)

    def discard(self) -> None:
        if self._sorting is not None:
            self._sorting.kill()  # nothing must come into the folder while it is emptied
            self._sorting.wait()
        if self._stream is not None:
            os.close(self._stream)
            self._stream = None
        shutil.rmtree(self._folder, ignore_errors=True)
        interrupt.settled(self.discard)


_SORT = """
import sys
sys.path[:] = sys.argv.pop(1).split(":")
import pysam
try:
    pysam.sort(*sys.argv[1:])
except pysam.SamtoolsError as error:
    sys.exit(str(error.value))
"""


def samtools_sort(*options: str) -> subprocess.Popen[str]:
    """pysam's `samtools sort` in a process of its own, as it keeps the GIL: no signal would be heard.

    The process ends with an error, and the reason on stderr, when the sort fails.
    """
    command = [sys.executable, "-I", "-c", _SORT, ":".join(sys.path), *options]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


class CompressedFile:
    """A file that is compressed as its name says; not standard output."""

    def __init__(self, path: str | os.PathLike[str]):
        self._destination = Destination(path)
        if self._destination.is_stdout:
            raise UsageError("unmapped reads need a file: standard output is taken")
        self._destination.begin()
        with self._destination.errors():
            self._file = xopen(self._destination.working, "wb", threads=0)

    def write(self, text: Buffer) -> None:
        with self._destination.errors():
            self._file.write(text)

    def close(self) -> None:
        with self._destination.errors():
            self._file.close()

    def commit(self) -> None:
        self._destination.commit()

    def discard(self) -> None:
        with suppress(OSError):
            self._file.close()
        self._destination.discard()
