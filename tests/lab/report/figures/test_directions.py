"""Neurons stay visible: none is hidden behind a star, and those that lie together are counted."""

import numpy as np
import pytest
from matplotlib.collections import PathCollection

from beyondkernels.core import InputError
from beyondkernels.lab import Directions, Panel
from beyondkernels.lab.report.figures.directions import _frame
from lab.report.figures.canvas import drawn

DRAW = np.random.Generator(np.random.Philox(5))
STARS = np.array([[1.0, 0.0], [-1.0, 0.0]])
SCATTERED = DRAW.normal(size=(60, 2)) / 10
GATHERED = np.where(np.arange(60)[:, None] < 40, STARS[0], STARS[1]) + DRAW.normal(size=(60, 2)) / 1000
NEAR = [0] * 40 + [1] * 20


def axes(*panels, near=NEAR, **more):
    return drawn(Directions(name="d", title="d", panels=panels, star_labels=["+", "-"], near=near, **more)).axes


def counts(ax):
    return sorted(text.get_text() for text in ax.texts)


def test_neurons_that_lie_together_are_counted():
    apart, together = axes(Panel("before", SCATTERED, STARS), Panel("after", GATHERED, STARS))
    assert counts(apart) == []
    assert counts(together) == ["20 neurons", "40 neurons"]


def test_a_crowd_beside_its_star_is_counted_too():
    [ax] = axes(Panel("after", GATHERED + np.array([0.0, 0.3]), STARS))
    assert counts(ax) == ["20 neurons", "40 neurons"]


def test_neurons_without_a_star_are_not_counted():
    [ax] = axes(Panel("after", GATHERED, STARS), near=())
    assert counts(ax) == []


def test_stars_hide_no_neuron():
    [ax] = axes(Panel("after", GATHERED, STARS))
    marks = [mark for mark in ax.collections if isinstance(mark, PathCollection)]
    places = [np.asarray(mark.get_offsets()) for mark in marks]
    sizes = [float(np.asarray(mark.get_sizes())[0]) for mark in marks]
    stars = [mark for mark, size in zip(marks, sizes, strict=True) if size > 100]
    assert len(stars) == 4
    assert all(np.asarray(mark.get_facecolor()).size == 0 for mark in stars)
    # two neurons at one place are both seen: the later one is smaller
    [first], [second] = ([i for i, place in enumerate(places) if len(place) == n] for n in (40, 20))
    assert sizes[first] > 2 * sizes[second]
    assert marks[first].get_zorder() < marks[second].get_zorder()


def test_every_panel_has_room_for_all_that_is_in_it():
    for points in (SCATTERED, GATHERED, SCATTERED * 50):
        panel = Panel("p", points, STARS)
        middle, half = _frame(panel)
        everything = np.concatenate([points, STARS])
        assert (np.abs(everything - middle) < half).all()
        widest = (everything.max(0) - everything.min(0)).max()
        assert half == pytest.approx(0.62 * widest)


def test_several_stars_of_a_kind():
    stars = np.vstack([STARS, STARS + 0.5])
    [ax] = axes(Panel("after", GATHERED, stars), star_kinds=[0, 1, 0, 1])
    marks = [mark for mark in ax.collections if isinstance(mark, PathCollection)]
    colours = [tuple(np.asarray(mark.get_edgecolor())[0]) for mark in marks if np.asarray(mark.get_sizes())[0] > 100]
    assert len(colours) == 8  # a white rim and a star for each
    assert colours[1] == colours[5] != colours[3] == colours[7]
    assert counts(ax) == []  # neurons of a kind are not expected at one place


@pytest.mark.parametrize(
    ("kinds", "sentence"), [([0, 2], r"star_kinds must lie in \[0, 1\]"), ([0, 1, 1], r"\(n, 2\) and 3 stars")]
)
def test_bad_kinds(kinds, sentence):
    with pytest.raises(InputError, match=sentence):
        axes(Panel("after", GATHERED, STARS), near=(), star_kinds=kinds)
