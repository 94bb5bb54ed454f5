"""The two lines that every log begins with, for tests that look at what comes behind them."""

from __future__ import annotations

import re

LINES = re.compile(r"gassst: version \S+: gassst .*\ngassst: [\d,]+ threads?(?:, index .*)?\n")


def behind_start(error: str) -> str:
    """What a command has said on stderr without these lines."""
    return LINES.sub("", error)
