"""Check the English of the documentation: no sentence of more than 30 words, no phrase that reads as translated.

    python scripts/check/english.py                       # every *.md of the repository
    python scripts/check/english.py README.md docs        # these files and folders
    python scripts/check/english.py --docstrings gassst   # docstrings of the Python files there

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

ABBREVIATIONS = re.compile(r"\b(?:e\.g|i\.e|cf|vs|approx|incl|etc|al|Fig|No|[A-Z])\.$")
# Names that begin a sentence in lower case.
NAMES = "gassst|bwa|bowtie2|minibwa|strobealign|samtools|fixmate"
SENTENCE_END = re.compile(rf"(?<=[.!?])[\"')*_]*\s+(?=[\"'(*_`]*(?:[A-Z0-9`<-]|(?:{NAMES})\b))")
WORD = re.compile(r"[A-Za-z0-9]")


class Block(NamedTuple):
    """A run of prose: where it begins, and its text on one line."""

    line: int
    text: str


class Finding(NamedTuple):
    line: int
    message: str


def markdown_blocks(text: str) -> Iterator[Block]:
    """Paragraphs, list items and headings; no tables, no code, no comments."""
    text = re.sub(r"<!--.*?-->", lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL)
    first, parts, fence, in_list, front = 0, [], "", False, False
    for number, raw in enumerate([*text.splitlines(), ""], 1):
        line = raw.strip()
        opening = re.match(r"(```+|~~~+)", line)
        if number == 1 and line == "---":
            front = True
            continue
        if front:
            front = line != "---"
            continue
        item = re.match(r"(?:[*+-]|\d+\.)\s+", line)
        code = raw.startswith("    ") and not in_list and not parts
        boundary = (
            not line
            or opening
            or fence
            or item
            or code
            or line[:1] in "|#>"
            or line.startswith(("![", "!!!"))
        )
        if boundary and parts:
            yield Block(first, " ".join(parts))
            parts = []
        if opening and (not fence or line.startswith(fence)):
            fence = "" if fence else opening[1]
            continue
        if fence or code or not line or line[:1] == "|" or line.startswith("!!!"):
            in_list = in_list and (not line or bool(fence) or raw.startswith(" "))
            continue
        in_list = bool(item) or (in_list and raw.startswith(" "))
        if not parts:
            first = number
        parts.append(line[item.end() :] if item else line.lstrip("#> "))
        if line[:1] == "#":
            yield Block(first, parts.pop())


def docstring_blocks(text: str) -> Iterator[Block]:
    """Paragraphs and parameter descriptions of every docstring of a Python file."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        doc = ast.get_docstring(node, clean=True)
        if doc:
            begin = node.body[0].lineno
            yield from _paragraphs(doc, begin)


def _paragraphs(doc: str, begin: int) -> Iterator[Block]:
    first, parts, indent = begin, [], -1
    for number, raw in enumerate([*doc.splitlines(), ""], begin):
        line, depth = raw.strip(), len(raw) - len(raw.lstrip())
        item = re.match(r"[*-]\s+|\w[\w, *]* ?: ", line)
        skip = not line or set(line) <= set("-=") or line.startswith((">>>", "...", "|"))
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


def findings(blocks: Iterator[Block], most: int = MOST_WORDS) -> Iterator[Finding]:
    """Sentences that are too long, and odd phrases, in the order of the text."""
    for block in blocks:
        text = plain(block.text)
        for sentence in sentences(text):
            if (n := words(sentence)) > most:
                yield Finding(block.line, f"{n} words: {sentence[:90]}...")
        for pattern, better in PHRASES.items():
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
    parser.add_argument("paths", nargs="*", type=Path, default=[ROOT], help="files or folders; default: all")
    parser.add_argument("--docstrings", action="store_true", help="docstrings of *.py instead of *.md")
    parser.add_argument("--words", type=int, default=MOST_WORDS, metavar="N", help="most words of a sentence")
    args = parser.parse_args(argv)
    suffixes, read = ((".py", ".pyi"), docstring_blocks) if args.docstrings else ((".md",), markdown_blocks)
    count = 0
    for file in files_of(args.paths, suffixes):
        for finding in findings(read(file.read_text()), args.words):
            count += 1
            print(f"{file}:{finding.line}: {finding.message}")
    print(f"{count} findings" if count else "English: nothing found", file=sys.stderr)
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
