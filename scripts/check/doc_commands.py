"""Run what the documentation tells its readers to type, on the bundled E. coli genome and reads.

    python scripts/check/doc_commands.py                         # README.md, home, tour, docs/guide/*.md ..
    python scripts/check/doc_commands.py docs/guide/pairs.md     # these pages

Bash runs the lines after `$ ` of every ```console block; Python runs every ```python block. The blocks of a page share
a folder with the files of `DATA` and their index. Lines without `$ ` are what the block prints, in this order, perhaps
with others between: numbers within the rounding of the page, `..` for anything, and seconds and reads/s as they may be.
A block for a program or a module that is not installed is left out, with a note. Blocks marked `sh` and `text` are for
reading only.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
BUNDLED = ROOT / "tests" / "data"
GENOME = "ecoli_k12_mg1655.fa.gz"
MATES = ("ecoli_ERR022075_R1.fastq.gz", "ecoli_ERR022075_R2.fastq.gz")
# What the pages call the bundled files. Two lanes are the same reads twice: nothing depends on it.
DATA = {
    "ref.fa.gz": GENOME, "R1.fq.gz": MATES[0], "R2.fq.gz": MATES[1], "reads.fq.gz": MATES[0],
    "L1_R1.fq.gz": MATES[0], "L1_R2.fq.gz": MATES[1], "L2_R1.fq.gz": MATES[0], "L2_R2.fq.gz": MATES[1],
}  # fmt: skip
INDEX = "ref.gsi"
PAGES = ("README.md", "docs/index.md", "docs/tour.md", "docs/guide", "docs/api/index.md")
OPTIONAL = ("samtools", "bcftools", "bwa", "bowtie2")
IMPORT = re.compile(r"^(?:import|from) (\w+)", re.MULTILINE)
BLOCK = re.compile(r"^( *)```(console|python)[^\n]*\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
SECONDS = 300
CLOCK = {"s", "reads/s"}  # units of what differs from run to run
CLOSED_PIPE = 128 + signal.SIGPIPE  # of what `head` reads from, unless that is quicker


class Block(NamedTuple):
    """`language` is "console" or "python"; `line` where the block begins in its page; `shown` its output there."""

    language: str
    line: int
    code: str
    shown: list[str]

    @property
    def missing(self) -> list[str]:
        """Programs, or modules of Python, that the block needs and that are not installed."""
        if self.language == "python":
            return [name for name in IMPORT.findall(self.code) if find_spec(name) is None]
        return [name for name in OPTIONAL if re.search(rf"\b{name} ", self.code) and not shutil.which(name)]


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a page that are to be run, in order."""
    for match in BLOCK.finditer(text):
        indent, language, body = match.groups()
        lines = [line.removeprefix(indent) for line in body.splitlines()]
        typed, shown = parted(lines) if language == "console" else (lines, [])
        yield Block(language, text.count("\n", 0, match.start()) + 1, "\n".join(typed), shown)


def parted(lines: list[str]) -> tuple[list[str], list[str]]:
    """What follows `$ `, with lines continued by a backslash; and the other lines, which are output."""
    typed: list[str] = []
    shown: list[str] = []
    continued = False
    for line in lines:
        if continued or line.startswith("$ "):
            typed.append(line if continued else line[2:])
            continued = line.endswith("\\")
        elif line.strip():
            shown.append(line)
    return typed, shown


def unlike(shown: list[str], printed: str) -> str | None:
    """The first line of a page that the output lacks, behind the line that was the last to fit."""
    left = iter(printed.splitlines())
    return next((line for line in shown if not any(fits(line, other) for other in left)), None)


def fits(line: str, other: str) -> bool:
    """Whether the line of a page says what the other one does."""
    words, others = line.split(), other.split()
    is_timed = [unit in CLOCK for unit in [*words[1:], ""]]
    return len(words) == len(others) and all(
        timed or same(word, one) for word, one, timed in zip(words, others, is_timed, strict=True)
    )


def same(word: str, other: str) -> bool:
    if word == other or ".." in word:
        return re.fullmatch(re.escape(word).replace(r"\.\.", ".*"), other) is not None
    try:
        number, exact = (float(each.replace(",", "").rstrip("%")) for each in (word, other))
    except ValueError:
        return False
    decimals = len(word.rstrip("%").partition(".")[2])
    return abs(number - exact) <= 0.5000001 / 10**decimals


def run(block: Block, folder: Path) -> str | None:
    """None, or what a block wrote that failed, or that printed something else than its page shows."""
    program = ["bash", "-euo", "pipefail", "-c"] if block.language == "console" else [sys.executable, "-c"]
    paths = [str(folder.parent / "bin"), os.environ.get("PATH", "")]
    # Compiling OpenCL kernels takes longer than these reads.
    environment = {"GASSST_OPENCL": "0", **os.environ, "PATH": os.pathsep.join(paths)}
    try:
        done = subprocess.run(
            [*program, block.code],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"not done after {SECONDS} s"
    printed = done.stdout.decode(errors="replace")
    if done.returncode not in (0, CLOSED_PIPE):
        return printed[-2000:]
    line = unlike(block.shown, printed)
    return None if line is None else f"this line of the page is not printed: {line}\n{printed[-2000:]}"


def check(page: Path, world: Path) -> int:
    """Runs the blocks of a page in a folder of its own, then says what came of each; returns how many failed."""
    folder = world / "-".join(page.relative_to(ROOT).with_suffix("").parts)
    folder.mkdir()
    for name, source in DATA.items():
        (folder / name).symlink_to(BUNDLED / source)
    # A copy: some pages write the index anew.
    shutil.copy2(world / INDEX, folder / INDEX)
    failed, said = 0, []
    for block in blocks(page.read_text()):
        where = f"{page.relative_to(ROOT)}:{block.line}"
        if block.missing:
            said.append(f"{where}: left out, {', '.join(block.missing)} not installed")
        elif (output := run(block, folder)) is not None:
            failed += 1
            said.append(f"{where}: failed\n{block.code}\n{output}")
        else:
            said.append(f"{where}: ok")
    print("".join(f"{line}\n" for line in said), end="", flush=True)
    return failed


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "pages", nargs="*", type=Path, help="Markdown files [README, home, tour, guide, Python]"
    )
    args = parser.parse_args(argv)
    chosen = [path.resolve() for path in args.pages] or [ROOT / name for name in PAGES]
    pages = [page for path in chosen for page in (sorted(path.glob("*.md")) if path.is_dir() else [path])]
    with tempfile.TemporaryDirectory(prefix="gassst-docs-") as name:
        world = Path(name)
        command = world / "bin" / "gassst"
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gassst "$@"\n')
        command.chmod(0o755)
        subprocess.run([command, "index", "-q", BUNDLED / GENOME, "-o", world / INDEX], check=True)
        # Most of a block's time is the start of a program, on one core.
        with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
            failed = sum(pool.map(partial(check, world=world), pages))
    print(f"{failed} blocks failed" if failed else "all blocks run")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
