"""Where in a user's own code an exception arose."""

from __future__ import annotations

import linecache
import traceback
from pathlib import Path
from types import FrameType

from beyondkernels.core.errors import InputError
from beyondkernels.core.libraries import is_code_of_a_library


def users_frames(error: BaseException) -> str:
    """The frames of an exception that lie in a user's code: file, line, function and the line itself.

    The outermost frame comes first. Of an exception without a
    frame in a user's code the innermost frame is given, unless it is an ``InputError``.

    Arguments:
        error: an exception that was raised.
    """
    frames = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if not _is_of_a_library(frame)]
    if not frames and not isinstance(error, InputError):  # whose sentence says all
        frames = list(traceback.walk_tb(error.__traceback__))[-1:]
    return "\n".join(_written(frame, line) for frame, line in frames)


def whole_traceback(error: BaseException) -> str:
    """An exception as Python prints it, with all its frames; the beginning is left out of one that is very long."""
    return "".join(traceback.format_exception(error))[-_LONGEST:].rstrip()


def _is_of_a_library(frame: FrameType) -> bool:
    names = frame.f_globals
    if (getattr(names.get("__spec__"), "name", None) or "").startswith("beyondkernels."):
        return True  # also a worker, whose module is __main__
    # compiled extensions give a path of the machine that built them, and their module the file that is here
    return is_code_of_a_library(names.get("__name__") or "", names.get("__file__") or frame.f_code.co_filename)


def _written(frame: FrameType, number: int) -> str:
    file = Path(frame.f_code.co_filename)
    line = linecache.getline(str(file), number, frame.f_globals).strip()
    place = f"{file.name}, line {number}, in {frame.f_code.co_name}"
    return f"{place}\n    {line}" if line else place


_LONGEST = 20_000
