"""What CRAM needs beside the records: options of the format, and the sequence that it is written against."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from gassst.errors import ParameterError
from gassst.files.contigs import Contigs
from gassst.files.sam_header import fields_of
from gassst.frozen import NamedTuple, frozen
from gassst.model.reference import Exceptions, ReferenceArrays, bases_between

if TYPE_CHECKING:
    from gassst.files.destination import AlignmentDestination

log = logging.getLogger("gassst")
OPTIONS = {
    "version": "3.0|3.1",
    "no_ref": "0|1",
    "embed_ref": "0|1",
    "store_nm": "0|1",
    "store_md": "0|1",
    "seqs_per_slice": "[1-9][0-9]{0,6}",
}
PROFILES = ("fast", "normal", "small", "archive")
"""Names and values, as regular expressions, of those options of htslib that change the form of the file alone."""
VERSION = "3.0"  # unless another is asked for: GATK 4.6.2, Picard 3.3 and htslib 1.11 do not read 3.1
EMBEDDED = ("embed_ref", "embed_ref=1")
AT_ONCE = 1 << 22  # bases of a contig that are written at once


@frozen()
class CramOptions:
    """How CRAM is written.

    Attributes
    ----------
    given : tuple of str
        "name=value" each, as samtools takes them, or one of `PROFILES`; another name alone means 1.
    level : int or None
        Of compression; None for that of htslib.
    """

    given: tuple[str, ...] = ()
    level: int | None = None

    def verify_for(self, file_format: str) -> None:
        """Raise ParameterError for an option that is not one of `OPTIONS`, has no such value, or if this is no CRAM."""
        for option in self.given:
            if file_format != "cram":
                raise ParameterError("format_options", f"{option}: {file_format.upper()} has no such options")
            name, _, value = option.partition("=")
            if option in PROFILES:
                continue
            if name not in OPTIONS:
                known = ", ".join((*OPTIONS, *PROFILES))
                raise ParameterError("format_options", f"{option}: CRAM takes {known}")
            if not re.fullmatch(OPTIONS[name], value or "1"):
                raise ParameterError("format_options", f"{option}: {name} takes {OPTIONS[name]}")

    @property
    def is_against_reference(self) -> bool:
        """Bases are written as differences to the reference, which readers need, too."""
        values = dict(option.partition("=")[::2] for option in self.given)
        return values.get("no_ref", "0") == "0"

    def as_text(self, against_reference: bool) -> str:
        """Each option after a comma, as htslib takes them after the name of a format."""
        options = [option if "=" in option or option in PROFILES else f"{option}=1" for option in self.given]
        if not any(option.startswith("version=") for option in options):
            options.insert(0, f"version={VERSION}")
        options += [] if self.level is None else [f"level={self.level}"]
        options += [] if against_reference or not self.is_against_reference else ["no_ref=1"]
        return "".join(f",{option}" for option in options)


def warn_of_packed(fasta: str, options: CramOptions) -> None:
    """A warning where samtools will not find bases by UR: it reads a compressed FASTA as BGZF alone."""
    if not options.is_against_reference or any(option in EMBEDDED for option in options.given):
        return
    with suppress(OSError), open(fasta, "rb") as file:
        head = file.read(18)
        if head[:2] == b"\x1f\x8b" and head[12:14] != b"BC":
            text = "%s is gzip, not BGZF: samtools reads the CRAM with -T and an unpacked FASTA, or one from bgzip"
            log.warning(text, fasta)


@frozen()
class CramTarget:
    """A CRAM file to come: its options, where it goes, and the reference of its records."""

    options: CramOptions
    destination: AlignmentDestination
    contigs: Contigs
    reference: ReferenceArrays

    def with_fasta(self) -> tuple[str, str | None]:
        """Options for htslib, each after a comma; and the FASTA that records are written against, if they are.

        Its own index is next to it. Both are gone when the output is complete. Raises OutputError.
        """
        if not self._is_against_reference:
            return self.options.as_text(False), None
        path = self.destination.temporary("reference.fa")
        with (
            self.destination.errors(),
            open(path, "wb") as fasta,
            open(self.destination.temporary("reference.fa.fai"), "w") as fai,
        ):
            for contig in self._contigs():
                fasta.write(f">{contig.name}\n".encode())
                fai.write(
                    f"{contig.name}\t{contig.length}\t{fasta.tell()}\t{contig.length}\t{contig.length + 1}\n"
                )
                if not self._written(contig, fasta):
                    return self.options.as_text(False), None
                fasta.write(b"\n")
        return self.options.as_text(True), path

    def with_folder(self) -> tuple[str, str | None]:
        """The same with a folder of the contigs, each under the name of its MD5, as htslib's REF_PATH takes it.

        htslib writes no path of a temporary file into the header, as it does with a FASTA.
        """
        if not self._is_against_reference:
            return self.options.as_text(False), None
        folder = None
        for contig in self._contigs():
            path = self.destination.temporary(contig.md5)
            with self.destination.errors(), open(path, "wb") as file:
                if not self._written(contig, file):
                    return self.options.as_text(False), None
            folder = os.path.dirname(path)
        return self.options.as_text(True), folder

    @property
    def _is_against_reference(self) -> bool:
        """Without M5 in the header no reader could tell whether it has the right sequence."""
        return self.options.is_against_reference and all(contig.md5 for contig in self._contigs())

    def _contigs(self) -> Iterator[_Contig]:
        for line, start in zip(self.contigs.lines(), self.reference.starts.tolist(), strict=True):
            contig = fields_of(line)
            yield _Contig(contig["SN"], start, int(contig["LN"]), contig.get("M5", ""))

    def _written(self, contig: _Contig, file: IO[bytes]) -> bool:
        """Write the bases of a contig. False where the FASTA that was indexed has other ones: U for T."""
        exceptions = Exceptions(*self.reference[3:6])
        import hashlib  # as in `Reference`: 3 ms that few runs need

        digest = hashlib.md5(usedforsecurity=False)
        end = contig.start + contig.length
        for first in range(contig.start, end, AT_ONCE):
            bases = bases_between(self.reference.planes, exceptions, first, min(first + AT_ONCE, end))
            digest.update(bases.data)
            file.write(bases.data)
        if digest.hexdigest() != contig.md5:
            log.warning("contig %s has U in its FASTA: CRAM is written without reference", contig.name)
        return digest.hexdigest() == contig.md5


class _Contig(NamedTuple):
    name: str
    start: int
    length: int
    md5: str
