"""Bad values for every constructor and setting, and what may come out: a sentence of ours, soon, in little memory."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import inspect
import math
import pkgutil
import resource
import signal
import sys
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, Union

import numpy as np
import torch

import beyondkernels
from beyondkernels.core import Component, DivergedError, InputError

SECONDS = 4.0
"""How long one call may take; the machine may be busy."""

MEMORY = 2**30
"""How much one call may allocate."""


def half(*values: Any) -> Any:
    """Stands where a component wants a function."""
    return values[0] / 2


BAD: dict[str, Any] = {
    "nothing": None,
    "true": True,
    "a word": "many",
    "no word": "",
    "bytes": b"x",
    "zero": 0,
    "minus one": -1,
    "three": 3,
    "2^31": 2**31,
    "-2^63": -(2**63),
    "2^62": 2**62,
    "2^63": 2**63,
    "10^30": 10**30,
    "5000 digits": 10**5000,
    "a half": 0.5,
    "2.5": 2.5,
    "-1.5": -1.5,
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "1e308": 1e308,
    "tiny": 5e-324,
    "complex": 1j,
    "empty list": [],
    "list": [1, 2],
    "falling": (2, 1),
    "nested": [[1.0], [2.0, 3.0]],
    "mixed": (1, "a"),
    "of nan": (math.nan,),
    "huge numbers": (10**30, 1e308),
    "mapping": {"a": 1},
    "set": {1, 2},
    "object": object(),
    "array": np.arange(3),
    "matrix": np.ones((2, 2)),
    "numpy float": np.float32(0.5),
    "numpy int": np.int64(3),
    "numpy nan": np.float64("nan"),
    "tensor": torch.tensor(2.0),
    "tensors": torch.ones(2, 2),
    "function": lambda: None,
    "class": int,
    "range": range(3),
    "long word": "9" * 5000,
    "module": math,
    "component": Component(),
}

WORDS = [
    *("", "0", "-1", "3", "2.5", "many", "nan", "inf", "-inf", "1e308", "5e-324", "1e5", "none", "yes", "9" * 30),
    *("9" * 5000, "2147483648", "9223372036854775807", "9223372036854775808", "1,2", "2,1", "1,1", ",", "1,many"),
    *("0,0", "1e308,1e308", "[1]", "__import__('os')", "٣", "1_0", " 4 ", "0x10", "true", "\x00", "a=b"),
]
"""What someone may write behind ``--set name=``."""


def components() -> list[type[Component]]:
    """Every component of the package that people can make."""
    for info in pkgutil.walk_packages(beyondkernels.__path__, "beyondkernels."):
        if not info.name.endswith("__main__"):
            importlib.import_module(info.name)
    found, left = [], [Component]
    while left:
        cls = left.pop()
        left.extend(cls.__subclasses__())
        ours = cls.__module__.startswith("beyondkernels.") and cls is not Component and cls.__name__[0] != "_"
        if ours and dataclasses.is_dataclass(cls) and not inspect.isabstract(cls):
            found.append(cls)
    return sorted(found, key=lambda cls: f"{cls.__module__}:{cls.__qualname__}")


def sound(hint: Any, made: dict[type, Any]) -> Any:
    """A value that a field of this type takes, if no other field stands in its way."""
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return None if type(None) in options else sound(options[0], made)
    if origin is Literal:
        return options[0]
    if origin is tuple:
        return (sound(options[0], made),)
    if origin is not None and issubclass(origin, Callable):
        return half
    plain = {int: 4, float: 0.5, str: "all", bool: False}
    if hint in plain:
        return plain[hint]
    for cls, value in made.items():
        if issubclass(cls, hint):
            return value
    raise LookupError(hint)


def examples(given: dict[str, dict[str, Any]]) -> dict[type[Component], dict[str, Any]]:
    """Fields with which each component can be made, found by trying; ``given`` says them by the name of a class."""
    made: dict[type, Any] = {}
    fields: dict[type[Component], dict[str, Any]] = {}
    left, count = components(), -1
    while len(left) != count:
        count = len(left)
        for cls in list(left):
            hints, values = typing.get_type_hints(cls), dict(given.get(cls.__name__, {}))
            try:
                for field in dataclasses.fields(typing.cast(Any, cls)):
                    free = field.default is field.default_factory is dataclasses.MISSING
                    if free and field.name not in values:
                        values[field.name] = sound(hints[field.name], made)
                made[cls] = cls(**values)
            except (LookupError, InputError):
                continue
            fields[cls] = values
            left.remove(cls)
    assert not left, f"say how to make {[cls.__name__ for cls in left]}"
    return fields


class TooSlowError(Exception):
    """A call took longer than it may."""


@contextlib.contextmanager
def bounds() -> Iterator[None]:
    """Bound the time and the memory of one call."""

    def late(*_: Any) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGALRM, late)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if sys.platform == "linux":
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def complaint(call: Callable[[], Any]) -> str | None:
    """What came out of a call that should not have: anything but a value or a sentence of ours."""
    try:
        with bounds():
            call()
    except (InputError, DivergedError) as error:
        sentence = str(error)
        wrong = not sentence or "\n" in sentence or len(sentence) > 500
        return f"a sentence of {len(sentence)} characters: {sentence[:80]}" if wrong else None
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:80]}"
    return None
