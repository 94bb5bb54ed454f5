"""A pysam that the compiled modules do not fit is refused with one line, before any of them is loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gassst.errors import InstallationError
from gassst.files.htslib import Linked, check

BUILT = Linked("0.24.1", "1.23", "builtin")


@pytest.mark.parametrize(
    "found", [("0.24.1", "1.23"), ("0.24.0", "1.23"), ("0.24.2", "1.23.1"), ("0.24", "1.30")]
)
def test_the_same_series_with_no_older_htslib_is_taken(found):
    check(BUILT, Linked(*found, "builtin"))


@pytest.mark.parametrize(
    "found",
    [
        Linked("0.23.3", "1.23", "builtin"),
        Linked("0.25.0", "1.23", "builtin"),
        Linked("0.24.0", "1.22.1", "builtin"),
        Linked("0.24.1", "1.23", "external"),
    ],
)
def test_any_other_is_refused(found):
    with pytest.raises(InstallationError) as refused:
        check(BUILT, found)
    assert str(refused.value) == (
        "gassst was built with pysam 0.24.1 (builtin htslib 1.23), but finds "
        f"pysam {found.pysam} ({found.mode} htslib {found.htslib}): install pysam==0.24.*, or build gassst again"
    )


def test_the_command_says_it_in_one_line(small_index, small_fastq, tmp_path):
    """Before any module that links htslib is loaded, and without pysam's own."""
    (tmp_path / "pysam").mkdir()
    for name, text in (
        ("__init__.py", "raise SystemExit('imported')"),
        ("config.py", "HTSLIB = 'builtin'"),
        ("version.py", "__version__, __htslib_version__ = '0.7.8', '1.3'"),
    ):
        (tmp_path / "pysam" / name).write_text(text)
    code = (
        "import sys\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "from gassst.cli.main import main\n"
        "code = main(sys.argv[1:])\n"
        "assert 'gassst._core.records' not in sys.modules\n"
        "sys.exit(code)\n"
    )
    command = [sys.executable, "-c", code, "map", str(small_index), str(small_fastq)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert (
        done.stderr.startswith("gassst: gassst was built with pysam")
        and "but finds pysam 0.7.8" in done.stderr
    )
