"""What an experiment measures, and what it varies: each quantity declared once, for tables, axes and claims."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from beyondkernels.core import Checked, require
from beyondkernels.core.constraints import any_number
from beyondkernels.lab.report.intervals import ANY, NON_NEGATIVE, SHARE

_End = Annotated[float, any_number]


@dataclass(frozen=True)
class Quantity(Checked):
    """What a column of the rows is.

    Tables take heading, format and sentence from it, axes their label and scale, claims their unit, and intervals the
    range that they must not leave. The difference and the ratio of two quantities are quantities with ranges of their
    own.

    Arguments:
        label: what is written beside an axis, and in sentences: a symbol, or words that begin with a small letter.
        format: Python's format for its numbers in tables; chosen by size unless given.
        within: the least and the greatest value there can be.
        unit: written behind numbers, such as ``%``.
        log: whether axes are logarithmic.
        better: which way is better, where one is.
        about: what it is, in words that can stand behind its name and a colon; written beneath tables and in captions.
        heading: what is written above a table's column, where it is not the label.

    >>> accuracy = Quantity("test accuracy", ".1f", (0.0, 100.0), "%")
    >>> accuracy.column_heading, (accuracy - accuracy).within, (accuracy - accuracy).unit
    ('Test accuracy (%)', (-100.0, 100.0), 'points')
    >>> (accuracy / accuracy).within
    (0.0, inf)
    """

    label: str
    format: str = ""
    within: tuple[_End, _End] = ANY
    unit: str = ""
    log: bool = False
    better: Literal["", "less", "more"] = ""
    about: str = ""
    heading: str = ""

    def __post_init__(self) -> None:
        low, high = self.within
        require(low < high, f"within must be the least and the greatest value of {self.label}, got {self.within}")

    @property
    def axis_label(self) -> str:
        """What is written beside an axis: the label, with the unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    @property
    def column_heading(self) -> str:
        """What is written above a column: words begin with a capital, symbols stay as they are."""
        if self.heading:
            return self.heading
        first, _, rest = self.axis_label.partition(" ")
        first = first.rstrip(",")
        words = _is_word(first) and first.islower() and (len(first) > 2 or rest != "")
        return self.axis_label[0].upper() + self.axis_label[1:] if words else self.axis_label

    @property
    def told(self) -> str:
        """A sentence that names and explains it, for captions; empty without an explanation."""
        if not self.about:
            return ""
        begins = self.about[0].lower() if _is_word(self.about.split()[0]) else self.about[0]
        return f"{self.column_heading}: {begins}{self.about[1:]}"

    @property
    def scale(self) -> Literal["linear", "log"]:
        """How axes are drawn."""
        return "log" if self.log else "linear"

    def __sub__(self, other: Quantity) -> Quantity:
        (low, high), (least, greatest) = self.within, other.within
        unit = self.unit if self.unit == other.unit else ""
        within = (low - greatest, high - least)
        return Quantity(f"{self.label} − {other.label}", within=within, unit="points" if unit == "%" else unit)

    def __truediv__(self, other: Quantity) -> Quantity:
        (low, high), (least, greatest) = self.within, other.within
        within = (low / greatest, high / least if least else math.inf) if low >= 0 and least >= 0 else ANY
        return Quantity(f"{self.label} / {other.label}", within=within)


def _is_word(text: str) -> bool:
    """Whether it is a word of a sentence, and no symbol."""
    return len(text) > 1 and text.isascii() and text.isalpha()


class Quantities(dict[str, Quantity]):
    """An experiment's quantities by column: its own, then the standard ones, then an unbounded one named after it."""

    def __missing__(self, column: str) -> Quantity:
        return STANDARD.get(column) or Quantity(column.replace("_", " "))


STANDARD = {
    "train_loss": Quantity("training loss", within=NON_NEGATIVE, better="less"),
    "test_loss": Quantity("test loss", within=NON_NEGATIVE, better="less"),
    "train_error": Quantity("training error", within=NON_NEGATIVE, better="less"),
    "test_error": Quantity("test error", within=NON_NEGATIVE, better="less"),
    "validation_error": Quantity("validation error", within=NON_NEGATIVE, better="less"),
    "search_error": Quantity("error in the search", within=NON_NEGATIVE, better="less"),
    "train_accuracy": Quantity("training accuracy", within=SHARE, better="more"),
    "test_accuracy": Quantity("test accuracy", within=SHARE, better="more"),
    "learning_rate": Quantity("learning rate", "g", NON_NEGATIVE, log=True),
    "weight_decay": Quantity("weight decay", "g", NON_NEGATIVE, log=True),
    "step": Quantity("training step", within=NON_NEGATIVE),
    "epoch": Quantity("epoch", within=NON_NEGATIVE),
    "width": Quantity("m", within=NON_NEGATIVE, log=True, about="m is the width."),
    "samples": Quantity("N", within=NON_NEGATIVE, log=True, about="N is the number of training points."),
    "dim": Quantity("d", within=NON_NEGATIVE, log=True, about="d is the dimension of inputs."),
    **{name: Quantity(name) for name in ("method", "seed", "inputs", "labels", "experiment", "setting", "oracle")},
}
"""Columns that mean the same in every experiment."""
