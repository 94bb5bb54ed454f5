"""What the core of the mapper holds: mechanisms, numbers that can change a record, and lines. They only go down.

    python scripts/check/core_budget.py --write    # after one has gone down: docs/core-budget.md
    python scripts/check/core_budget.py            # exit 1 where one is above the page
    python scripts/check/core_budget.py --list     # every number, with its line

The page says what counts. No list says which file is core: imports, cimports, includes and the tables of setup.py do.
Only the mechanisms are a table by hand, core_mechanisms.tsv.
"""

from __future__ import annotations

import argparse
import ast
import functools
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "core-budget.md"
MECHANISMS = Path(__file__).with_name("core_mechanisms.tsv")
ROOMS = ("pairing", "search", "local", "mapping")
BELOW = ("model", "index", "reads")
FILES = ("gassst.files", "mmap")
# Rooms of dynamic programmes: a row for each, whose lines nobody counts against the core.
DYNAMIC = {
    "lanes": "ext/lanes/* tests/unit/test_problems.py",
    "fold": "ext/fold/* gassst/fold/**/*.* gassst/cli/fold.py tests/unit/test_fold.py tests/fold_*.py",
    "hmm": "ext/hmm/* gassst/hmm/*.py gassst/cli/hmm.py tests/*/test_hmm.py tests/*/test_profile.py tests/hmm_*.py",
    "semiring": "ext/semiring/* gassst/semiring/**/*.* tests/unit/test_semiring.py",
}
INPUT_OUTPUT = "ext/io/"
CYTHON = (".pyx", ".pxd", ".pxi")
TRIVIAL = (0, 1, 2)
# Rows of 64 bases in three planes, two bits a base, bytes of C types, lanes of vectors.
LAYOUT = {"python": (32, 63, 64), "compiled": (3, 4, 8, 15, 16, 31, 32, 63, 64, 128, 256, 512)}
RANGES = ("between", "at_least", "_both", "_is_pair", "lru_cache", "_Static_assert")
# Named numbers that no record depends on, by why.
NEUTRAL = {
    "the layout of arrays and keys": (
        "BAND_ROWS V_HIGH_32 V_HIGH_64 V_LOW_32 V_LOW_64 COORDINATE_BITS HIGHEST_BIT KEY_ROW_BITS "
        "LOCAL_MOST LOCAL_INFINITE LOCAL_PARTS LOWEST_BIT ROW_BITS "
        "band.h:BAND band_kernels.h:WORDS band_least lookup_inline"
    ),
    "a code of a format": (
        "CIGAR_DELETION CIGAR_INSERTION CIGAR_SOFT_CLIP LOCAL_DIAGONAL LOCAL_D_OPENS LOCAL_EQUAL "
        "LOCAL_GOES_ON LOCAL_HIGH LOCAL_INSERTION LOCAL_I_OPENS LOCAL_MASKED LOCAL_UNTRIED MASKED_BASE SOFT_CLIP"
    ),
    "work done at once: lanes, blocks, buffers": (
        "BLOCK BOUND_BLOCK CHAINS CODES ISA_BYTES LANES LOCAL_BLOCK LOCAL_BYTES LOCAL_LANES LOCAL_TILE "
        "LOOKUP_GROUP MAX_BATCH_BASES MOST_FILTERS "
        "PROFILE_CELLS WORDS_AT_ONCE reads_per_batch"
    ),
    "when to fetch ahead, or which way to sort or to search": (
        "AHEAD READS_AHEAD INSERTION_LIMIT LOOKUP_LINEAR SPREAD_MOST"
    ),
    "the range of an option, or of a file": "INDEX_STEPS MAX_LOCAL_SCORE MAX_MATCH MAX_PENALTY InsertModel._of RATES",
    "a count of the run": "ReadBatch.first _percent_filtered common.pxd:now",
}


class Number(NamedTuple):
    """A literal: the file, the constant or function that it is in, its text and its line."""

    path: str
    where: str
    text: str
    line: int


class Mechanism(NamedTuple):
    """What it does, where, and the name by which it can be switched off, or ""."""

    what: str
    path: str
    function: str
    rule: str


# -- which files --------------------------------------------------------------------------------------------------


def setup_tables(root: Path) -> dict[str, dict | list]:
    """SOURCES, KERNELS and HEADERS of setup.py."""
    tables: dict[str, dict | list] = {}
    for node in ast.parse((root / "setup.py").read_text()).body:
        if isinstance(node, ast.Assign | ast.AugAssign):
            name = getattr(node.target if isinstance(node, ast.AugAssign) else node.targets[0], "id", "")
            if name in ("SOURCES", "KERNELS"):
                tables[name] = ast.literal_eval(node.value)
            elif name == "HEADERS":
                tables[name] = [*tables.get(name, []), *ast.literal_eval(node.value)]
    return tables


def imports(tree: ast.Module) -> Iterator[str]:
    """Modules and names that a module imports, but not for types alone."""
    for_types = {
        part
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for line in node.body
        for part in ast.walk(line)
    }
    for node in ast.walk(tree):
        if node in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))


def python_files(root: Path) -> tuple[set[Path], set[str]]:
    """Python modules of the core, and the compiled ones that they import."""
    todo = [path for room in ROOMS for path in (root / "gassst" / room).glob("*.py")]
    found, compiled = set[Path](), set[str]()
    while todo:
        path = todo.pop()
        if path in found or not path.is_file():
            continue
        names = list(imports(ast.parse(path.read_text())))
        if path.parent.name in BELOW and any(name.startswith(FILES) for name in names):
            continue
        found.add(path)
        for name in names:
            package, room, *rest = [*name.split("."), "", ""]
            if (package, room) == ("gassst", "_core"):
                compiled.add(rest[0])
            elif package == "gassst" and room in ROOMS + BELOW:
                todo.append(root / f"{name.replace('.', '/')}.py")
    return found, compiled


def compiled_files(root: Path, modules: set[str]) -> set[Path]:
    """The sources of compiled modules, with all that they cimport and include."""
    tables, found = setup_tables(root), set[Path]()

    def of_module(name: str) -> list[Path]:
        source = tables["SOURCES"].get(name, "")
        if source.startswith(INPUT_OUTPUT):
            return []
        sources = [source, *tables["KERNELS"].get(name, []), f"gassst/_core/{name}.pxd"]
        return [root / each for each in sources if each]

    todo = [path for name in modules & tables["SOURCES"].keys() for path in of_module(name)]
    while todo:
        path = todo.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        text = path.read_text()
        if path.suffix in CYTHON:
            for name in re.findall(r"^\s*from gassst\._core\.(\w+) cimport", text, re.MULTILINE):
                todo += of_module(name)
        named = r'^\s*(?:cdef extern from|include|#\s*include) "([^"]+)"'
        for name in re.findall(named, text, re.MULTILINE):
            places = [folder / name for folder in (path.parent, *(root / each for each in tables["HEADERS"]))]
            todo += [place.resolve() for place in places if place.is_file()][:1]
    return {path for path in found if not path.relative_to(root).as_posix().startswith(INPUT_OUTPUT)}


@functools.cache
def core_files(root: Path = ROOT) -> dict[str, Path]:
    """The files of the core by their paths from the root, sorted."""
    found, compiled = python_files(root)
    return {
        path.relative_to(root).as_posix(): path for path in sorted(found | compiled_files(root, compiled))
    }


def is_core(path: str) -> bool:
    """Whether a file of today's tree is core; of one that is gone, whether its folder holds any."""
    files = core_files()
    if path in files or (ROOT / path).exists() or Path(path).suffix not in (".py", ".h", ".c", *CYTHON):
        return path in files
    return path.rpartition("/")[0] in {name.rpartition("/")[0] for name in files}


# -- numbers and lines --------------------------------------------------------------------------------------------

NUMBER = r"(?<![\w.])(?:0[xX][\da-fA-F]+|(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[uUlLfF]*(?!\w)"
TOKEN = re.compile(rf"(?P<number>{NUMBER})|(?P<word>[A-Za-z_]\w*)|(?P<sign><<=?|>>=?|[<>=!]=|\S)")
C_CODE = re.compile(r'(cdef extern from \*[^\n]*:\s*)"""(.*?)"""', re.DOTALL)
IN_CYTHON = re.compile(
    r'"""(?:.*?)"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#(?!define|if|el|end)[^\n]*', re.DOTALL
)
IN_C = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
FUNCTION = re.compile(
    r"(?:\s*(?:cdef|cpdef|def|class)\s[^=(]*?(\w+)\s*[(:])|(?:\w[\w\s*]*?[\s*](\w+)\((?!.*;\s*$))"
)


def stripped(text: str, suffix: str) -> str:
    """Cython or C without comments and strings, on the same lines. C inside Cython stays."""

    def blank(found: re.Match[str]) -> str:
        return "\n" * found[0].count("\n")

    if suffix in CYTHON:
        text = IN_CYTHON.sub(blank, C_CODE.sub(r"\1 \2", text))
    return IN_C.sub(blank, text)


def value(text: str) -> float:
    return float(text.rstrip("uUlLfF").replace("_", ""))


def compiled_numbers(path: str, text: str) -> Iterator[Number]:
    """Numbers of a file in Cython or C."""
    where, depth, skipped = "", 0, 0
    for line, code in enumerate(stripped(text, Path(path).suffix).splitlines(), 1):
        function = FUNCTION.match(code)
        if function:
            where = function[1] or function[2]
        tokens = [(found.lastgroup, found[0]) for found in TOKEN.finditer(code)]
        name = ""
        for at, (kind, token) in enumerate(tokens):
            before = tokens[at - 1][1] if at else ""
            after = tokens[at + 1][1] if at + 1 < len(tokens) else ""
            if kind == "word" and (
                before == "define" and f"{token}(" not in code or after == "=" and token.isupper()
            ):
                name = token
            elif before == "define":
                where = token
            elif token in ",;}" and tokens[0][1] != "#":
                name = ""
            depth += (token == "[") - (token == "]")
            if token in RANGES:
                skipped = line
            if kind != "number" or depth > 0 or skipped == line or token[:2].lower() == "0x":
                continue
            masked = before in ("<<", ">>", "<<=", ">>=", "&", "|", "^", "%") or after in ("<<", "&", "~")
            alone = name and before in ("=", name) and after in ("", ",", "}")
            neutral = TRIVIAL[:1] if alone else TRIVIAL if name else TRIVIAL + LAYOUT["compiled"]
            if not masked and value(token) not in neutral:
                yield Number(path, name or where, token, line)


class PythonNumbers(ast.NodeVisitor):
    """Numbers of a module, in `found`."""

    def __init__(self, path: str, text: str):
        self.path, self.lines = path, text.splitlines()
        self.names: list[str] = []
        self.functions = 0
        self.alone: set[ast.AST] = set()
        self.found: list[Number] = []
        self.visit(ast.parse(text))

    def _within(self, name: str, node: ast.AST, functions: int = 0) -> None:
        self.names.append(name)
        self.functions += functions
        self.generic_visit(node)
        self.functions -= functions
        self.names.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        node.decorator_list = []
        self._within(node.name, node, 1)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._within(node.name, node)

    def _named(self, target: ast.AST, node: ast.Assign | ast.AnnAssign) -> None:
        """A constant or the default of a field: one number counts, whatever it is."""
        name = getattr(target, "id", "")
        if self.functions or not name:
            self.generic_visit(node)
            return
        number = node.value
        if isinstance(number, ast.Call) and getattr(number.func, "id", "") == "option" and number.args:
            number = number.args[0]
        self.alone.update([number] if number else [])
        self._within(name, node)

    def visit_Assign(self, node: ast.Assign) -> None:
        target, values = node.targets[0], node.value
        if isinstance(target, ast.Tuple) and isinstance(values, ast.Tuple):
            for each, part in zip(target.elts, values.elts, strict=True):
                self._named(each, ast.Assign([each], part))
        else:
            self._named(target, node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._named(node.target, node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if not isinstance(node.op, ast.LShift):
            self.visit(node.left)
        if not isinstance(node.op, ast.LShift | ast.RShift | ast.BitAnd | ast.BitOr | ast.BitXor | ast.Mod):
            self.visit(node.right)

    def visit_Call(self, node: ast.Call) -> None:
        if getattr(node.func, "id", "") not in RANGES:
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if not isinstance(node.value, int | float) or isinstance(node.value, bool):
            return
        text = re.match(r"[\w.]+(?:(?<=e)[+-]\d+)?", self.lines[node.lineno - 1][node.col_offset :])[0]
        named = bool(self.names) and not self.functions
        neutral = TRIVIAL[:1] if node in self.alone else TRIVIAL if named else TRIVIAL + LAYOUT["python"]
        if node.value not in neutral and text[:2].lower() != "0x":
            self.found.append(Number(self.path, ".".join(self.names), text, node.lineno))


def numbers(path: str, text: str) -> Iterator[Number]:
    """Numbers of a file that can change a record."""
    found = PythonNumbers(path, text).found if path.endswith(".py") else compiled_numbers(path, text)
    neutral = {name for names in NEUTRAL.values() for name in names.split()}
    for number in found:
        short = number.where.rpartition(".")[2]
        if not neutral.intersection((short, number.where, f"{Path(path).name}:{short}")):
            yield number


# -- mechanisms ---------------------------------------------------------------------------------------------------


def rules(tree: ast.AST) -> Iterator[str]:
    """Names of the optional rules that a module registers (`gassst/model/rules.py`)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in ("rule", "optional"):
            name = getattr(node.args[0], "value", None) if node.args else None
            if isinstance(name, str):
                yield name


def mechanisms(path: Path = MECHANISMS) -> list[Mechanism]:
    """The table by hand."""
    rows = [line.split("\t") for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return [Mechanism(what, *where.split(":"), *(rest or [""])) for what, where, *rest in rows]


def lost_mechanisms(root: Path = ROOT) -> list[str]:
    """Rows of the table whose function is not in their file, or whose file is not core."""
    files, lost = core_files(root), []
    for one in mechanisms():
        text = files[one.path].read_text() if one.path in files else ""
        defined = rf"(?m)^\s*(?:def|cdef|class|cpdef|static|#define|COMPACT)\b.*\b{one.function}\b|^{one.function}\b.*="
        if not re.search(defined, text):
            lost.append(f"{one.path}:{one.function}")
    return lost


# -- the budget ---------------------------------------------------------------------------------------------------


class Budget(NamedTuple):
    """What the core holds: `lines` has files and lines by folder."""

    mechanisms: list[Mechanism]
    rules: set[str]
    numbers: list[Number]
    lines: dict[str, Counter[str]]

    @property
    def totals(self) -> dict[str, int]:
        return {
            "mechanisms": len(self.mechanisms),
            "numbers": len(self.numbers),
            "lines": sum(counts["lines"] for counts in self.lines.values()),
        }


def counted(root: Path = ROOT) -> Budget:
    """The budget of a source tree."""
    named, found, lines = set[str](), list[Number](), dict[str, Counter[str]]()
    for name, path in core_files(root).items():
        text = path.read_text()
        if path.suffix == ".py":
            named.update(rules(ast.parse(text)))
        found += numbers(name, text)
        counts = lines.setdefault(name.rpartition("/")[0], Counter())
        counts.update(files=1, lines=text.count("\n"))
    return Budget(mechanisms(), named, found, lines)


def room_row(name: str, patterns: str, root: Path = ROOT) -> str:
    """Files, lines and lines of tests of a room, as a row of the page."""
    paths = [path for pattern in patterns.split() for path in root.glob(pattern) if path.suffix != ".pyc"]
    lines = [path.read_text().count("\n") for path in paths]
    tests = sum(n for path, n in zip(paths, lines, strict=True) if path.is_relative_to(root / "tests"))
    return f"| {name} | {len(paths)} | {sum(lines):,} | {tests:,} |"


def tables(budget: Budget) -> dict[str, list[str]]:
    """Rows of the tables of docs/core-budget.md, by their heads."""
    by_file: dict[str, Counter[str]] = {}
    for number in budget.numbers:
        shown = f"{number.where} {number.text}" if number.where else number.text
        by_file.setdefault(number.path, Counter())[shown] += 1
    return {
        "| | |": [f"| {name} | {number:,} |" for name, number in budget.totals.items()],
        "| what it does | where | name |": [
            f"| {one.what} | `{one.path}`: `{one.function}` | {f'`{one.rule}`' if one.rule else ''} |"
            for one in budget.mechanisms
        ],
        "| folder | files | lines |": [
            f"| `{folder}` | {counts['files']} | {counts['lines']:,} |"
            for folder, counts in sorted(budget.lines.items())
        ],
        "| room | files | lines | of these, tests |": [
            room_row(name, patterns)
            for name, patterns in {**DYNAMIC, "all": " ".join(DYNAMIC.values())}.items()
        ],
        "| file | | where |": [
            f"| `{path}` | {sum(found.values())} | "
            f"{', '.join(name if times == 1 else f'{name} ({times}x)' for name, times in found.items())} |"
            for path, found in by_file.items()
        ],
        "| why | names |": [
            f"| {why} | {', '.join(f'`{name}`' for name in names.split())} |"
            for why, names in NEUTRAL.items()
        ],
    }


def page(text: str, budget: Budget) -> str:
    """The page with the rows of its tables as they are now."""
    for head, rows in tables(budget).items():
        before, found, rest = text.partition(f"{head}\n")
        rule, _, rest = rest.partition("\n")
        after = rest[rest.find("\n\n") :] if "\n\n" in rest else "\n"
        text = "\n".join([f"{before}{found}{rule}", *rows]) + after
    return text


def allowed(text: str) -> dict[str, int]:
    """Totals that a page states."""
    found = re.findall(r"^\| (mechanisms|numbers|lines) \| ([\d,]+) \|$", text, re.MULTILINE)
    return {name: int(number.replace(",", "")) for name, number in found}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the page, where nothing has gone up")
    parser.add_argument("--list", action="store_true", help="print every number with its line")
    args = parser.parse_args(argv)
    budget = counted()
    for number in budget.numbers if args.list else ():
        print(f"{number.path}:{number.line}: {number.where} {number.text}")
    wrong = [
        f"{where}: {MECHANISMS.name} names it, and the core has no such function"
        for where in lost_mechanisms()
    ]
    most = allowed(PAGE.read_text())
    for name, number in budget.totals.items():
        if number > most.get(name, number):
            wrong.append(f"{name}: {number:,}, and {PAGE.name} allows {most[name]:,}")
    if wrong:
        print(*wrong, sep="\n", file=sys.stderr)
        return 1
    if args.write:
        PAGE.write_text(page(PAGE.read_text(), budget))
    print(", ".join(f"{number:,} {name}" for name, number in budget.totals.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
