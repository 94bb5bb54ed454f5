"""Fixtures of the tests of commands."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gassst.cli.main import main


@pytest.fixture
def run(capfd) -> Callable[..., tuple[int, str, str]]:
    """Runs a command in this process; gives exit code, stdout and stderr."""

    def run(*argv: object) -> tuple[int, str, str]:
        capfd.readouterr()
        return main([*map(str, argv)]), *capfd.readouterr()

    return run


@pytest.fixture
def gassst_map(capfd, small_index):
    """Runs `gassst map` on the small index in this process; gives exit code, stdout and stderr."""

    def run(*argv, index=small_index, device="none"):
        capfd.readouterr()
        code = main(["map", str(index), "--device", device, *map(str, argv)])
        return code, *capfd.readouterr()

    return run


@pytest.fixture
def sam_lines(gassst_map):
    """The records of a successful run, without the header."""

    def run(*argv, **options):
        code, out, _ = gassst_map("-q", *argv, **options)
        assert code == 0
        return [line for line in out.splitlines() if not line.startswith("@")]

    return run
