import itertools
import xml.etree.ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from PIL import Image

from beyondkernels.core import InputError
from beyondkernels.lab import Curves, Line, render_png, render_svg
from beyondkernels.lab.report.figures.style import COLOURS, DASHES, MARKERS, SMALL, house_style, look

KINDS = ["curves", "directions", "panels", "overlaid", "dots"]
CASES = list(itertools.product(KINDS, (False, True), ("RF", "Network w/o structure", "W" * 70)))


def drawn(figure, narrow):
    canvas = Canvas(figsize=figure.size(narrow))
    renderer = FigureCanvasAgg(canvas).get_renderer()
    figure.draw(canvas, narrow)
    canvas.draw_without_rendering()
    texts = [*canvas.texts]
    for ax in canvas.axes:
        texts += [*ax.texts, ax.title, ax.xaxis.label, ax.yaxis.label]
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            pad = 1e-6 * (high - low)
            ticks = [tick for tick in axis.get_major_ticks() if low - pad <= tick.get_loc() <= high + pad]
            texts += [tick.label1 for tick in ticks if tick.label1.get_visible()]
    return canvas, renderer, [text for text in texts if text.get_text().strip()]


@pytest.mark.parametrize(("kind", "narrow", "text"), CASES)
def test_words_stay_on_the_figure_and_apart(kind, narrow, text, figures):
    figure = {figure.name: figure for figure in figures(text)}[kind]
    with house_style():
        canvas, renderer, texts = drawn(figure, narrow)
        assert len(texts) > 4
        boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in texts]
        width, height = canvas.bbox.width, canvas.bbox.height
        for words, box in boxes:
            assert box.x0 >= -1 and box.x1 <= width + 1, words
            assert box.y0 >= -1 and box.y1 <= height + 1, words
        for (a, first), (b, second) in itertools.combinations(boxes, 2):
            across = min(first.x1, second.x1) - max(first.x0, second.x0)
            along = min(first.y1, second.y1) - max(first.y0, second.y0)
            assert across <= 1 or along <= 2, (a, b)
        assert min(float(text.get_fontsize()) for text in texts) >= SMALL >= 9


@pytest.mark.parametrize("narrow", [False, True])
def test_svg_is_the_same_every_time_whatever_the_users_settings(figures, narrow):
    for first, again in zip(figures("same"), figures("same"), strict=True):
        expected = render_svg(first, narrow)
        with mpl.rc_context({"font.size": 30, "lines.linewidth": 9, "svg.fonttype": "none", "axes.grid": True}):
            assert render_svg(again, narrow) == expected
            assert mpl.rcParams["font.size"] == 30


def test_svg_carries_words_but_no_date_and_no_font(figures):
    for figure in figures("what is shown"):
        text = render_svg(figure)
        root = ET.fromstring(text)
        found = {element.tag.rpartition("}")[2]: element.text for element in root.iter()}
        assert found["title"] == "what is shown"
        assert found["description"] == "what is shown"
        assert "date" not in found
        assert "creator" not in found
        assert "font-family" not in text
        width, height = figure.size()
        box = [float(part) for part in root.attrib["viewBox"].split()]
        assert box == pytest.approx([0, 0, width * 72, height * 72], abs=1e-4)


def test_a_missing_letter_or_a_lone_dollar_is_drawn():
    render_svg(Curves(name="a", title="a", lines=[Line("漢字 $x_{", [0, 1], [0, 1])], y_label="$", x_label="\\frac"))


def test_the_alternative_text_falls_back_to_the_title():
    assert Curves(name="a", title="what", lines=[]).description == "what"
    assert Curves(name="a", title="what", alt="more", lines=[]).description == "more"


def test_lines_differ_without_colour():
    looks = [(str(look(i)["linestyle"]), look(i)["marker"]) for i in range(24)]
    assert len(set(looks)) == 24
    assert len(COLOURS) == len(DASHES) == len(MARKERS) == len(set(COLOURS)) == len(set(MARKERS))


def test_png_has_its_size_and_the_labels_where_the_svg_has_them(figures, tmp_path):
    curves = figures("RF")[0]
    coarse = Image.open(render_png(curves, tmp_path / "a.png", dots_per_inch=72)).convert("L")
    fine = Image.open(render_png(curves, tmp_path / "b.png", dots_per_inch=144)).convert("L")
    assert coarse.size == pytest.approx([72 * side for side in curves.size()], abs=1)
    for side in (0, 1):  # the first and last dark row and column, in inches
        ends = [np.flatnonzero((np.asarray(image) < 200).any(axis=side))[[0, -1]] for image in (coarse, fine)]
        assert 2 * ends[0] == pytest.approx(ends[1], abs=6)


def test_png_that_cannot_be_written_is_one_sentence(figures, tmp_path):
    with pytest.raises(InputError, match=r"the figure cannot be written to .*: No such file or directory"):
        render_png(figures("x")[0], tmp_path / "missing" / "a.png")
