import xml.etree.ElementTree as ET

import pytest

from beyondkernels.lab.report.formulas import FORMULA, formula_html, formula_text

SPOKEN = {
    r"k\alpha^2": "kα²",
    r"\mathrm{out}_1": "out₁",
    r"\|A D V^{(0)}\|": "‖ADV⁽⁰⁾‖",
    r"\tilde\Theta(m^{-1/8})": "Θ̃(m^(−1/8))",
    r"\frac{a+b}{\sqrt{m}}": "(a + b)/√m",
    r"w_i^\top x \le 0": "wᵢᵀx ≤ 0",
    r"\mathbb{E}|F(W; x) - y|^2": "𝔼|F(W;x) − y|²",
    r"\max_x f(x)": "maxₓf(x)",
    r"\tau_w": "τ_w",
    r"x_{i,j}": "x_(i,j)",
    r"W^*": "W*",
    r"\operatorname{sign}\langle v, u\rangle": "sign ⟨v,u⟩",
}


@pytest.mark.parametrize("tex", SPOKEN)
def test_formulas_can_be_read_in_a_terminal_and_keep_every_letter_on_a_page(tex):
    assert formula_text(tex) == SPOKEN[tex]
    root = ET.fromstring(formula_html(tex))
    assert root.tag == "math"
    letters = "".join(root.itertext())
    assert all((letter in SPOKEN[tex]) == (letter in letters) for letter in "αΘτWmxuvy‖⟨")


def test_display_puts_limits_below():
    assert "<munder>" in formula_html(r"\sum_i x_i", display=True)
    assert "<munder>" not in formula_html(r"\sum_i x_i")


@pytest.mark.parametrize(
    "tex", [r"\frac{", "{" * 400, r"\newcommand{\a}{\a\a}\a", r"\def\a{\a\a}\a", "x" * 5000, "\x00", r"\begin{x}", ""]
)
def test_what_is_no_formula_is_shown_as_written(tex):
    shown = formula_html(tex)
    assert shown.startswith("<code>")
    assert formula_text(tex) == tex


@pytest.mark.parametrize(
    "tex",
    [
        r"\text{<img src=x onerror=alert(1)>}",
        r"\href{javascript:alert(1)}{x}",
        r"\style{color:red}{x}",
        r"\color{red}{x}",
        r"\text{&lt;script&gt;}",
        r"\operatorname{<b>}",
    ],
)
def test_formulas_cannot_act(tex):
    root = ET.fromstring(formula_html(tex))
    for element in root.iter():
        assert element.tag in ("math", "mrow", "mi", "mo", "mtext", "mstyle")
        assert not {"href", "style", "class", "mathcolor"} & set(element.attrib)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a $x$ b $y$", ["x", "y"]),
        ("$5 and $6", []),
        (r"\$x$ y", []),
        ("$ x$", []),
        ("$$x$$", ["x"]),
        (r"$a\$b$", [r"a\$b"]),
    ],
)
def test_dollars_that_are_money_are_no_formulas(text, found):
    assert [match[2] for match in FORMULA.finditer(text)] == found
