"""What a run may not do: write over what it reads, start more threads than it gets, take more memory than there is."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys

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


def test_streams_and_new_files(tmp_path):
    check_distinct([None, tmp_path / "a", tmp_path / "b"], ["-", None, tmp_path / "c"])
    check_distinct(["/dev/null", "/dev/null"], ["/dev/null"])
    with pytest.raises(UsageError, match="standard output"):
        check_distinct([None, "-"], [])
    assert with_indexes(None) == [None] and with_indexes("-") == ["-"]
    assert with_indexes("x.bam") == ["x.bam", "x.bam.bai", "x.bam.csi", "x.bam.crai", "x.bai", "x.csi"]


# --- limits -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", ["0", "1025", "2147483648", "99999999999999999999"])
@pytest.mark.parametrize("command", ["map", "index"])
def test_number_of_threads(small_fasta, small_index, reads, tmp_path, capfd, command, threads):
    files = [str(small_index), str(reads)] if command == "map" else [str(small_fasta)]
    assert main([command, *files, "-t", threads, "-o", str(tmp_path / "o.sam")]) == 2
    assert capfd.readouterr().err == "gassst: -t must be from 1 to 1024\n"
    with pytest.raises(UsageError):
        gassst.Index.build(small_fasta, threads=int(threads))


# --- other processes ----------------------------------------------------------------------------------------


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
