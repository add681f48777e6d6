"""Error sentences: they name the argument, what came, and what would do."""

import math

import pytest

import beyondkernels as bk
from refusals import refused


def test_require():
    bk.core.require(True, "never said")
    refused(r"^said$", bk.core.require, False, "said")
    assert issubclass(bk.core.InputError, ValueError)
    assert issubclass(bk.core.StoreError, bk.core.InputError)


@pytest.mark.parametrize("value", [0, -1, -0.5, 0.0, math.nan, -math.inf])
def test_positive_refuses(value):
    refused(f"^pairs must be positive, got {value}$", bk.core.require_positive, "pairs", value)


def test_what_is_no_number_is_refused_in_a_sentence():
    for value in ("8GB", None, [1]):
        refused(r"^memory must be a number, got ", bk.core.require_positive, "memory", value)
        refused(r"^share must be a number, got ", bk.core.require_between, "share", value, 0, 1)


def test_unknown_offers_the_nearest():
    with pytest.raises(bk.core.InputError, match=r"^unknown scale 'labtop', did you mean laptop\?$"):
        bk.core.unknown("scale", "labtop", ["smoke", "laptop", "paper"])
    with pytest.raises(bk.core.InputError, match=r"^unknown name 'table11', did you mean table1 or table12\?$"):
        bk.core.unknown("name", "table11", ["table1", "table12", "figure"])


def test_unknown_lists_all_when_nothing_is_near():
    with pytest.raises(bk.core.InputError, match=r"^unknown scale 'xyz', known: smoke, laptop, paper$"):
        bk.core.unknown("scale", "xyz", (name for name in ("smoke", "laptop", "paper")))


@pytest.mark.parametrize("value", [3, None, math.sqrt, 2.5])
def test_unknown_speaks_of_what_is_no_name_at_all(value):
    refused(r"^unknown activation .*, known: truncated_relu$", bk.core.unknown, "activation", value, ["truncated_relu"])


@pytest.mark.parametrize(
    ("value", "least", "sentence"),
    [
        (0, 1, "n must be positive, got 0"),
        (-1, 0, "n must be at least 0, got -1"),
        (2.0, 1, "n must be a whole number, got 2.0"),
        (True, 1, "n must be a whole number, got True"),
        ("3", None, "n must be a whole number, got '3'"),
        (None, None, "n must be a whole number, got None"),
    ],
)
def test_whole_refuses(value, least, sentence):
    with pytest.raises(bk.core.InputError) as caught:
        bk.core.require_whole("n", value, least)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("brackets", "inside"),
    [("[]", (1, 1.5, 2)), ("(]", (1.5, 2)), ("[)", (1, 1.5)), ("()", (1.0000001, 1.5))],
)
def test_between(brackets, inside):
    for value in (0, 0.999, 1, 1.0000001, 1.5, 2, 2.001, math.nan, math.inf, -math.inf):
        if value in inside or (1 < value < 2):
            bk.core.require_between("share", value, 1, 2, brackets)
        else:
            with pytest.raises(bk.core.InputError) as caught:
                bk.core.require_between("share", value, 1, 2, brackets)
            assert str(caught.value) == f"share must lie in {brackets[0]}1, 2{brackets[1]}, got {value}"
