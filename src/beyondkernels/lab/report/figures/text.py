"""Text in figures: how wide it is, how long it may be, and how labels keep apart."""

from __future__ import annotations

import contextlib
import functools
import re
import warnings
from collections.abc import Iterator, Sequence

from beyondkernels.core import require
from beyondkernels.lab.report.figures.style import FONT, SIZE
from beyondkernels.lab.report.formulas import RAISED

_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")

_POWER = re.compile(r"\^(?:[(]([^()]+)[)]|(\w))")
_RAISED = RAISED | {"/": "ᐟ"}


def clean(text: str) -> str:
    r"""Text without characters that neither a font nor XML can hold.

    >>> clean("one\x00two")
    'one two'
    """
    return _CONTROL.sub(" ", text)


def raised(text: str) -> str:
    """Powers with raised exponents, where all their letters have a raised form in the font.

    >>> raised("promises m^(−1/8)"), raised("d^4, 2^ℓ, m^(0.5)")
    ('promises m⁻¹ᐟ⁸', 'd⁴, 2^ℓ, m^(0.5)')
    """
    return _POWER.sub(_exponent, text)


def _exponent(power: re.Match[str]) -> str:
    letters = power[1] or power[2]
    known = all(letter in _RAISED for letter in letters)
    return "".join(_RAISED[letter] for letter in letters) if known else power[0]


def shorten(text: str, most: int = 34) -> str:
    """One line of text, cut where it would push the picture off the page.

    >>> shorten("a label that goes on and on and on", 12)
    'a label tha…'
    """
    line = raised(" ".join(clean(text).split()))
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


@functools.lru_cache(maxsize=4096)
def width_of(text: str, size: float = SIZE) -> float:
    """How many points wide a line of text is drawn."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=FONT, size=size)
    with letters_may_miss():
        return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


@contextlib.contextmanager
def letters_may_miss() -> Iterator[None]:
    """No warning for a letter the font lacks: it is drawn as a box, and the words around the figure still have it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def fit(text: str, width: float, size: float = SIZE) -> str:
    """One line of text, cut where it would be wider than ``width`` points."""
    line = shorten(text, 200)
    if width_of(line, size) <= width:
        return line
    kept = len(line)
    while kept and width_of(f"{line[:kept].rstrip()}…", size) > width:
        kept -= 1
    return f"{line[:kept].rstrip()}…"


def fold(text: str, width: float, size: float = SIZE) -> list[str]:
    """A text in lines of at most ``width`` points, broken between words, a word too long being cut."""
    lines: list[str] = []
    for word in text.split() or [""]:
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_of(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(fit(word, width, size))
    return lines


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    r"""Positions of labels that want to stand at given heights but need room.

    .. math:: \min_p \sum_i (p_i - w_i)^2 \quad\text{with}\quad |p_i - p_j| \ge g \;(i \ne j),\quad \ell \le p_i \le h

    in the order of the w_i (of equals, the first stands highest): with :math:`q_i = p_i - i g` this is isotonic
    regression, then clipped to the bounds. Where there is not room for all, the gap shrinks.

    Arguments:
        wanted: the w_i.
        gap: g.
        low: ℓ.
        high: h.

    >>> spread([5.0, 5.0, 20.0], 4.0, 0.0, 30.0)
    [7.0, 3.0, 20.0]
    """
    require(low <= high and gap >= 0, f"gap must be at least 0 and low at most high, got {gap}, {low}, {high}")
    n = len(wanted)
    if n == 0:
        return []
    from scipy.optimize import isotonic_regression

    g = min(gap, (high - low) / max(n - 1, 1))
    order = sorted(range(n), key=lambda i: (wanted[i], -i))
    q = isotonic_regression([wanted[i] - rank * g for rank, i in enumerate(order)]).x
    p = [0.0] * n
    for rank, i in enumerate(order):
        p[i] = min(max(float(q[rank]), low), high - (n - 1) * g) + rank * g
    return p
