import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beyondkernels.core import InputError
from beyondkernels.reports import Curves, Line, render_svg
from beyondkernels.reports.figures.axes import steps_ticks


@given(st.floats(1e-6, 1e3), st.floats(1.5, 1e9))
def test_ticks_lie_inside_and_are_few(low, ratio):
    ticks = steps_ticks(low, low * ratio)
    assert all(low * 0.99 <= tick <= low * ratio * 1.01 for tick in ticks)
    assert ticks == sorted(set(ticks))
    assert len(ticks) <= 7
    assert len(ticks) >= (2 if ratio >= 10 else 0)
    for tick in ticks:
        mantissa = tick / 10 ** math.floor(math.log10(tick * 1.0001))
        assert min(abs(mantissa - m) for m in (1, 2, 5)) < 1e-3


def test_unknown_scales_are_named():
    line = Line("a", [0, 1], [0, 1])
    with pytest.raises(InputError, match="unknown x_scale 'logg', did you mean log"):
        render_svg(Curves(name="a", title="a", lines=[line], x_scale="logg"))  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="unknown y_scale"):
        render_svg(Curves(name="a", title="a", lines=[line], y_scale="steps"))  # pyright: ignore[reportArgumentType]
