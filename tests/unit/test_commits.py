"""What a message of a commit must say: scripts/check/commits.py on a repository of its own."""

from __future__ import annotations

import os
import shutil
import subprocess

import commits
import pytest

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git")
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


@pytest.mark.parametrize("trailer", ["same", "changed 12 (ties)", "changed 1,024 (MAPQ 20 and more)"])
@pytest.mark.parametrize(
    "path", ["gassst/local/base.py", "gassst/search/a.py", "ext/common/b.h", "ext/isa/c.c"]
)
def test_mapping_code_says_what_becomes_of_records(judged, path, trailer):
    assert judged(path, f"Do it\n\nThe reason.\n\nRecords: {trailer}") == (0, [])
    code, found = judged(path, "Do it\n\nThe reason.")
    assert code == 1 and len(found) == 1 and f"it touches {path}" in found[0]


def test_a_subject_has_72_characters(judged):
    assert judged("a", "x" * 72) == (0, [])
    code, found = judged("a", "x" * 73)
    assert code == 1 and "73 characters" in found[0]
    assert judged("a", "x" * 40 + "\n" + "y" * 40)[0] == 1  # no empty line: one subject of two
