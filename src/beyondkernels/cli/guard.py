"""From errors to one sentence and an exit code."""

from __future__ import annotations

import errno
import functools
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, cast

import typer
from typer.core import TyperGroup

from beyondkernels.cli.streams import lost_output, require_printed, why
from beyondkernels.core import InputError
from beyondkernels.core.components import USER_MODULES
from beyondkernels.core.tracebacks import users_frames, whole_traceback

FAILED, BAD_INPUT, MISSING, INTERNAL, INTERRUPTED = 1, 2, 3, 4, 130
"""A claim fails under ``--check``; bad input; runs missing or crashed; internal error; interrupted."""

_OF_THE_MACHINE = (errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC)
"""What a path or a disk does to a program that has no fault in it."""

_LONGEST = 200
"""Letters of a word that is shown whole: a path may be long, a word of thousands is a mistake."""

P = ParamSpec("P")

# what Typer raises for a wrong option or command, which it does not name: the ancestor of all such errors
_WrongWords = cast("type[Exception]", typer.BadParameter.__mro__[2])


class Commands(TyperGroup):
    """A group of commands that answers a wrong option or command with one sentence."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run a command, and end with its exit code if standalone."""
        try:
            code = super().main(*args, standalone_mode=False, **extra)
        except _WrongWords as wrong:
            error = cast("Any", wrong)
            command = error.ctx.command_path if getattr(error, "ctx", None) else "bk"
            sentence = error.format_message().rstrip(".")
            end = "" if sentence.endswith("?") else f"; {_advice(command, sentence)}"
            say_error(sentence[0].lower() + sentence[1:] + end)
            code = BAD_INPUT
        if standalone_mode:
            sys.exit(code)
        return code


def _advice(command: str, sentence: str) -> str:
    """What to do about a wrong word: an experiment's name wants a command before it."""
    from beyondkernels.lab.catalogue import CATALOGUE

    named = [name for name in CATALOGUE if sentence.endswith(f"command '{name}'")]
    return f"bk run {named[0]} runs that experiment" if named else f"{command} --help tells more"


def guarded(command: Callable[P, int | None]) -> Callable[P, None]:
    """A command that ends with an exit code: its own, or that of the error that stopped it."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = command(*args, **kwargs) or 0
            if (failure := lost_output()) is not None:
                say_error(f"standard output cannot be written: {why(failure)}")
                # output that was closed from the start is not wanted
                code = code or (0 if failure.errno == errno.EBADF else BAD_INPUT)
        except InputError as error:
            say_error(str(error))
            code = BAD_INPUT
        except MemoryError as error:
            say_error(f"not enough memory: {error or 'this is too large for this machine'}")
            code = BAD_INPUT
        except KeyboardInterrupt:
            say_error("interrupted; finished runs are kept, the same command goes on from there")
            code = INTERRUPTED
        except typer.Exit:
            raise
        except (Exception, SystemExit) as error:
            place = in_users_file(error)
            if place is None and isinstance(error, OSError) and error.errno in _OF_THE_MACHINE:
                say_error(f"{error.filename or 'a file'} cannot be used: {error.strerror}")
                raise typer.Exit(BAD_INPUT) from error
            if place is not None:
                print(whole_traceback(error) if kwargs.get("debug") else users_frames(error), file=sys.stderr)
                say_error(place)
                raise typer.Exit(BAD_INPUT) from error
            traceback.print_exc()
            say_error("internal error, please report the lines above")
            code = INTERNAL
        raise typer.Exit(code)

    return run


def printing(command: Callable[P, int | None]) -> Callable[P, int | None]:
    """A command that is there for what it prints: if that does not arrive, it has failed."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> int | None:
        code = command(*args, **kwargs)
        require_printed()
        return code

    return run


def interruptible(command: Callable[P, int | None]) -> Callable[P, int | None]:
    """A command that has things to put in order when Ctrl-C ends it; every other one ends at once."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> int | None:
        if threading.current_thread() is not threading.main_thread():
            return command(*args, **kwargs)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return command(*args, **kwargs)
        finally:
            signal.signal(signal.SIGINT, before)

    return run


def in_users_file(error: BaseException) -> str | None:
    """Where in a user's own file an error arose, in one sentence; None if it did not arise there."""
    theirs = [module for name, module in sys.modules.items() if name.startswith(USER_MODULES)]
    loaded = {getattr(module, "__file__", None) for module in theirs}
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename in loaded:
            where = f"{Path(frame.filename).name}, line {frame.lineno}, in {frame.name}"
            if isinstance(error, SystemExit):
                return f"{where} calls sys.exit, which an experiment must not do"
            return f"{where}: {type(error).__name__}: {error}"
    return None


def say_error(sentence: str) -> None:
    """One line on standard error, long words cut; what a terminal would act on becomes a question mark."""
    line = " ".join(word if len(word) <= _LONGEST else f"{word[: _LONGEST - 1]}…" for word in sentence.split())
    print(f"bk: {''.join(letter if letter.isprintable() else '?' for letter in line)}", file=sys.stderr)
