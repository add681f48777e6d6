import pytest

from beyondkernels.core import InputError
from beyondkernels.lab import Claim, ExperimentPage, write_report
from beyondkernels.lab.report.pages import SMOKE_BANNER


def test_two_figures_of_one_name_are_refused(figures):
    curves = figures("x")[0]
    with pytest.raises(InputError, match="figures of 'a' must have different names, got curves more than once"):
        ExperimentPage("a", "", figures=[curves, curves])


def test_the_key_figure_comes_first_and_must_exist(figures):
    drawn = figures("x")[:3]
    page = ExperimentPage("a", "", figures=drawn, key_figure="panels")
    assert [figure.name for figure in page.figures_in_order] == ["panels", "curves", "directions"]
    assert ExperimentPage("a", "", figures=drawn).figures_in_order[0].name == "curves"
    with pytest.raises(InputError, match="unknown key_figure 'panel', did you mean panels"):
        ExperimentPage("a", "", figures=drawn, key_figure="panel")


def test_smoke_is_a_test_of_the_machinery_and_knows_no_paper():
    smoke, laptop = ExperimentPage("a", "", scale="smoke"), ExperimentPage("a", "", scale="laptop")
    assert (smoke.warning, smoke.shows_published) == (SMOKE_BANNER, False)
    assert (laptop.warning, laptop.shows_published) == ("", True)
    assert not ExperimentPage("a", "", scale="laptop", published=False).shows_published
    assert ExperimentPage("a", "", scale="smoke", banner="mine").warning == "mine"


def test_where_nothing_published_may_stand_figures_have_none(figures):
    dots = figures("x")[4]
    for page in (ExperimentPage("a", "", figures=[dots], scale="smoke"), ExperimentPage("a", "", figures=[dots])):
        [shown] = page.figures_in_order
        given = [dot.published for quantity in shown.quantities for dot in quantity.dots]  # pyright: ignore
        assert any(value is not None for value in given) == page.shows_published


def test_a_page_says_why_nothing_published_is_shown(tmp_path):
    pages = [
        ExperimentPage(
            "a", "", scale=scale, published=published, departures=["alpha", "dim"], claims=[Claim("c", "t", 7.25)]
        )
        for scale, published in (("laptop", False), ("paper", True), ("smoke", None))
    ]
    write_report(pages, tmp_path)
    laptop, paper, smoke = ((tmp_path / f"a.{scale}.html").read_text("utf-8") for scale in ("laptop", "paper", "smoke"))
    assert "alpha, dim: no published value is shown" in laptop
    assert "7.25" not in laptop
    assert "7.25" in paper
    assert "no published value is shown" not in paper
    assert "test of the machinery" in smoke
    assert "7.25" not in smoke


def test_an_interrupted_page_is_unfinished_whatever_its_claims_say():
    claims = [Claim("a", "", holds=True)]
    assert ExperimentPage("a", "", claims=claims).state == "holds"
    assert ExperimentPage("a", "", claims=claims, missing=1).state == "unfinished"
