"""Reads a whole file that a user named, by the rules of the program
(harness/base/input_file.cc): a pipe that nobody writes to, or a device, has no
end.
"""

import os
import select
import stat
import sys

from attnbench.analysis import command

STANDARD_INPUT = "-"
MOST_BYTES = 512 << 20
# What is made of a larger file takes many seconds.
LARGE_BYTES = 8 << 20
MOST_SECONDS_OF_WAITING = 60
MOST_SECONDS_WITHOUT_WRITER = 5


class Unreadable(Exception):
    """Says why."""


def read(path, most_bytes=MOST_BYTES):
    """The bytes of the file, of a pipe that somebody writes to, or of standard
    input.
    """
    try:
        if path == STANDARD_INPUT:
            descriptor = os.dup(0)
        else:
            # Otherwise a pipe that nobody writes to would never open.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with open(descriptor, "rb", buffering=0) as stream:
            return b"".join(_parts(stream, path, most_bytes))
    except OSError as error:
        raise Unreadable(error.strerror) from error


def _parts(stream, path, most_bytes):
    state = os.fstat(stream.fileno())
    is_pipe, is_input = stat.S_ISFIFO(state.st_mode), path == STANDARD_INPUT
    if stat.S_ISDIR(state.st_mode):
        raise Unreadable("Is a directory")
    if not (is_input or is_pipe or stat.S_ISREG(state.st_mode)):
        raise Unreadable("is neither a file nor a pipe")
    if state.st_size > LARGE_BYTES:
        print(command.printable(
            f"{command.PROGRAM}: reading {path}: {state.st_size >> 20} MiB, which "
            "takes a while"), file=sys.stderr, flush=True)
    size = 0
    # A pipe that nobody has opened for writing yet would read as empty.
    may_lack_writer = is_pipe and not is_input and not _has_data(
        stream, MOST_SECONDS_WITHOUT_WRITER)
    while (part := stream.read(1 << 16)) != b"":
        if part is None:
            if not _has_data(stream, MOST_SECONDS_OF_WAITING):
                raise Unreadable("a pipe, and nothing came")
            continue
        size += len(part)
        if size > most_bytes:
            raise Unreadable(f"is larger than {most_bytes >> 20} MiB")
        yield part
    if may_lack_writer and not size:
        raise Unreadable("a pipe that nobody writes to")


def _has_data(stream, seconds):
    """Waits until somebody has written to the pipe, or closed it."""
    poll = select.poll()
    poll.register(stream, select.POLLIN)
    return bool(poll.poll(1000 * seconds))
