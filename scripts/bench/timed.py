"""Run one command and write down its wall time, CPU time and peak memory, with those of all that it has started.

    python -I -S timed.py USAGE.json STDOUT STDERR TIMEOUT COMMAND...

This is a small program of its own, and `timed` calls it. Linux counts the memory of the process that forks into the
peak of the child, so the Python process that compares the mappers must not start them.
"""

import contextlib
import ctypes
import json
import os
import signal
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
NO_LIMIT = 10**9


class RunFailed(Exception):
    """A command ended with an error or ran out of time."""


def timed(command, out, timeout=NO_LIMIT, environment=None):
    """Runs `command` with stdout to the path `out`. Returns "user", "cpu" and "wall" in seconds, and "rss" in bytes.

    User and system time are those of the process and all its children, the peak is that of the largest. Raises
    RunFailed with the last line of what the command said.
    """
    import subprocess

    usage, err = out.with_name(f"{out.name}.usage"), out.with_name(f"{out.name}.err")
    words = [sys.executable, "-I", "-S", __file__, usage, out, err, timeout, *command]
    subprocess.run([str(word) for word in words], check=True, env=environment)
    result = json.loads(usage.read_text())
    said = err.read_text(errors="replace").strip()
    usage.unlink()
    err.unlink()
    status = result.pop("status")
    if result.pop("timed_out"):
        raise RunFailed(f"> {timeout:g} s")
    if status:
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        raise RunFailed(f"{how}: {said.splitlines()[-1] if said else 'no message'}")
    return result


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
