"""Run one command and write down its wall time, CPU time and peak memory, with those of all that it has started.

    python -I -S timed.py USAGE.json STDOUT STDERR TIMEOUT COMMAND...

This is a small program of its own. Linux counts the memory of the process that forks into the peak of the child, so
the Python process that compares the mappers must not start them.
"""

import contextlib
import ctypes
import json
import os
import signal
import sys
import time

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """Descendants whose parent has ended become children of this process: bwa-meth ends without waiting for bwa."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def wait(pid):
    """The status of the child, and the resources of each child once all of them have ended."""
    _, status, used = os.wait4(pid, 0)
    found = [used]
    with contextlib.suppress(ChildProcessError):
        while True:
            found.append(os.wait4(-1, 0)[2])
    return status, found


def start(command, out, err):
    """Forks; the child runs `command` as the leader of a process group, so that all of it can be ended."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, path in ((1, out), (2, err)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
        os.execvp(command[0], command)
    finally:
        os._exit(127)


def end_group(pid):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def main(usage_path, out, err, timeout, *command):
    adopt_orphans()
    began = time.perf_counter()
    pid = start(command, out, err)
    expired = []

    def expire(number, frame):
        expired.append(True)
        end_group(pid)

    signal.signal(signal.SIGALRM, expire)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))
    signal.setitimer(signal.ITIMER_REAL, float(timeout))
    try:
        status, found = wait(pid)
    except BaseException:
        end_group(pid)
        raise
    wall = time.perf_counter() - began
    user = sum(used.ru_utime for used in found)
    kilobyte = 1 if sys.platform == "darwin" else 1024
    usage = {
        "wall": wall,
        "user": user,
        "cpu": user + sum(used.ru_stime for used in found),
        "rss": max(used.ru_maxrss for used in found) * kilobyte,
        "status": os.waitstatus_to_exitcode(status),
        "timed_out": bool(expired),
    }
    with open(usage_path, "w") as file:
        json.dump(usage, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
