"""CRAM of a compressed FASTA: a warning where samtools cannot read the sequence by the path in the header."""

from __future__ import annotations

import gzip

import pysam
import pytest

from gassst.cli.main import main


def packed(source, target, program):
    if program == "gzip":
        target.write_bytes(gzip.compress(source.read_bytes()))
    else:
        pysam.tabix_compress(str(source), str(target))


@pytest.mark.parametrize(
    ("program", "options", "is_warned"),
    [("gzip", [], True), ("bgzip", [], False), ("gzip", ["--output-fmt-option", "no_ref=1"], False)],
)
def test_a_warning_where_samtools_cannot_read(
    small_fasta, small_fastq, tmp_path, capfd, monkeypatch, program, options, is_warned
):
    for variable in ("REF_PATH", "REF_CACHE"):
        monkeypatch.setenv(variable, str(tmp_path / "none"))
    fasta, index, cram = (tmp_path / name for name in ("ref.fa.gz", "ref.gsi", "o.cram"))
    packed(small_fasta, fasta, program)
    assert main(["index", "-q", str(fasta), "-o", str(index)]) == 0
    capfd.readouterr()
    assert main(["map", *map(str, (index, small_fastq, "-o", cram)), "--device", "none", *options]) == 0
    assert ("ref.fa.gz is gzip, not BGZF: samtools reads" in capfd.readouterr().err) == is_warned
    if is_warned:
        with pytest.raises(pysam.SamtoolsError):
            pysam.view(str(cram))
    else:
        assert pysam.view(str(cram)).count("\n") == 401
