"""`gassst insert`."""

from __future__ import annotations

import argparse
import shlex

from gassst.cli.checks import check_order, check_writable, mates_of, verified_params
from gassst.cli.options import add_insert_options
from gassst.cli.start import log_start
from gassst.index.choice import load_index


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `gassst insert`."""
    parser.usage = (
        "%(prog)s [OPTIONS] REF READS.fq MATES.fq -o MODEL.json\n"
        "       %(prog)s [OPTIONS] REF -1 A1.fq B1.fq -2 A2.fq B2.fq -o MODEL.json"
    )
    add_insert_options(parser)


def main(args: argparse.Namespace) -> int:
    """Run `gassst insert`. Raises UsageError, InputError, OutputError, DeviceError."""
    params = verified_params(args)
    check_order(args)
    reads, mates = mates_of(args)
    check_writable([args.output])
    from gassst.api.mapper import Mapper
    from gassst.reads.source import ReadSource

    index = load_index(args.index, args.threads, args.check, params.meth is not None)
    log_start(args, index)
    mapper = Mapper(index, **vars(params))
    source = ReadSource.of(
        reads,
        mates,
        interleaved=args.interleaved,
        allow_truncated=args.allow_truncated,
        reference=args.reference,
        threads=params.threads,
    )
    model = mapper.learn_insert(source)
    model.write(args.output, mapper.describe(shlex.join(["gassst", *args.argv])))
    return 0
