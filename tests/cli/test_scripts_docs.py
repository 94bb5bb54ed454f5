"""The scripts that hold the documentation to its rules: what they find, and what they leave alone."""

from __future__ import annotations

import re

import doc_commands
from places import ROOT
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES


def test_the_copy_button_copies_commands_without_prompts():
    """The theme hides what the style sheet names before it reads the text of a block."""
    css = (ROOT / "docs/assets/extra.css").read_text()
    hidden = set(re.findall(r"\[data-md-copying\] \.(\w+)", css))
    blocks = [
        block
        for page in sorted((ROOT / "docs").rglob("*.md"))
        for block in re.findall(r"^```console\n(.*?)^```", page.read_text(), re.S | re.M)
    ]
    assert len(blocks) > 50
    for block in blocks:
        tokens = get_lexer_by_name("console").get_tokens(block)
        copied = "".join(text for kind, text in tokens if STANDARD_TYPES.get(kind) not in hidden)
        assert not re.search(r"^\$ ", copied, re.M), block
        assert copied.strip(), block


# --- doc_commands -------------------------------------------------------------------------------------------


def test_what_a_page_shows_is_compared_with_what_is_printed():
    [block] = doc_commands.blocks("```console\n$ a \\\n  b\nx  1.5 %\n\n$ c\ny..  2 s\n```\n")
    assert (block.code, block.shown) == ("a \\\n  b\nc", ["x  1.5 %", "y..  2 s"])
    assert doc_commands.unlike(block.shown, "x\t1.46 %\nbetween\nyes 77.1 s\n") is None
    assert doc_commands.unlike(block.shown, "x 1.56 %\nyes 2 s\n") == "x  1.5 %"
    assert doc_commands.unlike(block.shown, "yes 2 s\nx 1.5 %\n") == "y..  2 s"
    assert doc_commands.unlike(["n  2,043  98%"], "n 2043 98.2%") is None
    assert doc_commands.unlike(["n  2,043"], "n 2044") == "n  2,043"
    assert doc_commands.unlike(["n  2,043"], "n 2,043 more") == "n  2,043"
