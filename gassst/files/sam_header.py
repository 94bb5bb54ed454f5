"""SAM headers: the lines of contigs, which may be millions, apart from the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gassst.errors import UsageError
from gassst.files.contigs import Contigs
from gassst.frozen import NamedTuple

if TYPE_CHECKING:
    from typing_extensions import Buffer

MADE_FROM = "mf"
"""The tag of the @PG line with what decided the content of a file (`gassst.cli.resume`); SAM leaves such names free."""


def program_line(
    version: str, command_line: str, name: str = "gassst", after: str = "", made_from: str = ""
) -> str:
    """The @PG line of a program of this package, which ran on what another one (`after`) had made."""
    printable = command_line.encode("utf-8", "backslashreplace").decode()
    for character, escaped in (("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        printable = printable.replace(character, escaped)
    fields = ["@PG", f"ID:{name}", "PN:gassst", *[f"PP:{after}"] * bool(after)]
    fields += [f"VN:{version}"] * bool(version) + [f"CL:{printable}"] * bool(printable)
    fields += [f"{MADE_FROM}:{made_from}"] * bool(made_from)
    return "\t".join(fields)


def lines_of(header: str, kind: str) -> list[str]:
    """Lines of a kind such as "@RG". A pattern that begins with "^" would be tried at every letter of the header."""
    return re.findall(rf"\n({kind}\t[^\n]*)", "\n" + header)


class Header(NamedTuple):
    """The header of a file to be written: what comes before its lines of contigs, these, and what comes behind."""

    before: str
    contigs: Contigs
    after: str

    @classmethod
    def of(cls, text: str | Header) -> Header:
        """Takes a text apart. Raises ValueError where lines of contigs are not as SAM wants them, or not together."""
        if isinstance(text, Header):
            return text
        lines = re.search("(?:^@SQ\t.*\n)+", text, re.M)
        first, last = lines.span() if lines else (text.find("\n") + 1,) * 2
        return cls(text[:first], Contigs(text[first:last].encode()), text[last:])

    @property
    def others(self) -> str:
        """Its lines but those of contigs."""
        return self.before + self.after

    @property
    def text(self) -> str:
        """All of it."""
        return str(self.contigs.text.data, "utf-8").join((self.before, self.after))

    @property
    def pieces(self) -> list[Buffer]:
        """All of it as bytes."""
        return [self.before.encode(), self.contigs.text.data, self.after.encode()]

    def with_lines(self, lines: Sequence[str]) -> Header:
        """The header with more lines before ours of the program. Fields of @SQ are added to those of the contig.

        Lines of @HD are left out: how records are sorted is known here. Raises UsageError for what is no line of a
        header, or names a contig that is not there or has another length.
        """
        contigs: dict[int, dict[str, str]] = {}
        more = []
        for line in lines:
            if not re.fullmatch(r"@CO\t.*|@[A-Za-z]{2}(\t[A-Za-z][A-Za-z0-9]:[^\t]+)+", line):
                raise UsageError(f"header line {line!r}: must be @CO or XX:value fields, separated by tabs")
            kind, fields = line[:3], fields_of(line)
            if kind == "@SQ":
                names, name = self.contigs.names, fields.get("SN", "")
                at = names.index(name) if name in names else None
                if at is None or fields.get("LN", str(self.contigs.lengths[at])) != str(
                    self.contigs.lengths[at]
                ):
                    raise UsageError(f"header line {line!r}: the reference has no such contig")
                known = contigs.setdefault(at, {})
                known |= {key: value for key, value in fields.items() if key not in known}
            elif kind != "@HD":
                more.append(f"{line}\n")
        kept = self.after.splitlines(keepends=True)
        place = next((i for i, line in enumerate(kept) if line.startswith("@PG\tID:gassst\t")), len(kept))
        header = self._replace(after="".join([*kept[:place], *more, *kept[place:]]))
        return header._replace(contigs=self._with_fields(contigs)) if contigs else header

    def _with_fields(self, more: dict[int, dict[str, str]]) -> Contigs:
        """The contigs with further fields, by their ordinals; what a line has already is left out."""
        lines = self.contigs.lines()
        for at, fields in more.items():
            own = fields_of(lines[at])
            lines[at] += "".join(f"\t{key}:{value}" for key, value in fields.items() if key not in own)
        return Contigs("".join(f"{line}\n" for line in lines).encode())


def fields_of(line: str) -> dict[str, str]:
    """The fields of a line of a header by their keys."""
    return {field[:2]: field[3:] for field in line.split("\t")[1:]}
