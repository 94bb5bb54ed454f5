"""`gassst serve`."""

from __future__ import annotations

import argparse
import logging

from gassst.arguments import file_path
from gassst.errors import InputError, UsageError

log = logging.getLogger("gassst")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `gassst serve`."""
    add = parser.add_argument
    add(
        "index",
        metavar="REF.gsi",
        type=file_path,
        help="Index in parts, as `gassst index --parts` writes it.",
    )
    add("--part", metavar="I", type=int, required=True, help="Which part to have in memory, from 1.")
    add(
        "--key",
        metavar="FILE",
        type=file_path,
        required=True,
        help="Key that runs must have, too; others must not read it.",
    )
    add(
        "--listen",
        metavar="HOST:PORT",
        default="0.0.0.0:7117",
        help="Address to listen at; port 0 is any that is free, and the log names it.",
    )
    add("-q", "--quiet", action="store_true", help="Say nothing but errors.")
    add("-v", "--verbose", action="store_true", help="As other commands; there is no more to say.")


def main(args: argparse.Namespace) -> int:
    """Run `gassst serve`: until it is stopped. Raises UsageError, InputError."""
    from gassst.seeding.lookup_messages import address_of, read_key
    from gassst.seeding.lookup_server import LookupServer
    from gassst.seeding.seed_index import SeedIndex

    try:
        address = address_of(args.listen, "0.0.0.0")
    except ValueError as error:
        raise UsageError(f"--listen: {error}") from None
    key = read_key(args.key)
    index = SeedIndex.open(args.index, parts=[args.part])
    if not index.parts:
        raise UsageError(f"--part must be from 1 to {len(index.part_rows)}: {args.index} is in so many parts")
    index.check()  # which also brings it into memory
    try:
        server = LookupServer(index, args.part, key, address)
    except OSError as error:
        raise InputError(f"{args.listen}: {error.strerror or error}") from error
    host, port = server.address
    log.info(
        "part %d of %d of %s is served at %s:%d", args.part, len(index.part_rows), args.index, host, port
    )
    server.serve()
    return 0
