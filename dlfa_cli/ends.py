"""Every way in which a command can end, as an exit code and at most one line on stderr.

0 done; 1 a bug; 2 something the user can mend; 130 stopped with Ctrl-C. Tracebacks are for `dlfa --debug`.
"""

import contextlib
import errno
import os
import sys
import traceback
from collections.abc import Callable, Iterator

import typer

from dlfa_cli.screen import visible

STOPPED = 130


def exit_code(command: Callable[[], object]) -> int:
    """Run a command.

    Args:
        command: What ends in `SystemExit` or in an error.

    Returns:
        The exit code; what is to say about it is on stderr.
    """
    try:
        try:
            command()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if sys.stdout is not None:  # as where a service runs us without one
            sys.stdout.flush()  # here and not when Python ends, which would print a traceback where the pipe is closed
        return code
    except KeyboardInterrupt as stop:
        return say_stopped(stop)
    except Exception as error:
        if os.environ.get("DLFA_DEBUG"):
            raise
        if isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.ENOSPC):
            _give_up_stdout()
            if error.errno == errno.EPIPE:  # whoever reads our output has enough of it
                return 1
        return say(*_told(error))


@contextlib.contextmanager
def stopped_with(hint: Callable[[], str]) -> Iterator[None]:
    """Let Ctrl-C in this block end with a hint.

    Args:
        hint: Makes it when it is needed: what to type to go on; an empty text says nothing.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(*filter(None, [hint()])) from None


def say_stopped(stop: KeyboardInterrupt) -> int:
    """Say that Ctrl-C came, with its hint, and give the exit code."""
    return say(f"stopped; {stop}." if str(stop) else "stopped.", STOPPED)


def say(text: str, code: int) -> int:
    """Print one line on stderr, and give the code back."""
    typer.echo(f"dlfa: {visible(text)}", err=True)
    return code


def _told(error: Exception) -> tuple[str, int]:
    """What to say about an error, and the exit code."""
    name, first = type(error).__name__, (str(error).strip().splitlines() or [""])[0]
    errors = sys.modules.get("dlfa_adapters.ground.errors")
    if errors is not None and isinstance(error, errors.DLFAError):
        return str(error), 2
    files = sys.modules.get("dlfa_adapters.ground.files")
    if getattr(error, "errno", None) == errno.ENOSPC or (files is not None and files.is_full(error)):
        place = getattr(error, "filename", None)
        where = f"{place} cannot be written, the disk is full" if place else "the disk is full"
        return f"{where} ({first}); make room and call the same again.", 2
    if isinstance(error, OSError):
        places = ", ".join(repr(str(x)) for x in (error.filename, error.filename2) if x is not None)
        return ": ".join(filter(None, (error.strerror or str(error) or name, places))), 2
    if isinstance(error, MemoryError) or name == "OutOfMemoryError" or "can't allocate memory" in first:
        return (
            f"the memory is full ({first or name}); a smaller --micro-batch, --batch-size or --max-length, or "
            "--gradient-checkpointing, needs less."
        ), 2
    if name == "SafetensorError":
        return f"a file of weights cannot be read or written: {first}", 2
    if isinstance(error, ImportError):
        return f"{first}; `dlfa doctor` tells what is missing.", 2
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"this is a bug in dlfa: {name}: {first} ({os.path.basename(place.filename)}, line {place.lineno}); please "
        "report it with what `dlfa --debug …` prints."
    ), 1


def _give_up_stdout() -> None:
    """Send what is still to be written to stdout nowhere: Python would try again when it ends, and fail again."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        pass
