"""Writes a file whole or not at all: a reader never sees half of one, and the old file
stays if writing fails.
"""

import errno
import glob
import os
import tempfile

from attnbench.analysis.command import UsageError

IS_THERE = "is there already; --force replaces it"
# A temporary file has the target's name, this, and letters, as those of the program do.
UNFINISHED = ".unfinished-"
NOT_A_FILE = "is there and is not a file that can be replaced"


def refusal(path, inputs=()):
    """Why no file can be written there, or None. The rules are the program's
    (harness/system/result_file.cc): "-" is no name of a file, a pipe and a device cannot
    be replaced, nor may what the command reads or prints to.
    """
    if path == "-":
        return (
            "is no file, and a file is written whole or not at all, so never to standard "
            "output; ./- is a file of that name"
        )
    is_loop = os.path.islink(os.path.realpath(path))
    if not os.path.exists(path) and not is_loop:
        return None
    if not os.path.isfile(path):
        return NOT_A_FILE
    if any(os.path.samefile(path, one) for one in inputs if os.path.exists(one)):
        return "is read by this command, and would be replaced; choose another output"
    there = os.stat(path)
    for descriptor in (1, 2):
        try:
            if os.path.samestat(there, os.fstat(descriptor)):
                return "is where this command prints; choose another file"
        except OSError:  # it is closed
            pass
    return None


def check(path, inputs, may_replace):
    """Raises UsageError for a place that cannot be written, before the work is done."""
    why = refusal(path, inputs)
    folder = os.path.dirname(path) or "."
    if why is None and not os.path.isdir(folder):
        why = f"there is no folder '{folder}'"
    if why is None and os.path.lexists(path) and not may_replace:
        why = IS_THERE
    try:
        if why is None:  # a file as `write` makes one: the name may be too long for it
            target = os.path.realpath(path)
            with tempfile.NamedTemporaryFile(prefix=os.path.basename(target) + UNFINISHED,
                                             dir=os.path.dirname(target)):
                pass
    except OSError as error:
        why = f"cannot be written: {error.strerror}"
    if why is not None:
        raise UsageError(f"{path}: {why}")


def write(path, content, may_replace=True):
    """Puts the bytes there, and follows a link. Raises FileExistsError if a file is there
    that may not be replaced.
    """
    why = refusal(path)
    if why is not None:
        raise OSError(errno.EINVAL, why)
    target = os.path.realpath(path)
    handle, partial = tempfile.mkstemp(
        prefix=os.path.basename(target) + UNFINISHED, dir=os.path.dirname(target)
    )
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        # mkstemp's 0600 would keep others from reading the file.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(partial, 0o666 & ~umask)
        # It may have appeared since the command looked.
        if os.path.lexists(target) and not may_replace:
            raise FileExistsError(path)
        os.replace(partial, target)
    except BaseException:
        os.unlink(partial)
        raise


def remove_leftovers(path):
    """Removes what a `write` to this file has left that was killed. Nobody else may be writing
    it.
    """
    target = os.path.realpath(path)
    for leftover in glob.glob(glob.escape(target + UNFINISHED) + "*"):
        os.remove(leftover)
