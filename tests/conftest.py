from __future__ import annotations

import gzip
from pathlib import Path

import brute_force as bf
import numpy as np
import pytest

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def small_genome() -> dict[str, bytes]:
    """60 kb in three contigs, with repeats and a run of N."""
    rng = np.random.default_rng(11)
    one = bytearray(bf.repetitive_genome(rng, 40_000))
    one[5000:5060] = b"N" * 60
    return {"one": bytes(one), "two": bf.repetitive_genome(rng, 18_000), "three": bf.random_bases(rng, 2_000)}


@pytest.fixture(scope="session")
def small_fasta(small_genome, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("reference") / "small.fa"
    path.write_bytes(b"".join(b">%s\n%s\n" % (n.encode(), s) for n, s in small_genome.items()))
    return path


@pytest.fixture(scope="session")
def small_index(small_fasta) -> Path:
    import gassst

    path = small_fasta.with_suffix(".gsi")
    gassst.Index.build(small_fasta).save(path)
    return path


@pytest.fixture(scope="session")
def small_reads(small_genome) -> list[tuple[str, str, str]]:
    """400 reads of mixed lengths and errors from everywhere, some random, one too short to map."""
    rng = np.random.default_rng(5)
    reads = []
    for i in range(400):
        contig = small_genome[str(rng.choice(["one", "one", "two", "three"]))]
        length = int(rng.choice([36, 50, 75, 100, 150, 250]))
        at = int(rng.integers(len(contig) - length - 30))
        read = bf.mutate(rng, contig[at : at + length + 20], int(rng.integers(length // 10)))[:length]
        read = bf.random_bases(rng, length) if i % 40 == 0 else read
        read = bf.reverse_complement(read) if rng.random() < 0.5 else read
        quality = "".join(chr(33 + int(q)) for q in rng.integers(2, 41, len(read)))
        reads.append((f"read{i}", read.decode(), quality))
    return [*reads, ("short", "ACGTACGT", "IIIIIIII")]


@pytest.fixture(scope="session")
def small_fastq(small_reads, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("reads") / "small.fq.gz"
    with gzip.open(path, "wt") as file:
        file.writelines(f"@{n}\n{s}\n+\n{q}\n" for n, s, q in small_reads)
    return path
