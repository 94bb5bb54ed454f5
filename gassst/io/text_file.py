"""Small text outputs: statistics, reports."""

from __future__ import annotations

import os

from gassst.io.destination import Destination


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` in UTF-8 with "\\n" as line end; the file takes its name when it is complete.

    "-" is standard output. Raises OutputError when the file cannot be written; what was there before stays.
    """
    target = Destination(path)
    try:
        with target.errors(), os.fdopen(target.open(), "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        target.commit()
    except BaseException:
        target.discard()
        raise
