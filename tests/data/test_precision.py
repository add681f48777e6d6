"""What single precision does not hold is said."""

import warnings

import numpy as np
import pandas as pd
import pytest

import beyondkernels as bk
from beyondkernels.data import DataWarning, given
from beyondkernels.data.precision import lost, varies
from refusals import refused

X = np.random.default_rng(0).standard_normal((200, 3))
NUMBERS = X[:, 0]
TABLE = pd.DataFrame(X, columns=["a", "b", "c"])


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ((X, 1e6 + NUMBERS), r"changes the labels of data by up to 0\.03\d* standard deviations; subtract an offset"),
        ((X, np.stack([NUMBERS, 1e6 + NUMBERS], 1)), "changes the labels of data in column 1 by up to"),
        ((X + np.array([0, 1e7, 0]), NUMBERS), "changes the points of data in column 1 by up to"),
        ((X + np.array([0, 1e7, 1e6]), NUMBERS), "in column 1 and 1 more by up to"),
        ((TABLE + np.array([0, 1e7, 0]), NUMBERS), "changes the points of data in column 'b' by up to"),
        ((np.arange(200) + 10**9, NUMBERS), "changes the points of data in column 0 by up to"),
        ((X.reshape(200, 1, 3) + np.array([0, 0, 1e7]), NUMBERS), r"the points of data in column \(0, 2\) by up to"),
        ((X, 1e-43 * NUMBERS), "changes the labels of data by up to .* scale what is tiny"),
        (((X, NUMBERS), (X[:9] + 1, 1e6 + NUMBERS[:9])), "changes the test labels of data by up to"),
        (((X, NUMBERS), (X[:9] + 1e6, NUMBERS[:9])), r"the test points of data in column \d and 2 more"),
    ],
)
def test_rounding_that_changes_a_column_is_said(data, sentence):
    with pytest.warns(DataWarning, match=sentence):
        given(data)


@pytest.mark.parametrize(
    "data",
    [
        (X, NUMBERS),
        (1e3 + X, 1e3 + NUMBERS),
        (np.where([True, False, False], X, 0.1), NUMBERS),
        (np.where([True, False, False], X, 0.1 + 0.2 * (X / X)), NUMBERS),
        (X.astype(np.float32) + np.float32(1e6), NUMBERS),
        (np.arange(600).reshape(200, 3), NUMBERS),
        (X, 1e8 + np.arange(200) % 2 * 8.0),
    ],
    ids=["plain", "small offset", "constant", "rounding alone", "single already", "whole", "held exactly"],
)
def test_other_rounding_is_not(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given(data, classify=False)


def test_columns_that_vary_by_rounding_alone_lose_nothing():
    assert lost(np.array([0.3, 0.1 + 0.2])).tolist() == [0.0]
    assert varies(np.full((100_000, 2), 0.3)).tolist() == [False, False]
    assert lost(np.array([[1e8, 1.0], [1e8 + 1, 2.0]] * 300)).shape == (2,)
    assert lost(np.tile(np.array([[1e8], [1e8 + 1]]), 600)).min() > 0.1


def test_classes_are_not_rounded():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert given((X, 10**9 + np.arange(200) % 2)).classes == ("1000000000", "1000000001")


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ((X, 1e9 + NUMBERS), r"labels must differ in single precision, got numbers from 99999999\S+ to 100000000\S+"),
        (((X, NUMBERS), (X + 1, 1e9 + NUMBERS)), "test labels must differ in single precision"),
        ((1e300 * X, NUMBERS), r"X must fit into single precision, .* got 6\.4e.299 in row 0; divide"),
    ],
)
def test_what_single_precision_cannot_hold_is_refused(data, sentence):
    refused(sentence, given, data)


def test_new_points_that_single_precision_cannot_hold_are_refused():
    run = bk.fit(bk.kernels.PolynomialKernel(1), (X, NUMBERS), progress=False)
    refused("x must fit into single precision", run.predict, 1e300 * X)
