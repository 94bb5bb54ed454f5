"""The one source of the version. A checkout on the way to a release adds its commit, and so does a build of one."""

from pathlib import Path

__version__ = "0.2.0.dev0"


def _commit(git: Path) -> str:
    """Seven digits of the commit that is checked out; "" where git has none. To run git would take 10 ms."""
    try:
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head[:7]
        name = head.removeprefix("ref: ")
        if (git / name).exists():
            return (git / name).read_text()[:7]
        packed = (git / "packed-refs").read_text().splitlines()
        return next((line[:7] for line in packed if line.endswith(f" {name}")), "")
    except OSError:
        return ""


if __version__.endswith(".dev0") and (_found := _commit(Path(__file__).resolve().parents[1] / ".git")):
    __version__ += f"+g{_found}"
