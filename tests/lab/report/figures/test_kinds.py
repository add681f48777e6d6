"""What the figure kinds compute before anything is drawn, each a second time by hand."""

import math

import numpy as np
import pytest

from beyondkernels.core import InputError
from beyondkernels.lab import (
    Curves,
    Directions,
    Distribution,
    Dot,
    DotColumn,
    Dots,
    Event,
    Histogram,
    Level,
    Line,
    Panel,
    render_svg,
)
from lab.report.figures.canvas import drawn

PANEL, EMPTY = Panel("p", [[1, 2]], [[0, 0]]), Panel("p", np.zeros((0, 2)), np.zeros((0, 2)))
NOWHERE = DotColumn("q", [Dot(math.nan, None, None, math.inf)])
DRAW = np.random.Generator(np.random.Philox(11))


def test_bands_are_what_they_say():
    y = DRAW.normal(size=(4, 6))
    line = Line("a", range(6), y)
    for i in range(6):
        column = [y[s, i] for s in range(4)]
        mean = sum(column) / 4
        s = math.sqrt(sum((v - mean) ** 2 for v in column) / 3)
        for band, low, high in (
            ("range", min(column), max(column)),
            ("deviation", mean - s, mean + s),
            ("none", mean, mean),
        ):
            found = line.summary(band)
            assert [part[i] for part in found] == pytest.approx([i, mean, low, high])


def test_the_middle_can_be_the_median():
    y = [[1.0, 5.0], [2.0, 9.0], [60.0, 6.0]]
    assert [list(part) for part in Line("a", [0, 1], y).summary("range", "median")] == [[0, 1], [2, 6], [1, 5], [60, 9]]
    assert Line("a", [0, 1], y).end("median") == (1, 6)
    assert Line("a", [0, 1], y).end() == (1, pytest.approx(20 / 3))


def test_events_are_drawn_with_their_labels():
    lines = [Line("a", [0, 4], [1.0, 2.0])]
    for narrow in (False, True):
        canvas = drawn(Curves(name="c", title="c", lines=lines, events=[Event("layer 3 joins", 2.0)]), narrow)
        (ax,) = canvas.axes
        assert [text.get_text() for text in ax.texts] == ["layer 3 joins"]
        assert any(np.asarray(line.get_xdata()).tolist() == [2.0, 2.0] for line in ax.lines)
        assert ax.get_xlim() == (0, 4)


def test_a_line_ends_where_it_was_last_finite():
    assert Line("a", [1, 2, 3], [4, 5, math.nan]).end() == (2, 5)
    assert Line("a", [1, 2], [[1, math.nan], [1, 1]]).end() == (1, 1)
    assert Line("a", [1, 2], [math.nan, math.inf]).end() is None


def test_shares_are_counted_by_hand():
    values = [np.append(DRAW.uniform(-0.2, 1.2, size=60), [math.nan, 0.0, 1.0]), np.array([0.31])]
    edges, shares = histogram(*[Distribution("", v) for v in values], limits=(0, 1), bins=10).shares()
    assert edges == pytest.approx([i / 10 for i in range(11)])
    for v, share in zip(values, shares, strict=True):
        finite = [min(max(x, 0.0), 1.0) for x in v if math.isfinite(x)]
        for i in range(10):
            inside = [x for x in finite if edges[i] <= x < edges[i + 1] or (i == 9 and x == 1.0)]
            assert share[i] == pytest.approx(len(inside) / len(finite))


def test_a_histogram_of_one_value_or_none_has_bins():
    for values in ([2.0, 2.0], []):
        edges, (share,) = histogram(Distribution("", values), bins=4).shares()
        assert (np.diff(edges) > 0).all()
        assert share.sum() == (1.0 if values else 0.0)


def histogram(*distributions, **more):
    return Histogram(name="h", title="", distributions=distributions, x_label="", **more)


def dots(methods, *quantities):
    return Dots(name="d", title="", methods=methods, quantities=quantities)


def directions(panels, star_labels, **more):
    return Directions(name="d", title="", panels=panels, star_labels=star_labels, **more)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Curves(name="No Spaces", title="", lines=[]), "name of a figure must be small letters"),
        (lambda: Line("a", [1, 2], [1, 2, 3]), r"y of line 'a' must be \(points,\) or \(seeds, points\), got \(1, 3\)"),
        (lambda: histogram(), "at least one distribution"),
        (lambda: histogram(Distribution("", []), bins=0), "bins must be positive, got 0"),
        (lambda: histogram(Distribution("", []), limits=(1, 1)), "limits must increase"),
        (lambda: dots([]), "methods must hold at least one name"),
        (lambda: dots(["a"]), "at least one quantity"),
        (lambda: dots(["a"], DotColumn("q", [])), "'q' must hold 1 dots, got 0"),
        (lambda: directions([], []), "at least one panel"),
        (lambda: directions([PANEL], []), r"must hold points \(n, 2\) and 0 stars, got \(1, 2\) and \(1, 2\)"),
        (lambda: directions([PANEL], ["s"], near=[0, 1]), "near must hold one index for each of the 1 neurons, got 2"),
        (lambda: directions([Panel("", [], [])], ["s"] * 5), "at most 4"),
    ],
)
def test_bad_input_is_one_sentence(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize(
    "figure",
    [
        Curves(name="a", title="nothing", lines=[]),
        Curves(name="a", title="no seeds", lines=[Line("a", [1, 2], np.zeros((0, 2)))]),
        Curves(
            name="a",
            title="holes",
            lines=[
                Line("zero", [0, 1, 10], [0, 1e-8, 1e-3]),
                Line("negative", [1, 10, 100], [-1, -1, -1]),
                Line("gone", [1, 2], [math.nan, math.inf]),
                Line("one point", [3], [[1], [2]]),
            ],
            levels=[Level("zero", 0.0)],
            x_scale="steps",
            y_scale="log",
            band="deviation",
        ),
        Curves(name="a", title="flat", lines=[Line("a", [0, 1], [5, 5])], x_scale="log"),
        Dots(name="a", title="no values", methods=["a"], quantities=[NOWHERE]),
        Directions(name="a", title="no neurons", panels=[EMPTY], star_labels=[]),
        Directions(name="a", title="lost", panels=[Panel("p", [[math.nan, 1]], [[0, 0]])], star_labels=["s"]),
    ],
    ids=lambda figure: figure.title if hasattr(figure, "title") else str(figure),
)
def test_strange_data_is_drawn_without_a_warning(figure, narrow):
    assert render_svg(figure, narrow).endswith("</svg>\n")
