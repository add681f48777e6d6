import math
from typing import Any

import numpy as np
import pytest

from beyondkernels.core import Outcome
from beyondkernels.lab import Curves, Drawn, Line, Over, OverTime, Quantities, Quantity, by_seed, tabulate

ROWS = tabulate(
    {
        "method": method,
        "samples": n,
        "width": width,
        "seed": seed,
        "status": "finished",
        "error": None if (method, n, width, seed) == ("a", 1, 2, 1) else width + 10 * seed + n,
        "bound": 100.0,
    }
    for method in "ab"
    for n in (1, 2)
    for width in (1, 2, math.inf)
    for seed in (0, 1)
)

QUANTITIES = Quantities(error=Quantity("test error", log=True, unit="%"))


def over(**changes: Any) -> Over:
    given = {"x": "width", "y": "error", "line": "method", "where": {"samples": 1}, "levels": {"nothing": 5.0}}
    return Over("error", "Error over width", "A caption.", "An error", **{**given, **changes})


def drawn(figure: Any) -> Curves:
    assert isinstance(figure, Curves)
    return figure


def test_a_line_for_each_value() -> None:
    (figure,) = map(drawn, over(where={"samples": 2}).draw(ROWS, QUANTITIES))
    assert [line.label for line in figure.lines] == ["a", "b"]
    x, y = figure.lines[0].arrays()
    assert x.tolist() == [1, 2] and y.tolist() == [[3, 4], [13, 14]]  # infinite width has no place on the axis
    assert figure.levels[0].label == "nothing (5)"
    assert figure.caption == "Mean over seeds, shaded from the lowest to the highest. A caption."


def test_labels_scales_and_words_come_from_the_quantities() -> None:
    told = Quantities(error=Quantity("test error", unit="%", log=True, about="Over fresh points."))
    picture = Over("error", x="width", y="error", line="method", where={"samples": 2})
    (figure,) = map(drawn, picture.draw(ROWS, told))
    assert (figure.x_label, figure.y_label, figure.x_scale, figure.y_scale) == ("m", "test error (%)", "log", "log")
    assert figure.title == "Test error (%) over m"
    own = over(where={"samples": 2}, x_label="width", y_label="error", x_scale="linear", y_scale="linear")
    (figure,) = map(drawn, own.draw(ROWS, told))
    assert (figure.x_label, figure.y_label, figure.x_scale, figure.y_scale) == ("width", "error", "linear", "linear")


def test_what_diverged_is_left_out_and_told() -> None:
    (figure,) = map(drawn, over().draw(ROWS, QUANTITIES))
    assert figure.lines[0].arrays()[1].tolist() == [[2, 3], [12, 3]]  # neither mean nor range of the others change
    assert figure.caption.endswith("Diverged and left out: 1 of 2 at method = a, width = 2.")


def test_panels_selections_and_further_lines() -> None:
    line = {"first": {"method": "a"}, "its bound": {"method": "a", "y": "bound"}}
    picture = over(where={}, line=line, panel="samples", more=lambda rows: [Line("rows", [1, 2], [len(rows)] * 2)])
    figures = [drawn(figure) for figure in picture.draw(ROWS, QUANTITIES)]
    assert [figure.name for figure in figures] == ["error-1", "error-2"]
    assert [line.label for line in figures[1].lines] == ["first", "its bound", "rows"]
    assert figures[1].lines[1].arrays()[1].tolist() == [[100, 100], [100, 100]]


def test_nothing_is_drawn_of_nothing() -> None:
    assert over().draw(tabulate([]), QUANTITIES) == [] and over(where={"samples": 9}).draw(ROWS, QUANTITIES) == []
    assert by_seed(ROWS, "nowhere", "error") == ([], [])


def test_over_time_reads_series() -> None:
    def outcome(seed: int, status: Any = "finished") -> Outcome:
        series = {"step": np.array([1.0, 10.0]), "accuracy": np.array([0.5, 0.5 + seed / 10])}
        return Outcome(status, {}, series)

    rows = tabulate(
        {"method": method, "seed": seed, "status": outcome_.status, "outcome": outcome_}
        for method in "ab"
        for seed in (0, 1)
        for outcome_ in [outcome(seed, "diverged" if (method, seed) == ("b", 1) else "finished")]
    )
    (figure,) = map(drawn, OverTime("t", "T", "", "", y="accuracy", factor=100, line="method").draw(rows, QUANTITIES))
    assert figure.lines[0].arrays()[1].tolist() == [pytest.approx([50, 50]), pytest.approx([50, 60])]
    assert len(figure.lines[1].arrays()[1]) == 1  # what diverged is left out


def test_median_and_events_reach_the_figure() -> None:
    (figure,) = map(drawn, over(middle="median", events={"here": 60.0}).draw(ROWS, QUANTITIES))
    assert figure.middle == "median"
    assert [(event.label, event.x) for event in figure.events] == [("here", 60.0)]


def test_a_picture_may_have_code_of_its_own() -> None:
    def draw(picture: Drawn, rows: Any) -> list[Curves]:
        return [Curves(**picture.words, lines=[Line("n", [0], [len(rows)])])]

    (figure,) = map(drawn, Drawn("own", "Own", "c", "a", draw).draw(ROWS, QUANTITIES))
    assert (figure.name, figure.title, figure.caption, figure.alt) == ("own", "Own", "c", "a")


def test_places_on_the_axis_rise_whatever_the_order_of_runs() -> None:
    """Runs at other places may be declared after each other: a line does not go back."""
    shuffled = tabulate(
        {"method": "a", "samples": n, "seed": seed, "status": "finished", "error": 10.0 * n + seed}
        for n in (250, 2000, 1000, math.nan)
        for seed in (1, 0)
    )
    assert by_seed(shuffled, "samples", "error") == ([250, 1000, 2000], [[2501, 10001, 20001], [2500, 10000, 20000]])
