"""A hook of MkDocs: links that lead out of docs/, to the root of the repository or to lab/, hold on the site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FROM_ROOT = {"changelog.md": "CHANGES.md", "contributing.md": "CONTRIBUTING.md"}
# The notes of developers are no part of the site: their path is shown instead of a link.
LAB = re.compile(r"\[([^]]*)\]\((?:\.\./)*(lab/[^)#]+)[^)]*\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The text of a page; MkDocs calls this for each."""
    name = FROM_ROOT.get(page.file.src_uri)
    text = (ROOT / name).read_text().replace("](docs/", "](") if name else markdown
    return LAB.sub(r"\1 (`\2`)", text)
