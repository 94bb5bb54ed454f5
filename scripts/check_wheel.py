"""Check that a wheel built from the sdist holds every module, kernel and stub, and the sdist every source."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def wanted_in_wheel() -> set[str]:
    package = ROOT / "gassst"
    names = {
        f"gassst/{p.relative_to(package)}"
        for suffix in ("*.py", "*.pyi", "*.pxd", "py.typed")
        for p in package.glob(suffix)
    }
    names |= {
        f"gassst/extension/kernels/{p.name}"
        for p in (package / "kernels").iterdir()
        if p.suffix in (".cl", ".h")
    }
    names |= {f"gassst/tools/data/{p.name}" for p in (package / "data").glob("*.json")}
    return names


def main(folder: Path) -> int:
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
        wheel = archive.namelist()
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        sdist = [name.split("/", 1)[-1] for name in archive.getnames()]
    modules = [f"gassst/_{p.stem}." for d in ("ext", "index") for p in (ROOT / d).glob("*.pyx")]
    problems = [f"wheel lacks {name}" for name in sorted(wanted_in_wheel() - set(wheel))]
    problems += [
        f"wheel lacks {m}so" for m in modules if not any(n.startswith(m) and n.endswith(".so") for n in wheel)
    ]
    problems += [
        f"wheel holds {name}"
        for name in wheel
        if name.split("/")[0] not in ("gassst", wheel[-1].split("/")[0])
    ]
    problems += [f"wheel holds source {name}" for name in wheel if name.endswith((".c", ".pyx"))]
    sources = [
        str(p.relative_to(ROOT))
        for d in ("ext", "index")
        for p in (ROOT / d).iterdir()
        if p.suffix in (".pyx", ".h")
    ]
    problems += [f"sdist lacks {name}" for name in sources if name not in sdist]
    print("\n".join(problems) or f"wheel: {len(wheel)} files, sdist: {len(sdist)} files, nothing missing")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
