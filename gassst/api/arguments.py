"""Keyword arguments by the names of Python, or by those of the options of `gassst map`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from gassst.errors import ParameterError
from gassst.model.options import options_of


def taken(
    function: str,
    options: Mapping[str, Any],
    known: Iterable[str],
    own: Iterable[type] = (),
    groups: Mapping[str, type] | None = None,
) -> dict[str, Any]:
    """The arguments of a function by the names that it knows.

    Parameters
    ----------
    function : str
        Its name in messages.
    options : mapping
        What the caller has given.
    known : iterable of str
        The names of the arguments.
    own : iterable of type
        Dataclasses whose fields are arguments: a long option of such a field will do, too.
    groups : mapping of str to type
        Arguments that are dataclasses: `match=2` is `scoring=Scoring(match=2)`.

    Raises
    ------
    TypeError
        For another name, with the one that was probably meant.
    ParameterError
        For a group that is of another type.
    """
    known, groups = set(known), groups or {}
    places = {name: place for kind in own for name, place in _places("", kind)}
    for group, kind in groups.items():
        value = options.get(group)
        if value is not None and not isinstance(value, kind):
            raise ParameterError(group, f"must be a gassst.{kind.__name__}, not {type(value).__name__}")
        places |= dict(_places(group, kind))
    found = {name: value for name, value in options.items() if name in known}
    for name, value in options.items():
        if name in known:
            continue
        if name not in places:
            from difflib import get_close_matches

            close = next(iter(get_close_matches(name, {*known, *places}, 1)), "")
            hint = f"; did you mean {close!r}?" if close else ""
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")
        group, field, is_negative = places[name]
        value = not value if is_negative else value
        if group:
            field, value = group, replace(found.get(group) or groups[group](), **{field: value})
        found[field] = value
    return found


def _places(group: str, kind: type) -> Iterable[tuple[str, tuple[str, str, bool]]]:
    """Each name by which a field can be given: its group, its field, and whether the option says the opposite."""
    for field, option in options_of(kind):
        yield field.name, (group, field.name, False)
        flags = [] if isinstance(option.help, Mapping) else option.flags
        for flag in flags:
            if flag.startswith("--"):
                is_negative = field.type == "bool" and bool(field.default)
                yield flag[2:].replace("-", "_"), (group, field.name, is_negative)
