"""Check what messages of commits say: the length of the subject, and whether records change.

    python scripts/check/commits.py origin/main..HEAD

A subject has 72 characters at most. A commit that touches the core of the mapper, which core_budget.py counts, says in
a trailer what becomes of records. That is `Records: same`, or `Records: changed N (why)` with the number of changed
records. Every finding is one line; the exit code is 1 where there is one. Merges are not looked at.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import core_budget

LONGEST = 72
RECORDS = re.compile(r"same|changed \d[\d,]* \(.+\)")
FIELDS = "%x01%h%x00%s%x00%(trailers:key=Records,valueonly,unfold)%x00"


class Commit(NamedTuple):
    """What git says of one; `records` has the values of all trailers of that name."""

    name: str
    subject: str
    records: list[str]
    paths: list[str]


def commits_of(span: str, root: Path) -> Iterator[Commit]:
    """The commits of a range such as "main..HEAD", the oldest first. Raises CalledProcessError."""
    command = ["git", "log", "--no-merges", "--reverse", "--no-renames", "--name-only", f"--format={FIELDS}"]
    done = subprocess.run(
        [*command, "-z", "--end-of-options", span, "--"], cwd=root, stdout=subprocess.PIPE, check=True
    )
    for text in done.stdout.decode().split("\x01")[1:]:
        name, subject, records, paths = text.split("\0", 3)
        yield Commit(name, subject, records.split("\n")[:-1], paths.strip("\0\n").split("\0"))


def findings(commit: Commit) -> Iterator[str]:
    """What is wrong with a message."""
    if len(commit.subject) > LONGEST:
        yield f"the subject has {len(commit.subject)} characters, more than {LONGEST}"
    touched = [path for path in commit.paths if core_budget.is_core(path)]
    if any(not RECORDS.fullmatch(value) for value in commit.records) or len(commit.records) > 1:
        yield "write one trailer: `Records: same` or `Records: changed N (why)`"
    elif touched and not commit.records:
        yield f"it touches {touched[0]}: add the trailer `Records: same` or `Records: changed N (why)`"


def main(argv: Sequence[str] | None = None, root: Path = core_budget.ROOT) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("span", metavar="FROM..TO", help="range of commits, as of git log")
    args = parser.parse_args(argv)
    try:
        commits = list(commits_of(args.span, root))
    except subprocess.CalledProcessError:
        return 2  # git has said why
    wrong = [f"{commit.name}: {what}" for commit in commits for what in findings(commit)]
    print("\n".join([*wrong, f"commits: {len(commits)}, findings: {len(wrong)}"]))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
