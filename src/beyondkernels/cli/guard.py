"""From errors to one sentence and an exit code."""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable
from typing import ParamSpec

import typer

from beyondkernels.core import InputError

FAILED, BAD_INPUT, MISSING, INTERNAL, INTERRUPTED = 1, 2, 3, 4, 130
"""A claim fails under ``--check``; bad input; runs missing or crashed; internal error; interrupted."""

P = ParamSpec("P")


def guarded(command: Callable[P, int | None]) -> Callable[P, None]:
    """A command that ends with an exit code: its own, or that of the error that stopped it."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = command(*args, **kwargs) or 0
        except InputError as error:
            say_error(str(error))
            code = BAD_INPUT
        except KeyboardInterrupt:
            say_error("interrupted; finished runs are kept, the same command goes on from there")
            code = INTERRUPTED
        except BrokenPipeError:
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
    print(f"bk: {sentence}", file=sys.stderr)
