"""Writes a file whole or not at all: a reader never sees half of one, and the old file
stays if writing fails.
"""

import os
import tempfile


def write(path, content, may_replace=True):
    """Puts the bytes there, and follows a link. Raises FileExistsError if a file is there
    that may not be replaced.
    """
    target = os.path.realpath(path)
    handle, partial = tempfile.mkstemp(
        prefix=f".{os.path.basename(target)}-", dir=os.path.dirname(target)
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
