"""What a run may not do: write over what it reads, start more threads than it gets, take more memory than there is."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading

import pytest

import gassst
from gassst.cli.main import main
from gassst.errors import UsageError
from gassst.files.distinct import check_distinct, with_indexes


@pytest.fixture
def reads(tmp_path, small_reads):
    path = tmp_path / "reads.fq"
    path.write_text("".join(f"@{n}\n{s}\n+\n{q}\n" for n, s, q in small_reads[:50]))
    return path


# --- outputs that are inputs --------------------------------------------------------------------------------


def links_to(path, kind):
    """Another name of a file."""
    other = path.with_name(f"other{path.suffix}")
    if kind == "same":
        return path
    if kind == "relative":
        return os.path.relpath(path)
    if kind == "hard link":
        os.link(path, other)
    else:
        os.symlink(path, other)
    return other


KINDS = ["same", "relative", "hard link", "symbolic link"]


@pytest.mark.parametrize("kind", KINDS)
def test_one_file_by_another_name(reads, kind):
    with pytest.raises(UsageError, match="named twice"):
        check_distinct([links_to(reads, kind)], [reads])
    with pytest.raises(UsageError, match="named twice"):
        check_distinct([reads, links_to(reads, "same")], [])


def test_streams_and_new_files(tmp_path):
    check_distinct([None, tmp_path / "a", tmp_path / "b"], ["-", None, tmp_path / "c"])
    check_distinct(["/dev/null", "/dev/null"], ["/dev/null"])
    with pytest.raises(UsageError, match="standard output"):
        check_distinct([None, "-"], [])
    assert with_indexes(None) == [None] and with_indexes("-") == ["-"]
    assert with_indexes("x.bam") == ["x.bam", "x.bam.bai", "x.bam.csi", "x.bam.crai", "x.bai", "x.csi"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("role", ["reads", "mates", "index"])
def test_map_file_does_not_overwrite_what_it_reads(small_index, reads, tmp_path, role, kind):
    index = tmp_path / "ref.gsi"
    index.write_bytes(small_index.read_bytes())
    mates = tmp_path / "mates.fq"
    mates.write_bytes(reads.read_bytes())
    target = {"reads": reads, "mates": mates, "index": index}[role]
    before = target.read_bytes()
    mapper = gassst.Mapper(index, threads=1, device="none")
    output = links_to(target, kind)
    for options in ({"output": output}, {"output": tmp_path / "o.sam", "unmapped_path": output}):
        with pytest.raises(UsageError, match="named twice"):
            mapper.map_file(iter([reads]), mates=[mates], format="sam", **options)
    assert target.read_bytes() == before


def test_the_index_of_a_sorted_output_counts(small_index, reads, tmp_path):
    mapper = gassst.Mapper(small_index, threads=1, device="none")
    with pytest.raises(UsageError, match="named twice"):
        mapper.map_file(reads, tmp_path / "o.bam", sort=True, unmapped_path=tmp_path / "o.bam.bai")


SIMULATE = ["-n", "5", "-e", "0.01", "-l", "50"]
COMMANDS = {
    "simulate over the reference": ["simulate", "{fasta}", *SIMULATE, "-o", "{fasta}"],
    "simulate twice": ["simulate", "{fasta}", *SIMULATE, "--pairs", "300,30", "-o", "{new}", "-o", "{new}"],
    "evaluate over the alignments": ["evaluate", "{sam}", "--json", "{sam}"],
    "report over the statistics": ["report", "{json}", "-o", "{json}"],
    "statistics over a BAM index": ["map", "{index}", "{reads}", "--sort", "-o", "{bam}", "--stats", "{bam}.bai"],
    "index over the reference": ["index", "{fasta}", "-o", "{fasta}"],
}  # fmt: skip


@pytest.mark.parametrize("case", COMMANDS)
def test_commands_do_not_overwrite_what_they_read(tmp_path, small_fasta, small_index, reads, capfd, case):
    files = {name: tmp_path / f"file.{name}" for name in ("fasta", "sam", "json", "new", "bam")}
    files["fasta"].write_bytes(small_fasta.read_bytes())
    files["sam"].write_text("@HD\tVN:1.6\n")
    files["json"].write_text("{}")
    before = {path: path.read_bytes() for path in files.values() if path.exists()}
    names = {name: str(path) for name, path in files.items()} | {
        "index": str(small_index),
        "reads": str(reads),
    }
    assert main([word.format(**names) for word in COMMANDS[case]]) == 2
    message = capfd.readouterr().err
    assert "named twice among the files to read and to write" in message and message.count("\n") == 1
    assert {path: path.read_bytes() for path in before} == before and not files["new"].exists()


# --- limits -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", ["0", "1025", "2147483648", "99999999999999999999"])
@pytest.mark.parametrize("command", ["map", "index"])
def test_number_of_threads(small_fasta, small_index, reads, tmp_path, capfd, command, threads):
    files = [str(small_index), str(reads)] if command == "map" else [str(small_fasta)]
    assert main([command, *files, "-t", threads, "-o", str(tmp_path / "o.sam")]) == 2
    assert capfd.readouterr().err == "gassst: -t must be from 1 to 1024\n"
    with pytest.raises(UsageError):
        gassst.Index.build(small_fasta, threads=int(threads))


def test_no_more_threads(small_index, reads, tmp_path, capfd, monkeypatch):
    start, room = threading.Thread.start, [1]

    def limited(thread):
        room[0] -= 1
        if room[0] < 0:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    code = main(
        [
            "map",
            str(small_index),
            str(reads),
            "-t",
            "4",
            "--batch-size",
            "5",
            "-o",
            str(tmp_path / "o.sam"),
            "-q",
        ]
    )
    monkeypatch.undo()
    assert code == 1 and "no more threads" in capfd.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["reads.fq"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of address space differ")
@pytest.mark.parametrize(
    "megabytes", [180, 320, 400]
)  # in between, which library fails first depends on the machine
def test_little_address_space(small_index, reads, tmp_path, megabytes):
    """A run ends, well or with one line; it neither hangs nor crashes."""
    output = tmp_path / "o.sam"
    program = (
        "import resource, sys\n"
        "from gassst.cli.main import run\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({megabytes << 20}, {megabytes << 20}))\n"
        "sys.argv[0] = 'gassst'\n"
        "run()\n"
    )
    arguments = ["map", str(small_index), str(reads), "-t", "2", "-o", str(output), "-q"]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=300
    )
    assert "Traceback" not in done.stderr
    if done.returncode and not done.stderr.startswith("OpenBLAS"):  # which ends a process itself
        assert done.returncode == 1 and done.stderr.startswith("gassst: ") and done.stderr.count("\n") == 1, (
            done
        )
    assert output.exists() == (done.returncode == 0)


# --- other processes ----------------------------------------------------------------------------------------


def test_a_mapper_goes_to_another_process(small_index, small_reads):
    mapper = gassst.Mapper(small_index, threads=1, device="none", max_hits=3)
    copy = pickle.loads(pickle.dumps(mapper))
    assert copy.params == mapper.params
    records = [[s.to_string() for s in m.map(small_reads[:50])] for m in (mapper, copy)]
    assert records[0] == records[1]


def test_an_index_in_memory_does_not(small_fasta):
    with pytest.raises(TypeError, match="save it, and open the file"):
        pickle.dumps(gassst.Mapper(gassst.Index.build(small_fasta), device="none"))


# --- the first instants -------------------------------------------------------------------------------------


def test_interrupt_while_the_command_line_is_loaded():
    """Python's own handler would print a traceback."""
    program = (
        "import os, signal, sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'gassst.cli.parser':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "from gassst.__main__ import run\n"
        "run()\n"
    )
    done = subprocess.run([sys.executable, "-c", program, "devices"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
