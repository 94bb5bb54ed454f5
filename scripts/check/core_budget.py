"""What the core of the mapper holds: rules, named numbers and lines. They only go down.

    python scripts/check/core_budget.py --write    # after one has gone down: docs/core-budget.md
    python scripts/check/core_budget.py            # exit 1 where one is above the page

The core is what the host runs between a packed read and the rows of its records. The page is made from the sources:
rules are calls of `rule` and `optional` (`gassst/model/rules.py`), numbers are names of capitals that are given a
number.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "core-budget.md"
# Headers of C and OpenCL.
SHARED = (
    "flank_bounds",
    "kmer_code",
    "planes",
    "seed_lookup",
    "sorted_keys",
    "stretches",
)
SOURCES = (
    "gassst/mapping/batch.py",
    "gassst/mapping/batch_mapper.py",
    "gassst/mapping/five_prime.py",
    "gassst/mapping/one_read.py",
    "gassst/mapping/read_through.py",
    "gassst/model/presets.py",
    "gassst/model/rules.py",
    "gassst/search/*.py",
    "gassst/pairing/*.py",
    "gassst/reads/adapters.py",
    "gassst/local/*.py",
    "gassst/index/miss_model.py",
    "gassst/search/plan.py",
    "gassst/index/lookup.py",
    "ext/search/*",
    "ext/pairing/*",
    "ext/align/*",
    "ext/isa/band*",
    "ext/isa/bound*",
    "ext/isa/cpu_kernels.h",
    "ext/isa/kernel_table.h",
    "ext/isa/local_kernels.h",
    "ext/isa/processor.h",
    "ext/common/*",
    "index/seeds.pyx",
    "index/anchors.pyx",
    "index/*.h",
    *(f"gassst/gpu/kernels/{name}.h" for name in SHARED),
)
NOT_OF_THE_HOST = re.compile(r"/device|opencl")
# Codes of formats, not choices.
CODES = re.compile(r"^(CLIP|SOFT_CLIP|HARD_CLIP|MATCH|INSERTION|DELETION)$")
# Numbers alone: what is computed from other names is no choice of its own.
IN_C = re.compile(
    r"^\s*(?:#define\s+([A-Z][A-Z0-9_]+)\s|(?:DEF\s+)?([A-Z][A-Z0-9_]+)\s*=)\s*"
    r"\(?(?:0x[\dA-Fa-f]+|[\d.]+(?:e-?\d+)?)(?:\s*<<\s*\d+)?\)?\s*(?:$|[,/#])",
    re.MULTILINE,
)


PAGE_TEXT = """# The budget of the core

The core is what the host runs between a packed read and the rows of its records. These numbers only go down: a new
rule pays with one that goes. `scripts/check/core_budget.py` makes this page, and CI fails where the sources hold
more.

| | |
|---|--:|
{totals}

## Optional rules

Each can be switched off to measure what it is worth: `GASSST_WITHOUT=name` in the environment, or `make ablation` for
all of them ([figures](../lab/ablation.md)). A run pays nothing for that, as functions are replaced while modules
are imported (`gassst/model/rules.py`).

| rule | what it does | where |
|---|---|---|
{rules}

## Lines

| folder | lines |
|---|--:|
{lines}

## Named numbers

Names of capitals that are given a number, fields with a number as their default, and thresholds of the sensitivity
levels. Sizes of buffers count, too.

| file | | names |
|---|--:|---|
{numbers}
"""


class Rule(NamedTuple):
    """A rule, what it is for, and where it is registered."""

    name: str
    purpose: str
    path: str


def sources(root: Path = ROOT) -> list[Path]:
    """Files of the host's core."""
    found = {
        path
        for pattern in SOURCES
        for path in root.glob(pattern)
        if path.suffix in (".py", ".pyx", ".h", ".pxd")
    }
    return sorted(path for path in found if not NOT_OF_THE_HOST.search(path.as_posix()))


def rules(tree: ast.AST, path: str) -> Iterator[Rule]:
    """Rules that a module registers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in ("rule", "optional"):
            name, purpose, *_ = (getattr(argument, "value", None) for argument in node.args)
            if isinstance(name, str) and isinstance(purpose, str):
                yield Rule(name, purpose, path)


def is_number(node: ast.AST | None) -> bool:
    """Whether an expression is made of numbers alone, or chooses between such."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    if isinstance(node, ast.IfExp):
        return is_number(node.body)
    parts = {ast.UnaryOp: ("operand",), ast.BinOp: ("left", "right")}.get(type(node), ())
    return bool(parts) and all(is_number(getattr(node, part)) for part in parts)


def numbers(tree: ast.Module) -> Iterator[str]:
    """Names of capitals of a module that are given numbers, and fields with a number as their default."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = (
                    zip(target.elts, node.value.elts, strict=False)
                    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                    else [(target, node.value)]
                )
                yield from (
                    name.id
                    for name, value in pairs
                    if isinstance(name, ast.Name) and name.id.lstrip("_").isupper() and is_number(value)
                )
        elif isinstance(node, ast.ClassDef):
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and is_number(field.value):
                    yield f"{node.name}.{getattr(field.target, 'id', '?')}"


class Budget(NamedTuple):
    """What the core holds."""

    rules: list[Rule]
    numbers: list[tuple[str, str]]
    lines: dict[str, int]

    @property
    def totals(self) -> dict[str, int]:
        return {
            "optional rules": len(self.rules),
            "named numbers": len(self.numbers),
            "lines": sum(self.lines.values()),
        }


def counted(root: Path = ROOT) -> Budget:
    """The budget of a source tree."""
    found, named, lines = list[Rule](), list[tuple[str, str]](), dict[str, int]()
    for path in sources(root):
        text, relative = path.read_text(), path.relative_to(root).as_posix()
        folder = relative.rsplit("/", 1)[0]
        lines[folder] = lines.get(folder, 0) + text.count("\n")
        if path.suffix == ".py":
            tree = ast.parse(text)
            found += rules(tree, relative)
            names = list(numbers(tree))
        else:
            names = [a or b for a, b in IN_C.findall(text)]
        named += [(name, relative) for name in names if not CODES.match(name)]
    presets = ast.parse((root / "gassst/model/presets.py").read_text())
    fields = next(node for node in presets.body if isinstance(node, ast.ClassDef))
    named += [
        (f"Preset.{f.target.id}", "gassst/model/presets.py")
        for f in fields.body
        if isinstance(f, ast.AnnAssign)
    ]  # type: ignore[union-attr]
    return Budget(sorted(found), sorted(set(named)), lines)


def page(budget: Budget) -> str:
    """docs/core-budget.md."""
    rows = [f"| {name} | {number:,} |" for name, number in budget.totals.items()]
    of_rules = [f"| `{rule.name}` | {rule.purpose} | `{rule.path}` |" for rule in budget.rules]
    of_lines = [f"| `{folder}` | {number:,} |" for folder, number in sorted(budget.lines.items())]
    by_file: dict[str, list[str]] = {}
    for name, path in budget.numbers:
        by_file.setdefault(path, []).append(name)
    of_numbers = [
        f"| `{path}` | {len(names)} | {', '.join(names)} |" for path, names in sorted(by_file.items())
    ]
    return PAGE_TEXT.format(
        totals="\n".join(rows),
        rules="\n".join(of_rules),
        lines="\n".join(of_lines),
        numbers="\n".join(of_numbers),
    )


def allowed(text: str) -> dict[str, int]:
    """Totals that a page states."""
    found = re.findall(r"^\| (optional rules|named numbers|lines) \| ([\d,]+) \|$", text, re.MULTILINE)
    return {name: int(number.replace(",", "")) for name, number in found}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write the page, where nothing has gone up")
    args = parser.parse_args(argv)
    budget = counted()
    most = allowed(PAGE.read_text()) if PAGE.exists() else {}
    above = {name: number for name, number in budget.totals.items() if number > most.get(name, number)}
    for name, number in above.items():
        print(f"{name}: {number:,}, and {PAGE.name} allows {most[name]:,}", file=sys.stderr)
    if above:
        return 1
    if args.write:
        PAGE.write_text(page(budget))
    print(", ".join(f"{number:,} {name}" for name, number in budget.totals.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
