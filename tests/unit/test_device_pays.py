"""Which runs are long enough for a GPU: `device_pays`, and what `gassst map` makes of it."""

import gzip
import logging
import os
import shutil

import pytest

import gassst
from gassst.cli import map as map_command
from gassst.cli.main import main
from gassst.files.input_size import fastq_bytes
from gassst.gpu.device_pays import ALL, SINGLE, device_pays, index_bases, task_of
from gassst.gpu.late import LateSearch
from gassst.model.params import MapParams

READ = 250  # bytes of a read of 100 bases in FASTQ
HUMAN13, HUMAN133, HUMAN = 13_629_274, 133_025_450, 3_100_000_000


@pytest.mark.parametrize("bases", [HUMAN13, HUMAN133, HUMAN])
def test_runs_of_other_sizes_on_sixteen_threads(bases):
    """Short runs gain nothing, nor do those on a small genome."""
    assert not device_pays(4_000_000 * READ, bases, SINGLE, 16)
    assert device_pays(20_000_000 * READ, bases, SINGLE, 16) is (bases != HUMAN13)


# lab/gpu.md, "All positions"
@pytest.mark.parametrize("reads, gains", [(20_000, False), (400_000, False), (1_500_000, True)])
def test_all_positions_gain_with_fewer_reads(reads, gains):
    assert device_pays(reads * READ, HUMAN133, ALL, 16) is gains
    assert not device_pays(reads * READ, HUMAN133, SINGLE, 16)


def test_a_device_takes_no_part_in_all_positions_of_pairs_or_a_stratum():
    best, all_hits = MapParams(), MapParams(all_hits=True)
    assert (task_of(best, False), task_of(best, True)) == (SINGLE, None)
    assert (task_of(all_hits, False), task_of(all_hits, True)) == (ALL, None)
    assert task_of(MapParams(all_hits=True, strata=True), False) is None


@pytest.mark.parametrize("reads, gains", [(4e6, False), (12e6, True)])  # docs/benchmarks/gpu.md
def test_single_reads_that_were_measured(reads, gains):
    assert device_pays(int(reads) * READ, HUMAN, SINGLE, 16) is gains


@pytest.mark.parametrize("task", [SINGLE, ALL])
def test_more_reads_gain_more_and_more_threads_less(task):
    for bases in (0, 1_000, HUMAN133, 4_294_967_295):
        for threads in (1, 16, 128):
            answers = [device_pays(10**e, bases, task, threads) for e in range(14)]
            assert answers == sorted(answers) and not answers[0]
        assert answers[-1] or (task is not ALL and bases < 10_000_000)
        counts = [
            sum(device_pays(10**8 * n, bases, task, threads) for n in range(200)) for threads in (1, 4, 64)
        ]
        assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize("size, bases", [(None, HUMAN), (10**13, None), (None, None)])
def test_what_is_not_known_starts_no_device(size, bases):
    assert not device_pays(size, bases, SINGLE, 16)


def test_files_count_as_fastq(tmp_path):
    plain, packed, cram = (tmp_path / name for name in ("a", "b", "c"))
    plain.write_bytes(b"@r\nACGT\n+\nIIII\n" * 10)
    packed.write_bytes(gzip.compress(bytes(1000)))
    cram.write_bytes(b"CRAM" + bytes(96))
    assert fastq_bytes([str(plain)]) == 150
    assert fastq_bytes([str(plain), str(packed)]) == 150 + 3 * packed.stat().st_size
    assert fastq_bytes([str(cram)]) == 300
    os.mkfifo(tmp_path / "pipe")
    for stream in ("-", str(tmp_path / "pipe"), str(tmp_path / "missing")):
        assert fastq_bytes([str(plain), stream]) is None


def test_bases_of_an_index_come_from_its_header(small_index, small_fasta, tmp_path):
    total = int(gassst.Index.open(small_index).reference.lengths.sum())
    assert total <= index_bases(str(small_index)) < total + 20_000  # with what lies between contigs
    fasta = tmp_path / "ref.fa"
    fasta.write_bytes(small_fasta.read_bytes())
    assert index_bases(str(fasta)) == fasta.stat().st_size
    assert main(["index", str(fasta), "-q"]) == 0
    assert index_bases(str(fasta)) == index_bases(str(small_index))
    assert main(["index", str(fasta), "-q", "--step", "2"]) == 0
    assert index_bases(str(fasta)) == index_bases(str(small_index))
    assert main(["index", str(fasta), "-q", "--meth"]) == 0
    assert index_bases(str(tmp_path / "ref.meth.gsi")) is None  # no device searches in it
    (tmp_path / "ref.gsi").write_bytes(b"\x89GSI\r\n\x1a\n")
    assert index_bases(str(fasta)) is None and index_bases(str(tmp_path / "missing")) is None


@pytest.fixture
def started(monkeypatch, tmp_path):
    """What device runs look for, beside a driver of a GPU that is registered; nobody finds one."""
    (tmp_path / "gpu.icd").write_text("libgpu.so.1\n")
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path))
    monkeypatch.delenv("GASSST_OPENCL", raising=False)
    devices = []
    monkeypatch.setattr(LateSearch, "for_run", lambda late: devices.append(late.device))
    return devices


def test_a_short_run_starts_no_device_that_nobody_named(started, small_index, small_fastq, tmp_path, caplog):
    caplog.set_level(logging.DEBUG, "gassst")
    assert (
        main(["map", str(small_index), str(small_fastq), "-t", "1", "-o", str(tmp_path / "a.sam"), "-v"]) == 0
    )
    assert not started and "no device is started" in caplog.text


def test_a_long_run_starts_one(started, monkeypatch, small_index, small_fastq, tmp_path):
    monkeypatch.setattr("gassst.gpu.device_pays.COST", -1e9)
    mates_file = shutil.copy(small_fastq, tmp_path / "mates.fq.gz")
    for mates, expected in ([], ["gpu"]), ([str(mates_file)], []):
        del started[:]
        out = str(tmp_path / "a.sam")
        assert main(["map", str(small_index), str(small_fastq), *mates, "-t", "1", "-o", out, "-q"]) == 0
        assert started == expected


def test_a_named_device_in_a_short_run_is_slower(
    started, monkeypatch, small_index, small_fastq, tmp_path, caplog
):
    """The line comes before the device is looked for, which takes a while."""
    caplog.set_level(logging.INFO, "gassst")
    said = []
    monkeypatch.setattr(map_command, "_map", lambda args, params, *rest: said.append(params.device) or 0)
    base = ["map", str(small_index), str(small_fastq), "-t", "1", "-o", str(tmp_path / "a.sam")]
    assert main([*base, "--device", "gpu"]) == 0
    assert caplog.text.count("the host alone is faster for so few reads (--device none)") == 1
    assert said == ["gpu"]
    caplog.clear()
    monkeypatch.setattr("gassst.gpu.device_pays.COST", -1e9)
    assert main([*base, "--device", "gpu"]) == 0
    assert "host alone" not in caplog.text
