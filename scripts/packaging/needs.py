"""What a build needs of the system, in words for who lacks it; `setup.py` asks before it compiles anything."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping

SEARCHED = ("CPATH", "C_INCLUDE_PATH")
"""Variables in which compilers find further folders of headers."""


def missing(compiler: str, folders: Iterable[str], environment: Mapping[str, str] = os.environ) -> str:
    """One line on what is missing, "" if nothing is. `folders` are those of headers."""
    if shutil.which(compiler) is None:
        return f"there is no C compiler ({compiler}): install one, on Debian and Ubuntu by `apt install gcc`"
    named = [folder for name in SEARCHED for folder in environment.get(name, "").split(os.pathsep) if folder]
    if any(os.path.isfile(os.path.join(folder, "Python.h")) for folder in [*folders, *named]):
        return ""
    return (
        "Python.h is missing: install the headers of Python, on Debian and Ubuntu by `apt install python3-dev`, on "
        "Fedora by `dnf install python3-devel`"
    )
