"""The one source of the version. A checkout on the way to a release adds its commit, and so does a build of one."""

import os

__version__ = "0.2.0.dev0"


def _commit(git: str) -> str:
    """Seven digits of the commit that is checked out; "" where git has none. To run git would take 10 ms."""
    try:
        head = _text(git, "HEAD").strip()
        if not head.startswith("ref: "):
            return head[:7]
        name = head.removeprefix("ref: ")
        if os.path.exists(os.path.join(git, name)):
            return _text(git, name)[:7]
        packed = _text(git, "packed-refs").splitlines()
        return next((line[:7] for line in packed if line.endswith(f" {name}")), "")
    except OSError:
        return ""


def _text(*path: str) -> str:
    with open(os.path.join(*path)) as file:
        return file.read()


_ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
if __version__.endswith(".dev0") and (_found := _commit(os.path.join(_ROOT, ".git"))):
    __version__ += f"+g{_found}"
