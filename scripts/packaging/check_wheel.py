"""Check that a wheel built from the sdist holds every module, kernel and stub, and the sdist every source.

The wheel must name the one series of pysam that its modules fit. Both must contain the version in their names.
"""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSION_FILE = "gassst/version.py"
PACKAGED = {".py", ".pyi", ".pxd", ".cl", ".h", ".json", ".txt", ".typed"}


def under(folder: str, suffixes: set[str]) -> set[str]:
    return {str(p.relative_to(ROOT)) for p in (ROOT / folder).rglob("*") if p.suffix in suffixes}


def names_one_series(metadata: str) -> bool:
    """Whether the metadata of a wheel requires one series of pysam."""
    [needed] = re.findall(r"^Requires-Dist: pysam(.*)", metadata, re.MULTILINE)
    return re.search(r"==\d+\.\d+\.\*", needed) is not None


def said(source: bytes) -> str:
    """The version that gassst/version.py contains; "" where there is none."""
    return "".join(re.findall(r'^__version__ = "(.*)"$', source.decode(), re.MULTILINE))


def main(folder: Path) -> int:
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
        wheel = set(archive.namelist())
        [metadata] = [name for name in wheel if name.endswith(".dist-info/METADATA")]
        is_fit = names_one_series(archive.read(metadata).decode())
        versions = {metadata.partition("-")[2].partition(".dist-info")[0], said(archive.read(VERSION_FILE))}
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        sdist = {name.partition("/")[2] for name in archive.getnames()}
        top = archive.getnames()[0].partition("/")[0]
        file = archive.extractfile(f"{top}/{VERSION_FILE}")
        versions |= {top.partition("-")[2], said(file.read() if file else b"")}
    modules = {f"gassst/_core/{Path(p).stem}" for p in under("ext", {".pyx"}) | under("index", {".pyx"})}
    modules.add("gassst/_core/_cyutility")
    compiled = {name.partition(".")[0] for name in wheel if name.endswith(".so")}
    packaged = under("gassst", PACKAGED) | {"gassst/py.typed"}
    expected = packaged | {name for name in wheel if name.endswith(".so") or ".dist-info/" in name}
    sources = {"setup.py", "pyproject.toml"} | packaged
    sources |= under("ext", {".pyx", ".pxi", ".h", ".c"}) | under("index", {".pyx", ".pxi", ".h"})

    problems = [f"wheel lacks {name}" for name in sorted(packaged - wheel)]
    problems += [f"wheel lacks module {name}" for name in sorted(modules - compiled)]
    problems += [f"wheel holds module {name}" for name in sorted(compiled - modules)]
    problems += [f"wheel holds {name}" for name in sorted(wheel - expected)]
    problems += [f"sdist lacks {name}" for name in sorted(sources - sdist)]
    problems += [] if len(versions) == 1 else [f"several versions: {', '.join(sorted(versions))}"]
    problems += [] if is_fit else ["wheel takes more than one series of pysam"]
    print("\n".join(problems) or f"wheel: {len(wheel)} files, sdist: {len(sdist)} files, nothing missing")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
