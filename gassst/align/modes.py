"""Which ends of the sequences an alignment must reach."""

from __future__ import annotations

from gassst.errors import UsageError

# As in ext/pairwise/lanes.h.
QUERY_BEGIN, QUERY_END, TARGET_BEGIN, TARGET_END, LOCAL = 1, 2, 4, 8, 16

MODES = ("local", "global", "semiglobal")
FREE_ENDS = {
    "both": QUERY_BEGIN | QUERY_END | TARGET_BEGIN | TARGET_END,
    "query": QUERY_BEGIN | QUERY_END,
    "target": TARGET_BEGIN | TARGET_END,
}


def mode_flags(mode: str, free_ends: str = "both") -> int:
    """The free ends as flags. Raises UsageError for a name that is not among `MODES` or `FREE_ENDS`."""
    if mode not in MODES:
        raise UsageError(f"mode {mode!r} must be one of {', '.join(MODES)}")
    if free_ends not in tuple(FREE_ENDS):
        raise UsageError(f"free_ends {free_ends!r} must be one of {', '.join(FREE_ENDS)}")
    if mode == "semiglobal":
        return FREE_ENDS[free_ends]
    return LOCAL if mode == "local" else 0


def swapped(flags: int) -> int:
    """The flags when query and target change places."""
    ends = LOCAL - 1
    return flags & LOCAL | (flags << 2 & ends) | (flags & ends) >> 2
