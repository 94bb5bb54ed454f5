"""Unmapped reads in FASTQ files of their own, beside the alignment file."""

from __future__ import annotations

import logging
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Protocol

import numpy as np

from gassst.errors import ParameterError, UsageError
from gassst.files.destination import CompressedFile, Destination
from gassst.frozen import frozen
from gassst.model.sam_flags import UNMAPPED

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from gassst._core.records import HitBatch, Reads
    from gassst.model.array_types import Structs
    from gassst.records.coverage import Covered

log = logging.getLogger("gassst")
Path = str | os.PathLike[str]


@frozen()
class Unmapped:
    """Which unmapped reads are written, and where to.

    Attributes
    ----------
    path : path or None
        FASTQ of the unmapped reads, compressed as its name says. Mates have "/1" and "/2" behind their names. None:
        nothing is written.
    mates_path : path or None
        FASTQ of second mates. Both files then hold the pairs whose mates are both unmapped, in the same order and
        under one name; `path` has the first mates. Single reads are in neither.
    either : bool
        With `mates_path`, also the pairs of which one mate is unmapped.
    """

    path: Path | None = None
    mates_path: Path | None = None
    either: bool = False

    def verify(self) -> Unmapped:
        """Return self. Raises ParameterError for a choice among files that are not written."""
        if self.mates_path is not None and self.path is None:
            raise ParameterError(
                "unmapped_mates_path", "is for second mates: it needs a file for first mates"
            )
        if self.either and self.mates_path is None:
            raise ParameterError(
                "unmapped_either", "is for pairs in two files: it needs a file for second mates"
            )
        return self

    @property
    def paths(self) -> list[Path]:
        """One, two or no files."""
        return [path for path in (self.path, self.mates_path) if path is not None]

    def encode(self, batch: HitBatch, reads: Reads, hits: Structs) -> UnmappedText:
        """What the files take of a batch."""
        if self.mates_path is None:
            return UnmappedText((batch.unmapped_fastq(),) if self.path is not None else ())
        alone = hits["flag"] & UNMAPPED != 0
        mate = getattr(reads, "mate", None)
        if mate is not None:
            alone &= mate[hits["read"]] == 0
        texts = [batch.unmapped_fastq(which, self.either) for which in (1, 2)]
        return UnmappedText(tuple(texts), int(np.count_nonzero(alone)))


@frozen()
class UnmappedText:
    """The text of a batch for each of the files, and how many unmapped single reads none of them has."""

    texts: tuple[Buffer, ...] = ()
    singles: int = 0


class FileBeside(Protocol):
    """A file beside the records. It is told of every batch and completed, and takes its name or is removed."""

    def write(self, text: UnmappedText, covered: Covered | None) -> None: ...
    def close(self) -> None: ...
    def commit(self) -> None: ...
    def discard(self) -> None: ...


class UnmappedFiles:
    """The files, which take their names when all are complete: a `FileBeside`. Raises OutputError, UsageError."""

    def __init__(self, unmapped: Unmapped):
        self._singles = 0
        with ExitStack() as stack:
            self._files: list[CompressedFile] = []
            for path in unmapped.verify().paths:
                if Destination(path).is_stdout:
                    raise UsageError("unmapped reads need a file: standard output is in use")
                file = CompressedFile(path, threads=0)
                stack.callback(file.discard)
                self._files.append(file)
            stack.pop_all()

    def write(self, text: UnmappedText, covered: Covered | None) -> None:
        self._singles += text.singles
        for file, part in zip(self._files, text.texts, strict=True):
            file.write(part)

    def close(self) -> None:
        for file in self._files:
            file.close()

    def commit(self) -> None:
        for file in self._files:
            file.commit()
        if self._singles:
            log.warning(
                "%d unmapped single reads are not in the files of unmapped pairs, which contain pairs only",
                self._singles,
            )

    def discard(self) -> None:
        for file in self._files:
            file.discard()
