"""What a package index shows of gassst: its version, the README with links that work there, and the addresses.

`setup.py` takes all of it from here. Where the project lies is known where it is released: GitHub's runners say it in
GITHUB_SERVER_URL and GITHUB_REPOSITORY. Elsewhere links stay relative, as they are in a copy of the sources.
"""

from __future__ import annotations

import os
import re
import runpy

VERSION_FILE = "gassst/version.py"
PAPER = "https://doi.org/10.1093/bioinformatics/btq485"
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^]]*)\]\((?!https?://|#)(?P<path>[^)\s]+)\)")


def repository() -> str:
    """The address of the repository; "" where it is not known."""
    server, name = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
    return f"{server}/{name}" if server and name else ""


def built_version() -> str:
    """The version of a build in this folder: that of the source, with its commit on the way to a release."""
    return str(runpy.run_path(VERSION_FILE)["__version__"])


def with_version(source: str, version: str) -> str:
    """The text of gassst/version.py for this version."""
    return re.sub(r'(?m)^__version__ = ".*"$', f'__version__ = "{version}"', source)


def revision(version: str) -> str:
    """What links lead to: the tag of a release, or the commit of a development version."""
    return os.environ.get("GITHUB_SHA", "HEAD") if ".dev" in version else f"v{version}"


def with_whole_links(readme: str, address: str, revision: str) -> str:
    """The README with addresses for paths; as it is where there is no address."""

    def whole(link: re.Match[str]) -> str:
        kind = "raw" if link["image"] else "blob"
        return f"{link['image']}[{link['text']}]({address}/{kind}/{revision}/{link['path']})"

    return LINK.sub(whole, readme) if address else readme


def urls(address: str) -> dict[str, str]:
    """By label."""
    found = {"Paper": PAPER}
    if address:
        found |= {
            "Source": address,
            "Documentation": f"{address}/blob/HEAD/docs/index.md",
            "Changelog": f"{address}/blob/HEAD/CHANGES.md",
            "Issues": f"{address}/issues",
        }
    return found
