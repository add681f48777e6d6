"""From errors to one sentence and an exit code."""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, cast

import typer
from typer.core import TyperGroup

from beyondkernels.core import InputError
from beyondkernels.core.components import USER_MODULES

FAILED, BAD_INPUT, MISSING, INTERNAL, INTERRUPTED = 1, 2, 3, 4, 130
"""A claim fails under ``--check``; bad input; runs missing or crashed; internal error; interrupted."""

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
            end = "" if sentence.endswith("?") else f"; {command} --help tells more"
            say_error(sentence[0].lower() + sentence[1:] + end)
            code = BAD_INPUT
        if standalone_mode:
            sys.exit(code)
        return code


def guarded(command: Callable[P, int | None]) -> Callable[P, None]:
    """A command that ends with an exit code: its own, or that of the error that stopped it."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = command(*args, **kwargs) or 0
            sys.stdout.flush()
        except InputError as error:
            say_error(str(error))
            code = BAD_INPUT
        except MemoryError as error:
            say_error(f"not enough memory: {error or 'this is too large for this machine'}")
            code = BAD_INPUT
        except KeyboardInterrupt:
            say_error("interrupted; finished runs are kept, the same command goes on from there")
            code = INTERRUPTED
        except BrokenPipeError:  # whoever reads has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
        except typer.Exit:
            raise
        except Exception as error:
            traceback.print_exc()
            if (place := in_users_file(error)) is not None:
                say_error(place)
                raise typer.Exit(BAD_INPUT) from error
            say_error("internal error, please report the lines above")
            code = INTERNAL
        raise typer.Exit(code)

    return run


def in_users_file(error: Exception) -> str | None:
    """Where in a user's own file an error arose, in one sentence; None if it did not arise there."""
    theirs = [module for name, module in sys.modules.items() if name.startswith(USER_MODULES)]
    loaded = {getattr(module, "__file__", None) for module in theirs}
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename in loaded:
            where = f"{Path(frame.filename).name}, line {frame.lineno}, in {frame.name}"
            return f"{where}: {type(error).__name__}: {error}"
    return None


def say_error(sentence: str) -> None:
    """One line on standard error."""
    print(f"bk: {' '.join(sentence.split())}", file=sys.stderr)
