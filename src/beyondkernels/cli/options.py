"""What ``bk run`` is asked, from the command line and a configuration file."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from beyondkernels.core import InputError, require, unknown
from beyondkernels.core.errors import shown
from beyondkernels.lab.declaration.settings import parsed
from beyondkernels.lab.request.request import MOST_SEEDS

_KINDS: dict[str, tuple[Any, str]] = {
    "scale": (str, "a word"),
    "seeds": (int | str | list, 'how many, or which, such as 5, "5..9" or [3, 7, 11]'),
    "device": (str, "a word"),
    "workers": (int, "a whole number"),
    "store": (str, "a path"),
    "settings": (dict, "a table"),
}


@dataclass(frozen=True)
class Options:
    """The options of ``bk run``; None where neither the command line nor the file says anything."""

    scale: str | None = None
    seeds: int | Sequence[int] | None = None
    workers: int | None = None
    store: str | None = None
    device: str | None = None
    settings: tuple[tuple[str, Any], ...] = ()

    def over(self, other: Options) -> Options:
        """These options where they say something, else the other's; settings of both, these last."""
        names = ("scale", "seeds", "workers", "store", "device")
        mine = {name: value for name in names if (value := getattr(self, name)) is not None}
        return replace(other, **mine, settings=(*other.settings, *self.settings))


def from_file(path: Path) -> Options:
    """Options of a TOML file: ``scale``, ``seeds``, ``workers``, ``store``, ``device`` and a table ``[settings]``."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a TOML file: {error}") from None
    for name, value in content.items():
        if name not in _KINDS:
            unknown(f"key in {path}", name, _KINDS)
        kind, words = _KINDS[name]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise InputError(f"{name} in {path} must be {words}, got {shown(value)}")
    settings = content.pop("settings", {})
    if isinstance(seeds := content.get("seeds"), str):
        content["seeds"] = seeds_of(f"seeds in {path}", seeds)
    return Options(**content, settings=tuple(settings.items()))


def from_words(words: list[str]) -> tuple[tuple[str, str], ...]:
    """Settings given as ``key=value``.

    >>> from_words(["steps=20", "readout_rate=5e1"])
    (('steps', '20'), ('readout_rate', '5e1'))
    """
    pairs = []
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name:
            raise InputError(f"--set takes key=value, got {shown(word)}")
        pairs.append((name.strip(), value.strip()))
    return tuple(pairs)


def seeds_of(name: str, word: str | None) -> int | tuple[int, ...] | None:
    """How many seeds, or which: a number N stands for 0, 1, …, N - 1.

    >>> seeds_of("--seeds", "5"), seeds_of("--seeds", "5..9"), seeds_of("--seeds", "0..2,7")
    (5, (5, 6, 7, 8, 9), (0, 1, 2, 7))
    """
    if word is None or not ("," in word or ".." in word):
        return whole(name, word)
    seeds: list[int] = []
    for part in word.split(","):
        first, dots, last = (end.strip() for end in part.partition(".."))
        try:
            low = int(first)
            high = int(last) if dots else low
        except ValueError:
            raise InputError(
                f"{name} takes a number, a range such as 5..9 or a list such as 3,7,11, got {shown(word)}"
            ) from None
        require(low <= high, f"{name} takes a range with its smaller end first, got {shown(part)}")
        require(high - low < MOST_SEEDS, f"{name} takes at most {MOST_SEEDS} seeds, got {shown(part)}")
        seeds += range(low, high + 1)
    return tuple(seeds)


def whole(name: str, word: str | None) -> int | None:
    """An option that takes a whole number."""
    return None if word is None else parsed(name, word, int)
