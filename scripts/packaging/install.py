"""Install the package with pip and show what pip hides: each file as it is compiled.

Arguments are those of `pip install`. All of pip's output goes to build/install.log; its end is shown if pip fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

LOG = Path("build/install.log")
BUILD = "gassst: "  # setup.py begins its lines so
MILESTONES = {
    "  Installing build dependencies: started": "fetching what the build needs",
    "Installing collected packages": "installing gassst and the packages it imports",
}


def main(arguments: list[str]) -> int:
    LOG.parent.mkdir(exist_ok=True)
    print(f"Installing gassst; the first time compiles for about a minute. Log: {LOG}", flush=True)
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
            shown = [text for start, text in MILESTONES.items() if line.startswith(start)]
            if line.lstrip().startswith(BUILD):
                shown.append(line.strip().removeprefix(BUILD))
            for text in shown:
                print(" ", text, flush=True)
    if pip.returncode:
        print(*why_failed(LOG.read_text(encoding="utf-8")), f"pip failed; all of it: {LOG}", sep="\n")
    return pip.returncode


def why_failed(log: str) -> list[str]:
    """The end of the log; nothing where setup.py has said what is missing, which was shown."""
    lines = log.splitlines()
    is_said = any(line.strip().startswith(f"{BUILD}error: ") for line in lines)
    return [] if is_said else lines[-40:]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
