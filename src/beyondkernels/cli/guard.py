"""From errors to one sentence and an exit code."""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, ParamSpec, cast

import typer
from typer.core import TyperGroup

from beyondkernels.core import InputError

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
        except Exception:
            traceback.print_exc()
            say_error("internal error, please report the lines above")
            code = INTERNAL
        raise typer.Exit(code)

    return run


def say_error(sentence: str) -> None:
    """One line on standard error."""
    print(f"bk: {' '.join(sentence.split())}", file=sys.stderr)
