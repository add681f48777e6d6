from html.parser import HTMLParser

import pytest

from beyondkernels.lab import CATALOGUE, find
from beyondkernels.lab.report.prose import line_html, line_text, prose_html


class Words(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.links, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name == "href"]

    def handle_data(self, data):
        self.text += data


def read(html: str) -> Words:
    words = Words()
    words.feed(html)
    return words


def test_markdown_is_set():
    note = "## Setup\n\nIt is *not* `x` but $x^2$:\n\n1. one\n2. two\n\n| a | b |\n|--:|---|\n| 1 | 2 |"
    made = read(prose_html(note))
    assert {"h3", "p", "em", "code", "math", "ol", "li", "table", "th", "td"} <= set(made.tags)
    assert "h2" not in made.tags
    assert "style=" not in prose_html("| a |\n|--:|\n| 1 |")


@pytest.mark.parametrize(
    ("address", "links"),
    [
        ("https://arxiv.org/abs/1905.10337", 1),
        ("#claims", 1),
        ("javascript:alert(1)", 0),
        ("data:text/html,x", 0),
        ("http://plain.example", 0),
        ("//evil.example", 0),
    ],
)
def test_links_lead_to_https_or_within_the_page(address, links):
    assert len(read(prose_html(f"[x]({address})")).links) == links


def test_pictures_and_html_are_words():
    made = read(prose_html("![x](https://evil.example/x.png) <b>bold</b> <script>alert(1)</script>"))
    assert not {"img", "b", "script"} & set(made.tags)
    assert "<script>alert(1)</script>" in made.text


def test_a_line_is_no_markdown():
    made = read(line_html("W* and V* <b> _x_ $\\alpha$"))
    assert made.text == "W* and V* <b> _x_ α"
    assert set(made.tags) == {"math", "mrow", "mi"}
    assert line_text("W* and V* $\\alpha^2$") == "W* and V* α²"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("falls as m^(-0.33), by", "falls as m<sup>−0.33</sup>, by"),  # a line may end behind a hyphen
        ("below τ_w and W_t", "below τ<sub>w</sub> and W<sub>t</sub>"),
        ("at most ‖W‖_F/√d", "at most ‖W‖<sub>F</sub>/√d"),
        ("σ_ζ ≤ σ_φ² · ε_e", "σ<sub>ζ</sub> ≤ σ<sub>φ</sub>² · ε<sub>e</sub>"),
        ("the key test_error, a_long name, x_", "the key test_error, a_long name, x_"),
        ("m^(<b>)", "m^(&lt;b&gt;)"),
        ("below 56 %", "below 56\N{NO-BREAK SPACE}%"),
    ],
)
def test_exponents_and_indices_in_plain_letters_are_set(text, html):
    assert line_html(text) == html
    assert prose_html(text) == f"<p>{html}</p>\n"


@pytest.mark.parametrize("name", CATALOGUE)
def test_notes_of_the_experiments_hold_no_formula_that_cannot_be_set(name):
    experiment = find(name)
    for note in experiment.notes(experiment.settings("laptop")):
        assert "\\" not in prose_html(note)
        assert "$" not in prose_html(note)
