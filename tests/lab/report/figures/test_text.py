import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize

from beyondkernels.core import InputError
from beyondkernels.lab.report.figures.style import FONT
from beyondkernels.lab.report.figures.text import _RAISED, fit, fold, raised, shorten, spread, width_of


@settings(max_examples=40)
@given(st.lists(st.integers(0, 40).map(float), min_size=1, max_size=4))
def test_labels_stand_as_close_as_they_can(wanted):
    gap, low, high = 6.0, 0.0, 40.0
    found = spread(wanted, gap, low, high)
    apart = [abs(a - b) for a, b in itertools.combinations(found, 2)]
    assert all(d >= gap - 1e-9 for d in apart)
    assert all(low - 1e-9 <= p <= high + 1e-9 for p in found)
    order = sorted(range(len(wanted)), key=lambda i: (wanted[i], -i))
    limits = [{"type": "ineq", "fun": lambda p, a=a, b=b: p[b] - p[a] - gap} for a, b in itertools.pairwise(order)]
    start = np.empty(len(wanted))
    start[order] = np.arange(len(wanted)) * gap
    best = minimize(
        lambda p: float(np.sum((p - np.array(wanted)) ** 2)),
        start,
        method="SLSQP",
        bounds=[(low, high)] * len(wanted),
        constraints=limits,
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert sum((p - w) ** 2 for p, w in zip(found, wanted, strict=True)) == pytest.approx(best.fun, abs=1e-4)


def test_the_first_of_equals_stands_highest():
    assert spread([5, 5, 5], 2, 0, 10) == [7, 5, 3]


def test_too_many_labels_share_the_room():
    assert spread([1.0] * 5, 10, 0, 8) == [8, 6, 4, 2, 0]
    assert spread([], 1, 0, 1) == []
    with pytest.raises(InputError, match="gap must be at least 0 and low at most high"):
        spread([1.0], 1, 2, 1)


def test_width_grows_with_text_and_size_and_knows_no_formulas():
    assert width_of("WW") > width_of("W") > width_of("i") > 0
    assert width_of("word", 20) == pytest.approx(2 * width_of("word", 10), rel=0.05)
    assert width_of("$x^2$") > width_of("x^2") > 0


@settings(max_examples=40)
@given(st.text(max_size=40), st.floats(30, 300))
def test_a_fitted_line_fits(text, width):
    line = fit(text, width)
    assert width_of(line) <= width
    assert "\n" not in line
    assert all(width_of(part) <= width for part in fold(text, width))


def test_what_fits_is_not_cut():
    assert fit("short", 300) == "short"
    assert fold("a few words", 300) == ["a few words"]
    assert fold("two more words", width_of("two more") + 1) == ["two more", "words"]
    assert shorten("x" * 34) == "x" * 34


def test_powers_are_set_as_powers():
    assert raised("m^(−1/8) and m^(1/4), d^2") == "m⁻¹ᐟ⁸ and m¹ᐟ⁴, d²"
    assert raised("x^(0.5), a ^ b, 2^ℓ, ^, x^()") == "x^(0.5), a ^ b, 2^ℓ, ^, x^()"  # letters without a raised form
    assert shorten("(a) promises m^(−1/8)") == fit("(a) promises m^(−1/8)", 200) == "(a) promises m⁻¹ᐟ⁸"
    assert width_of(fit("m^(−1/8)", 200)) < 0.7 * width_of("m^(−1/8)")


def test_the_font_has_all_raised_letters():
    from matplotlib.font_manager import FontProperties, findfont
    from matplotlib.ft2font import FT2Font

    letters = FT2Font(findfont(FontProperties(family=FONT))).get_charmap()
    assert [letter for letter in _RAISED.values() if ord(letter) not in letters] == []
