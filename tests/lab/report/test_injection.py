"""Whatever a text says, a page stays a page: no scripts, no handlers, no foreign addresses."""

import dataclasses
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from beyondkernels.lab import PAPERS, render_svg, write_report
from beyondkernels.lab.report.notebook import experiment_html, view_html

HOSTILE = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>'",
    "javascript:alert(1)",
    "]]>--><svg onload=alert(1)>&lt;{{ 7*7 }}{% raw %}",
    "$\\frac{$ __ ^^ \x00\x1b\ufffe\n\t",
    r"$\text{<script>alert(1)</script>}$ $\href{javascript:alert(1)}{x}$ $\style{background:url(//e)}{y}$",
    "[x](javascript:alert(1)) ![y](https://evil.example/y.png) <https://evil.example> <b onclick=alert(1)>z</b>",
    "| a | b |\n|--:|:-:|\n| 1 | 2 |\n\n```html\n<script>alert(1)</script>\n```\n",
]
ELEMENTS = {
    *("html", "head", "meta", "title", "link", "body", "main", "header", "section", "article", "nav", "footer"),
    *("div", "span", "p", "a", "h1", "h2", "h3", "ol", "ul", "li", "dl", "dt", "dd", "small", "strong", "code", "pre"),
    *("table", "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "picture", "source", "img"),
    *("details", "summary", "em", "h4", "blockquote", "hr", "br", "sup", "sub"),
    *("math", "mrow", "mi", "mn", "mo", "mtext", "msup", "msub", "mfrac"),
}
ADDRESSES = {paper.address for paper in PAPERS.values()}
POLICY = "default-src 'none'; img-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'"
URLS = {"href", "src", "srcset", "action", "formaction", "data", "poster"}


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_comment(self, data):
        raise AssertionError(f"a comment appeared: {data}")

    def handle_data(self, data):
        self.text.append(data)


def check(read, files):
    assert set(read.tags) <= ELEMENTS
    ids = {f"#{value}" for _, name, value in read.attributes if name == "id"}
    for tag, name, value in read.attributes:
        assert not name.startswith("on")
        assert name not in ("style", "xlink:href", "action")
        if name in URLS:
            # what a note links to is the one address that is not ours: nothing is loaded from there
            note = tag == "a" and value.startswith("https://evil.example")
            assert value in files or value in ADDRESSES or value in ids or note, f"{tag} {name}={value}"


@pytest.mark.parametrize("missing", [0, 2])
@pytest.mark.parametrize("text", HOSTILE)
def test_pages_hold_only_what_the_templates_hold(text, missing, page, tmp_path):
    hostile = page(text, missing=missing)
    other = dataclasses.replace(page("plain", "mine/<b>x"), scale="smoke", variant={})
    index = write_report([hostile, other, dataclasses.replace(hostile, scale="laptop")], tmp_path)
    pages = sorted(tmp_path.glob("*.html"))
    names = {re.sub(r"\..*", "", path.name) for path in pages}
    assert names == {"features__table1", "index", "mine___b_x"}
    assert len(pages) == 3 + 3  # three pages, two of them under their plain names too, and the index
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    for path in pages:
        read = Page()
        read.feed(path.read_text("utf-8"))
        check(read, files)
    shown = Page()
    shown.feed((tmp_path / "features__table1.html").read_text("utf-8"))
    seen = "".join(shown.text)
    plain = "$" not in text and "\n" not in text
    assert not plain or seen.count(text) >= 15
    assert index == tmp_path / "index.html"


@pytest.mark.parametrize("text", HOSTILE)
def test_a_notebook_gets_nothing_that_acts(text, page):
    made = [
        experiment_html(page(text, missing=1)),
        view_html(text, text, rows=[{text: text}], warning=text),
    ]
    for fragment in made:
        read = Page()
        read.feed(fragment)
        assert set(read.tags) <= ELEMENTS | {"style"}
        assert read.tags.count("style") == 1
        for tag, name, value in read.attributes:
            assert not name.startswith("on")
            assert name != "style"
            assert name not in URLS or (tag == "img" and value.startswith("data:image/svg+xml;base64,"))
        [rules] = re.findall(r"<style>(.*?)</style>", fragment, re.DOTALL)
        assert "url(" not in rules
        assert "@import" not in rules


@pytest.mark.parametrize("text", HOSTILE)
def test_svg_is_inert(text, figures):
    number = HOSTILE.index(text)
    for i, figure in enumerate(figures(text)):
        if i % 3 != number % 3:  # each kind of figure meets some of the texts, and each text some of the kinds
            continue
        for narrow in (False, True) if i == number % 3 else (i % 2 == 0,):
            root = ET.fromstring(render_svg(figure, narrow))
            for element in root.iter():
                kind = element.tag.rpartition("}")[2]
                assert kind not in ("script", "foreignObject", "a", "image", "iframe", "animate", "set", "text")
                for name, value in element.attrib.items():
                    assert not name.rpartition("}")[2].startswith("on")
                    if name.endswith("href"):
                        assert value.startswith("#")
            words = [element.text for element in root.iter() if element.tag.endswith("title")]
            assert words
            if text == HOSTILE[0]:
                assert set(words) == {text}


def test_every_page_carries_the_policy_first(page, tmp_path):
    write_report([page("x")], tmp_path)
    for path in tmp_path.glob("*.html"):
        read = Page()
        read.feed(path.read_text("utf-8"))
        assert ("meta", "content", POLICY) in read.attributes
        assert read.tags[:4] == ["html", "head", "meta", "meta"]
        assert "script" not in read.tags
        assert "style" not in read.tags
