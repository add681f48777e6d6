import pytest

from beyondkernels.core import InputError
from beyondkernels.lab import ExperimentPage
from beyondkernels.lab.report.file_names import by_experiment, file_names, slug

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
    with pytest.raises(InputError, match="pages must have different ids, scales and variants, got 'A/b' beside 'a/B'"):
        file_names([ExperimentPage("a/B", ""), ExperimentPage("A/b", "")])
    with pytest.raises(InputError, match="got 'index' beside the index"):
        file_names([ExperimentPage("index", "")])
    with pytest.raises(InputError, match="different ids, scales and variants"):
        file_names([ExperimentPage("a", "", scale="smoke"), ExperimentPage("a", "", scale="smoke")])
    with pytest.raises(InputError, match="pages must have different ids, got 'a' beside 'A'"):
        file_names([ExperimentPage("A", ""), ExperimentPage("a", "", scale="smoke")])


def test_every_scale_and_variant_has_a_name_of_its_own():
    pages = [
        ExperimentPage("a/b", "", scale=scale, variant=variant)
        for scale in ("smoke", "laptop")
        for variant in ({}, {"alpha": 0.5}, {"alpha": 0.25}, {"alpha": 0.5, "seeds": 3})
    ]
    names = file_names(pages)
    assert len({name.lower() for name in names}) == len(pages)
    assert names[0] == "a__b.smoke"
    assert all(name.startswith(("a__b.smoke", "a__b.laptop")) for name in names)


def test_a_variant_keeps_its_name_whatever_the_order_of_its_settings():
    one = ExperimentPage("a", "", scale="s", variant={"x": 1, "y": (1.0, 2.0)})
    two = ExperimentPage("a", "", scale="s", variant={"y": [1.0, 2.0], "x": 1})
    assert file_names([one]) == file_names([two])


def test_a_finished_standard_run_at_the_largest_scale_speaks_for_its_experiment():
    pages = [
        ExperimentPage("a", "smoke", scale="smoke"),
        ExperimentPage("a", "interrupted", scale="paper", missing=3),
        ExperimentPage("a", "variant", scale="laptop", variant={"alpha": 1}),
        ExperimentPage("a", "standard", scale="laptop"),
        ExperimentPage("b", "only", scale="smoke"),
    ]
    order = by_experiment(pages)
    assert [pages[i].title for i in order["a"]] == ["standard", "variant", "interrupted", "smoke"]
    assert [pages[i].title for i in order["b"]] == ["only"]
