"""The scripts that hold the documentation to its rules: what they find, and what they leave alone."""

from __future__ import annotations

import importlib.util
import re

import pytest
from places import ROOT, SCRIPTS
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES


def load(name: str):
    spec = importlib.util.spec_from_file_location(name.replace("/", "_"), SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def english():
    return load("check/english")


LONG = "one " * 31


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (f"{LONG}.\n", [1]),
        (f"Short.\n\nAlso short, then\n{LONG}.\n", [3]),
        (f"* short\n* {LONG}\n", [2]),
        (f"# {LONG}\n", [1]),
        (f"| {LONG} |\n|---|\n", []),
        (f"```text\n{LONG}\n```\n", []),
        (f"    {LONG}\n", []),
        (f"<!-- {LONG} -->\n", []),
        (f"{'one ' * 16}of E. {'coli ' * 16}.", [1]),
        (f"{'one ' * 29}two. {'One ' * 29}two.", []),
        (f"{'one ' * 29}`{LONG}`", []),
        (f"{'one ' * 29}[two]({'x' * 9} y z)", []),
        ("The two are told apart by form.", [1]),
        ("Who needs MAPQ should not use it.", [1]),
        ("Bases are written as bwa has it.", [1]),
    ],
)
def test_english_of_markdown(english, text, lines):
    assert [found.line for found in english.findings(english.markdown_blocks(text))] == lines


def test_pages_of_the_documentation_are_plain_english(english):
    pages = [ROOT / "README.md", ROOT / "CHANGES.md", ROOT / "CONTRIBUTING.md", ROOT / "docs"]
    assert english.main(list(map(str, pages))) == 0


def test_page_of_options_is_up_to_date():
    assert load("docs/options_page").main(["--check"]) == 0


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The read lies at another place.", True),
        ("The other mapper places reads elsewhere.", False),
        ("The place reads begin is known.", False),
        ("They take place in turn.", False),
        ("Most bins are right.", True),
        ("It is on the right of the gap.", False),
        ("The file has two columns.", True),
        ("The file contains two columns.", False),
        ("That is no read.", True),
        ("There is no read, and it is no longer here.", False),
        ("No read is dropped.", True),
        ("A very frequent seed says little.", True),
        ("Of equal pairs the first stays.", True),
    ],
)
def test_what_users_read_is_held_to_more(english, text, found):
    said = list(english.findings(english.markdown_blocks(text), phrases=english.STRICT))
    assert bool(said) == found
    assert not list(english.findings(english.markdown_blocks(text)))


def test_english_of_what_is_shown(english):
    source = '''
class A:
    """The file has it."""

class _B:
    """The file has it."""

def f(x):
    """The file has it."""
    raise InputError(f"{x}: the file has {x} lines")

add("-x", help="The file has it.")
log.warning("the file has %d lines", 3)
other("the file has it")
'''
    assert [
        found.line for found in english.findings(english.shown_blocks(source, None), phrases=english.STRICT)
    ] == [
        10,
        12,
        13,
    ]
    named = english.findings(english.shown_blocks(source, {"A"}), phrases=english.STRICT)
    assert [found.line for found in named] == [3, 10, 12, 13]


def test_what_gassst_shows_is_plain_english(english):
    assert english.main(["--shown", str(ROOT / "gassst")]) == 0


# --- wrap ---------------------------------------------------------------------------------------------------

WORDS = "word " * 40


def test_prose_is_wrapped_at_120_columns():
    wrapped = load("docs/wrap").wrapped
    # 24 words of four letters are 119 columns.
    line = " ".join(["word"] * 24)
    assert wrapped(f"{WORDS}\n") == f"{line}\n{' '.join(['word'] * 16)}\n"
    assert wrapped(f"* a\n* {WORDS}\n").split("\n")[1:3] == [f"* {line[:-5]}", f"  {' '.join(['word'] * 17)}"]
    assert wrapped(f"!!! note\n\n    {WORDS}\n").split("\n")[2] == f"    {line[:-5]}"
    # No line begins with what would begin a list or a table, and no code is broken.
    for sign in ("-", "1.", "#", "| a |"):
        assert wrapped(f"{line} {sign} end\n").split("\n")[1][:4] == "word"
    assert wrapped(f"{line[:-5]} `a b c d`\n") == f"{line[:-5]}\n`a b c d`\n"
    assert wrapped(text := wrapped(f"* {WORDS}\n\n{WORDS}\n")) == text


def test_wrapping_changes_no_page(tmp_path, monkeypatch):
    """As Markdown shows it. What it would change is found by --check."""
    markdown = pytest.importorskip("markdown")
    wrap = load("docs/wrap")
    assert wrap.main(["--check"]) == 0
    for page in wrap.pages():
        text = page.read_text()
        shown = [
            " ".join(markdown.markdown(form, extensions=["admonition", "attr_list", "tables"]).split())
            for form in (text, wrap.wrapped(text, 60))
        ]
        assert shown[0] == shown[1], page
    page = tmp_path / "page.md"
    page.write_text(WORDS)
    monkeypatch.setattr(wrap, "pages", lambda: [page])
    monkeypatch.setattr(wrap, "ROOT", tmp_path)
    assert wrap.main(["--check"]) == 1 and page.read_text() == WORDS
    assert wrap.main([]) == 0 == wrap.main(["--check"])


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
    docs = load("check/doc_commands")
    [block] = docs.blocks("```console\n$ a \\\n  b\nx  1.5 %\n\n$ c\ny..  2 s\n```\n")
    assert (block.code, block.shown) == ("a \\\n  b\nc", ["x  1.5 %", "y..  2 s"])
    assert docs.unlike(block.shown, "x\t1.46 %\nbetween\nyes 77.1 s\n") is None
    assert docs.unlike(block.shown, "x 1.56 %\nyes 2 s\n") == "x  1.5 %"
    assert docs.unlike(block.shown, "yes 2 s\nx 1.5 %\n") == "y..  2 s"
    assert docs.unlike(["n  2,043  98%"], "n 2043 98.2%") is None
    assert docs.unlike(["n  2,043"], "n 2044") == "n  2,043" == docs.unlike(["n  2,043"], "n 2,043 more")
