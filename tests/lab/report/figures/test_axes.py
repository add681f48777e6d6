import math

import pytest
from hypothesis import given, strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas

from beyondkernels.lab import Curves, Line, render_svg
from beyondkernels.lab.report.figures.axes import prepare_x, steps_ticks
from beyondkernels.lab.report.figures.base import NARROW, WIDE


@given(st.floats(1e-6, 1e3), st.floats(1.5, 1e9))
def test_ticks_lie_inside_and_are_few(low, ratio):
    ticks = steps_ticks(low, low * ratio)
    assert all(low * 0.99 <= tick <= low * ratio * 1.01 for tick in ticks)
    assert ticks == sorted(set(ticks))
    assert len(ticks) <= 7
    assert len(ticks) >= (2 if ratio >= 3 else 0)
    for tick in ticks:
        mantissa = tick / 10 ** math.floor(math.log10(tick * 1.0001))
        digits = (1, 2, 5) if ratio >= 10 else range(1, 10)
        assert min(abs(mantissa - m) for m in digits) < 1e-3


@pytest.mark.parametrize("place", [88.0, 0.037, 1234.5])
def test_points_that_all_have_one_place_on_a_logarithmic_axis(place):
    figure = Curves(name="a", title="a", lines=[Line("a", [place], [1.0]), Line("b", [place], [2.0])], x_scale="log")
    assert "<svg" in render_svg(figure)


@pytest.mark.parametrize(
    ("width", "last", "aligned"), [(NARROW, 1e5, "right"), (WIDE, 1e5, "center"), (NARROW, 500, "center")]
)
def test_a_long_number_at_the_end_of_a_narrow_axis_stays_inside(width, last, aligned):
    canvas = Canvas(figsize=(width, 3))
    ax = canvas.add_axes((0.1, 0.2, 0.89, 0.7))
    ax.plot([100, last], [1, 2])
    prepare_x(ax, "log", "width")
    FigureCanvasAgg(canvas).draw()
    label = ax.get_xticklabels()[-1]
    assert label.get_horizontalalignment() == aligned
    if aligned == "right":
        assert label.get_window_extent().x1 <= canvas.bbox.x1


def test_the_end_of_a_narrow_axis_is_named_only_where_there_is_room():
    for width, last in ((NARROW, 10_000), (WIDE, 30_000)):
        ax = Canvas(figsize=(width, 3)).add_subplot()
        ax.plot([1, 30_000], [1, 2])
        prepare_x(ax, "log", "step")
        assert ax.get_xticks()[-1] == last
