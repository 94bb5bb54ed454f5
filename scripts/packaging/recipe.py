"""Print the bioconda recipe of a release: with the checksum of its tagged tarball, and the address of the project.

    python scripts/packaging/recipe.py v0.2.0.tar.gz https://HOST/OWNER/gassst > meta.yaml

The tarball is that of the tag, as `git archive --prefix=gassst-0.2.0/ v0.2.0` makes it.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tarfile
from pathlib import Path

RECIPE = Path(__file__).parent / "bioconda" / "meta.yaml"


def version_in(tarball: Path) -> str:
    """The version of the source in a tarball."""
    with tarfile.open(tarball) as archive:
        [name] = [name for name in archive.getnames() if re.fullmatch(r"[^/]+/gassst/version\.py", name)]
        file = archive.extractfile(name)
        assert file is not None
        return re.findall(r'^__version__ = "(.*)"$', file.read().decode(), re.MULTILINE)[0]


def filled_in(tarball: Path, repository: str) -> str:
    """The recipe for a tarball."""
    values = {
        "version": version_in(tarball),
        "repository": repository.rstrip("/"),
        "sha256": hashlib.sha256(tarball.read_bytes()).hexdigest(),
    }
    text = RECIPE.read_text(encoding="utf-8").replace(
        "# Known at a release: `scripts/packaging/recipe.py` fills them in.\n", ""
    )
    for name, value in values.items():
        text = re.sub(rf'(?m)^{{% set {name} = ".*" %}}$', f'{{% set {name} = "{value}" %}}', text)
    return text


if __name__ == "__main__":
    print(filled_in(Path(sys.argv[1]), sys.argv[2]), end="")
