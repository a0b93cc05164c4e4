"""Begins a program in Python: `attnbench report` and `draw`, the judge of `attnbench
claims`, and what is run by hand. Messages and exit codes are the program's.

    sys.exit(start.run("attnbench report", "pages.report"))

It works with whatever the user has set for Python. Run by itself it says by its exit code,
0 or 1, whether this Python has what such programs need, and the packages that are named.
"""

import os
import sys

# A folder of PYTHONPATH, which may be the one that the user is in, may hold a json.py.
_STANDARD = os.path.dirname(os.__file__)
sys.path[:0] = [_STANDARD, os.path.join(_STANDARD, "lib-dynload")]

import contextlib
import importlib.util
import io
import logging
import signal
import traceback
import warnings

# Older ones refuse `int | None` as the type of a member.
LEAST_VERSION = (3, 10)
PACKAGES = ("numpy", "scipy", "pandas", "jsonschema", "matplotlib")
# An installation has no scripts/setup.sh.
NEEDED = (f"{', '.join(PACKAGES)} (apt-get install python3-matplotlib python3-pandas "
          "python3-scipy python3-jsonschema, or pip install matplotlib pandas scipy jsonschema)")
INTERNAL_ERROR = 4


def has_packages(more=()):
    return sys.version_info >= LEAST_VERSION and all(
        map(importlib.util.find_spec, (*PACKAGES, *more)))


def run(name, module):
    """Gives the exit code of main() of a module, run as the program of that name."""
    from attnbench.analysis import command

    program = name.split()[0]
    # Ctrl-C ends a command as it ends the program, without a traceback.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        with imports(name):
            main = importlib.import_module(module).main
        # The command ends quietly if nobody reads on, as the program does.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        status = main()
        sys.stdout.flush()
        return status
    except command.PackageError as error:
        return _refuse(name, NEEDED, error.__cause__)
    except OSError as error:
        # The buffer's rest is lost, and would cause a second message at the
        # end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return command.fail(f"standard output: cannot be written: {error.strerror}", program)
    # Python's own exit code, 1, means a finding.
    except Exception as error:
        command.fail(f"internal error: {name}: {type(error).__name__}: {error}", program)
        return INTERNAL_ERROR


@contextlib.contextmanager
def imports(name, needed=NEEDED):
    """Is around what the program of that name imports. A package that is missing, or fails
    in any way, is one line on stderr and ends the program with exit code 2.
    """
    _take_no_settings()
    if sys.version_info < LEAST_VERSION:
        sys.exit(_refuse(name, needed, "is older than Python {}.{}".format(*LEAST_VERSION)))
    try:
        yield
    except Exception as error:
        sys.exit(_refuse(name, needed, error))


def _refuse(name, needed, problem):
    """Says what is wrong with this Python: a text, or an error of importing a package. Raises
    an error that is of none. Gives the exit code.
    """
    from attnbench.analysis import command

    if isinstance(problem, Exception):
        package = _package_of(problem)
        if package is not None:
            problem = f"{package}: {type(problem).__name__}: {problem}"
        elif not isinstance(problem, ImportError):
            raise problem
    program = name.split()[0]
    remedy = "; ATTNBENCH_PYTHON names another" * (program == command.PROGRAM)
    return command.fail(f"{sys.executable}: {problem}; {name} needs {needed}{remedy}", program)


def _take_no_settings():
    """Undoes what users set for programs of their own (PYTHONWARNINGS, PYTHONIOENCODING)."""
    warnings.resetwarnings()
    for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning,
                     ResourceWarning):
        warnings.simplefilter("ignore", category)
    # It says where its cache is if it may not write into the home folder.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    for stream, settings in ((sys.stdin, {"encoding": "utf-8"}),
                             (sys.stdout, {"errors": "replace"}),
                             (sys.stderr, {"errors": "replace"})):
        if isinstance(stream, io.TextIOWrapper):  # it may be closed
            stream.reconfigure(**settings)


def _package_of(error):
    """Names the package that raised the error, with its version; None if it was none."""
    import importlib.metadata  # Python 3.7, which is to be named, has none

    modules = [frame.f_globals.get("__name__", "").partition(".")[0]
               for frame, _ in traceback.walk_tb(error.__traceback__)]
    package = next((one for one in reversed(modules) if one in (*PACKAGES, "torch")), None)
    try:
        return package and f"{package} {importlib.metadata.version(package)}"
    except Exception:  # it has no metadata, or they are as broken
        return f"{package}, of unknown version"


if __name__ == "__main__":
    sys.exit(not has_packages(sys.argv[1:]))
