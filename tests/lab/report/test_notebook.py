import base64
import re

from beyondkernels.lab import Claim, ExperimentPage
from beyondkernels.lab.report.notebook import experiment_html, view_html
from colours import contrast


def test_a_page_in_a_notebook_leads_with_its_verdict_and_picture(page):
    made = experiment_html(page("Parity"))
    order = [made.index(words) for words in ("1 of 3 claims holds, 1 fails, 1 is undecided", "<img", "<table", "rows")]
    assert order == sorted(order)
    [picture] = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', made)
    assert base64.b64decode(picture).decode().lstrip().startswith("<?xml")


def test_a_long_table_is_cut_and_says_so():
    rows = [{"seed": i} for i in range(50)]
    made = view_html("sweep", rows=rows)
    assert made.count("<tr>") == 21
    assert "and 30 more rows: see to_frame()" in made
    assert "more row" not in view_html("sweep", rows=rows[:20])


def test_smoke_shows_no_published_value(figures):
    page = ExperimentPage(
        "a", "", scale="smoke", claims=[Claim("a", "text", paper=123.5)], figures=[figures("x")[4]], seeds=(0,)
    )
    made = experiment_html(page)
    assert "123.5" not in made
    assert "Paper" not in made
    assert "test of the machinery" in made


def test_marks_are_read_on_light_and_dark_pages():
    colours = re.findall(r"\.bk-(?:holds|fails|partly) \{ color: (#\w{6})", view_html("x"))
    assert len(colours) == 3
    for colour in colours:
        for paper in ("#ffffff", "#111111"):
            assert contrast(colour, paper) >= 3.0, colour  # bold, with a shape and a word beside it
