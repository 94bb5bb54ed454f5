"""What the system grants and leaves behind: cores, and hidden folders of unfinished files."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gassst.files import destination
from gassst.files.destination import AlignmentDestination, Destination, completed
from gassst.files.scratch import sweep
from gassst.workers import thread_count
from gassst.workers.thread_count import usable_threads

NAME = re.compile(r"\.out\.bam\.gassst-[0-9a-f]{8}\.tmp")
OWNER = """
import sys
from gassst.files.destination import Destination
target = Destination(sys.argv[1])
with open(target.open(), "wb") as file:
    file.write(b"half")
    file.flush()
    print("begun", flush=True)
    sys.stdin.read()
"""


def hidden(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.startswith("."))


def start_owner(output: Path) -> subprocess.Popen[str]:
    """A process that has begun to write `output` and waits."""
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, output], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout.readline() == "begun\n"
    return owner


def end(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


def test_the_next_run_removes_what_a_killed_one_left_and_no_more(tmp_path):
    dead = start_owner(tmp_path / "out.bam")
    [left] = hidden(tmp_path)
    assert NAME.fullmatch(left)
    end(dead)
    assert dead.returncode == -signal.SIGKILL and hidden(tmp_path) == [left]
    alive = start_owner(tmp_path / "out.bam")
    try:
        [kept] = hidden(tmp_path)
        assert kept != left
        target = Destination(tmp_path / "out.bam")
        os.close(target.open())
        assert kept in hidden(tmp_path) and len(hidden(tmp_path)) == 2
        target.commit()
        assert hidden(tmp_path) == [kept] and (tmp_path / "out.bam").exists()
    finally:
        end(alive)
    (tmp_path / ".out.bam.gassst-xxxxxxxx.tmp").mkdir()  # no name of ours
    (tmp_path / ".other.bam.gassst-00000000.tmp").mkdir()
    sweep(os.fspath(tmp_path), "out.bam")
    assert hidden(tmp_path) == [".other.bam.gassst-00000000.tmp", ".out.bam.gassst-xxxxxxxx.tmp"]


def test_what_is_committed_is_on_disk_before_and_after_it_takes_its_name(tmp_path, monkeypatch):
    steps = []
    real_sync, real_replace = destination.sync, os.replace
    monkeypatch.setattr(destination, "sync", lambda path: (steps.append(path), real_sync(path)))
    monkeypatch.setattr(os, "replace", lambda a, b: (steps.append(b), real_replace(a, b)))
    with completed([tmp_path / "a"]) as [file]:
        file.write(b"x")
    working, *rest = steps
    assert working.endswith("/a") and ".a.gassst-" in working
    assert rest == [os.fspath(tmp_path / "a"), os.fspath(tmp_path)]


@pytest.mark.parametrize("index", ["", ".bai"])
def test_no_index_outlives_its_file(tmp_path, index):
    stale = ["out.bam.bai", "out.bam.csi", "out.bam.crai", "out.bai", "out.csi"]
    others = ["out.crai", "other.bam.bai", "out.bam.gzi"]
    for name in [*stale, *others]:
        (tmp_path / name).write_text("old")
    target = AlignmentDestination(tmp_path / "out.bam", index)
    os.close(target.open())
    if target.index_path is not None:
        Path(target.index_path).write_text("new")
    assert all((tmp_path / name).exists() for name in stale)  # until the file itself is replaced
    target.commit()
    found = sorted(p.name for p in tmp_path.iterdir())
    assert found == sorted([*others, "out.bam", *(["out.bam.bai"] if index else [])])
    assert not index or (tmp_path / "out.bam.bai").read_text() == "new"


ORPHAN = """
import os, signal, subprocess, sys
from gassst.files.destination import run_samtools
sorter = run_samtools("sort", "-o", "/dev/null", sys.argv[1])  # a pipe that nobody fills
print(sorter.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="prctl")
def test_a_sorter_ends_with_its_parent(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    parent = subprocess.Popen(
        [sys.executable, "-c", ORPHAN, tmp_path / "pipe"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    sorter = int(parent.stdout.readline())
    with open(tmp_path / "pipe", "wb"):  # opened by both sides: samtools is at work, and waits
        end(parent)
        ended = os.pidfd_open(sorter) if Path(f"/proc/{sorter}").exists() else None
        if ended is not None:
            select.select([ended], [], [], 60)  # readable once the process has ended
            os.close(ended)
    state = Path(f"/proc/{sorter}/stat")
    assert not state.exists() or state.read_text().split()[2] in "ZX"


V1 = "12:cpuset:/other\n4:cpu,cpuacct:/slurm/job\n1:name=systemd:/init\n"
JOB = "sys/fs/cgroup/cpu,cpuacct/slurm/job"


def v1(folder, quota):
    return {f"{folder}/cpu.cfs_quota_us": f"{quota}\n", f"{folder}/cpu.cfs_period_us": "100000\n"}


@pytest.mark.parametrize(
    ("own", "files", "cores"),
    [
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "200000 100000\n"}, 2),
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "250000 100000\n"}, 3),
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "20000 100000\n"}, 1),
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "9900000 100000\n"}, 8),
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "max 100000\n"}, 8),
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "odd\n"}, 8),
        ("0::/\n", {}, 8),
        ("", {}, 8),
        # Each group around it bounds a process, too.
        ("0::/a/b\n", {"sys/fs/cgroup/a/b/cpu.max": "max 100000", "sys/fs/cgroup/a/cpu.max": "150 50"}, 3),
        ("0::/a/b\n", {"sys/fs/cgroup/a/b/cpu.max": "200 100", "sys/fs/cgroup/a/cpu.max": "500 100"}, 2),
        ("0::/a/b\n", {"sys/fs/cgroup/c/cpu.max": "200 100"}, 8),
        # A container, of which the host gives the path.
        ("0::/docker/0af3\n", {"sys/fs/cgroup/cpu.max": "400000 100000\n"}, 4),
        ("0::/../../x\n", {"sys/fs/cgroup/cpu.max": "400000 100000\n"}, 4),
        (V1, v1(JOB, 600000), 6),
        (V1, v1(JOB, -1), 8),
        (V1, v1("sys/fs/cgroup/cpu", 300000), 3),
        (V1, v1("sys/fs/cgroup/cpuset/other", 100000), 8),
        (V1, {f"{JOB}/cpu.cfs_quota_us": "100000"}, 8),
        (V1 + "0::/\n", {"sys/fs/cgroup/unified/cpu.max": "500000 100000\n"}, 5),
    ],
)
def test_a_quota_bounds_threads(tmp_path, monkeypatch, own, files, cores):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(thread_count, "ROOT", str(tmp_path))
    for path, text in (files | {"proc/self/cgroup": own}).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert usable_threads() == cores


def test_where_cores_have_no_names(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(thread_count, "ROOT", str(tmp_path))
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert usable_threads() == 5
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_threads() == 1
