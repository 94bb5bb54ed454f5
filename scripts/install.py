"""Install the package with pip and show what pip hides: each file as it is compiled.

Arguments are those of `pip install`. All of pip's output goes to build/install.log; its end is shown if pip fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

LOG = Path("build/install.log")
# Lines to show: of setup.py, and the steps of pip that take seconds.
BUILD = "gassst: "
STEPS = (
    "Installing build dependencies:",
    "Collecting ",
    "Installing collected packages:",
    "Successfully installed",
)


def main(arguments: list[str]) -> int:
    LOG.parent.mkdir(exist_ok=True)
    print("Installing gassst and what it needs; the log is", LOG, flush=True)
    pip = subprocess.Popen(
        [sys.executable, "-m", "pip", "install", "--verbose", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    with pip, LOG.open("w", encoding="utf-8") as log:
        for line in pip.stdout or ():
            log.write(line)
            text = line.strip()
            if text.startswith(BUILD):
                print(" ", text.removeprefix(BUILD), flush=True)
            elif line.startswith(STEPS):
                print(" ", "pip:", text[:100], flush=True)
    if pip.returncode:
        print(*LOG.read_text(encoding="utf-8").splitlines()[-40:], f"pip failed; all of it: {LOG}", sep="\n")
    return pip.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
