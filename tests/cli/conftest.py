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
