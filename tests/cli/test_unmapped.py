"""Files of unmapped reads are those that `samtools fastq` makes of the records."""

from __future__ import annotations

import gzip

import numpy as np
import pysam
import pytest
from map_runs import run

from gassst.cli.main import main


@pytest.fixture(scope="module")
def pairs(small_genome):
    """Both mates, the first, the second and no mate from the genome, in turn; the names say which."""
    rng = np.random.default_rng(8)
    complement = bytes.maketrans(b"ACGT", b"TGCA")
    contig = small_genome["one"]
    found = []
    for i in range(80):
        at = int(rng.integers(8000, 38_000))
        mates = [contig[at : at + 80], contig[at + 220 : at + 300].translate(complement)[::-1]]
        for mate in range(2):
            if i % 4 in (mate + 1, 3):
                mates[mate] = bytes(rng.choice(list(b"ACGT"), 80).astype(np.uint8))
        found.append((f"p{i}", *(mate.decode() for mate in mates)))
    return found


@pytest.fixture(scope="module")
def files(pairs, tmp_path_factory):
    paths = [tmp_path_factory.mktemp("pairs") / f"R{mate}.fq" for mate in (1, 2)]
    for mate, path in enumerate(paths):
        path.write_text("".join(f"@{row[0]}\n{row[mate + 1]}\n+\n{'HI'[mate] * 80}\n" for row in pairs))
    return paths


def oracle(folder, alignments, *choice):
    """Text of first and of second mates, by samtools."""
    chosen = folder / "chosen.bam"
    pysam.view("-b", "-o", str(chosen), *choice, str(alignments), catch_stdout=False)
    outputs = [folder / f"o{mate}.fq" for mate in (1, 2)]
    pysam.fastq("-1", str(outputs[0]), "-2", str(outputs[1]), "-0", "/dev/null", str(chosen))
    return [path.read_text() for path in outputs]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "options, choice, pairs_written",
    [((), ("-f", "12"), 20), (("--unmapped-either",), ("-e", "flag.unmap || flag.munmap"), 60)],
)
def test_pairs_in_two_files(small_index, files, tmp_path, options, choice, pairs_written, threads):
    out, one, two = tmp_path / "o.bam", tmp_path / "u1.fq.gz", tmp_path / "u2.fq"
    options = (*options, "-t", threads, "--batch-size", "14")
    assert run(small_index, *files, "-o", out, "--unmapped", one, "--unmapped2", two, *options) == 0
    written = [gzip.decompress(one.read_bytes()).decode(), two.read_text()]
    assert written == oracle(tmp_path, out, *choice)
    assert [text.count("\n") for text in written] == [4 * pairs_written] * 2


def test_single_reads_are_in_neither_file(small_index, files, tmp_path, capfd):
    both = tmp_path / "both.fq"
    records = zip(*(path.read_text().split("@")[1:] for path in files), strict=True)
    alone = f"@alone\n{'ACGGT' * 20}\n+\n{'I' * 100}\n"
    both.write_text(alone + "".join(f"@{one}@{two}" for one, two in records) + alone)
    out, one, two = tmp_path / "o.bam", tmp_path / "u1.fq", tmp_path / "u2.fq"
    outputs = ("-o", out, "--unmapped", one, "--unmapped2", two, "--device", "none")
    assert main(["map", *map(str, (small_index, "--interleaved", both, *outputs))]) == 0
    assert [one.read_text(), two.read_text()] == oracle(tmp_path, out, "-f", "13")
    assert "2 unmapped single reads are not in the files of unmapped pairs" in capfd.readouterr().err
