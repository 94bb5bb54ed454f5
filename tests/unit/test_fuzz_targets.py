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
