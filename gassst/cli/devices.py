"""`gassst devices`."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It has none."""


def main(args: argparse.Namespace) -> int:
    """Run `gassst devices`."""
    from gassst.extension.devices import describe_devices

    print(describe_devices())
    return 0
