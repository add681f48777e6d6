"""Marks and lines of a scatter: what is drawn where, and what is left out."""

import math
import re

import numpy as np
import pytest

from beyondkernels.core import InputError
from beyondkernels.lab import Line, render_svg
from beyondkernels.lab.report.figures.scatter import Marks, Scatter
from lab.report.figures.canvas import drawn


def parts(figure: Scatter):
    (ax,) = drawn(figure).axes
    return ax, [(line.get_xdata(), line.get_ydata()) for line in ax.get_lines()]


def test_lines_first_then_marks_without_what_is_not_finite():
    figure = Scatter(
        name="s",
        title="s",
        marks=[Marks("a", [1, 2, math.nan, 4], [1, math.inf, 3, 0.5]), Marks("b", [3.0], [2.0], hollow=True)],
        lines=[Line("bound", [1, 2], [[1, 3], [3, 5]])],
    )
    _, found = parts(figure)
    expected = [([1, 2], [2, 4]), ([1, 4], [1, 0.5]), ([3], [2])]
    for (x, y), (wanted_x, wanted_y) in zip(found, expected, strict=True):
        assert np.asarray(x).tolist() == wanted_x
        assert np.asarray(y).tolist() == wanted_y


def test_logarithms_leave_out_what_is_not_positive():
    marks = [Marks("a", [0.0, -1.0, 0.1, 10.0], [1.0, 1.0, 0.0, 2.0])]
    for figure, wanted in (
        (Scatter(name="s", title="s", marks=marks, x_scale="log"), [0.1, 10.0]),
        (Scatter(name="s", title="s", marks=marks, x_scale="log", y_scale="log"), [10.0]),
        (Scatter(name="s", title="s", marks=marks, y_scale="log"), [0.0, -1.0, 10.0]),
    ):
        _, ((x, _),) = parts(figure)
        assert np.asarray(x).tolist() == wanted


@pytest.mark.parametrize("x_scale", ["linear", "log"])
def test_no_mark_stands_on_the_edge(x_scale):
    ax, _ = parts(Scatter(name="s", title="s", marks=[Marks("a", [2, 50, 3], [1, 2, 3])], x_scale=x_scale))
    ends = [2.0, 50.0] if x_scale == "linear" else [math.log(2), math.log(50)]
    room = 0.04 * (ends[1] - ends[0])
    limits = ax.get_xlim() if x_scale == "linear" else [math.log(end) for end in ax.get_xlim()]
    assert limits == pytest.approx((ends[0] - room, ends[1] + room))


def test_shapes_must_fit():
    with pytest.raises(InputError, match=r"^x and y of marks 'a' must be one number a run, got \(2,\) and \(1,\)$"):
        Marks("a", [1, 2], [1])


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize(
    "marks",
    [
        [],
        [Marks("nothing", [], [])],
        [Marks("lost", [math.nan], [1.0])],
        [Marks(f"group {i}", [i + 1.0], [i + 0.5], i % 2 == 0) for i in range(12)],
    ],
    ids=["none", "empty", "lost", "many"],
)
@pytest.mark.parametrize("scale", ["linear", "log"])
def test_strange_data_is_drawn_without_a_warning(marks, scale, narrow):
    figure = Scatter(name="s", title="s", marks=marks, x_label="‖W‖", y_label="error", x_scale=scale, y_scale=scale)
    svg = render_svg(figure, narrow)
    assert svg.endswith("</svg>\n")
    assert svg == render_svg(figure, narrow)


def test_hollow_marks_are_outlines():
    figure = Scatter(name="s", title="s", marks=[Marks("a", [1], [1], hollow=True), Marks("b", [2], [2])])
    ax, _ = parts(figure)
    hollow, full = ax.get_lines()
    assert hollow.get_markerfacecolor() == "none"
    assert hollow.get_markeredgecolor() == hollow.get_color()
    assert full.get_markerfacecolor() == full.get_color()
    assert not re.search("nan", render_svg(figure))
