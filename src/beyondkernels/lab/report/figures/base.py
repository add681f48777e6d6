"""What every figure is: a name, words around it, and a way to be drawn wide or narrow."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from beyondkernels.core import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

WIDE = 7.6
"""The width of a figure in inches, for a page on a desk."""

NARROW = 4.0
"""Its width for a telephone: the same data, arranged in one column."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Figure(ABC):
    """A figure as plain data.

    Arguments:
        name: its name in file names: small letters, digits, ``-`` and ``_``.
        title: what it shows, in a few words.
        caption: what to look at.
        alt: what is to be seen, for those who cannot see it; the title unless given.
    """

    name: str
    title: str
    caption: str = ""
    alt: str = ""

    def __post_init__(self) -> None:
        good = re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,79}", self.name)
        require(bool(good), f"name of a figure must be small letters, digits, - and _, got {self.name!r}")

    @property
    def description(self) -> str:
        """What stands in for the picture."""
        return self.alt or self.title

    def without_published(self) -> Self:
        """The figure without values of the paper's, for settings that are not the paper's."""
        return self

    @abstractmethod
    def size(self, narrow: bool = False) -> tuple[float, float]:
        """Width and height in inches."""

    @abstractmethod
    def draw(self, canvas: Canvas, narrow: bool = False) -> None:
        """Draw onto an empty Matplotlib figure of that size."""
