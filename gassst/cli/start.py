"""What every log begins with: the version and the command, then what the command works with."""

from __future__ import annotations

import argparse
import logging
import shlex
from typing import TYPE_CHECKING

from gassst.version import __version__

if TYPE_CHECKING:
    from gassst.index.seed_index import SeedIndex

log = logging.getLogger("gassst")


def log_start(args: argparse.Namespace, index: SeedIndex | None = None) -> None:
    """Two lines in the log. `index` is the one that is mapped to, if any."""
    log.info("version %s: %s", __version__, shlex.join(["gassst", *args.argv]))
    threads = number_of(args.threads, "thread")
    log.info("%s", threads if index is None else f"{threads}, {_described(index)}")


def _described(index: SeedIndex) -> str:
    return f"index {index.path or 'in memory'}: {index.reference.described}"


def number_of(count: int, what: str) -> str:
    """'1 contig', '2,580 contigs'."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
