"""Cores that a container or a batch system grants; the folders of the system are made here."""

import os

import pytest

from gassst.workers import thread_count
from gassst.workers.thread_count import usable_threads

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
