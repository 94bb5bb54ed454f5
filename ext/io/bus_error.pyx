"""SIGBUS, which a mapped file that was cut in place causes: one line and an exit code instead of a crash. A crash of
compiled code, SIGSEGV, has a line, too.

Only the command line installs the handler. A process that uses gassst as a library keeps its own.
"""

from libc.stddef cimport size_t

cdef extern from "bus_error.h":
    bint bus_is_ending()
    int bus_install(int exit_code)
    void bus_add_file(const char *path, const void *begin, size_t size)
    void bus_add_folder(const char *path)
    void bus_drop_folder(const char *path)


def install(int exit_code):
    """From here on, SIGBUS in a watched file ends the process with this code, and SIGSEGV by itself, after a line.

    Raises OSError where it cannot.
    """
    if bus_install(exit_code):
        raise OSError("no handler for SIGBUS and SIGSEGV")


def watch(bytes path, const unsigned char[::1] data):
    """`data` is the mapped file `path`. Without effect before `install`."""
    if data.shape[0]:
        bus_add_file(path, &data[0], <size_t>data.shape[0])


def folder_made(bytes path):
    """The folder `path` and the files in it go when SIGBUS or SIGSEGV ends the process."""
    bus_add_folder(path)


def folder_gone(bytes path):
    bus_drop_folder(path)


def is_ending():
    """Whether SIGBUS is ending the process; if not, it will say nothing from here on: the caller reports an error."""
    return bus_is_ending()
