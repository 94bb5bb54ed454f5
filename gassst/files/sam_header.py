"""The line of a SAM header that says what wrote the file."""

from __future__ import annotations

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
