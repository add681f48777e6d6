"""The range of Lemmas 5.5 and 5.8, and what is read of it."""

import pytest

from beyondkernels.papers.overparam.measurements import (
    allowed_radii,
    changed_share,
    least_rooms,
    three_layer_bounds,
)


def test_shares_of_changed_gates():
    """(261), (254) and (270) over the widths."""
    m, sigma, w, v = 100, 0.03, 0.02, 0.3
    first = (w**0.8 * m**1.2 + sigma * m**1.5) / m
    second = (sigma * m**1.5 + v ** (2 / 3) * m + w ** (2 / 3) * m ** (1 / 6) * m) / m
    assert changed_share(m, sigma * 10, w, v) == pytest.approx(first + second)


def test_radii_that_the_lemmas_allow():
    m = 100
    assert allowed_radii(m, (0.05, 0.5)) == (0.05, 0.5)
    assert allowed_radii(m, (0.0, 0.0)) == (m**-0.75, m**-0.5)
    assert allowed_radii(m, (m**-0.5, 1.0)) == (m**-0.5, 1.0)
    assert allowed_radii(m, (0.101, 0.5)) is allowed_radii(m, (0.05, 1.01)) is None


def test_rooms_of_three_layers_are_those_within_the_range():
    """The start never counts, and short increments have the right sides of the least radii."""
    m = 100
    series = {"first_radius": [0.0, 0.001, 0.05, 0.2], "second_radius": [0.0, 0.05, 0.5, 0.5]}
    series |= {"left_over_max": [9.0, 0.5, 0.25, 1e9], "left_over_bound": [1.0, 1.0, 1.0, 1.0]}
    series |= {f"{name}_{end}": [1.0] * 4 for name in ("first_flips", "second_flips") for end in ("max", "bound")}
    rooms, inside = least_rooms(series, ("first_flips", "second_flips", "left_over"), m)
    short, usual = (three_layer_bounds((m, m), radii)["left_over"] for radii in ((m**-0.75, m**-0.5), (0.05, 0.5)))
    assert inside == 2
    assert rooms["left_over"] == pytest.approx(min(short / 0.5, usual / 0.25))
    outside = {**series, "second_radius": [2.0] * 4}
    assert least_rooms(outside, ("left_over",), m) == ({"left_over": None}, 0)
