"""What settings and quantities of the paper's experiments have in common."""

from __future__ import annotations

from typing import Annotated, Any

from beyondkernels import lab
from beyondkernels.core.constraints import at_least, at_most, between, constraint, not_empty, not_negative, rising

Steps = Annotated[lab.Count, at_most(10**8)]
Widths = Annotated[lab.Counts, at_most(10**8)]
Points = Annotated[int, at_least(2), at_most(10**6)]
Times = Annotated[tuple[int, ...], not_negative, rising, not_empty]
Several = Annotated[lab.Counts, constraint("at least two numbers", lambda n: len(n) > 1, of_each=False, verb="hold")]
Open = Annotated[float, between(0, 1, "()")]
Closed = Annotated[float, between(0, 1)]
Std = Annotated[float, between(1e-9, 1)]
Reach = Annotated[float, between(1e-6, 1e6)]
"""What many settings are: counts within what a machine can hold, and numbers within the ends of an interval."""


def size(label: str, form: str = "", about: str = "", **more: Any) -> lab.Quantity:
    """A quantity that is never negative; arguments as for :class:`~beyondkernels.lab.Quantity`."""
    return lab.Quantity(label, form, lab.NON_NEGATIVE, about=about, **more)


def drawn(picture: lab.Drawn, lines: list[lab.Line], x: str, y: str, **more: Any) -> list[lab.Curves]:
    """Lines as a figure, if there are any, over axes with these labels; both are logarithmic unless said otherwise."""
    axes = {"x_label": x, "y_label": y, "x_scale": "log", "y_scale": "log", **more}
    return [lab.Curves(**picture.words, lines=lines, **axes)] if lines else []
