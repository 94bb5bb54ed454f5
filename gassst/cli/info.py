"""`gassst info`: what an index contains, or which run wrote an alignment file or statistics."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from gassst.errors import InputError, unreadable
from gassst.tools.arguments import file_path

Rows = Iterator[tuple[str, str]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One: the file."""
    parser.add_argument(
        "file",
        type=file_path,
        metavar="FILE",
        help="Describe this index (.gsi), this SAM, BAM or CRAM file, or this file of --stats.",
    )


def main(args: argparse.Namespace) -> int:
    """Run `gassst info`. Raises InputError and IndexFormatError."""
    for name, value in rows_of(args.file):
        print(f"{name}\t{value}")
    return 0


def rows_of(path: str) -> Rows:
    """Names and values, in the order in which they are printed."""
    from gassst.index.file import is_index
    from gassst.reads.alignment_input import is_alignment_file

    try:
        with open(path, "rb") as file:
            first = file.read(1)
    except OSError as error:
        raise unreadable(path, error) from None
    if is_index(path):
        return _of_index(path)
    if is_alignment_file(path, True):
        return _of_alignments(path)
    if first == b"{":
        return _of_stats(path)
    raise InputError(f"{path}: neither an index, nor alignments, nor statistics of a run")


def _of_index(path: str) -> Rows:
    from gassst.index.file import json_fields, map_sections
    from gassst.index.seed_index import SeedIndex

    with SeedIndex.open(path, check=False) as index, open(path, "rb") as file:
        version, _, sections = map_sections(file, path)
        made_by = json_fields(sections["metadata"], path).get("program")
        reference, files = index.reference, [path, *(part.path for part in index.parts)]
        of_parts = [f" and {each}" for each in files[1:]]
        yield "file", path
        yield "kind", "index of converted bases, for --meth" if index.converted else "index"
        yield "format", str(version)
        yield "made by", str(made_by)
        yield "bytes", f"{sum(map(os.path.getsize, files))}"
        yield "k", str(index.k)
        yield "step", str(index.step)
        yield "parts", f"{len(index.parts)}{''.join(of_parts)}"
        yield "FASTA", index.fasta or "not found beside the index"
        yield "FASTA bytes", "unknown" if index.fasta_bytes is None else str(index.fasta_bytes)
        yield "contigs", str(len(reference.names))
        yield "bases", str(int(reference.lengths.sum()))
        alt = set() if reference.alt is None else set(reference.alt.nonzero()[0].tolist())
        yield "ALT contigs", str(len(alt))
        circular = () if reference.circular is None else reference.circular.nonzero()[0].tolist()
        for i, (name, length) in enumerate(zip(reference.names, reference.lengths.tolist(), strict=True)):
            yield "contig", f"{name}\t{length}" + "\tALT" * (i in alt) + "\tcircular" * (i in circular)


def _of_alignments(path: str) -> Rows:
    """The runs of programs that the header names, ours with all fields of their lines."""
    from contextlib import closing

    import pysam

    import gassst.files.htslib  # noqa: F401 - before the compiled modules that link its htslib
    from gassst._core.alignment_text import AlignmentReader
    from gassst.files.quiet import QuietHtslib
    from gassst.files.sam_header import lines_of

    QuietHtslib.enter()
    try:
        with open(path, "rb") as text:
            kind = {b"@": "SAM", b"C": "CRAM"}.get(text.read(1), "BAM")
        with closing(AlignmentReader(os.open(path, os.O_RDONLY), path)) as file:
            header = pysam.AlignmentHeader.from_text(file.header).to_dict()
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not an alignment file that can be read ({error})") from None
    finally:
        QuietHtslib.leave()
    yield "file", path
    yield "kind", kind
    yield "bytes", str(os.path.getsize(path))
    yield "order", header.get("HD", {}).get("SO", "unknown")
    yield "contigs", str(len(header.get("SQ", [])))
    for group in header.get("RG", []):
        yield "read group", "\t".join(f"{key}:{value}" for key, value in group.items())
    names = {"VN": "version", "CL": "command", "DS": "note"}
    for line in lines_of(file.header, "@PG"):  # of which pysam takes all behind CL for the command
        program = dict(field.partition(":")[::2] for field in line.split("\t")[1:])
        yield "program", program["ID"]
        yield from ((name, program[key]) for key, name in names.items() if key in program)


def _of_stats(path: str) -> Rows:
    from gassst.cli.summary import summary
    from gassst.model.stats import Stats

    stats = Stats.read_json(path)
    run = stats.run
    yield "file", path
    yield "kind", "statistics of a run"
    for name in ("version", "command", "device"):
        if name in run:
            yield name, str(run[name])
    reference = run.get("reference", {"names": [], "lengths": []})
    yield "contigs", str(len(reference["names"]))
    yield "bases", str(sum(reference["lengths"]))
    for line in summary(stats, run.get("seconds", 0.0)).splitlines():
        yield line[:14].rstrip(), line[14:].strip()
