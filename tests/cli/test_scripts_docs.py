"""The scripts that hold the documentation to its rules: what they find, and what they leave alone."""

from __future__ import annotations

import doc_commands

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
