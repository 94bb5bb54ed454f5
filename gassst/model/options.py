"""The table of options: a field of a dataclass also says how the command line calls it, and which values it takes.

`gassst.cli.options` makes arguments of such fields, `verify` checks their values, and `scripts/docs/options_page.py`
writes the pages. A module that has such fields imports neither NumPy nor pysam: each start of the command loads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, field, fields
from typing import Any, TypeVar

from gassst.errors import ParameterError
from gassst.frozen import NamedTuple

MACHINE = "machine"
"""The group of options that decide how a run uses the machine, and never what it writes."""


class Values(NamedTuple):
    """Which values an option takes.

    Attributes
    ----------
    hold : callable
        Whether a value is one of them.
    complaint : str
        What a message says of any other.
    names : tuple of str
        All of them, where they are words.
    """

    hold: Callable[[Any], bool]
    complaint: str
    names: tuple[str, ...] = ()


def between(least: float, most: float, unit: str = "") -> Values:
    """Numbers in a closed range."""
    return Values(lambda value: least <= value <= most, f"must be from {least} to {most}{unit}")


def at_least(least: int, complaint: str = "") -> Values:
    """Numbers without an upper bound."""
    return Values(lambda value: value >= least, complaint or f"must be at least {least}")


def one_of(*names: str) -> Values:
    """Words."""
    complaint = " or ".join(names) if len(names) == 2 else f"one of {', '.join(names)}"
    return Values(lambda value: value in names, f"must be {complaint}", names)


class Option(NamedTuple):
    """How the command line calls a field.

    Attributes
    ----------
    flags : tuple of str
    help : str or mapping of str to str
        Whole sentences, in which `{default}` is the default; where each flag is a value of its own, by that value.
    metavar : str or None
        The form of the value, which decides how it is parsed.
    values : Values or None
        None: any.
    group : str
        The group of the help.
    excludes : str
        A name that options have in common of which only one can be given.
    """

    flags: tuple[str, ...]
    help: str | Mapping[str, str]
    metavar: str | None
    values: Values | None
    group: str
    excludes: str

    def text(self, default: Any) -> str:
        """The help, with the default where it is said."""
        text = self.help if isinstance(self.help, str) else " ".join(self.help.values())
        return text.replace("{default}", str(default))

    def explained(self, default: Any) -> str:
        """The help, and which numbers are in range."""
        if self.values is None or self.values.names:
            return self.text(default)
        return f"{self.text(default)} It {self.values.complaint}."


def option(
    default: Any,
    flags: str,
    help: str | Mapping[str, str],
    values: Values | None = None,
    *,
    group: str = "",
    excludes: str = "",
) -> Any:
    """A field with this default; `flags` as "-s, --sensitivity 0..5". The rest is as of `Option`."""
    names, _, metavar = flags.rpartition(" ") if not flags.split()[-1].startswith("-") else (flags, "", None)
    described = Option(tuple(names.split(", ")), help, metavar, values, group, excludes)
    return field(default=default, metadata={"option": described, "group": group})


def deciding(options: Any) -> dict[str, Any]:
    """The fields of a dataclass that decide what a run writes, by name: all but those of the group `MACHINE`."""
    return {
        each.name: getattr(options, each.name)
        for each in fields(options)
        if each.metadata.get("group") != MACHINE
    }


def options_of(kind: Any, group: str | None = None) -> Iterator[tuple[Field[Any], Option]]:
    """The fields of a dataclass that are options, without those that it inherits; of a group, or all."""
    own = kind.__dict__.get("__annotations__", {})
    for each in fields(kind):
        described = each.metadata.get("option")
        if each.name in own and described is not None and group in (None, described.group):
            yield each, described


_Kind = TypeVar("_Kind", bound=type)


def described(kind: _Kind) -> _Kind:
    """A dataclass whose docstring, which ends with a section of attributes, also lists its own options."""
    lines = [(kind.__doc__ or "").rstrip()]
    for each, of_line in options_of(kind):
        flags, text = ", ".join(of_line.flags), of_line.explained(each.default)
        lines.append(f"    {each.name} : {each.type}, default {each.default!r}\n        {flags}: {text}")
    kind.__doc__ = "\n".join([*lines, "    "])
    return kind


def verify(options: Any) -> None:
    """Raise ParameterError for the first field of a dataclass with a value that is not among those it takes."""
    for each in fields(options):
        described, value = each.metadata.get("option"), getattr(options, each.name)
        if described is None or described.values is None or (value is None and each.default is None):
            continue
        if not described.values.hold(value):
            raise ParameterError(each.name, described.values.complaint)
