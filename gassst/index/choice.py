"""Which index a run uses: the one named, the one beside the FASTA named, or one made for this run only."""

from __future__ import annotations

import logging
import os
import shlex
import stat
from typing import TYPE_CHECKING

from gassst.errors import IndexFormatError, InputError, unreadable
from gassst.files.inflate import MAGIC_SIZE, format_of
from gassst.index.reference_files import FASTA_SUFFIXES

if TYPE_CHECKING:
    from gassst.index.seed_index import SeedIndex
    from gassst.model.reference import Reference

log = logging.getLogger("gassst")
SUFFIX = ".gsi"


def index_path(fasta: str, meth: bool = False) -> str:
    """Where the index of a FASTA lies by default: ref.fa.gz -> ref.gsi, for methylation ref.meth.gsi."""
    plain = fasta.removesuffix(".gz")
    root, suffix = os.path.splitext(plain)
    return (root if suffix.lower() in FASTA_SUFFIXES else plain) + ".meth" * meth + SUFFIX


def load_index(
    path: str, threads: int, check: bool | None = None, meth: bool = False, keep: bool = False
) -> SeedIndex:
    """The index at `path`. For a FASTA it is the fresh index next to it, else one built in memory.

    One line in the log says which index a FASTA got. `check` is that of `SeedIndex.open`, `meth` asks for an index for
    methylation. What is built is kept beside the FASTA with `keep`, if its folder can be written. Raises
    InputError, and IndexFormatError for an index that was named itself.
    """
    from gassst.index.seed_index import SeedIndex

    if not _is_fasta(path):
        return SeedIndex.open(path, check)
    beside, command = index_path(path, meth), f"`gassst index {'--meth ' * meth}{shlex.quote(path)}`"
    keep = keep and os.access(os.path.dirname(beside) or ".", os.W_OK)
    if not os.path.exists(beside):
        if keep:
            return keep_index(path, path, beside, threads, meth, check)
        log.info("%s has no index: indexed for this run only; %s keeps the index", path, command)
        return SeedIndex.build(path, threads=threads, meth=meth)
    try:
        index = SeedIndex.open(beside, check)
        fault = _why_stale(index, beside, path)
    except InputError as error:
        index, fault = None, _fault(error, beside)
    if index is not None and not fault:
        log.info("%s: its index %s is used", path, beside)
        return index
    if keep:
        log.warning("%s: it %s", beside, fault)
        return keep_index(path, path, beside, threads, meth, check)
    log.warning(
        "%s is not used: it %s. %s is indexed for this run only; %s renews the index",
        beside,
        fault,
        path,
        command,
    )
    return SeedIndex.build(path, threads=threads, meth=meth)


def keep_index(
    source: str | Reference, name: str, path: str, threads: int, meth: bool = False, check: bool | None = None
) -> SeedIndex:
    """The index of a FASTA or a reference of this name, made and written to `path`. Raises InputError, OutputError."""
    from gassst.index.seed_index import SeedIndex

    log.info("%s is indexed, once: %s is made", name, path)
    SeedIndex.build(source, threads=threads, meth=meth).save(path)
    return SeedIndex.open(path, check)


def _why_stale(index: SeedIndex, beside: str, fasta: str) -> str:
    """Why the index is not of this FASTA, '' if nothing speaks against it.

    Time alone would take the index of another file that was moved here; size alone one of the same length.
    """
    from gassst.index.seed_index import alt_list

    made, source = os.stat(beside), os.stat(fasta)
    if made.st_mtime_ns < source.st_mtime_ns:
        return "is older than the FASTA"
    alt = alt_list(fasta)
    if alt is not None and made.st_mtime_ns < os.stat(alt).st_mtime_ns:
        return "is older than the list of ALT contigs"
    if index.fasta_bytes is not None and index.fasta_bytes != source.st_size:
        return f"was made from a FASTA of {index.fasta_bytes:,} bytes, not {source.st_size:,}"
    return ""


def _fault(error: InputError, path: str) -> str:
    reason = str(error).removeprefix(f"{path}: ")
    return f"is unusable ({reason})" if isinstance(error, IndexFormatError) else f"cannot be read ({reason})"


def _is_fasta(path: str) -> bool:
    """By its first bytes; a pipe cannot be an index, and reading would take bytes from it."""
    try:
        if stat.S_ISFIFO(os.stat(path).st_mode):
            return True
        with open(path, "rb", buffering=0) as file:
            head = file.read(MAGIC_SIZE)
            return head.startswith(b">") or format_of(head) is not None
    except OSError as error:
        raise unreadable(path, error) from None
