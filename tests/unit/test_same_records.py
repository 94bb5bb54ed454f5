"""scripts/check/same_records.py on a repository of its own, whose package is a mapper of a few lines."""

from __future__ import annotations

import os
import random
import shutil
import subprocess

import pytest
import same_records
from test_commits import ALONE, IDENTITY

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git")

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


def test_a_change_that_no_commit_admits_fails_with_what_it_is(tree, capsys):
    tree("Sure\n\nRecords: same", **{"gassst/__init__.py": package(50)})
    code, text = checked(tree, capsys)
    assert code == 1 and "single: 40 of 40 reads differ: 40 mapq down only" in text
    assert "r0: c:1+ 5M NM 0 MAPQ 60 -> c:1+ 5M NM 0 MAPQ 50" in text
    assert "Records: changed 80 (why)" in text


def test_a_change_that_a_commit_admits_is_shown(tree, capsys):
    tree("Surer\n\nRecords: changed 40 (MAPQ)", **{"gassst/__init__.py": package(50)})
    code, text = checked(tree, capsys)
    assert code == 0 and "Surer: changed 40 (MAPQ)" in text and "80 reads differ" in text
    tree("Go on\n\nRecords: same", **{"ext/a.h": "// a"})
    code, text = checked(tree, capsys)  # that commit is the base now
    assert code == 0 and "records: same as" in text and "80 reads in 2 sets" in text


def test_edits_are_compared_before_they_are_committed(tree, capsys):
    code, text = checked(tree, capsys, "HEAD")
    assert code == 0 and "the package is the same" in text
    tree.write("gassst/__init__.py", package(40))
    code, text = checked(tree, capsys, "HEAD")
    assert code == 1 and "80 reads differ" in text
