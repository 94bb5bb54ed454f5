"""No read stops a run: what is too long, empty or all N is written as it came, unmapped."""

from __future__ import annotations

import json

import edlib
import numpy as np
import pysam
import pytest

from gassst.cli.main import main
from gassst.model.params import MAX_READ_LENGTH


def bases_of(rng, length, letters=b"ACGT"):
    return rng.choice(np.frombuffer(letters, np.uint8), length).tobytes().decode()


def odd_bases():
    rng = np.random.default_rng(3)
    lengths = (MAX_READ_LENGTH + 1, 10_000, 1_000_000)
    return [*(bases_of(rng, n) for n in lengths), "", "N" * 150, "N" * 5000, "A"]


def fastq(path, records, mate=""):
    """A file of (name, bases); the qualities tell the ends of a read apart."""
    text = "".join(
        f"@{name}{mate}\n{bases}\n+\n{''.join(chr(33 + i % 41) for i in range(len(bases)))}\n"
        for name, bases in records
    )
    path.write_text(text)
    return path


def run(index, *arguments):
    assert main(["map", str(index), *map(str, arguments), "--device", "none", "-t", "2"]) == 0


def reads_in(path):
    """Name, mate, bases and qualities as sequenced, by htslib."""
    with pysam.AlignmentFile(path, check_sq=False) as file:
        return [
            (r.query_name, r.is_read2, r.get_forward_sequence() or "", list(r.get_forward_qualities() or []))
            for r in file
        ]


def reads_of(path, second=False):
    with pysam.FastxFile(path) as file:
        return [
            (r.name.partition("/")[0], second, r.sequence or "", list(r.get_quality_array() or []))
            for r in file
        ]


@pytest.mark.parametrize("suffix", ["sam", "bam", "cram"])
def test_odd_reads_are_written_unmapped(small_index, small_reads, tmp_path, capfd, suffix):
    good = [(name, bases) for name, bases, _ in small_reads[:40]]
    odd = [(f"odd{i}", bases) for i, bases in enumerate(odd_bases())]
    both = [record for pair in zip(good, odd, strict=False) for record in pair] + good[len(odd) :]
    paths = [fastq(tmp_path / f"{i}.fq", records) for i, records in enumerate((good, both))]
    outputs = [tmp_path / f"{i}.{suffix}" for i in range(2)]
    form = ["--output-fmt-option", "no_ref=1"] if suffix == "cram" else []
    for path, output in zip(paths, outputs, strict=True):
        run(small_index, path, *form, "-o", output, "--batch-size", "7", "--stats", tmp_path / "stats.json")
    assert reads_in(outputs[1]) == reads_of(paths[1])
    told = capfd.readouterr().err
    assert told.count("4 reads are longer than those that are mapped") == 1
    stats = json.loads((tmp_path / "stats.json").read_text())
    assert stats["too_long"] == 4 and stats["bases"] == sum(len(bases) for _, bases in both)
    records = []
    for output in outputs:
        with pysam.AlignmentFile(output, check_sq=False) as file:
            records.append({r.query_name: r.to_string() for r in file})
    for i in range(len(odd)):
        assert records[1].pop(f"odd{i}").split("\t")[1] == "4"
    assert records[0] == records[1]


@pytest.mark.parametrize("mode", ["local", "global"])
@pytest.mark.parametrize("odd_mate", [0, 1])
def test_an_odd_mate_lies_beside_its_partner(small_index, small_genome, tmp_path, odd_mate, mode):
    rng = np.random.default_rng(9)
    genome = small_genome["one"].decode()
    good = [genome[at : at + 100] for at in rng.integers(6000, 30_000, len(odd_bases()))]
    mates = [good, odd_bases()] if odd_mate else [odd_bases(), good]
    paths = [
        fastq(tmp_path / f"{which}.fq", [(f"p{i}", bases) for i, bases in enumerate(some)], f"/{which + 1}")
        for which, some in enumerate(mates)
    ]
    run(small_index, *paths, "-o", tmp_path / "out.bam", "--mode", mode)
    found = reads_in(tmp_path / "out.bam")
    expected = zip(reads_of(paths[0]), reads_of(paths[1], True), strict=True)
    assert found == [read for pair in expected for read in pair]
    with pysam.AlignmentFile(tmp_path / "out.bam") as file:
        records = list(file)
    for record in records:
        assert record.is_unmapped == (record.is_read2 == bool(odd_mate))
        assert record.reference_start == record.next_reference_start >= 0
    pysam.quickcheck(str(tmp_path / "out.bam"))


@pytest.mark.parametrize("mode", ["local", "global"])
def test_reads_up_to_the_limit_are_mapped(small_index, small_genome, tmp_path, mode):
    """With substitutions only; the fewest edits by edlib, at the place that the read was taken from."""
    rng = np.random.default_rng(1)
    genome = np.frombuffer(small_genome["one"], np.uint8)
    records, starts = [], []
    for length, errors in [(1001, 0), (1500, 150), (2500, 255), (MAX_READ_LENGTH, 0), (MAX_READ_LENGTH, 255)]:
        at = int(rng.integers(6000, len(genome) - length))
        read = genome[at : at + length].copy()
        changed = rng.choice(length, errors, replace=False)
        read[changed] = [b"ACGT"[(b"ACGT".index(b) + 1 + rng.integers(3)) % 4] for b in read[changed]]
        records.append((f"{length}_{errors}", read.tobytes().decode()))
        starts.append(at)
    run(small_index, fastq(tmp_path / "long.fq", records), "--mode", mode, "-o", tmp_path / "out.sam")
    with pysam.AlignmentFile(tmp_path / "out.sam") as file:
        found = [record for record in file if not record.is_supplementary]
    for record, at in zip(found, starts, strict=True):
        assert abs(record.reference_start - record.query_alignment_start - at) <= 2, record.query_name
        target = small_genome["one"][record.reference_start : record.reference_end].decode()
        edits = edlib.align(record.query_alignment_sequence, target)["editDistance"]
        assert record.get_tag("NM") == edits if mode == "global" else record.get_tag("NM") >= edits


# --- RNA ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["fq", "fa", "sam"])
@pytest.mark.parametrize("options", [(), ("--mode", "global"), ("--all",)])
def test_u_is_t(run, small_index, small_reads, tmp_path, suffix, options):
    """A read in letters of RNA gives the record of the same read in letters of DNA."""

    def record(name: str, bases: str, quality: str) -> str:
        if suffix == "sam":
            return "\t".join([name, "4", "*", "0", "0", "*", "*", "0", "0", bases, quality]) + "\n"
        return f"@{name}\n{bases}\n+\n{quality}\n" if suffix == "fq" else f">{name}\n{bases}\n"

    def records(rename: dict[int, str]) -> list[str]:
        path = tmp_path / f"reads{len(rename)}.{suffix}"
        head = "@HD\tVN:1.6\n" if suffix == "sam" else ""
        path.write_text(head + "".join(record(n, s.translate(rename), q) for n, s, q in small_reads[:120]))
        code, out, error = run("map", small_index, path, "--device", "none", "-q", *options)
        assert code == 0, error
        return [line for line in out.splitlines() if not line.startswith("@")]

    dna = records({})
    assert sum("\t4\t" not in line for line in dna) > 80
    assert records({ord("T"): "U"}) == dna
    assert records({ord("T"): "u", ord("A"): "a"}) == dna
