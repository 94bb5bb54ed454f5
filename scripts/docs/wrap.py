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

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = 120
FOLDERS = ("docs", "lab")
MADE = {"docs/api/parameters.md", "docs/core-budget.md", "docs/guide/options.md"}
"""By other scripts."""
ITEM = re.compile(r"\s*(?:[*+-]|\d+[.)])\s+")
FENCE = re.compile(r"\s*(```+|~~~+)")
FILLED = re.compile(r"<!-- (\w+ \S+.*) -->")
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


def paragraphs(lines: list[str]) -> Iterator[tuple[list[str], bool]]:
    """Runs of lines in order, and whether a run is prose."""
    run: list[str] = []
    fence, in_list, in_note, in_filled = "", False, False, False
    for number, line in enumerate(lines):
        text = line.strip()
        opening = FENCE.match(line)
        if number == 0 and text == "---":
            fence = "---"
        indented = line.startswith("    ") and not run and not (in_list or in_note)
        begins_html = line.startswith("<") and not run
        is_prose = bool(text) and not (fence or opening or in_filled or indented or begins_html)
        is_prose = is_prose and not text.startswith(("|", "#", ">", "!!!", "![", ":", "--8<--"))
        if run and (not is_prose or ITEM.match(line)):
            yield run, True
            run = []
        if is_prose:
            run.append(line)
        else:
            yield [line], False
        if opening and (not fence or (text.startswith(fence) and not text.strip("`~"))):
            fence = "" if fence else opening[1]
        elif fence == "---" and number and text == "---":
            fence = ""
        if FILLED.match(text):
            in_filled = True
        elif text == "<!-- end -->":
            in_filled = False
        if text and not line.startswith(" "):
            in_list, in_note = (
                bool(ITEM.match(line)) or (in_list and is_prose and bool(run[1:])),
                text[:3] == "!!!",
            )
    if run:
        yield run, True


def wrapped(text: str, columns: int = COLUMNS) -> str:
    """The page with long paragraphs filled again."""
    lines: list[str] = []
    for run, is_prose in paragraphs(text.split("\n")):
        has_breaks = any(line.endswith(("  ", "\\")) for line in run[:-1])
        is_long = any(len(line) > columns for line in run)
        lines += filled(run, columns) if is_prose and is_long and not has_breaks else run
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
