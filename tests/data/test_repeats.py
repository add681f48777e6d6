"""Points that come twice are counted, and no others."""

import warnings

import numpy as np
import pytest

from beyondkernels.data import DataWarning, given

X = np.arange(60, dtype=np.float32).reshape(30, 2)
CLASSES = np.arange(30) % 3


def said(data, **options) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        given(data, **options)
    assert all(each.category is DataWarning for each in caught)
    return [str(each.message) for each in caught]


def test_points_that_differ_before_they_are_rounded_are_no_repeats():
    wide = X + 1e9 + np.arange(60).reshape(30, 2) / 100
    (rounded, too) = said(((wide[:20], CLASSES[:20]), (wide[:20] + 0.5, CLASSES[:20])))
    assert "changes the points of data" in rounded
    assert "changes the test points of data" in too
    assert any("20 of the 20 test points" in each for each in said(((wide, CLASSES), (wide[:20], CLASSES[:20]))))


@pytest.mark.parametrize(
    ("train", "test"),
    [(np.float32, np.float64), (np.float64, np.float32), (np.int64, np.float64), (np.uint8, np.int32)],
)
def test_precisions_of_both_sides_may_differ(train, test):
    scale = 0.1 if np.dtype(train).kind == np.dtype(test).kind == "f" else 1
    points = X.astype(np.float64) * scale
    (one,) = said(((points.astype(train), CLASSES), (points[:6].astype(test), CLASSES[:6])))
    assert "6 of the 6 test points of data are among its training points, so the test is too easy" in one


def test_images_of_bytes_are_compared_with_what_becomes_of_them():
    images = np.arange(120, dtype=np.uint8).reshape(30, 2, 2)
    (one,) = said(((images, CLASSES), (images[:6].astype(np.float32) / 255, CLASSES[:6])))
    assert "6 of the 6 test points" in one


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_negative_zero_is_a_zero(kind):
    train, test = np.where(X == 0, 0.0, X).astype(kind), np.where(X == 0, -0.0, X).astype(kind)[:1]
    (one,) = said(((train, CLASSES), (test, CLASSES[:1])))
    assert "1 of the 1 test points" in one


def test_validation_points_are_compared_with_the_others():
    data = np.repeat(X[:10], 3, axis=0), np.arange(30) * 0.5
    first, second, third = said(data, validation=0.5)
    assert " validation points of data are among its training points, so what is chosen by them is too easy" in first
    assert " test points of data are among its training points, so the test is too easy" in second
    assert " test points of data are among its validation points, so the test is too easy for what is chosen" in third
    with pytest.warns(DataWarning):
        arrays = given(data, validation=0.5).arrays
    parts = {part: [row.tobytes() for row in arrays[f"{part}_x"]] for part in ("train", "validation", "test")}
    counts = [
        f"{sum(row in parts[other] for row in parts[part])} of the {len(parts[part])} {part}"
        for part, other in (("validation", "train"), ("test", "train"), ("test", "validation"))
    ]
    assert [" ".join(each.split()[:5]) for each in (first, second, third)] == counts
