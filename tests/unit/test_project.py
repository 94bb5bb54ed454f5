"""What the project promises of itself: imports, names, licences, versions, modules of pipelines, commits."""

from __future__ import annotations

import ast
import builtins
import inspect
import os
import random
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from graphlib import CycleError, TopologicalSorter
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import commits
import grimp
import pysam
import pytest
import same_records
from numpy.typing import NDArray

import gassst
from gassst.cli.main import main
from gassst.cli.parser import build_parser, subparser_of
from gassst.reads.source import ReadSource, SourceOptions
from gassst.records.options import OutputChoices, OutputOptions
from gassst.runs.file_run import FileOptions, FileRun, RunOptions
from gassst.version import __version__

ROOT = Path(__file__).parents[2]


def test_imports_point_down_the_layers():
    """In a process of its own: the linter's set-up of logging would silence the package's log for all later tests."""
    program = "from importlinter.cli import lint_imports_command as lint; lint()"
    options = ["--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    done = subprocess.run([sys.executable, "-c", program, *options], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_module_imports_itself_in_a_circle():
    """Imports for type checkers count, too: a circle of types is a circle of knowledge."""
    graph = grimp.build_graph("gassst", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_compiled_modules_know_words_and_errors_alone():
    """The linter does not read Cython: what a `.pyx` or `.pxi` imports at run time lies below every room."""
    sources = [path for folder in ("ext", "index") for path in (ROOT / folder).rglob("*.p[xy][ix]")]
    assert len(sources) > 30
    imported = re.compile(r"^\s*(?:from|import) (gassst\.\w+)", re.MULTILINE)
    found = {(path.name, name) for path in sources for name in imported.findall(path.read_text())}
    known = {"gassst._core", "gassst.errors", "gassst.model"}
    assert {(path, name) for path, name in found if name not in known} == set()
    assert {name for _, name in found} == known


def test_rooms_of_dynamic_programmes_are_not_imported_at_start():
    """Neither the package, nor the mapper, nor a command line that does not name them needs them."""
    program = (
        "import sys, gassst, gassst.api, gassst.runs\n"
        "from gassst.cli import main, map\n"
        "from gassst.cli.parser import build_parser\n"
        "gassst.Mapper, gassst.FileOptions, build_parser('map')\n"
        "print(*sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    rooms = {f"gassst.{room}" for room in ("align", "fold", "hmm", "semiring")}
    compiled = {f"gassst._core.{name}" for name in ("pairwise", "problems")}
    assert "gassst.mapping" in loaded
    assert loaded & (rooms | compiled) == set()


def test_a_class_name_means_one_thing():
    classes = Counter(
        node.name
        for path in (ROOT / "gassst").rglob("*.py*")
        if path.suffix in (".py", ".pyi")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert max(classes.values()) == 1, classes.most_common(3)


SOURCES = sorted(path for top in ("ext", "index") for path in (ROOT / top).rglob("*.p[yx]x*"))


def lines_with_lock(text):
    """The lines of every `with gil:` block."""
    blocks = re.findall(r"(?m)^( *)with gil:\n((?:\1 +.*\n)*)", text)
    return [line.strip() for _, lines in blocks for line in lines.splitlines()]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_functions_without_lock_have_no_objects(path):
    """A function without the lock that has a variable for an object takes the lock at the end of every call.

    So it raises, or calls a function that has the lock all the time.
    """
    for line in lines_with_lock(path.read_text()):
        assert not re.match(r"\w+ = |return (?!self\.\w+\()", line), f"{path.name}: {line}"


def test_a_variable_is_seen():
    text = "  with gil:\n    if n:\n      name = text[:n]\n  n = 1\n"
    assert lines_with_lock(text) == ["if n:", "name = text[:n]"]


# Licences under which a program with the licence Apache-2.0 may import, link, or be built or tested with a library.
COMPATIBLE = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "MIT-CMU", "MPL-2.0",
    "PSF-2.0", "LicenseRef-Biopython-License-Agreement", "Zlib",
    "LicenseRef-Intel-EULA-Developer-Tools", "LicenseRef-Intel-Simplified",  # of a driver, which nothing links
}  # fmt: skip
ROWS = dict(re.findall(r"^\| ([\w.-]+) \| ([^|]+) \|", (ROOT / "THIRD-PARTY.md").read_text(), re.MULTILINE))
LICENCES = {name: licence for name, licence in ROWS.items() if name not in {"package", "---"}}


def normal(requirement: str) -> str:
    """The name of a requirement, as in the table."""
    return re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-")


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = project["project"].get("optional-dependencies", {}).values()
    named = [*project["build-system"]["requires"], *metadata.requires("gassst"), *sum(groups, [])]
    for folder in ("tests", "docs"):
        named += (ROOT / folder / "requirements.txt").read_text().split()
    return set(map(normal, named))


def test_every_declared_dependency_has_a_row():
    assert declared() <= LICENCES.keys()


@pytest.mark.parametrize("name", LICENCES)
def test_the_licence_is_compatible_and_that_of_the_package(name):
    assert set(re.split(r" OR ", LICENCES[name].strip())) & COMPATIBLE
    try:
        stated = metadata.metadata(name).get("License-Expression")
    except metadata.PackageNotFoundError:
        pytest.skip("not installed")
    if stated is not None:  # of several parts the first is that of the package itself
        assert LICENCES[name].strip() in (stated, stated.split(" AND ")[0])


PACKAGING = ROOT / "scripts" / "packaging"


# --- one version, and where the project is --------------------------------------------------------------------


def test_one_version_everywhere(tmp_path, small_index, small_fastq, capfd):
    """What --version prints, what records say, and what the changelog calls this."""
    assert main(["--version"]) == 0
    assert capfd.readouterr().out.splitlines()[0] == f"gassst {__version__}"
    path = tmp_path / "out.sam"
    assert main(["map", "-q", "--device", "none", str(small_index), str(small_fastq), "-o", str(path)]) == 0
    [program] = [line.split("\t") for line in path.read_text().splitlines() if line.startswith("@PG\t")]
    assert f"VN:{__version__}" in program
    latest, *released = re.findall(r"^## \[(.*?)\]", (ROOT / "CHANGES.md").read_text(), re.MULTILINE)
    if ".dev" in __version__:  # on the way to a version that is not there yet
        assert latest == "Unreleased"
        assert as_numbers(__version__.partition(".dev")[0]) > max(map(as_numbers, released))
    else:
        assert latest == __version__


def as_numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


API_PAGES = Path(__file__).parents[2] / "docs" / "api"
PUBLIC = {name: getattr(owner, name) for owner in (gassst, gassst.align) for name in owner.__all__}


def functions_of(owner: Any) -> list[Callable]:
    """The functions of a public class, with the getters of its properties."""
    members = [inspect.getattr_static(owner, name) for name in vars(owner) if not name.startswith("_")]
    found = [
        getattr(m, "fget", None) or getattr(m, "func", None) or getattr(m, "__func__", m) for m in members
    ]
    return [function for function in found if inspect.isfunction(function)]


def public_functions() -> list[Callable]:
    """Those of which the pages show all: not of the types of arguments, which are made and passed on."""
    classes = [gassst.Index, gassst.Mapper, gassst.Hit, gassst.HitArrays, gassst.Scoring, gassst.Stats]
    classes += [
        value for name in gassst.align.__all__ if inspect.isclass(value := getattr(gassst.align, name))
    ]
    of_classes = [function for owner in classes for function in functions_of(owner)]
    of_modules = [value for value in PUBLIC.values() if inspect.isfunction(value)]
    return [gassst.Mapper.__init__, gassst.Mapper.header_text, *of_classes, *of_modules]


def names_in(function: Callable) -> set[str]:
    """Names in the annotations of a function, which are texts."""
    texts = [str(text) for text in inspect.get_annotations(function).values()]
    return {node.id for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}


def is_public(name: str, value: Any) -> bool:
    if hasattr(builtins, name) or name in PUBLIC or name in ("np", "os", "NDArray", "ArrayLike"):
        return True
    package = str(getattr(value, "__module__", "")).partition(".")[0]
    others = (Any, Literal, NDArray)
    return (
        hasattr(pysam, name)
        or package in ("typing", "collections", "contextlib", "numpy")
        or any(value is one for one in (*others, *PUBLIC.values()))
        or "numpy.ndarray" in repr(value)
    )


def test_types_that_signatures_name_are_public():
    """What is neither of Python, NumPy nor pysam comes from `gassst` or `gassst.align`."""
    functions = public_functions()
    assert len(functions) > 50
    hidden = {
        f"{function.__qualname__}: {name}"
        for function in functions
        for name in names_in(function)
        if not is_public(name, function.__globals__.get(name))
    }
    assert not hidden


def test_public_types_have_their_place_on_the_pages():
    pages = "".join(page.read_text() for page in API_PAGES.glob("*.md"))
    shown = re.findall(r"^::: (\S+)", pages, re.MULTILINE)
    assert len(shown) == len(set(shown))
    assert {f"{module}.{attribute}" for module, attribute in gassst._LAZY.values()} <= set(shown)


def test_public_names_are_documented_and_there():
    assert all(getattr(gassst, name) is not None for name in gassst.__all__)
    assert all(name in gassst.__doc__ for name in gassst.__all__ if not name.startswith("_"))


def test_arguments_of_map_file_are_those_that_it_passes_on():
    """Each is written where it is taken, and once more in a `TypedDict` for type checkers, with the same type."""
    own = "threads", "read_groups", "meth"  # of the mapper, and of the header
    of_output = {f.name: f.type for f in fields(OutputOptions) if f.name not in own}
    assert OutputChoices.__annotations__ == of_output
    ours = "self", "mapper", "source", "output", "options", "watch", "neighbours"
    for kind, function, others in (
        (SourceOptions, ReadSource.of, ("reads", "mates", "threads", "meth")),
        (RunOptions, FileRun.__init__, ours),
    ):
        parameters = inspect.signature(function).parameters.items()
        assert kind.__annotations__ == {
            name: one.annotation for name, one in parameters if name not in others
        }
    shown = inspect.signature(gassst.Mapper.map_file).parameters
    assert shown.keys() == {"self", "reads", "output", "progress", "markdup", *FileOptions.__annotations__}


COMMANDS = [
    *sorted(PACKAGING.glob("nf-core/**/main.nf")),
    *sorted(PACKAGING.glob("snakemake/**/wrapper.py")),
    PACKAGING / "galaxy" / "gassst_map.xml",
]


def options_of(command: str) -> set[str]:
    """All options of `gassst COMMAND`."""
    parser = subparser_of(build_parser(command), command)
    return {option for action in parser._actions for option in action.option_strings}


def test_one_version_in_all_of_them():
    released = __version__.partition(".dev")[0]
    pinned = re.compile(
        r"gassst(?: =|=|:)(\d+\.\d+\.\d+)|TOOL_VERSION@\">([\d.]+)<|set version = \"([\d.]+)\""
    )
    folders = ("nf-core", "snakemake", "galaxy", "bioconda")
    files = [path for folder in folders for path in (PACKAGING / folder).rglob("*") if path.is_file()]
    found = {"".join(match) for path in files for match in pinned.findall(path.read_text())}
    assert found == {released}


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: "-".join(path.relative_to(PACKAGING).parts[-3:]))
def test_commands_name_options_that_exist_and_are_not_quiet(path):
    text = path.read_text()
    if path.suffix == ".xml":
        text = re.search(r"<!\[CDATA\[(.*?)\]\]>", text, re.DOTALL)[1]
    calls = re.findall(
        r"gassst (index|map|mem|gather)\b(.*?)(?=gassst (?:index|map|mem|gather)\b|\Z)", text, re.DOTALL
    )
    assert calls or "include" in text  # a subworkflow calls its modules
    for command, rest in calls:
        called = rest.partition("stub:")[0]
        words = set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", called)) & set(re.findall(r"\S+", called))
        assert "-q" not in words and "--quiet" not in words
        assert words - {"-n"} <= options_of(command), command


# --- bioconda -------------------------------------------------------------------------------------------------


IDENTITY = {f"GIT_{role}_{what}": "a@b.c" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
# The user's own settings, such as signing, are none of a test's.
ALONE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


@pytest.fixture
def judged(tmp_path, capsys):
    """Commits a change of a file with a message, and says the exit code and what is found."""

    def git(*words):
        subprocess.run(["git", *words], cwd=tmp_path, env={**os.environ, **IDENTITY, **ALONE}, check=True)

    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "Begin")

    def judge(path, message):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as out:
            out.write("x\n")
        git("add", "-A")
        git("commit", "-q", "-m", message)
        code = commits.main(["HEAD~1..HEAD"], tmp_path)
        return code, capsys.readouterr().out.splitlines()[:-1]

    return judge


@pytest.mark.external("git")
@pytest.mark.parametrize("trailer", ["same", "changed 12 (ties)", "changed 1,024 (MAPQ 20 and more)"])
@pytest.mark.parametrize(
    "path", ["gassst/local/base.py", "gassst/search/a.py", "ext/common/b.h", "ext/isa/c.c"]
)
def test_mapping_code_says_what_becomes_of_records(judged, path, trailer):
    assert judged(path, f"Do it\n\nThe reason.\n\nRecords: {trailer}") == (0, [])
    code, found = judged(path, "Do it\n\nThe reason.")
    assert code == 1 and len(found) == 1 and f"it touches {path}" in found[0]


@pytest.mark.external("git")
def test_a_subject_has_72_characters(judged):
    assert judged("a", "x" * 72) == (0, [])
    code, found = judged("a", "x" * 73)
    assert code == 1 and "73 characters" in found[0]
    assert judged("a", "x" * 40 + "\n" + "y" * 40)[0] == 1  # no empty line: one subject of two


MAPPER = """
import sys
from gassst import MAPQ, OPTIONS
command, *words = sys.argv[1:]
outputs = [b for a, b in zip(words, words[1:]) if a == "-o"]
if command == "simulate":
    for mate, name in enumerate(outputs):
        with open(name, "w") as out:
            for number in range(40):
                out.write(f"@r{number}\\n{'ACGTA' * 30}\\n+\\n{'I' * 150}\\n")
elif command == "index":
    open(outputs[0], "w").close()
elif words[-1] not in OPTIONS + ["none"] or "--all" in words and "--all" not in OPTIONS:
    sys.exit("unknown option")
else:
    with open(outputs[0], "w") as out:
        out.write("@SQ\\tSN:c\\tLN:1000\\n")
        for number in range(40):
            out.write(f"r{number}\\t0\\tc\\t{number + 1}\\t{MAPQ}\\t5M\\t*\\t0\\t0\\tACGTA\\tIIIII\\tNM:i:0\\n")
"""


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A repository with one commit, and what commits a change of a file."""
    root = tmp_path / "tree"

    def git(*words):
        subprocess.run(["git", *words], cwd=root, env={**os.environ, **IDENTITY, **ALONE}, check=True)

    def write(path, text):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)

    def commit(message="Do it", **files):
        for path, text in files.items():
            write(path, text)
        git("add", "-A")
        git("commit", "-q", "--allow-empty", "-m", message)

    rng = random.Random(1)
    genome = "".join(rng.choices("ACGT", k=30_000))
    for name in (same_records.GENOME, same_records.PHIX, *same_records.REAL):
        write(f"tests/data/{name}", f">c\n{genome}\n")
    write(".gitignore", "build\n")
    write("ext/a.h", "")
    write("index/a.h", "")
    write("setup.py", "")
    write("gassst/__init__.py", package())
    write("gassst/__main__.py", MAPPER)
    root.joinpath("docs").mkdir()
    git("init", "-q", "-b", "main")
    commit("Begin")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: True)
    monkeypatch.setattr(same_records, "make_sets", lambda tree, data, folder: two_sets(folder))
    commit.root, commit.git, commit.write = root, git, write
    return commit


def two_sets(folder):
    for name in ("genome", "repeats"):
        (folder / f"{name}.fa").write_text(">c\nACGT\n")
    reads = [folder / "reads.fq"]
    return [same_records.Set("single", "genome", reads, []), same_records.Set("pairs", "genome", reads, [])]


def package(mapq: int = 60, options: str = "--all"):
    return f"MAPQ, OPTIONS = {mapq}, {options.split()}\n"


def checked(tree, capsys, *words):
    """The exit code, and what is printed."""
    code = same_records.main(words, tree.root)
    shown = capsys.readouterr()
    assert not list((tree.root / "build").glob("*"))
    status = subprocess.run(["git", "status", "--short"], cwd=tree.root, capture_output=True, text=True)
    assert words or not status.stdout
    return code, shown.out + shown.err


@pytest.mark.external("git")
def test_a_change_that_no_commit_admits_fails_with_what_it_is(tree, capsys):
    tree("Sure\n\nRecords: same", **{"gassst/__init__.py": package(50)})
    code, text = checked(tree, capsys)
    assert code == 1 and "single: 40 of 40 reads differ: 40 mapq down only" in text
    assert "r0: c:1+ 5M NM 0 MAPQ 60 -> c:1+ 5M NM 0 MAPQ 50" in text
    assert "Records: changed 80 (why)" in text


@pytest.mark.external("git")
def test_edits_are_compared_before_they_are_committed(tree, capsys):
    code, text = checked(tree, capsys, "HEAD")
    assert code == 0 and "the package is the same" in text
    tree.write("gassst/__init__.py", package(40))
    code, text = checked(tree, capsys, "HEAD")
    assert code == 1 and "80 reads differ" in text
