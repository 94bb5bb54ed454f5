"""Every target of scripts/fuzz over its corpus, without a fuzzer."""

from __future__ import annotations

import importlib
import subprocess
import sysconfig

import drive
import pytest

TARGETS = drive.targets()
IN_PYTHON = [drive.stem(target) for target in TARGETS if target.endswith(".py")]
IN_C = [target for target in TARGETS if target.endswith(".c")]


def corpus(name):
    return sorted((drive.CORPUS / name).iterdir())


@pytest.mark.parametrize("name", IN_PYTHON)
def test_python_target(name, tmp_path):
    target = importlib.import_module(name)
    taken = [target.one(path.read_bytes(), tmp_path) for path in corpus(name)]
    assert any(taken), (
        "all inputs are refused at once: the format has changed, and the corpus must be made again"
    )


@pytest.mark.parametrize("target", IN_C)
def test_c_target(target, tmp_path):
    compiler = (sysconfig.get_config_var("CC") or "cc").split()
    main = str(drive.FOLDER / "replay.c")
    try:
        program = drive.compiled(target, main, *drive.SANITIZERS, compiler=compiler, folder=tmp_path)
    except subprocess.CalledProcessError:  # it has no sanitizers
        program = drive.compiled(target, main, compiler=compiler, folder=tmp_path)
    subprocess.run([program, *corpus(drive.stem(target))], check=True)


def test_the_corpus_is_small():
    assert sum(path.stat().st_size for path in drive.CORPUS.rglob("*")) < 1 << 20


LOG = """INFO: seed corpus: files: 3 min: 1b max: 9b total: 20b rss: 30Mb
#4\tINITED cov: 12 ft: 13 corp: 2/4b exec/s: 0 rss: 31Mb
#99\tNEW    cov: 15 ft: 21 corp: 4/9b lim: 4 exec/s: 50 rss: 31Mb
"""
END = "stat::number_of_executed_units: 120\nstat::average_exec_per_sec:     60\n"


def test_the_log_of_a_run_is_read():
    assert drive.outcome(LOG + END, [], 0) == drive.Outcome(120, 60, 15, 21, [], 0)


def test_the_log_of_a_run_that_died_is_read():
    assert drive.outcome(LOG, [], 77) == drive.Outcome(99, 50, 15, 21, [], 77)
