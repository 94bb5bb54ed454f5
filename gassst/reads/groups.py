"""Read groups: the @RG lines of a header, and which of them the reads of each input belong to."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence

from gassst.errors import InputError, UsageError
from gassst.files.sam_header import fields_of, lines_of
from gassst.files.source import name_of
from gassst.frozen import frozen
from gassst.reads.first_reads import first_line

# Values of PL that Picard's ValidateSamFile and GATK accept, in any case.
PLATFORMS = {
    "CAPILLARY", "DNBSEQ", "ELEMENT", "HELICOS", "ILLUMINA", "IONTORRENT", "LS454", "ONT", "OTHER", "PACBIO",
    "SINGULAR", "SOLID", "ULTIMA",
}  # fmt: skip


@frozen()
class ReadGroups:
    """The read groups of a run.

    Attributes
    ----------
    lines : tuple of str
        @RG lines, with different IDs.
    of_input : tuple of int
        The ordinal of the line for each input, in their order. Empty: the first line is for all.
    """

    lines: tuple[str, ...] = ()
    of_input: tuple[int, ...] = ()

    def of(self, i: int) -> int:
        """The ordinal of the group of input `i`."""
        return self.of_input[i] if self.of_input else 0


NO_GROUPS = ReadGroups()
NO_GROUP = -1  # in the place of an ordinal: records have no RG but that of their read


def parse_read_group(text: str) -> str:
    """The @RG header line in `text`, in which a tab may be written as backslash and t; else `UsageError`."""
    line = text.replace("\\t", "\t")
    first, *fields = line.split("\t")
    bad = [f for f in fields if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]:[^\x00-\x1f\x7f\ud800-\udfff]+", f)]
    keys = [f[:2] for f in fields]
    if re.match("@RGt[A-Za-z][A-Za-z0-9]:", first):
        quoted = r"'@RG\tID:x\tSM:y'"
        raise UsageError(
            f"read group {text!r}: the shell removed its backslashes; put it in quotes, {quoted}"
        )
    if first != "@RG":
        raise UsageError(f"read group {text!r}: must begin with '@RG' and a tab")
    if bad:
        raise UsageError(f"read group {text!r}: {bad[0]!r} is not of the form XX:value")
    if len(set(keys)) < len(keys):
        raise UsageError(f"read group {text!r}: a field occurs twice")
    if "ID" not in keys:
        raise UsageError(f"read group {text!r}: has no ID")
    return line


def read_group_ids(header_text: str) -> list[str]:
    """The IDs of all read groups of a SAM header, in order."""
    return [fields_of(line)["ID"] for line in lines_of(header_text, "@RG") if "\tID:" in line]


def read_groups(texts: str | Sequence[str] | None, inputs: int) -> ReadGroups:
    """The groups given for so many inputs: one for all, or one for each.

    Raises
    ------
    UsageError
        Another number, a bad line, or two different groups of one ID.
    """
    texts = [texts] if isinstance(texts, str) else texts or []
    if len(texts) not in (0, 1, inputs):
        raise UsageError(f"{len(texts)} read groups for {inputs} inputs: give one for all, or one for each")
    return _distinct([parse_read_group(text) for text in texts])


def _distinct(lines: Sequence[str]) -> ReadGroups:
    """Equal lines are one group, of several inputs."""
    number = {line: i for i, line in enumerate(dict.fromkeys(lines))}
    if (name := repeated_id(number)) is not None:
        raise UsageError(f"read group {name!r}: two different lines with this ID")
    return ReadGroups(tuple(number), tuple(number[line] for line in lines) if len(number) > 1 else ())


def repeated_id(lines: Iterable[str]) -> str | None:
    """The first ID that an earlier one of these @RG lines has, too; None where all differ."""
    seen = set[str]()
    for line in lines:
        name = fields_of(line).get("ID", "")
        if name in seen:
            return name
        seen.add(name)
    return None


def groups_from_names(paths: Sequence[str], sample: str) -> ReadGroups:
    """A group for each file, from the Illumina name of its first read; lanes of one flow cell differ.

    Raises
    ------
    UsageError
        A file that cannot be read twice, such as standard input.
    InputError
        The name is none of Illumina's, "INSTRUMENT:RUN:FLOWCELL:LANE:TILE:X:Y".
    """
    return _distinct([_group_from_name(path, sample) for path in paths])


def _group_from_name(path: str, sample: str) -> str:
    first = first_line(path)
    name, _, comment = first[1:].partition(" ")
    parts = name.split(":")
    if len(parts) < 7:
        raise InputError(
            f"{path}: record 1 ({name}): its name does not contain flow cell and lane, as Illumina's do"
        )
    unit = f"{parts[2]}.{parts[3]}"
    barcode = re.fullmatch(r"[12]:[YN]:\d+:([A-Za-z+]+)", comment.partition("\t")[0])
    full_unit = f"{unit}.{barcode[1].replace('+', '-')}" if barcode else unit
    return parse_read_group(f"@RG\tID:{unit}\tSM:{sample}\tLB:{sample}\tPL:ILLUMINA\tPU:{full_unit}")


def doubts(lines: Sequence[str]) -> Iterator[str]:
    """What GATK or Picard would stop at, or warn of, in read groups that SAM allows."""
    for line in lines:
        fields = fields_of(line)
        name = fields["ID"]
        if "SM" not in fields:
            yield f"read group {name!r} has no sample (SM): GATK refuses such a file"
        if "PL" not in fields:
            yield f"read group {name!r} has no platform (PL): base recalibration of GATK refuses it"
        elif fields["PL"].upper() not in PLATFORMS:
            yield f"read group {name!r}: its platform (PL) {fields['PL']!r} is none that GATK and Picard know"
        if "LB" not in fields:
            yield f"read group {name!r} has no library (LB): duplicates are then looked for as if all were of one"


def check_seekable(paths: Sequence[str]) -> None:
    """Raise UsageError for an input that cannot be read twice."""
    for path in paths:
        if path == "-" or (os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode)):
            raise UsageError(f"{name_of(path)}: --rg-from-name reads ahead, so it needs files")
