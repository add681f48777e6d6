"""The search against a second one that looks at the whole plane of settings."""

import itertools
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from beyondkernels.core import InputError
from beyondkernels.lab.declaration.search_axes import Axis, Found, Search, check_axis, number, position, searched
from beyondkernels.learning.sweep import one_two_five

Point = tuple[float, float]
WIDE = (1e-4, 1e2)
RATES, DECAYS = Axis((0.02, 0.05, 0.1), WIDE), Axis((0.002, 0.01, 0.05), WIDE)


def bowl(rate: float, decay: float, at: Point) -> float:
    return math.log(rate / at[0]) ** 2 + math.log(decay / at[1]) ** 2


def in_rounds(rates: Axis, decays: Axis, *errors: Callable[[float, float], float]) -> tuple[list[Found], Search, list]:
    """The search as an experiment does it: places are computed when they are asked for, round by round."""
    known: dict[tuple[float, ...], dict[str, float]] = {}
    rounds = []
    while True:
        search = searched(
            {"rate": rates, "decay": decays}, lambda place, known=known: known.get((place["rate"], place["decay"]))
        )
        new = [(place["rate"], place["decay"]) for place in search.places]
        new = [point for point in new if point not in known]
        if not new:
            assert search.found is not None
            return list(search.found.values()), search, rounds
        rounds.append(len(new))
        assert sum(rounds) <= 1000
        known |= {point: {str(i): error(*point) for i, error in enumerate(errors)} for point in new}


def point_of(found: Found) -> Point:
    return found.place["rate"], found.place["decay"]


def test_numbers_and_places() -> None:
    numbers = one_two_five(1e-6, 1e6)
    assert [number(place) for place in range(-18, 19)] == numbers
    assert [position(value) for value in numbers] == list(range(-18, 19))
    for value in (0.3, 0.0, -1.0, 2.5, math.inf, math.nan):
        with pytest.raises(InputError, match="1, 2 or 5 times a power of ten"):
            position(value)


def test_an_axis_goes_on_by_its_own_step() -> None:
    decays = Axis((0.002, 0.01, 0.05), WIDE)
    assert (decays.lower(), decays.higher()) == (0.0005, 0.2)
    assert (Axis((0.05,), WIDE).lower(), Axis((0.05,), WIDE).higher()) == (0.02, 0.1)
    ends = Axis((0.1, 0.2, 0.5), (0.1, 0.5))
    assert (ends.lower(), ends.higher()) == (None, None)
    assert Axis((0.2,), (0.1, 0.5)).grown([0.2]).values == (0.1, 0.2, 0.5)
    assert ends.grown([0.1, 0.5]) == ends
    assert decays.grown([0.01]) == decays


@pytest.mark.parametrize("at", [(0.05, 0.01), (0.5, 0.2), (0.001, 0.0005), (2.0, 0.01), (0.02, 5.0)])
def test_the_best_of_a_bowl_is_found_inside(at: Point) -> None:
    (found,), search, _ = in_rounds(RATES, DECAYS, lambda rate, decay: bowl(rate, decay, at))
    assert not found.on_edge
    # the second way: every number of the set, thinned as the axes are
    decays = [number(place) for place in range(position(0.01) - 8, position(0.01) + 12, 2)]
    best = min(itertools.product(one_two_five(*WIDE), decays), key=lambda point: bowl(*point, at))
    assert (point_of(found), found.error) == (best, bowl(*best, at))
    assert all(found.place[name] in axis.values[1:-1] for name, axis in search.axes.items())


def test_a_grid_whose_best_is_inside_does_not_grow() -> None:
    _, search, rounds = in_rounds(RATES, DECAYS, lambda rate, decay: bowl(rate, decay, (0.05, 0.01)))
    assert rounds == [9]
    assert search.axes == {"rate": RATES, "decay": DECAYS}


def test_every_criterion_is_followed() -> None:
    first, second = (0.2, 0.01), (0.05, 0.0005)
    found, _, _ = in_rounds(
        RATES, DECAYS, lambda rate, decay: bowl(rate, decay, first), lambda rate, decay: bowl(rate, decay, second)
    )
    assert [point_of(each) for each in found] == [first, second]
    assert not any(each.on_edge for each in found)


def test_limits_end_the_search() -> None:
    rates, decays = Axis((0.02, 0.05, 0.1), (0.01, 0.5)), Axis((0.002, 0.01), (0.002, 0.2))
    (found,), _, rounds = in_rounds(rates, decays, lambda rate, decay: decay - rate)  # to 0.5, and stays at 0.002
    assert (point_of(found), found.on_edge) == ((0.5, 0.002), True)
    assert rounds == [6, 2, 2]


def test_divergence_is_infinitely_bad() -> None:
    def error(rate: float, decay: float) -> float:
        return math.inf if rate > 0.05 else bowl(rate, decay, (0.2, 0.01))

    (found,), _, _ = in_rounds(RATES, DECAYS, error)
    assert (point_of(found), found.on_edge) == ((0.05, 0.01), False)
    (everything,), _, _ = in_rounds(Axis((0.1,), (0.05, 0.2)), Axis((0.01,), (0.005, 0.02)), lambda *_: math.inf)
    assert everything.error == math.inf


@pytest.mark.parametrize(
    ("rates", "limits", "sentence"),
    [
        ((0.1, 0.3), (0.05, 1.0), r"^the values of a search must be 1, 2 or 5 times a power of ten, got 0\.3$"),
        ((0.1, 2.0), (0.05, 1.0), r"^rates must lie in \[0\.05, 1\.0\], got 2\.0$"),
        ((0.1,), (1.0, 0.05), r"^limits must be two increasing numbers, got \(1\.0, 0\.05\)$"),
    ],
)
def test_values_stand_on_the_grid_and_within_the_limits(rates: Any, limits: Any, sentence: str) -> None:
    check_axis(SimpleNamespace(rates=(0.1, 0.2), limits=(0.1, 1.0)), "rates", "limits")
    settings = SimpleNamespace(rates=rates, limits=limits)
    with pytest.raises(InputError, match=sentence):
        check_axis(settings, "rates", "limits")
