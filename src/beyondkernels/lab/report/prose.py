"""Words with formulas in them: for pages (Markdown to HTML), and for a terminal."""

from __future__ import annotations

import functools
import html
import re
from typing import TYPE_CHECKING, Any

from beyondkernels.lab.report.formulas import FORMULA, formula_html, formula_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_EXPONENT = re.compile(r"(?<=[\w)])\^\(([\w−+/.·-]{1,20})\)")  # m^(−1/8)
_INDEX = re.compile(r"(?<=[α-ωΑ-Ω‖])_([A-Za-zα-ω0-9ℓ])(?![^\W²])|(?<=(?<!\w)[A-Za-z])_([A-Za-z0-9])(?!\w)")  # τ_w, W_t
_ADDRESS = re.compile(r"https://[^\s]+|#[\w-]+")


def prose_html(markdown: str) -> str:
    r"""Markdown with formulas between dollars, as HTML.

    Nothing in it can act: HTML is shown as text, pictures are left out, and links lead to https or within the page.
    Headings begin at the third level, below those of a page.

    >>> prose_html(r"Predicting *zero* costs $k\alpha^2$.")
    '<p>Predicting <em>zero</em> costs <math display="inline">...</math>.</p>\n'
    """
    return _markdown().render(_printable(markdown))


def line_html(text: str) -> str:
    r"""A line that is plain words but for its formulas, as HTML: no Markdown, so a stray * stays a star.

    >>> line_html(r"W* < $\alpha$")
    'W* &lt; <math display="inline"><mrow><mi>α</mi></mrow></math>'
    """
    return _formulas(_printable(text), _words_html, formula_html)


def line_text(text: str) -> str:
    r"""The same line in plain letters, for a terminal, a figure or a search.

    >>> line_text(r"the error is below $k\alpha^2$")
    'the error is below kα²'
    """
    return _formulas(text, str, lambda tex, display: formula_text(tex))  # noqa: ARG005


def _formulas(text: str, words: Any, formula: Any) -> str:
    """The text with its formulas made by one function and the words between them by another."""
    made, end = [], 0
    for found in FORMULA.finditer(text):
        made += [words(text[end : found.start()]), formula(found[2], found[1] == "$$")]
        end = found.end()
    return "".join([*made, words(text[end:])])


def _words_html(text: str) -> str:
    """Words, escaped, with exponents raised and indices lowered where they are written in plain letters."""
    text = html.escape(re.sub(r"(?<=\d) (?=%)", "\N{NO-BREAK SPACE}", text))  # 56 % stays on one line
    text = _EXPONENT.sub(lambda found: f"<sup>{found[1].replace('-', '−')}</sup>", text)  # no line ends behind a minus
    return _INDEX.sub(lambda found: f"<sub>{found[1] or found[2]}</sub>", text)


def _printable(text: str) -> str:
    """The text without control characters, which HTML cannot hold."""
    return "".join(letter for letter in text if letter.isprintable() or letter in "\n\t")


@functools.cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    made.inline.ruler.before("escape", "formula", _find_formula)
    made.add_render_rule("formula", _write_formula)
    made.add_render_rule("text", _write_text)
    made.core.ruler.push("house_style", _house_style)
    made.validateLink = lambda url: _ADDRESS.fullmatch(url) is not None  # pyright: ignore[reportAttributeAccessIssue]
    return made


def _find_formula(state: StateInline, silent: bool) -> bool:
    found = FORMULA.match(state.src, state.pos) if state.src[state.pos] == "$" else None
    if found is None:
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.content, token.markup = found[2], found[1]
    state.pos = found.end()
    return True


def _write_formula(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:  # noqa: ARG001
    return formula_html(tokens[index].content, tokens[index].markup == "$$")


def _write_text(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:  # noqa: ARG001
    return _words_html(tokens[index].content)


def _house_style(state: Any) -> None:
    """Headings below those of the page, and classes in place of styles, which a page's policy would not apply."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h3" if token.tag in ("h1", "h2") else "h4"
        elif token.type in ("th_open", "td_open"):
            token.attrs = {"class": "number"} if "right" in str(token.attrs.get("style")) else {}
