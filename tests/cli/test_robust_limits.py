"""What a run may not do: write over what it reads, take an index of memory to other processes, say more than a line."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys

import pytest

import gassst


def test_an_index_in_memory_goes_to_no_process(small_fasta):
    with pytest.raises(TypeError, match="save it, and open the file"):
        pickle.dumps(gassst.Mapper(gassst.Index.build(small_fasta), device="none"))


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
