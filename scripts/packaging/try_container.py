"""Build the container of a wheel, and try the gassst in it as a user would.

    python scripts/packaging/try_container.py wheelhouse           # a folder with repaired wheels

The last line names the image, or says that there is no Docker.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
DOCKERFILE = HERE / "Dockerfile"
TRIAL = HERE / "try_installed.py"
DATA = HERE.parents[1] / "tests" / "data"
WHEEL = re.compile(r"gassst-([^-]+)-cp3(\d+)-.*linux.*_x86_64\.whl")


def wheel_in(folder: Path, python: str) -> tuple[str, str]:
    """Version and Python ("3.13") of the wheel for `python`, or else of any that is there."""
    found = {
        f"3.{match[2]}": match[1] for path in folder.glob("*.whl") if (match := WHEEL.fullmatch(path.name))
    }
    if not found:
        sys.exit(f"{folder}: there is no wheel of gassst for x86-64 Linux")
    python = python if python in found else min(found)
    return found[python], python


def by_docker(folder: Path) -> str:
    """The name of the image."""
    [default] = re.findall(r"^ARG PYTHON=(\S+)$", DOCKERFILE.read_text(), re.MULTILINE)
    version, python = wheel_in(folder, default)
    image = f"gassst:{version.replace('+', '-')}"
    arguments = ["--build-arg", f"PYTHON={python}", "--build-arg", f"VERSION={version}", "-t", image]
    subprocess.run(["docker", "build", "-f", DOCKERFILE, *arguments, folder], check=True)
    volumes = ["-v", f"{DATA}:/data:ro", "-v", f"{TRIAL}:/trial.py:ro", "-u", f"{os.getuid()}:{os.getgid()}"]
    subprocess.run(["docker", "run", "--rm", *volumes, image, "python", "/trial.py", "/data"], check=True)
    return image


def has_docker() -> bool:
    return (
        shutil.which("docker") is not None
        and not subprocess.run(["docker", "info"], capture_output=True).returncode
    )


def main(folder: Path) -> int:
    print(by_docker(folder.resolve()) if has_docker() else "no container, as Docker does not run here")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
