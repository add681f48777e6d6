"""Small pictures: every number has its colour and its place, and words stand in for all of them."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from beyondkernels.core import InputError
from beyondkernels.lab import PictureRow, Pictures, render_svg
from beyondkernels.lab.report.figures.pictures import coarser, colour_of, shades, strips
from beyondkernels.lab.report.figures.style import COLOURS
from lab.report.figures.canvas import drawn

DRAW = np.random.Generator(np.random.Philox(5))


def pictures(*rows, **more):
    return Pictures(name="p", title="Directions", rows=rows, **more)


def test_colours_diverge_from_white():
    found = shades(np.array([[0.0, 2.0, -2.0], [1.0, -0.5, np.nan]]))
    assert found.tolist() == [[0, 12, -12], [6, -3, 0]]
    orange, blue = (np.array(to_rgb(COLOURS[i])) for i in (1, 0))
    by_hand = {0: np.ones(3), 12: orange, -12: blue, 6: (1 + orange) / 2, -3: 0.75 + 0.25 * blue}
    for shade, expected in by_hand.items():
        assert colour_of(shade) == pytest.approx(expected)
    assert not shades(np.zeros((2, 2))).any()


def test_each_picture_has_a_scale_of_its_own():
    image = DRAW.normal(size=(3, 3))
    assert (shades(image) == shades(1e-6 * image)).all()


def test_every_cell_lies_in_one_strip_of_its_shade():
    shade = DRAW.integers(-2, 3, size=(7, 9))
    covered = np.zeros_like(shade)
    for value, runs in strips(shade).items():
        assert value != 0
        for row, first, after in runs:
            assert not covered[row, first:after].any()
            covered[row, first:after] = value
    assert (covered == shade).all()


def test_coarser_pictures_hold_means():
    image = DRAW.normal(size=(2, 5, 4))
    found = coarser(image, 2)
    assert found.shape == (2, 3, 2)
    assert found[1, 0, 1] == pytest.approx(image[1, :2, 2:].mean())
    assert found[0, 2, 0] == pytest.approx(image[0, 4:, :2].mean())


def test_large_pictures_make_no_large_file():
    figure = pictures(*[PictureRow("r", DRAW.normal(size=(8, 3, 32, 32))) for _ in range(3)])
    assert len(render_svg(figure)) < 1_200_000


def test_only_the_large_pictures_are_drawn_coarser():
    rows = PictureRow("large", DRAW.normal(size=(8, 3, 32, 32))), PictureRow("small", DRAW.normal(size=(8, 5, 5)))
    shown = [ax for ax in drawn(pictures(*rows)).axes if ax.patches]
    assert {ax.get_xlim()[1] for ax in shown[:8]} == {11}  # three cells as one: 8 · 3 · 11² is at most 3000
    assert {ax.get_xlim()[1] for ax in shown[8:]} == {5}


def test_channels_stand_beneath_each_other():
    image = DRAW.normal(size=(2, 4, 3))
    (shown,) = PictureRow("r", image[None]).arrays()
    assert shown.shape == (9, 3)
    assert (shown[:4] == image[0]).all()
    assert (shown[5:] == image[1]).all()
    assert np.isnan(shown[4]).all()
    (many,) = PictureRow("r", DRAW.normal(size=(1, 5, 2, 2))).arrays()
    assert many.shape == (5, 8)  # three and two of them


@pytest.mark.parametrize(("narrow", "lines"), [(False, 1), (True, 2)])
def test_a_long_row_goes_on_in_the_next_line(narrow, lines):
    figure = pictures(PictureRow("end", DRAW.normal(size=(8, 3, 3)), [f"{i} %" for i in range(8)]))
    canvas = drawn(figure, narrow)
    shown = [ax for ax in canvas.axes if ax.patches]
    assert [ax.get_xlabel() for ax in shown] == [f"{i} %" for i in range(8)]
    assert len({round(ax.get_position().y0, 6) for ax in shown}) == lines
    boxes = [ax.get_position() for ax in shown]
    assert all(0 <= box.x0 < box.x1 <= 1 and 0 <= box.y0 < box.y1 <= 1 for box in boxes)
    width, height = figure.size(narrow)
    assert all(box.width * width == pytest.approx(box.height * height) for box in boxes)


def test_vectors_and_images_share_a_figure():
    canvas = drawn(pictures(PictureRow("vectors", DRAW.normal(size=(3, 50))), PictureRow("one", np.ones((1, 2, 2)))))
    shown = [ax for ax in canvas.axes if ax.patches]
    assert len(shown) == 4
    assert shown[0].get_xlim() == (0, 50)
    svg = render_svg(pictures(PictureRow("a", np.eye(4)[None])))
    assert svg == render_svg(pictures(PictureRow("a", np.eye(4)[None])))


def test_words_for_those_who_cannot_see_it():
    figure = pictures(PictureRow("start", np.ones((2, 3, 3)), ["60 %", "40 %"]), PictureRow("end", np.ones((1, 3, 3))))
    assert figure.description == "Directions. start: 2 pictures, labelled 60 %, 40 %. end: 1 picture."
    assert pictures(PictureRow("start", np.ones((2, 3, 3))), alt="edges").description == "edges"


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ((), "rows must hold at least one row of pictures, got none"),
        ((PictureRow("r", np.ones(3)),), r"images of 'r' must have shape \(m, height, width\), got \(3,\)"),
        ((PictureRow("r", np.ones((0, 3, 3))),), r"images of 'r' must have shape"),
        ((PictureRow("r", np.ones((2, 3, 3)), ["a"]),), "labels of 'r' must hold a word for each of 2 pictures"),
    ],
)
def test_what_is_refused(rows, sentence):
    with pytest.raises(InputError, match=sentence):
        pictures(*rows)
