"""What a process of workers does, from `fork` to its end."""

from __future__ import annotations

import gc
import logging
import os
import pickle
import signal
import struct
import threading
import traceback
from typing import Any, NamedTuple, NoReturn

from gassst.workers.allocator import keep_freed_memory
from gassst.workers.children import die_with_parent
from gassst.workers.shared_memory import SharedMemory, read_shared_values

CALL = struct.Struct("<IQ")  # region, bytes
RESULT = struct.Struct("<IQ?")  # region, bytes, whether it is an exception
LENGTH = struct.Struct("<I")  # of a message of a process's own pipe


class Pipes(NamedTuple):
    """File descriptors: calls to take, results to give, and this process's own messages."""

    calls: int
    results: int
    own: int


class RemoteTraceback(Exception):
    """Where in a worker an exception was raised; the cause of that exception."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def serve(work: Any, threads: int, memory: SharedMemory, pipes: Pipes, parent: int) -> NoReturn:
    """Make calls until there are no more; the process ends here, and no handler of the parent's runs."""
    code = 1
    try:
        die_with_parent(parent)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGBUS, signal.SIG_DFL)  # the parent's handler removes what is the parent's
        keep_freed_memory()
        gc.freeze()  # what the parent has made stays shared: the collector need not look at it
        _send_log_lines(pipes.own)
        read_shared_values(memory)
        arguments = work, memory, pipes
        others = [
            threading.Thread(target=_make_calls, args=arguments, name=f"gassst-{i}", daemon=True)
            for i in range(1, threads)
        ]
        for thread in others:
            thread.start()
        _make_calls(*arguments)
        for thread in others:
            thread.join()
        code = 0
    except BrokenPipeError:  # the parent has died, and this process is about to
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _make_calls(work: Any, memory: SharedMemory, pipes: Pipes) -> None:
    """What fails here, and cannot be told as the result of a call, ends the process: nobody waits in vain."""
    try:
        _make_calls_until_end(work, memory, pipes)
    except BrokenPipeError:  # the parent has stopped
        os._exit(1)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def _make_calls_until_end(work: Any, memory: SharedMemory, pipes: Pipes) -> None:
    while message := os.read(pipes.calls, CALL.size):
        region, size = CALL.unpack(message)
        try:
            result = memory.put(region, _called(work, memory, region, size)), False
        except BaseException as error:
            result = memory.put(region, _portable(error)), True
        os.write(pipes.results, RESULT.pack(region, *result))


def _called(work: Any, memory: SharedMemory, region: int, size: int) -> Any:
    function, arguments = memory.get(region, size)
    return function(work, *arguments)


def _portable(error: BaseException) -> tuple[BaseException, str]:
    """An exception that can be pickled, and where it was raised."""
    where = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    return error, where


class _LogSender(logging.Handler):
    """Gives log lines to the parent, whose handlers know where they go."""

    def __init__(self, fd: int):
        super().__init__()
        self._fd = fd

    def emit(self, record: logging.LogRecord) -> None:
        record.msg, record.args, record.exc_info = record.getMessage(), None, None
        _send(self._fd, record)


def _send_log_lines(fd: int) -> None:
    log = logging.getLogger("gassst")
    log.handlers[:] = [_LogSender(fd)]
    log.propagate = False


_sending = threading.Lock()


def _send(fd: int, message: Any) -> None:
    pickled = memoryview(pickle.dumps(message))
    with _sending:
        for piece in (LENGTH.pack(len(pickled)), pickled):
            view = memoryview(piece)
            while len(view):
                view = view[os.write(fd, view) :]
