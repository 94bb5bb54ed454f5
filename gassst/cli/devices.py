"""`gassst devices`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gassst.tools.arguments import file_path

if TYPE_CHECKING:
    from gassst.gpu.device import DeviceInfo


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One: an index."""
    parser.add_argument(
        "index",
        nargs="?",
        type=file_path,
        metavar="REF.gsi",
        help="Say whether the search of this index fits each device.",
    )


def main(args: argparse.Namespace) -> int:
    """Run `gassst devices`. Raises InputError and IndexFormatError."""
    from gassst.gpu.devices import describe_devices

    if args.index is None:
        print(describe_devices())
        return 0
    from gassst.gpu.index import fit
    from gassst.index.seed_index import SeedIndex

    index = SeedIndex.open(args.index)

    def note(info: DeviceInfo) -> str:
        why = fit(index, info.memory, info.allocation).why
        return (
            f"{args.index} does not fit: {why}"
            if why
            else f"{args.index} fits: single reads are searched there"
        )

    print(describe_devices(note))
    return 0
