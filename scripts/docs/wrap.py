"""Wrap the prose of Markdown pages at 120 columns; tables, code, HTML and what scripts fill in stay as they are.

    python scripts/docs/wrap.py              # rewrites the pages
    python scripts/docs/wrap.py --check      # fails where a page would change

A paragraph whose lines all fit stays as it is.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = 120
FOLDERS = ("docs", "lab")
MADE = {"docs/api/parameters.md", "docs/core-budget.md", "docs/guide/options.md"}
"""By other scripts."""
ITEM = re.compile(r"\s*(?:[*+-]|\d+[.)])\s+")
# Front matter, and what scripts fill in.
OTHER = re.compile(r"\A---\n.*?^---$|^<!-- \w+ \S+.*? -->$.*?^<!-- end -->$", re.DOTALL | re.MULTILINE)
MARKS = ("![", ":", "--8<--")
# A code span is one word, with what stands before and behind it.
WORD = re.compile(r"(?:[^\s`]|`[^`]*`)+|\S+")
# What begins another kind of block at the start of a line.
BEGINS = re.compile(r"[-+*]+$|\d+[.)]$|#+$|=+$|[>|<]|```|~~~|!!!")


def pages() -> list[Path]:
    found = [ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
    found += [page for folder in FOLDERS for page in sorted((ROOT / folder).rglob("*.md"))]
    return [page for page in found if page.relative_to(ROOT).as_posix() not in MADE]


def filled(lines: list[str], columns: int = COLUMNS) -> list[str]:
    """A paragraph, or an item of a list, with as many words to a line as fit."""
    marker = ITEM.match(lines[0])
    first = marker[0] if marker else " " * (len(lines[0]) - len(lines[0].lstrip()))
    indent = " " * len(first)
    words: list[str] = []
    for word in WORD.findall(" ".join([lines[0][len(first) :], *lines[1:]])):
        if words and BEGINS.match(word):
            words[-1] += f" {word}"
        else:
            words.append(word)
    wrapped = [first + words[0]]
    for word in words[1:]:
        if len(wrapped[-1]) + 1 + len(word) <= columns:
            wrapped[-1] += f" {word}"
        else:
            wrapped.append(indent + word)
    return wrapped


def paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """The first line of every paragraph of prose, and the line behind its last."""
    tokens = MarkdownIt().enable("table").parse(OTHER.sub(lambda found: "\n" * found[0].count("\n"), text))
    for token, inner in zip(tokens, tokens[1:], strict=False):
        if token.type == "paragraph_open" and token.map and not inner.content.startswith(MARKS):
            yield token.map[0], token.map[1]


def wrapped(text: str, columns: int = COLUMNS) -> str:
    """The page with long paragraphs filled again."""
    lines = text.split("\n")
    for first, end in reversed([*paragraphs(text)]):
        first += lines[first].startswith("<")  # an anchor
        run = lines[first:end]
        has_breaks = any(line.endswith(("  ", "\\")) for line in run[:-1])
        if any(len(line) > columns for line in run) and not has_breaks and run[0][:1] != ">":
            lines[first:end] = filled(run, columns)
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change no page; fail where one would change")
    args = parser.parse_args(argv)
    stale = [page for page in pages() if wrapped(text := page.read_text()) != text]
    if args.check:
        names = ", ".join(page.relative_to(ROOT).as_posix() for page in stale)
        print(f"lines of more than {COLUMNS} columns: {names}" if stale else "wrapped")
        return int(bool(stale))
    for page in stale:
        page.write_text(wrapped(page.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
