"""Build the container of a wheel, and try the gassst in it as a user would.

    python scripts/packaging/try_container.py wheelhouse           # a folder with repaired wheels

Where there is no Docker, the steps of the Dockerfile run in a virtual environment instead: all but those of apt-get,
and with this Python, which the wheel must fit. The last line says which of the two it was, and the image.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
DOCKERFILE = HERE / "Dockerfile"
TRIAL = HERE / "try_installed.py"
DATA = HERE.parents[1] / "tests" / "data"
WHEEL = re.compile(r"gassst-([^-]+)-cp3(\d+)-.*linux.*_x86_64\.whl")


def instructions(text: str) -> list[tuple[str, str]]:
    """The (instruction, arguments) of a Dockerfile, in order."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [
        (word, rest.strip())
        for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line)
    ]


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
    [default] = [rest for word, rest in instructions(DOCKERFILE.read_text()) if rest.startswith("PYTHON=")]
    version, python = wheel_in(folder, default.partition("=")[2])
    image = f"gassst:{version.replace('+', '-')}"
    arguments = ["--build-arg", f"PYTHON={python}", "--build-arg", f"VERSION={version}", "-t", image]
    subprocess.run(["docker", "build", "-f", DOCKERFILE, *arguments, folder], check=True)
    volumes = ["-v", f"{DATA}:/data:ro", "-v", f"{TRIAL}:/trial.py:ro", "-u", f"{os.getuid()}:{os.getgid()}"]
    subprocess.run(["docker", "run", "--rm", *volumes, image, "python", "/trial.py", "/data"], check=True)
    return image


def by_steps(folder: Path) -> str:
    """What was done."""
    version, _ = wheel_in(folder, f"3.{sys.version_info.minor}")
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([sys.executable, "-m", "venv", scratch], check=True)
        environment = {**os.environ, "PATH": f"{scratch}/bin:{os.environ['PATH']}", "VERSION": version}
        for word, rest in instructions(DOCKERFILE.read_text()):
            if word == "ENV":
                name, _, value = rest.partition("=")
                environment[name] = value
            elif word == "RUN" and not rest.startswith("apt-get "):
                step = re.sub(r"^--mount=\S+\s*", "", rest).replace("/wheels", str(folder))
                subprocess.run(["bash", "-ec", step], check=True, env=environment)
            elif word == "CMD":
                subprocess.run(json.loads(rest), check=True, env=environment, stdout=subprocess.DEVNULL)
        subprocess.run([f"{scratch}/bin/python", TRIAL, DATA], check=True, env=environment)
    return f"the steps for {version}, as Docker does not run here"


def has_docker() -> bool:
    return (
        shutil.which("docker") is not None
        and not subprocess.run(["docker", "info"], capture_output=True).returncode
    )


def main(folder: Path) -> int:
    print((by_docker if has_docker() else by_steps)(folder.resolve()))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
