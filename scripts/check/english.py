"""Check the English of the documentation: no sentence of more than 30 words, no phrase that reads as translated.

    python scripts/check/english.py                       # every *.md, and what gassst shows its users
    python scripts/check/english.py README.md docs        # these files and folders
    python scripts/check/english.py --docstrings gassst   # docstrings of the Python files there
    python scripts/check/english.py --shown gassst        # help, messages and docstrings of public names there

README.md, the home page, the guide and what gassst shows are held to more phrases than other pages (`STRICT`).

Tables, code blocks and HTML comments are left out. Inline code counts as one word. Every finding is one line,
`file:line: what`; the exit code is 1 where there is one.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
MOST_WORDS = 30
SKIPPED = {".venv", "build", "dist", "demo", "site", "node_modules"}

# What a native reader would stumble over, and what to write instead.
PHRASES = {
    r"\btold apart\b|\btells? (?:them|\w+) apart\b": "distinguish",
    r"\bas (?:bwa|\w+) has (?:it|them)\b": "as in bwa; bwa's convention",
    r"\bas its CIGAR has it\b": "the score that the CIGAR gives",
    r"\bto be built anew\b|\bmade anew\b|\bmaps it anew\b": "rebuild; again",
    r"\b[Ww]hoever \w+ closes\b": "the caller must close",
    r"\b[Ww]ho needs\b": "if you need",
    r"\b[Oo]f equals\b": "among equally good ...",
    r"\bthe hash draws\b|\bhash of (?:the|its) bases draws\b": "a hash ... decides",
    r"\bends told\b|\bclipped ends? told\b": "counted",
    r"\btoo few to tell\b|\btell little\b|\btells? one\b": "too few to judge",
    r"\ba third less time\b": "takes a third less time than ..., or a percentage",
    r"\bat the most\b": "at most",
    r"\bin the end\b": "finally",
    r"\bbut for\b": "except for",
    r"\ba (?:word|base|read|hit|band|candidate) a (?:read|mate|base|contig|pair)\b": "per",
    r"\b(?:us|ns|bytes|bits|s|seconds) (?:of CPU )?a (?:read|base|band|hit|candidate|pair)\b": "per",
    r"\bone for every\b": "one per",
    r"\b(?:it|that|this) is so\b": "that is the case",
    r"\bworth a second source\b": "worth a second implementation",
    r"\bby and by\b|\bhereby\b|\btherefrom\b|\bwhereof\b|\bthereof\b": "say it plainly",
    r"\bso be it\b|\bfor want of\b|\bere\b": "say it plainly",
    r"\bthe way there and back\b|\bway to the device and back\b": "transfer",
    r"\bthe like\b": "similar",
    r"\bwhat (?:is|it) looked for\b|\bis looked into\b": "the search looks for",
    r"\bstrayed\b": "moved away",
    r"\b(?:has|have) to be (?:\w+ )?anew\b|\banew\b": "again",
    r"\bbehind (?:the|their|its) (?:name|end|k-mer|sequence)\b|\bbases? behind\b": "after",
    r"\b1 threads\b": "1 thread",
    r"\bhave got\b|\bhas got\b": "has",
    r"\bdearer?\b": "expensive",
    r"\blies? apart\b|\bplaced apart\b": "placed differently",
    r"\bmay be had\b|\bcan be had\b|\bto be had\b": "is available",
    r"\bbeside (?:us|ours|it)\b": "compared with",
    r"\bnearly none\b": "almost none",
    r"\b(?:less|fewer) by an? (?:third|quarter|half)\b": "a third fewer, or a percentage",
    r"\bas it lies\b|\bas they lie\b|\bhow (?:the )?mates lie\b": "orientation; in alignment order",
}

_OF_PLACE = (
    "the|a|its|one|no|same|other|another|every|each|true|wrong|which|some|several|equal|further|more|known"
    "|likely|all"
)
_HOLDERS = (
    r"(?:file|page|index|header|table|line|list|tag|sheet|row|column|report|record|BAM|CRAM|FASTA|FASTQ)s?"
)
# In what users read: phrases that are fine elsewhere, or too many to rewrite there.
STRICT = {
    rf"\b(?:{_OF_PLACE}) places?\b(?! (?:reads?|mates?|pairs?|it|them)\b)": "position, of coordinates",
    r"\bplaced? (?:\w+ )?right\b|(?<!all )\bare right\b|\bis right\b|% right\b|\bas right\b": "correct, correctly",
    r"\bas (?:a whole|wholes)\b": "end to end; whole reads",
    r"(?<![Tt]here )\b(?:is|are) no (?!longer|more|less|need|other|better|way|different|faster)\w+": "is not a ...",
    r"\b[Nn]o \w+ (?:is|are|was|were) \w+ed\b(?! by default)": "turn the sentence round: ... is not ...",
    rf"\b{_HOLDERS} (?:has|have|holds?|gives?)\b": "contains",
    r"\b(?:It|option|method|function|command|call|`[^`]*`) gives\b": "returns, prints",
    r"\btakes? no\b": "does not accept, does not need",
    r"\btells? of\b|\b(?:is|are|was|were) told\b|\btold of\b|\bdo(?:es)? not tell\b": "report, describe, say",
    r"\bdoes so\b|\b(?:is|are) so\b|\bdo so\b": "repeat the verb",
    r"\bfor such\b|\bof such\b(?! (?:a|an|reads|pairs))": "name the thing",
    r"\bof which\b(?= (?:no|one|two|both|all|some|few|many|machines)\b)": "whose; with",
    r"\bso manieth\b|\bthe \w+-th of\b": "number N of",
    r"\bsays little\b|\bsay little\b": "carries little information",
    r"\bdeserves? a word\b": "need explaining",
    r"\b[Oo]f equal\b": "ties are broken by ...",
    r"\bwhatever\b": "regardless of",
    r"\b[Ff]it for\b": "ready for; suited to",
    r"\b(?:is|are) kept well\b|\bwell-kept\b": "well maintained",
    r"\bwhoever\b": "the program that; anyone who",
    r"\b[Nn]either (?:has|have|do|does|is|are)\b": "... does not ..., either",
    r"\bin the place of\b": "instead of",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"\bnobody\b": "no one",
    r"\bgive or take\b": "up to",
    r"\bthere twice\b": "given twice",
    r"\bmade (?:of|from) (?:them|it)\b": "turned into",
    r"\bsees to (?:it|that)\b": "ensures",
    r"\bby and large\b|\bat a stroke\b": "say it plainly",
    r"\bshow (?:it|that), it is\b": "if ..., gassst ...",
    r"\bin vain\b|\bas far as they\b": "say it plainly",
}
STRICT_PAGES = ("README.md", "docs/index.md", "docs/guide/")

ABBREVIATIONS = re.compile(r"\b(?:e\.g|i\.e|cf|vs|approx|incl|etc|al|Fig|No|[A-Z])\.$")
# Names that begin a sentence in lower case.
NAMES = "gassst|bwa|bowtie2|minibwa|strobealign|samtools|fixmate"
SENTENCE_END = re.compile(rf"(?<=[.!?])[\"')*_]*\s+(?=[\"'(*_`]*(?:[A-Z0-9`<-]|(?:{NAMES})\b))")
WORD = re.compile(r"[A-Za-z0-9]")


# Calls whose arguments users read, beside exceptions that are raised, and keyword arguments that they read.
SAYING = {"say", "warning", "warn"}
HELPING = {"help", "description", "epilog"}


class Block(NamedTuple):
    """A run of prose: where it begins, and its text on one line."""

    line: int
    text: str


class Finding(NamedTuple):
    line: int
    message: str


def markdown_blocks(text: str) -> Iterator[Block]:
    """Paragraphs, list items and headings; no tables, no code, no comments."""
    from markdown_it import MarkdownIt

    text = re.sub(
        r"<!--.*?-->|\A---\n.*?\n---$", lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL | re.M
    )
    tokens = MarkdownIt().enable("table").parse(text)
    for before, token in zip(tokens, tokens[1:], strict=False):
        if token.type == "inline" and token.map and before.type not in ("td_open", "th_open"):
            yield Block(token.map[0] + 1, " ".join(token.content.split("\n")))


def docstring_blocks(text: str) -> Iterator[Block]:
    """Paragraphs and parameter descriptions of every docstring of a Python file."""
    nodes: list[ast.AST] = [ast.parse(text)]
    for node in nodes:
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        nodes += node.body
        if doc := ast.get_docstring(node, clean=True):
            yield from _paragraphs(doc, node.body[0].lineno)


def _paragraphs(doc: str, begin: int) -> Iterator[Block]:
    first, parts, indent = begin, [], -1
    for number, raw in enumerate([*doc.splitlines(), ""], begin):
        line, depth = raw.strip(), len(raw) - len(raw.lstrip())
        item = re.match(r"[*-]\s+|\w[\w, *]* ?: ", line)
        skip = (
            not line
            or set(line) <= set("-=")
            or line.startswith((">>>", "...", "|", "python "))
            or "   " in line
        )
        if parts and (skip or item or depth != indent):
            yield Block(first, " ".join(parts))
            parts = []
        if skip:
            continue
        if not parts:
            first, indent = number, depth
        parts.append(line[item.end() :] if item else line)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a block; an abbreviation or an initial ends none."""
    begun = ""
    for part in SENTENCE_END.split(text):
        begun = f"{begun} {part}".strip()
        if not ABBREVIATIONS.search(begun):
            yield begun
            begun = ""
    if begun:
        yield begun


def plain(text: str) -> str:
    """Text as it is read: links by their words, inline code and figures as one word."""
    text = re.sub(r"!\[([^]]*)\]\([^)]*\)(\{[^}]*\})?", "", text)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"(`+).+?\1", "`code`", text)


def words(sentence: str) -> int:
    return sum(bool(WORD.search(word)) for word in sentence.split())


def public_names() -> dict[str, set[str]]:
    """By module, the names that the pages of the interface describe; none of a module that is described whole."""
    found: dict[str, set[str]] = {}
    pages = (page for page in (ROOT / "docs" / "api").glob("*.md") if page.name != "internals.md")
    for name in (
        line[4:].strip() for page in pages for line in page.read_text().splitlines() if line[:4] == "::: "
    ):
        whole = (ROOT / name.replace(".", "/")).with_suffix(".py").is_file()
        module, _, last = (name, "", "") if whole else name.rpartition(".")
        found.setdefault(module, set()).update(filter(None, [last]))
    return found


def shown_blocks(text: str, names: set[str] | None) -> Iterator[Block]:
    """What users read of a Python file: docstrings of public names (all if there are none), help, messages."""
    tree = ast.parse(text)
    if names is not None:
        chosen = [n for n in tree.body if not names or getattr(n, "name", "") in names]
        yield from _public_docstrings(ast.Module(chosen, []))
    for node in ast.walk(tree):
        for shown in _shown(node):
            if words_of := _text_of(shown):
                yield Block(shown.lineno, words_of)


def _public_docstrings(node: ast.AST) -> Iterator[Block]:
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.ClassDef | ast.FunctionDef) and not inner.name.startswith("_"):
            if doc := ast.get_docstring(inner, clean=True):
                yield from _paragraphs(doc, inner.body[0].lineno)
            if isinstance(inner, ast.ClassDef):
                yield from _public_docstrings(inner)


def _shown(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        yield from node.exc.args
    elif isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in SAYING:
            yield from node.args
        yield from (word.value for word in node.keywords if word.arg in HELPING)


def _text_of(node: ast.expr) -> str:
    """The text of a literal, with a word for each value that is put in; "" if it is none."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) and " " in node.value else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "VALUE" for part in node.values)
    return ""


def findings(blocks: Iterator[Block], phrases: dict[str, str] = PHRASES) -> Iterator[Finding]:
    """Sentences that are too long, and odd phrases, in the order of the text."""
    for block in blocks:
        text = plain(block.text)
        for sentence in sentences(text):
            if (n := words(sentence)) > MOST_WORDS:
                yield Finding(block.line, f"{n} words: {sentence[:90]}...")
        for pattern, better in phrases.items():
            for match in re.finditer(pattern, text):
                yield Finding(block.line, f'"{match[0]}": better {better}')


def files_of(paths: list[Path], suffixes: tuple[str, ...]) -> Iterator[Path]:
    for path in paths:
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in inside:
            parts = file.relative_to(path).parts if path.is_dir() else ()
            if file.suffix in suffixes and not any(p in SKIPPED or p.startswith(".") for p in parts):
                yield file


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path, default=[], help="files or folders; default: all")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--docstrings", action="store_true", help="docstrings of *.py instead of *.md")
    kind.add_argument("--shown", action="store_true", help="what *.py show their users, instead of *.md")
    args = parser.parse_args(argv)
    count = 0
    for file in files_of(
        args.paths or [ROOT], (".py", ".pyi") if args.docstrings or args.shown else (".md",)
    ):
        count += check(file, args)
    if not args.paths and not args.docstrings and not args.shown:
        count += sum(
            check(file, argparse.Namespace(**{**vars(args), "shown": True}))
            for file in files_of([ROOT / "gassst"], (".py",))
        )
    print(f"{count} findings" if count else "English: nothing found", file=sys.stderr)
    return int(count > 0)


def blocks_of(file: Path, args: argparse.Namespace) -> Iterator[Block]:
    text = file.read_text()
    if args.shown:
        where = file.resolve()
        module = ".".join(where.relative_to(ROOT).with_suffix("").parts) if where.is_relative_to(ROOT) else ""
        return shown_blocks(text, public_names().get(module))
    return docstring_blocks(text) if args.docstrings else markdown_blocks(text)


def check(file: Path, args: argparse.Namespace) -> int:
    """Prints the findings of one file; returns how many there are."""
    strict = args.shown or any(part in file.resolve().as_posix() for part in STRICT_PAGES)
    count = 0
    for finding in findings(blocks_of(file, args), {**PHRASES, **STRICT} if strict else PHRASES):
        count += 1
        print(f"{file}:{finding.line}: {finding.message}")
    return count


if __name__ == "__main__":
    sys.exit(main())
