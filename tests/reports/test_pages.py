import pytest

from beyondkernels.core import InputError
from beyondkernels.reports import Claim, ExperimentPage, Setting
from beyondkernels.reports.pages import file_names, slug

NAMES = ["../../etc/passwd", "a\\b", "C:x", ".hidden", "a b", "javascript:alert(1)", "a" * 500, "é/ü1"]


@pytest.mark.parametrize("name", NAMES)
def test_slugs_stay_in_the_directory(name):
    made = slug(name)
    assert set(made) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
    assert not made.startswith((".", "-"))
    assert 0 < len(made) <= 120


def test_an_id_without_letters_is_refused():
    with pytest.raises(InputError, match=r"id must hold a letter or a digit, got '\.\./\.\.'"):
        slug("../..")


def test_names_that_would_overwrite_each_other_are_refused():
    with pytest.raises(InputError, match="pages must have different ids and scales, got 'A/b' beside 'a/B'"):
        file_names([ExperimentPage("a/B", ""), ExperimentPage("A/b", "")])
    with pytest.raises(InputError, match="got 'index' beside the index"):
        file_names([ExperimentPage("index", "")])
    with pytest.raises(InputError, match="different ids and scales"):
        file_names([ExperimentPage("a", "", scale="smoke"), ExperimentPage("a", "", scale="smoke")])


def test_verdicts_are_counted():
    claims = [Claim("a", "", holds=holds) for holds in (True, True, False, None)]
    assert ExperimentPage("a", "", claims=claims).verdicts == {"holds": 2, "fails": 1, "silent": 1}


def test_origins_are_known():
    with pytest.raises(InputError, match="unknown origin 'papers', did you mean paper"):
        Setting("rate", 1.0, "papers")  # pyright: ignore[reportArgumentType]


def test_two_figures_of_one_name_are_refused(figures):
    curves = figures("x")[0]
    with pytest.raises(InputError, match="figures of 'a' must have different names, got curves more than once"):
        ExperimentPage("a", "", figures=[curves, curves])
