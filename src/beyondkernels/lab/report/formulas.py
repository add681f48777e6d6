"""Formulas: TeX to MathML for a page, and to plain letters for a terminal."""

from __future__ import annotations

import html
import re
from functools import lru_cache
from xml.etree.ElementTree import Element, tostring

FORMULA = re.compile(r"(?<![\\$])(\$\$?)(?=[^\s$])((?:[^$\\]|\\.)*?)(?<=[^\s\\])\1(?![\d$])", re.DOTALL)
"""TeX between dollars: no space inside the dollars, no digit behind them, so that two prices are no formula."""

_LONGEST = 1000  # characters of TeX; no formula of a note is near it
_MACRO = re.compile(r"\\(def|let|csname|\w*command)\b|[^\S ]*[\x00-\x08\x0b-\x1f]")  # macros could unfold without end
_ELEMENTS = {
    *("math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "msup", "msub", "msubsup", "mfrac", "msqrt", "mroot"),
    *("mover", "munder", "munderover", "mtable", "mtr", "mtd", "mstyle", "mpadded", "menclose", "mphantom"),
}
_ATTRIBUTES = {
    *("display", "displaystyle", "scriptlevel", "mathvariant", "fence", "stretchy", "accent", "minsize", "maxsize"),
    *("linethickness", "lspace", "rspace", "width", "columnalign", "movablelimits", "form", "separator", "symmetric"),
}
RAISED = dict(zip("0123456789+−-=()niTjkmxtabcde", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱᵀʲᵏᵐˣᵗᵃᵇᶜᵈᵉ", strict=True)) | {
    "⊤": "ᵀ",
    "*": "*",
    "∗": "*",
}
RAISED |= {"′": "′", "″": "″"}
"""Letters and signs that have a raised form."""

_LOWERED = dict(zip("0123456789+−-=()ijmnkxtavhlp", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ᵢⱼₘₙₖₓₜₐᵥₕₗₚ", strict=True))
_ACCENTS = {"~": "\u0303", "^": "\u0302", "¯": "\u0304", "→": "\u20d7", "˙": "\u0307", "‾": "\u0305", "―": "\u0305"}
_SPACED = set("=<>≤≥≈∼≠∈∉⊂⊆→↦≪≫∝≡⇒⇔+−×±·∪∩")


def formula_html(tex: str, display: bool = False) -> str:
    r"""A formula as MathML that holds nothing but MathML: every text escaped, no address, no style, no handler.

    What cannot be read as a formula is shown as it was written.

    Arguments:
        tex: TeX without its dollars.
        display: on a line of its own.

    >>> formula_html(r"\alpha^2")
    '<math display="inline"><mrow><msup><mi>α</mi><mn>2</mn></msup></mrow></math>'
    >>> formula_html(r"\frac{")
    '<code>\\frac{</code>'
    """
    tree = _tree(tex, "block" if display else "inline")
    if tree is None:
        return f"<code>{html.escape(tex)}</code>"
    return tostring(_clean(tree), encoding="unicode", short_empty_elements=False)


def formula_text(tex: str) -> str:
    r"""A formula in plain letters.

    >>> print(formula_text(r"k\alpha^2 \le \frac{1}{\sqrt{m}}"), formula_text(r"\tilde\Theta(m^{-1/8})"))
    kα² ≤ 1/√m Θ̃(m^(−1/8))
    """
    tree = _tree(tex)
    return tex if tree is None else re.sub(r"\s+", " ", _words(tree)).strip()


@lru_cache(maxsize=512)
def _tree(tex: str, display: str = "inline") -> Element | None:
    from latex2mathml.converter import convert_to_element

    if len(tex) > _LONGEST or not tex.strip() or _MACRO.search(tex):
        return None
    try:
        return convert_to_element(tex, display=display)
    except Exception:  # the parser has many ways to say that this is not TeX, running out of stack among them
        return None


def _clean(element: Element) -> Element:
    """A copy with the elements and attributes of formulas alone; anything else becomes a plain group."""
    made = Element(element.tag if element.tag in _ELEMENTS else "mrow")
    for name, value in element.attrib.items():
        if name in _ATTRIBUTES and re.fullmatch(r"[\w.% +-]*", value):
            made.set(name, value)
    made.text = html.unescape(element.text or "") or None  # the parser leaves character references unread
    made.extend(_clean(child) for child in element)
    _upright(made)
    return made


def _upright(made: Element) -> None:
    """Join letters that stand upright next to each other: they are a word, such as out, and not a product."""
    children = list(made)
    if len(children) > 1 and all(
        child.tag == "mi" and child.get("mathvariant") == "normal" and not len(child) for child in children
    ):
        word = Element("mi", {"mathvariant": "normal"})
        word.text = "".join(child.text or "" for child in children)
        made[:] = [word]


def _words(element: Element) -> str:
    children = list(element)
    if not children:
        text = html.unescape(element.text or "")
        if element.tag == "mspace":
            return " "
        word = element.tag == "mo" and len(text) > 1 and text.isalpha()  # the name of a function
        return f" {text} " if element.tag == "mo" and text in _SPACED else f"{text} " if word else text
    parts = [_words(child) for child in children]
    parts[0] = parts[0].lstrip()  # a sign in front of everything belongs to what follows
    if parts[0].strip() in ("+", "−"):
        parts[0] = parts[0].strip()
    match element.tag:
        case "msup":
            return parts[0].rstrip() + _script(parts[1], RAISED, "^")
        case "msub" | "munder":
            return parts[0].rstrip() + _script(parts[1], _LOWERED, "_")
        case "msubsup" | "munderover":
            return parts[0].rstrip() + _script(parts[1], _LOWERED, "_") + _script(parts[2], RAISED, "^")
        case "mover":
            accent = _ACCENTS.get(parts[1].strip())
            return parts[0] + (accent if accent and len(parts[0]) == 1 else _script(parts[1], RAISED, "^"))
        case "mfrac":
            return f"{_group(parts[0])}/{_group(parts[1])}"
        case "msqrt":
            return f"√{_group(''.join(parts))}"
        case "mtable":
            return "; ".join(parts)
        case "mtr":
            return ", ".join(parts)
        case _:
            return "".join(parts)


def _script(text: str, letters: dict[str, str], sign: str) -> str:
    """Raised or lowered letters where all of them exist, else in brackets behind a sign."""
    text = text.replace(" ", "")
    if all(letter in letters for letter in text):
        return "".join(letters[letter] for letter in text)
    return f"{sign}{text if len(text) == 1 else text if re.fullmatch(r'[(].*[)]', text) else f'({text})'}"


def _group(text: str) -> str:
    text = text.strip()
    return text if re.fullmatch(r"[\w√'²³ᵀ\u0300-\u036f]+|[(][^()]*[)]", text) else f"({text})"
