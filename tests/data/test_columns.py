"""Columns of tables go by their names."""

import json

import numpy as np
import pandas as pd
import pytest

from beyondkernels.core import build, describe, digest
from beyondkernels.data import given
from refusals import refused

X = np.arange(90, dtype=np.float32).reshape(30, 3)
KINDS = np.arange(30) % 3
TABLE = pd.DataFrame(X, columns=["a", "b", "c"])
LABELLED = TABLE.assign(kind=KINDS)
MIXED = ["kind", "c", "a", "b"]


@pytest.mark.parametrize(
    ("data", "target"),
    [
        ((LABELLED[:20], LABELLED[20:][MIXED]), "kind"),
        (((TABLE[:20], KINDS[:20]), (TABLE[20:][["c", "a", "b"]], KINDS[20:])), None),
        (((pd.DataFrame(X[:20]), KINDS[:20]), (pd.DataFrame(X[20:])[[2, 0, 1]], KINDS[20:])), None),
    ],
    ids=["target", "pairs", "numbered"],
)
def test_test_points_have_the_columns_of_the_training_points(data, target):
    assert np.array_equal(given(data, target=target).arrays["test_x"], X[20:])


@pytest.mark.parametrize(
    "test", [X[20:], pd.DataFrame(X[20:]), X[20:].tolist()], ids=["array", "numbered columns", "lists"]
)
def test_what_has_no_names_is_read_by_position(test):
    assert np.array_equal(given(((TABLE[:20], KINDS[:20]), (test, KINDS[20:]))).arrays["test_x"], X[20:])
    for train in (X[:20], pd.DataFrame(X[:20])):
        problem = given(((train, KINDS[:20]), (TABLE[20:][["b", "a", "c"]], KINDS[20:])))
        assert np.array_equal(problem.arrays["test_x"], X[20:][:, [1, 0, 2]])


@pytest.mark.parametrize(
    ("test", "sentence"),
    [
        (LABELLED.drop(columns="b"), "the test data must have the columns of the training points, got none called 'b'"),
        (LABELLED.rename(columns={"b": "B"}), "got none called 'b'"),
        (LABELLED.assign(d=1.0), "the training points alone, 'a', 'b', 'c', got 'd' besides"),
        (pd.concat([LABELLED[["b", "a", "c", "kind"]], TABLE[["a"]]], axis=1), "got several called 'a'"),
    ],
)
def test_other_columns_are_refused_by_name(test, sentence):
    refused(sentence, given, (LABELLED, test), target="kind")


def test_columns_of_one_name_stay_where_they_are():
    twice = pd.DataFrame(X, columns=["a", "a", "b"])
    assert np.array_equal(given(((twice[:20], KINDS[:20]), (twice[20:], KINDS[20:]))).arrays["test_x"], X[20:])


def test_names_are_kept_and_are_no_part_of_the_identity():
    problem = given(LABELLED, target="kind")
    assert (problem.columns, problem.target) == (("a", "b", "c"), "kind")
    plain = given((X, KINDS))
    assert (plain.columns, plain.target) == ((), None)
    assert digest(problem) == digest(plain)
    assert build(json.loads(json.dumps(describe(problem, remarks=True)))) == problem
