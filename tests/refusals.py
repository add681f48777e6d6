"""What a call is refused with: one sentence that holds the names and numbers a person needs."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from beyondkernels.core import InputError


def refused(words: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Assert that ``call(*args, **kwargs)`` raises an ``InputError`` in whose sentence ``words`` is found.

    Arguments:
        words: a regular expression.
        call: what is refused, with its arguments; of any kind, since many of them are wrong on purpose.
    """
    with pytest.raises(InputError, match=words):
        call(*args, **kwargs)


def told(words: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> int:
    """The whole number behind ``words`` in the sentence with which a call is refused: what would do."""
    with pytest.raises(InputError, match=words) as refusal:
        call(*args, **kwargs)
    return int(re.findall(rf"{words} ([\d,]+)", str(refusal.value))[0].replace(",", ""))
