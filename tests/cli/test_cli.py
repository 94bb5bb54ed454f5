"""The command line as its users see it: exit codes, one line for what goes wrong, nothing left behind."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading

import pysam
import pytest
from log_start import behind_start
from places import environment

from gassst import errors
from gassst.cli.main import main
from gassst.files import bgzf
from gassst.index import seed_index
from gassst.mapping.batch_mapper import BatchMapper

RECORD = "@r{0}\nACGTACGTACGTACGTACGTACGTACGTACGTACGT\n+\nIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIII\n"
GOOD = RECORD.format(1) + RECORD.format(2)


def only_line(error: str) -> str:
    """The one line on stderr that says what went wrong."""
    error = behind_start(error)
    assert error.endswith("\n") and error.count("\n") == 1, error
    assert error.startswith("gassst: ")
    return error[8:-1]


def default_signals() -> None:
    signal.signal(
        signal.SIGINT, signal.SIG_DFL
    )  # a shell's background jobs ignore it, and so do their children


def process(*argv, program: tuple[str, ...] = ("-m", "gassst"), **options) -> subprocess.Popen:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment(), **options}
    command = [sys.executable, *program, *map(str, argv)]
    return subprocess.Popen(command, preexec_fn=pipes.pop("preexec_fn", default_signals), **pipes)


# --- damaged reads ------------------------------------------------------------------------------------------

QUALITY_SHORT = GOOD + RECORD.format(3).replace("IIII\n", "\n")
MANY = "".join(map(RECORD.format, range(5000))).encode()
DAMAGED = {
    "record cut short": ((GOOD + RECORD.format(3))[:-60].encode(), "record 3"),
    "quality of another length": (QUALITY_SHORT.encode(), "record 3"),
    "neither FASTQ nor FASTA": (b"chr1\t5\t6\n", "record 1"),
    "no plus line": ((GOOD + RECORD.format(3).replace("+", "-")).encode(), "record 3"),
    "truncated gz": (gzip.compress(MANY)[:-500], "gz data cut short"),
    "damaged gz": (gzip.compress(MANY)[:-8] + bytes(8), "damaged gz data"),
}  # fmt: skip


@pytest.mark.parametrize("content, place", DAMAGED.values(), ids=DAMAGED)
def test_damaged_reads_are_one_line_that_names_file_and_record(gassst_map, tmp_path, content, place):
    reads = tmp_path / "damaged.fq"
    reads.write_bytes(content)
    code, _, error = gassst_map(reads, "-o", tmp_path / "out.bam")
    assert code == 1
    assert str(reads) in only_line(error) and place in error
    assert list(tmp_path.iterdir()) == [reads]


@pytest.mark.parametrize("name", ["out.sam", "out.bam", "out.cram"])
@pytest.mark.parametrize("content", [b"", gzip.compress(b"")], ids=["plain", "gz"])
def test_empty_read_file_gives_a_valid_file_without_records(gassst_map, tmp_path, name, content):
    reads = tmp_path / "empty.fq"
    reads.write_bytes(content)
    code, _, _ = gassst_map(reads, "-o", tmp_path / name)
    assert code == 0
    with pysam.AlignmentFile(tmp_path / name) as file:
        assert file.references == ("one", "two", "three")
        assert list(file) == []


# --- references and indexes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["index", "map"])
def test_two_contigs_of_one_name(capfd, tmp_path, small_fastq, command):
    fasta = tmp_path / "two.fa"
    fasta.write_text(">a\nACGT\n>b\nACGT\n>a\nACGT\n")
    assert main([command, str(fasta), *([str(small_fastq)] if command == "map" else [])]) == 1
    error = capfd.readouterr().err.splitlines()[-1]
    told = f"{fasta}: contig a: two contigs have this name; `gassst index --rename` changes it"
    assert error == f"gassst: {told}"
    assert list(tmp_path.iterdir()) == [fasta]


def test_index_goes_beside_the_reference(capfd, small_fasta, small_index, tmp_path):
    fasta = tmp_path / "ref.fa"
    shutil.copy(small_fasta, fasta)
    assert main(["index", str(fasta), "-t", "1"]) == 0
    size, done = behind_start(capfd.readouterr().err).splitlines()
    assert "of memory to build" in size and "3 contigs, 60,000 bases" in done
    assert (tmp_path / "ref.gsi").read_bytes() == small_index.read_bytes()
    assert main(["index", str(fasta), "-o", str(tmp_path / "none" / "x.gsi")]) == 1
    assert "x.gsi: No such file or directory" in only_line(capfd.readouterr().err)
    assert main(["index", str(fasta), "-o", str(fasta)]) == 2
    assert main(["index", str(fasta), "-t", "0"]) == 2


# --- arguments, before any work -----------------------------------------------------------------------------


@pytest.fixture
def no_work(monkeypatch):
    """Fails if an index is opened or built."""

    def refuse(*_, **__):
        raise AssertionError("work was begun")

    monkeypatch.setattr(seed_index.SeedIndex, "open", refuse)
    monkeypatch.setattr(seed_index.SeedIndex, "build", refuse)


@pytest.mark.parametrize(
    "options, code, message",
    [
        (["-p", "20"], 2, "-p must be from 50 to 100 %"),
        (["-t", "0"], 2, "-t must be from 1 to 1024"),
        (["--memory", "5"], 2, "--memory must be at least 1M"),
        (["--batch-size", "9999999999"], 2, "--batch-size must be from 1 to"),
        (["--mode", "local", "-A", "11"], 2, "-A must be from 1 to 10"),
        (["--filters", "fd,nonsense"], 2, "unknown filter 'nonsense'; known are tnw4-4"),
        (["-R", "ID:x"], 2, "read group 'ID:x'"),
        (["-R", r"@RG\tSM:x"], 2, "has no ID"),
        (["-o", "out.txt"], 2, "out.txt: name it .sam, .bam, .cram or .paf"),
        (["-o", "both.sam", "--unmapped", "both.sam"], 2, "both.sam: named twice"),
        (["-o", "{reads}", "-O", "sam"], 2, "named twice"),
        (["--stats", "{index}"], 2, "named twice"),
        (["-o", "none/out.bam"], 1, "none/out.bam: No such file or directory"),
        (["-o", "."], 1, "cannot write .: it is a directory"),
        (["--unmapped", "none/u.fq"], 1, "none/u.fq: No such file or directory"),
        (["missing.fq"], 1, "missing.fq: No such file or directory"),
        (["."], 1, ".: Is a directory"),
        (["--device", "no such device"], 1, "OpenCL"),
        (["{reads}"], 2, "the same file for both mates; --interleaved reads pairs from one file"),
        (["{reads}", "{reads}"], 2, "3 files of reads: give two for pairs"),
        (["-", "--single", "-1", "a", "-2", "b"], 2, "-1 and -2 cannot be combined with other files of reads"),
        (["-2", "b"], 2, "-1 and -2 cannot be combined with other files of reads"),
        (["--insert", "0,10"], 2, "--insert must be MEAN,SD of more than 0 and up to 20,000"),
        (["--insert", "300,nan"], 2, "--insert must be"),
        (["--skip=-1"], 2, "--skip must be at least 0"),
        (["-o", "a.bam", "--upto", "5", "--shard", "1/2"], 2, "--skip and --upto go with neither --shard"),
        (["-o", "a.bam", "--shard", "5/3"], 2, "1/3 to 3/3"),
        (["-o", "a.bam", "--shard", "x"], 2, "write I/N"),
        (["-o", "a.bam", "--shard", "1/3", "--sort", "--markdup"], 2, "gassst gather"),
        (["-o", "a.bam", "--shard", "1/3", "--coverage", "t.tsv"], 2, "--coverage counts all reads"),
        (["-o", "-", "--shard", "1/3"], 2, "name a file"),
        (["-o", "a.paf", "--shard", "1/2"], 2, "PAF is written in the order of the reads"),
        (["-o", "a.paf", "--sort"], 2, "PAF is written in the order of the reads"),
        (["--markdup"], 2, "--markdup needs --sort: duplicates are marked during sorting"),
        (["--sort", "--barcode-tag", "RX"], 2, "options for duplicates need --markdup"),
        (["--sort", "--markdup", "--barcode-tag", "RXX"], 2, "must be a letter, and a letter or digit"),
        (["--sort", "--markdup", "--optical-distance=-1"], 2, "--optical-distance must be from 0 to 2147483647"),
        (["--sort", "--markdup", "--markdup-metrics", "a.bam", "-o", "a.bam"], 2, "a.bam: named twice"),
        (["--unmapped2", "b.fq"], 2, "--unmapped2 is for second mates: it needs a file for first mates"),
        (["--unmapped", "a.fq", "--unmapped-either"], 2, "it needs a file for second mates"),
        (["--unmapped", "a.fq", "--unmapped2", "a.fq"], 2, "named twice"),
        (["--unmapped", "a.fq", "--unmapped2", "b.fq", "--single"], 2, "these reads are single"),
        (["--adapter", "ACGT"], 2, "--adapter ACGT: must be at least 12 of the letters A, C, G and T"),
        (["--adapter", "TGGAATTCTCGGXX"], 2, "must be at least 12 of the letters"),
        (["--adapter", "TGGAATTCTCGG", "--interleaved"], 2, "--adapter takes single reads: these are pairs"),
        (["--preset", "small-rna", "--interleaved"], 2, "--preset small-rna takes single reads: these are pairs"),
        (["--strata", "--interleaved"], 2, "--strata takes single reads: these are pairs"),
        (["--strata", "--mode", "local"], 2, "--strata aligns reads end to end: it does not go with --mode local"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_wrong_is_said_before_any_work(
    no_work, gassst_map, monkeypatch, small_index, small_fastq, tmp_path, options, code, message
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GASSST_OPENCL", raising=False)
    options = [option.format(reads=small_fastq, index=small_index) for option in options]
    got, out, error = gassst_map(small_fastq, *options)
    assert (got, out) == (code, "")
    assert message in only_line(error)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "argv, code, message",
    [
        ([], 2, "no reads: name a file, or two of pairs, or use -1 and -2"),
        (["-1", "a.fq"], 2, "-1 and -2 must be given together"),
        (["-2", "a.fq"], 2, "-1 and -2 must be given together"),
        (["-1", "a.fq", "b.fq", "-2", "c.fq"], 2, "2 files of first mates, but 1 of second mates"),
        (["-1", "a.fq", "-2", "a.fq"], 2, "a.fq: the same file for both mates"),
        (["-1", "-", "-2", "-"], 2, "only one of the files can be standard input"),
        (["-1", "a.fq", "-2", "b.fq", "--interleaved"], 2, "-1 and -2 cannot be combined"),
        (["-1", "-", "-2", "missing.fq"], 1, "missing.fq: No such file or directory"),
        (["-", "missing.fq"], 1, "missing.fq: No such file or directory"),
    ],
    ids=str,
)  # fmt: skip
def test_unclear_pairs_are_refused_before_any_work(no_work, gassst_map, argv, code, message):
    got, out, error = gassst_map(*argv)
    assert (got, out) == (code, "")
    assert message in only_line(error)


# --- options that change the output -------------------------------------------------------------------------


def test_unmapped_reads_and_statistics(gassst_map, small_fastq, tmp_path):
    out, unmapped, stats = tmp_path / "out.bam", tmp_path / "un.fq.gz", tmp_path / "stats.json"
    options = ("-o", out, "--unmapped", unmapped, "--stats", stats, "--no-unmapped", "-R", r"@RG\tID:x\tSM:y")
    code, stdout, error = gassst_map(small_fastq, *options)
    assert (code, stdout) == (0, "")
    with pysam.AlignmentFile(out) as file:
        mapped = {record.query_name for record in file}
        assert file.header.to_dict()["RG"] == [{"ID": "x", "SM": "y"}]
        assert f"-o {out}" in file.header.to_dict()["PG"][0]["CL"]
    with pysam.FastxFile(str(unmapped)) as file:
        left = {record.name for record in file}
    assert "short" in left and not left & mapped and len(left | mapped) == 401
    counts = json.loads(stats.read_text())
    assert (counts["reads"], counts["mapped"]) == (401, len(mapped))
    assert re.search(rf"mapped +{len(mapped)} ", error)


@pytest.mark.parametrize(
    "name, format", [("out.sam", "bam"), ("out.bam", "sam"), ("out", "cram"), ("out", "BAM")]
)
def test_format_goes_before_the_name(gassst_map, small_fastq, tmp_path, name, format):
    assert gassst_map(small_fastq, "-o", tmp_path / name, "-O", format)[0] == 0
    with pysam.AlignmentFile(tmp_path / name) as file:
        assert file.format == format.upper()


# --- failures on the way ------------------------------------------------------------------------------------


def test_reader_of_the_output_goes_away(small_index, small_fastq):
    with process("map", "-q", "--device", "none", small_index, "--single", *[small_fastq] * 40) as run:
        assert run.stdout.readline().startswith(b"@HD")
        run.stdout.close()
        assert run.stderr.read() == b""
    assert run.returncode == errors.READER_GONE


@pytest.mark.parametrize(
    "argv, buffered",
    [("--version", True), ("map --help", False)],
)
def test_help_that_nobody_can_read_fails(argv, buffered):
    argv = argv.split()
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    env |= {} if buffered else {"PYTHONUNBUFFERED": "1"}
    with open("/dev/full", "wb") as full, process(*argv, stdout=full, env=env) as run:
        assert only_line(run.communicate()[1].decode()) == "No space left on device"
    assert run.returncode == 1
    reader, writer = os.pipe()
    os.close(reader)
    with process(*argv, stdout=writer, env=env) as run:
        os.close(writer)
        assert run.communicate()[1] == b""
    assert run.returncode == errors.READER_GONE


@pytest.mark.parametrize("stderr", ["closed", "without reader", "full"])
def test_stderr_that_takes_nothing_is_no_failure(sam_lines, small_index, small_fastq, tmp_path, stderr):
    out = tmp_path / "out.sam"
    argv = ("map", "--device", "none", small_index, "--single", *[small_fastq] * 3, "-o", out)
    close = (lambda: os.close(2)) if stderr == "closed" else None
    with open("/dev/full", "wb") as full:
        run = process(*argv, preexec_fn=close, stderr=full if stderr == "full" else subprocess.PIPE)
    with run:
        if run.stderr:
            run.stderr.close()
    assert run.returncode == 0
    records = [line for line in out.read_text().splitlines() if not line.startswith("@")]
    assert records == 3 * sam_lines(small_fastq)


@pytest.mark.parametrize("fd, argv", [(0, ["-", "-O", "sam"]), (1, ["{reads}"])], ids=["stdin", "stdout"])
def test_closed_streams_are_errors(small_index, small_fastq, fd, argv):
    argv = [arg.format(reads=small_fastq) for arg in argv]
    with process("map", "--device", "none", small_index, *argv, preexec_fn=lambda: os.close(fd)) as run:
        _, error = run.communicate()
    assert run.returncode == 1
    assert "Bad file descriptor" in only_line(error.decode())


@pytest.mark.parametrize(
    "error, code, message",
    [
        (MemoryError(), 1, "out of memory"),
        (OSError(5, "Input/output error", "disk"), 1, "disk: Input/output error"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
    ids=["memory", "disk", "interrupt"],
)
def test_what_happens_in_a_thread_is_one_line(
    gassst_map, monkeypatch, small_fastq, tmp_path, error, code, message
):
    def fail(*_):
        raise error

    monkeypatch.setattr(BatchMapper, "map_batch", fail)
    got, _, text = gassst_map(small_fastq, "-o", tmp_path / "out.bam")
    assert got == code
    assert only_line(text).startswith(message)
    assert list(tmp_path.iterdir()) == []


def test_a_bug_keeps_its_traceback(gassst_map, monkeypatch, small_fastq, tmp_path):
    def fail(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(BatchMapper, "map_batch", fail)
    with pytest.raises(ZeroDivisionError):
        gassst_map(small_fastq, "-o", tmp_path / "out.bam")
    assert list(tmp_path.iterdir()) == []


def test_bgzf_without_its_end(gassst_map, small_reads, tmp_path):
    """Refused, as it may be cut between two blocks, unless the user knows better."""
    text = "".join(f"@{n}\n{s}\n+\n{q}\n" for n, s, q in small_reads).encode()
    path, out = tmp_path / "reads.fq.gz", tmp_path / "out.sam"
    path.write_bytes(b"".join(bgzf.blocks(text, bgzf.deflater())))
    code, _, error = gassst_map(path, "-o", out)
    assert code == 1 and "no BGZF end-of-file block" in only_line(error) and not out.exists()
    assert gassst_map(path, "-o", out, "--allow-truncated")[0] == 0 and out.exists()


# --- signals ------------------------------------------------------------------------------------------------


def feed(run: subprocess.Popen, text: bytes) -> None:
    """Reads without end, until the process is gone."""

    def write() -> None:
        try:
            while True:
                run.stdin.write(text)
        except (OSError, ValueError):
            pass

    threading.Thread(target=write, daemon=True).start()


def interrupted(run: subprocess.Popen, number: int, is_ready) -> tuple[int, str]:
    """Exit code and stderr after the signal, which is sent once `is_ready()`."""

    def looked() -> bool:
        try:
            return is_ready()
        except FileNotFoundError:  # a folder went away while it was read
            return False

    pause = threading.Event()
    while not looked():
        assert run.poll() is None, run.stderr.read()
        pause.wait(0.01)
    run.send_signal(number)
    code = run.wait()
    return code, behind_start(run.stderr.read().decode())


@pytest.mark.parametrize(
    "options, number, code, message",
    [
        (["out.bam", "--unmapped", "un.fq.gz", "--all"], signal.SIGINT, 130, "interrupted"),
        (["out.cram", "--sort"], signal.SIGINT, 130, "interrupted"),
        (["out.bam"], signal.SIGTERM, 143, "terminated"),
        (["out.sam"], signal.SIGKILL, -9, None),
    ],
    ids=str,
)
def test_signal_while_mapping(small_index, small_fastq, tmp_path, options, number, code, message):
    """Nothing is left behind but what SIGKILL leaves."""

    def has_written() -> bool:
        """More than a header."""
        return any(p.is_file() and p.stat().st_size > 20_000 for p in tmp_path.rglob("*"))

    batches = "--batch-size", "300"
    argv = ("map", "-t", "2", *batches, "--device", "none", small_index, "-", "-o", *options)
    with process(*argv, cwd=tmp_path, stdin=subprocess.PIPE) as run:
        feed(run, gzip.decompress(small_fastq.read_bytes()))
        got, error = interrupted(run, number, has_written)
        run.stdin.close()
    assert got == code
    if message:
        assert only_line(error) == message
        assert list(tmp_path.iterdir()) == []


def test_signal_while_simulating(small_fasta, tmp_path):
    """Nothing has its final name while the run goes on, and nothing is left when it is stopped."""

    name = "reads.fq.gz"

    def has_written() -> bool:
        assert not {name, "truth.vcf.gz"} & {p.name for p in tmp_path.iterdir()}
        return any(p.is_file() and p.stat().st_size > 200_000 for p in tmp_path.rglob("*"))

    options = ["-n", 10**7, "-l", 100, "-e", 0.02, "-o", name, "--truth-vcf", "truth.vcf.gz"]
    with process("simulate", small_fasta, *options, cwd=tmp_path) as run:
        got, error = interrupted(run, signal.SIGTERM, has_written)
    assert got == 143
    assert only_line(error) == "terminated"
    assert list(tmp_path.iterdir()) == []


SLOW_SORT = """
from gassst.cli import main
from gassst.files import destination
destination._SAMTOOLS = "import signal, sys; open(sys.argv[-1] + '.begun', 'w'); signal.pause()"
main.run()
"""


def test_signal_while_sorting(small_index, small_fastq, tmp_path):
    argv = ("map", "--device", "none", small_index, small_fastq, "-o", "out.cram", "--sort")
    with process(*argv, program=("-c", SLOW_SORT), cwd=tmp_path) as run:
        got = interrupted(run, signal.SIGINT, lambda: any(tmp_path.rglob("*.begun")))
    assert got == (130, "gassst: interrupted\n")
    assert list(tmp_path.iterdir()) == []


SLOW_MERGE = """
import os, signal
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # its threads, begun before `main.run`, would take the signal
from gassst.cli import main
from gassst.records import sorting
sorting.bam_header = lambda *_: signal.pause()  # what the merged file begins with
main.run()
"""


def test_signal_while_runs_are_merged(small_index, small_fastq, tmp_path):
    argv = (
        "map", "--device", "none", "--batch-size", "50", small_index, small_fastq, "-o", "out.bam", "--sort",
        "--sort-memory", "1",
    )  # fmt: skip
    with process(*argv, program=("-c", SLOW_MERGE), cwd=tmp_path) as run:
        got = interrupted(run, signal.SIGTERM, lambda: any(tmp_path.glob(".out.bam.gassst-*.tmp/run1")))
    assert got == (143, "gassst: terminated\n")
    assert list(tmp_path.iterdir()) == []


def test_signal_that_the_shell_ignores(small_index, tmp_path):
    """`nohup gassst ...` outlives its terminal."""
    with process(
        "map", "--device", "none", "-q", small_index, "-", "-o", "out.bam",
        cwd=tmp_path, stdin=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    ) as run:  # fmt: skip
        run.stdin.write(GOOD.encode())
        run.stdin.flush()  # what the input is can be seen, and the output is begun
        while not any(tmp_path.iterdir()):
            assert run.poll() is None
        run.send_signal(signal.SIGHUP)
        run.communicate()
    assert run.returncode == 0
    assert [p.name for p in tmp_path.iterdir()] == ["out.bam"]
