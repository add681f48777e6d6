import json
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from beyondkernels.lab.report.numbers import is_number, plain, show_exactly, show_number


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (100, "%", "100.0 %"),
        (-0.04, "%", "0.0 %"),
        (-3.25, "", "−3.25"),
        (0, "", "0"),
        (1350.4, "", "1,350"),
        (2e9, "", "2.0 × 10⁹"),
        (math.nan, "%", "–"),
        (np.float32(0.5), "", "0.500"),
    ],
)
def test_numbers_are_short(value, unit, text):
    assert show_number(value, unit) == text


@given(st.floats(1e-9, 1e9))
def test_three_digits_are_close(value):
    text = show_number(value).replace(",", "").replace("−", "-")
    if "×" in text:
        mantissa, power = text.split(" × 10")
        read = float(mantissa) * 10.0 ** int(power.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")))
        assert read == pytest.approx(value, rel=0.06)
    else:
        assert float(text) == pytest.approx(value, rel=0.006)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_settings_are_shown_exactly(value):
    text = show_exactly(value).replace("−", "-").replace(" × 10", "e")
    if text.lstrip("-").startswith("10") and any(digit in text for digit in "⁰¹²³⁴⁵⁶⁷⁸⁹"):
        text = text.replace("10", "1e", 1)
    assert float(text.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-"))) == value


def test_exact_values_of_other_kinds():
    assert show_exactly({"torch": "2.13", "cores": 2}) == "torch 2.13, cores 2"
    assert show_exactly(np.array([1, 2])) == "1, 2"
    assert show_exactly(()) == "none"
    assert show_exactly(math.inf) == "∞"
    assert show_exactly("as is") == "as is"


def test_what_counts_as_a_number():
    numbers = [1, 2.5, np.float32(1), np.int64(3), math.nan]
    others = [True, "1", None, [1], np.array([1.0]), np.bool_(True), {}]
    assert all(map(is_number, numbers))
    assert not any(map(is_number, others))


def test_plain_data_is_json():
    data = {"a": np.array([1.0, np.inf]), 3: (np.int64(2), None, object)}
    text = json.dumps(plain(data), allow_nan=False)
    assert json.loads(text) == {"a": [1.0, None], "3": [2, None, str(object)]}
