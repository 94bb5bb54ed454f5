"""Where an output goes: files that take their name only when complete, streams, and sorting on the way.

What only some outputs need is imported where it is used: xopen alone takes 12 ms, a twentieth of a short run.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from gassst.errors import OutputError, UsageError
from gassst.files import interrupt
from gassst.files.scratch import Scratch

if TYPE_CHECKING:
    import subprocess

    from typing_extensions import Buffer

MAX_BAI_CONTIG = 2**29  # beyond it only a CSI index works
_DESCRIPTOR = r"/dev/std(in|out|err)|/dev/fd/\d+|/proc/[^/]+(/task/[^/]+)?/fd/\d+"


class Destination:
    """A file that takes its name when it is complete; standard output, a device or a named pipe as it is."""

    def __init__(self, path: str | os.PathLike[str] | None):
        self.path = "-" if path is None else os.fspath(path)
        self.is_stdout = self.path == "-"
        self.name = "standard output" if self.is_stdout else self.path
        self.is_stream = self.is_stdout or _exists_irregular(self.path)
        self.final = self.path if self.is_stream else os.path.realpath(self.path)
        self.directory, self._base = os.path.split(self.final)
        self._scratch: Scratch | None = None

    def open(self) -> int:
        self.begin()
        with self.errors():
            if self.is_stdout:
                return os.dup(1)
            # What was written may be read back: the parts of an index are.
            how = os.O_WRONLY if self.is_stream else os.O_RDWR | os.O_CREAT | os.O_EXCL
            try:
                return os.open(self.working, how, 0o666)
            except BaseException:
                self.discard()
                raise

    def verify(self) -> None:
        """Raise OutputError where the file cannot be written. Looking into a pipe would not leave it as it was."""
        if os.path.isdir(self.path):
            raise OutputError(f"cannot write {self.path}: it is a directory")
        if not self.is_stream:
            os.close(self.open())
            self.discard()

    def begin(self) -> None:
        """From here on, until `commit` or `discard`, what is unfinished is removed if the process must stop."""
        if not self.is_stream and self._scratch is None:
            with self.errors():
                self._scratch = Scratch(self.directory, self._base)

    @property
    def working(self) -> str:
        """What to write to, once `begin` or `open` was called. Its name ends as the final one: compressors go by it."""
        return self.final if self.is_stream else self.beside(self._base)

    def beside(self, name: str) -> str:
        """The path of another unfinished file, which `commit` and `discard` remove. Only where this is no stream."""
        assert self._scratch is not None, "begin() comes first"
        return self._scratch.file(name)

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
        """The file takes its name, and is on disk by then: a machine that fails leaves what was there, or all of it."""
        if self._scratch is not None:
            with self.errors():
                sync(self.working)
                self._take_names()
                sync(self.directory or os.curdir)
            self.discard()

    def _take_names(self) -> None:
        os.replace(self.working, self.final)

    def discard(self) -> None:
        if self._scratch is not None:
            self._scratch.remove()
            self._scratch = None


def sync(path: str) -> None:
    """Wait until a file, or the names in a folder, are on disk; some file systems have no such thing."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EROFS):
            raise
    finally:
        os.close(fd)


INDEXES = (".bai", ".csi", ".crai")
"""Ends of the names of indexes beside an alignment file."""


def index_paths(path: str) -> list[str]:
    """Where readers look for the index of an alignment file: x.bam.bai, and for BAM and CRAM x.bai, too."""
    root, extension = os.path.splitext(path)
    short = {".bam": INDEXES[:2], ".cram": INDEXES[2:]}.get(extension.lower(), ())
    return [*(path + end for end in INDEXES), *(root + end for end in short)]


IDX_DELIMITER = "##idx##"
"""htslib takes what stands behind it in the name of a file for the name of its index."""


class AlignmentDestination(Destination):
    """An alignment file. No index outlives what it was made for: readers would trust it, and find wrong places.

    `index` is the end of the name of its own index, which takes its name with the file; "" if it gets none.
    """

    def __init__(self, path: str | os.PathLike[str] | None, index: str = ""):
        super().__init__(path)
        if IDX_DELIMITER in self.final:
            raise UsageError(f"{self.path}: htslib would cut this name at {IDX_DELIMITER}: choose another")
        self._index = index
        self._beside_stream: Scratch | None = None

    @property
    def index_path(self) -> str | None:
        """Where the index is to be written; a stream has none."""
        return None if self.is_stream or not self._index else self.beside("index" + self._index)

    def temporary(self, name: str) -> str:
        """The path of a file that is gone when the output is complete, or given up; that of a stream is in $TMPDIR.

        Raises OutputError.
        """
        if not self.is_stream:
            self.begin()
            return self.beside(name)
        if self._beside_stream is None:
            import tempfile

            with self.errors():
                self._beside_stream = Scratch(tempfile.gettempdir(), "stream")
        return self._beside_stream.file(name)

    def commit(self) -> None:
        super().commit()
        self.discard()

    def discard(self) -> None:
        super().discard()
        if self._beside_stream is not None:
            self._beside_stream.remove()
            self._beside_stream = None

    def _take_names(self) -> None:
        index = self.index_path
        if index is not None:
            sync(index)
        for old in index_paths(self.final):
            with suppress(FileNotFoundError):
                os.unlink(old)
        super()._take_names()
        if index is not None:
            os.utime(index)  # samtools warns of an index older than its file
            os.replace(index, self.final + self._index)


def _exists_irregular(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    # Renaming over /dev/stdout would not reach the file that the shell opened.
    return not stat.S_ISREG(mode) or _names_a_descriptor(path)


def _names_a_descriptor(path: str) -> bool:
    """Whether a path leads to an open file, link by link. /dev/shm and what else lies in /dev are ordinary folders."""
    while True:
        folder, base = os.path.split(path)
        path = os.path.join(os.path.realpath(folder), base)
        if path.startswith(("/dev/", "/proc/")) and re.fullmatch(_DESCRIPTOR, path):
            return True
        try:
            path = os.path.join(os.path.dirname(path), os.readlink(path))
        except OSError:
            return False


class ConvertedDestination:
    """Takes BAM in a hidden folder; `commit` makes a file of another format of it: `destination`.

    Parameters
    ----------
    file_format : str
        "sam" or "cram", with options of htslib behind commas.
    contigs : path or None
        Folder of the contigs that CRAM is written against, by MD5.
    """

    def __init__(
        self,
        destination: AlignmentDestination,
        file_format: str,
        threads: int,
        contigs: str | None = None,
    ):
        self._destination, self._format, self._contigs = destination, file_format, contigs
        self._threads = max(1, threads)
        self.errors = destination.errors
        self._process: subprocess.Popen[str] | None = None
        self._stream: int | None = None
        self._bam = destination.temporary("records.bam")
        interrupt.on_stop(
            self.discard
        )  # before the folders: nothing must come into them while they are emptied
        try:
            self._stream = destination.open() if destination.is_stream else None
        except BaseException:
            self.discard()
            raise

    def open(self) -> int:
        with self.errors():
            return os.open(self._bam, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)

    def commit(self) -> None:
        if self._stream is None:
            self._convert(self._destination.working)
            self._destination.commit()
        else:
            self._convert(self._destination.temporary("converted"))
            stream, self._stream = self._stream, None
            with self.errors():
                self._copy(stream)
        self.discard()

    def _convert(self, output: str) -> None:
        options = ["view", "-h", "--no-PG", "-@", str(self._threads - 1), "-O", self._format]
        index = self._destination.index_path
        if index is not None:
            options.append("--write-index")
            output = f"{output}{IDX_DELIMITER}{index}"
        with self.errors():
            self._process = run_samtools(*options, "-o", output, self._bam, contigs=self._contigs)
        if reason := why_failed(self._process):
            raise OutputError(f"cannot write {self._destination.name}: {reason}")

    def _copy(self, stream: int) -> None:
        import shutil

        path = self._destination.temporary("converted")
        with open(path, "rb") as source, os.fdopen(stream, "wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)

    def discard(self) -> None:
        if self._process is not None:
            self._process.kill()  # nothing must come into the folder while it is emptied
            self._process.wait()
        if self._stream is not None:
            os.close(self._stream)
            self._stream = None
        self._destination.discard()
        interrupt.settled(self.discard)


_SAMTOOLS = """
import sys
sys.path[:] = sys.argv.pop(1).split(":")
from gassst.workers.children import die_with_parent
die_with_parent(int(sys.argv.pop(1)))
import os, pysam
if folder := sys.argv.pop(1):  # where htslib finds contigs by their MD5, and nowhere else
    os.chdir(folder)
    os.environ["REF_PATH"] = os.environ["REF_CACHE"] = "./%s"
try:
    getattr(pysam, sys.argv[1])(*sys.argv[2:], catch_stdout=False)
except pysam.SamtoolsError as error:
    said = str(error.value)  # "'samtools returned with error 1: stdout=.., stderr=..'"
    sys.exit(said.partition("stderr=")[2] or said)
"""


def run_samtools(*command: str, contigs: str | None = None) -> subprocess.Popen[str]:
    """A command of pysam's samtools in a process of its own, as it keeps the GIL: no signal would be heard.

    `contigs` is a folder of sequences by MD5, for CRAM; all paths are absolute. The process ends with an error, and the
    reason on stderr, when the command fails.
    """
    import subprocess

    program = [sys.executable, "-I", "-c", _SAMTOOLS, ":".join(sys.path), str(os.getpid()), contigs or ""]
    return subprocess.Popen(
        [*program, *command],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="backslashreplace",  # a complaint quotes a record, in whatever bytes it has
    )


def why_failed(samtools: subprocess.Popen[str]) -> str:
    """Wait for a process of `run_samtools`; one line on why it failed, "" where it did not.

    What samtools says first is the cause. Where it says nothing itself, the last line of anybody is the end of it.
    """
    try:
        _, complaint = samtools.communicate()
    finally:
        samtools.kill()
    if not samtools.returncode:
        return ""
    lines = [line for line in complaint.splitlines() if line.strip()]
    own = [line for line in lines if line.startswith("samtools ")]
    return [*own[:1], *lines[-1:], f"samtools ended with {samtools.returncode}"][0]


class CompressedFile:
    """A file that is compressed as its name says, or standard output; `how` is of `xopen`."""

    def __init__(self, path: str | os.PathLike[str], **how: Any):
        from xopen import xopen

        self._destination = Destination(path)
        self._destination.begin()
        try:
            with self._destination.errors():
                self._file = xopen(self._destination.working, "wb", **how)
        except BaseException:
            self._destination.discard()
            raise

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


@contextmanager
def completed(paths: Iterable[str | os.PathLike[str]]) -> Iterator[list[CompressedFile]]:
    """Files compressed as their names say, which take these names, all of them, when the block has ended well.

    Raises OutputError when one cannot be opened, written or finished.
    """
    with ExitStack() as stack:
        files: list[CompressedFile] = []
        for path in paths:
            level = {"compresslevel": 1} if os.fspath(path).endswith(".gz") else {}
            files.append(CompressedFile(path, **level))
            stack.callback(files[-1].discard)
        yield files
        for file in files:
            file.close()
        for file in files:
            file.commit()
