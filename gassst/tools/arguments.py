"""Types of command-line arguments, and arguments, that commands of `gassst.cli` and `gassst.tools` share."""

from collections.abc import Callable
from typing import Any


def file_path(text: str) -> str:
    """A file that the command reads; shells complete its name."""
    return text


def output_path(text: str) -> str:
    """A file that the command writes; tests/cli/test_faults.py tries every failure on it."""
    return text


PATHS = (file_path, output_path)


def add_seed(add: Callable[..., Any]) -> None:
    """The option `--seed` of what simulates reads; `add` is `add_argument` of a parser or group."""
    add(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help="Seed the random numbers; the same seed gives the same reads.",
    )
