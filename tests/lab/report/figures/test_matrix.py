"""The grid of numbers: what each cell shows, and what is refused."""

import math
from xml.etree import ElementTree as ET

import pytest

from beyondkernels.core import InputError
from beyondkernels.lab import render_svg
from beyondkernels.lab.report.figures import Group, Matrix
from lab.report.figures.canvas import drawn

GROUPS = (Group("with", ["a", "b"], [[50.0, 99.96], [None, math.nan]]), Group("without", ["a"], [[75.0], [100.0]]))


def matrix(**more):
    words = {"name": "m", "title": "m", "rows": ["one", "two"], "groups": GROUPS, "limits": (50.0, 100.0)}
    return Matrix(**(words | more))


def cells(axes):
    """The texts inside the cells, by their places."""
    return {(t.get_position()[0], t.get_position()[1]): t for t in axes.texts if t.get_transform() == axes.transData}


@pytest.mark.parametrize("narrow", [False, True])
def test_every_number_has_its_cell(narrow):
    figure = matrix(format=".1f")
    first, second = drawn(figure, narrow).axes
    shown = [{place: text.get_text() for place, text in cells(axes).items()} for axes in (first, second)]
    assert shown == [{(0.5, 0.5): "50.0", (1.5, 0.5): "100.0"}, {(0.5, 0.5): "75.0", (0.5, 1.5): "100.0"}]
    assert len(first.patches) == len(second.patches) == 2  # no number, no cell
    assert [label.get_text() for label in first.get_yticklabels()] == ["one", "two"]
    assert [label.get_text() for label in second.get_yticklabels()] == (["one", "two"] if narrow else ["", ""])
    pale, deep = (cells(first)[place].get_color() for place in ((0.5, 0.5), (1.5, 0.5)))
    assert deep == "white" != pale
    alphas = [patch.get_alpha() for patch in first.patches]
    assert alphas == pytest.approx([0.06, 0.06 + 0.84 * 0.9992])
    ET.fromstring(render_svg(figure))


def test_shades_stay_within_the_limits():
    assert [matrix().shade(value) for value in (0.0, 50.0, 75.0, 100.0, 120.0)] == [0, 0, 0.5, 1, 1]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"rows": []}, "rows must hold at least one name"),
        ({"groups": []}, "groups must hold at least one group"),
        ({"limits": (1.0, 1.0)}, "limits must increase"),
        ({"rows": ["one"]}, "'with' must hold 1 rows of 2 numbers"),
        ({"groups": [Group("g", ["a", "b"], [[1.0], [2.0]])]}, "'g' must hold 2 rows of 2 numbers"),
    ],
)
def test_what_is_refused(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        matrix(**changes)
