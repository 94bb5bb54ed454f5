"""Numbers that callers give."""

from __future__ import annotations

import operator
from typing import Any


def integer_from(least: int, value: Any) -> int | None:
    """`value` as an int, or None where it is not an integer of `least` or more."""
    try:
        number = operator.index(value)
    except TypeError:
        return None
    return number if number >= least else None
