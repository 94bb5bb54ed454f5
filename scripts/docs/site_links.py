"""A hook of MkDocs: pages that are files of the repository's root get links that hold on the site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FROM_ROOT = {"changelog.md": "CHANGES.md", "contributing.md": "CONTRIBUTING.md"}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The text of a page; MkDocs calls this for each."""
    name = FROM_ROOT.get(page.file.src_uri)
    return (ROOT / name).read_text().replace("](docs/", "](") if name else markdown
