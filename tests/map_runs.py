"""`gassst map` in this process, and the records that it writes."""

import os

import pysam

from gassst.cli.main import main


def run(index, *arguments) -> int:
    """The exit code of a run on the host that says errors alone."""
    return main(["map", str(index), *map(str, arguments), "--device", "none", "-t", "2", "-q"])


def lines_of(path, fasta=None) -> list[str]:
    """The records of a file, as lines of SAM; `fasta`: the reference of CRAM."""
    reference = fasta and os.fspath(fasta)
    with pysam.AlignmentFile(os.fspath(path), check_sq=False, reference_filename=reference) as file:
        return [record.to_string() for record in file]
