"""The line of a SAM header that says what wrote the file."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gassst.errors import UsageError

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


def with_lines(header: str, lines: Sequence[str]) -> str:
    """The header with more lines before ours of the program. Fields of @SQ are added to those of the contig.

    Lines of @HD are left out: how records are sorted is known here. Raises UsageError for what is no line of a header,
    or names a contig that is not there or has another length.
    """
    if not lines:
        return header
    kept = header.rstrip("\n").split("\n")
    contigs = {fields_of(line)["SN"]: i for i, line in enumerate(kept) if line.startswith("@SQ\t")}
    more = []
    for line in lines:
        if not re.fullmatch(r"@CO\t.*|@[A-Za-z]{2}(\t[A-Za-z][A-Za-z0-9]:[^\t]+)+", line):
            raise UsageError(f"header line {line!r}: must be @CO or XX:value fields, separated by tabs")
        kind, fields = line[:3], fields_of(line)
        if kind == "@SQ":
            at = contigs.get(fields.get("SN", ""))
            own = {} if at is None else fields_of(kept[at])
            if at is None or fields.get("LN", own["LN"]) != own["LN"]:
                raise UsageError(f"header line {line!r}: the reference has no such contig")
            kept[at] += "".join(f"\t{key}:{value}" for key, value in fields.items() if key not in own)
        elif kind != "@HD":
            more.append(line)
    place = next((i for i, line in enumerate(kept) if line.startswith("@PG\tID:gassst\t")), len(kept))
    return "\n".join([*kept[:place], *more, *kept[place:]]) + "\n"


def fields_of(line: str) -> dict[str, str]:
    """The fields of a line of a header by their keys."""
    return {field[:2]: field[3:] for field in line.split("\t")[1:]}
