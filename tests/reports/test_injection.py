"""Whatever a text says, a page stays a page: no scripts, no handlers, no foreign addresses."""

import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from beyondkernels.reports import render_svg, write_report

HOSTILE = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>'",
    "javascript:alert(1)",
    "]]>--><svg onload=alert(1)>&lt;{{ 7*7 }}{% raw %}",
    "$\\frac{$ __ ^^ \x00\x1b\ufffe\n\t",
]
ELEMENTS = {
    *("html", "head", "meta", "title", "link", "body", "main", "header", "section", "article", "nav", "footer"),
    *("div", "span", "p", "a", "h1", "h2", "h3", "ol", "ul", "li", "dl", "dt", "dd", "small", "strong", "code", "pre"),
    *("table", "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "picture", "source", "img"),
}
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


@pytest.mark.parametrize("text", HOSTILE)
def test_pages_hold_only_what_the_templates_hold(text, page, tmp_path):
    index = write_report([page(text), page("plain", "mine/<b>x")], tmp_path)
    pages = sorted(tmp_path.glob("*.html"))
    assert [path.name for path in pages] == ["features__table1.html", "index.html", "mine___b_x.html"]
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    for path in pages:
        read = Page()
        read.feed(path.read_text("utf-8"))
        assert set(read.tags) <= ELEMENTS
        for tag, name, value in read.attributes:
            assert not name.startswith("on")
            assert name != "style"
            if name in URLS:
                assert value in files or value == "#content", f"{tag} {name}={value}"
    shown = Page()
    shown.feed((tmp_path / "features__table1.html").read_text("utf-8"))
    seen = "".join(shown.text)
    assert seen.count(text.replace("\x00", "").strip() or text) >= 10 or "\x00" in text
    assert index == tmp_path / "index.html"


@pytest.mark.parametrize("text", HOSTILE)
def test_svg_is_inert(text, figures):
    for i, figure in enumerate(figures(text)):
        for narrow in (False, True) if i == 0 else (i % 2 == 0,):
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
