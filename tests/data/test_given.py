"""Finite data sets: read as they come, split once, never leaking."""

import gc
import json
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from beyondkernels.core import Stream, build, describe, digest
from beyondkernels.data import DataWarning, GivenData, given, readers as reading
from refusals import refused

X = np.arange(60, dtype=np.float32).reshape(30, 2)
CLASSES = np.arange(30) % 3


def rows(problem: GivenData, part: str) -> set[bytes]:
    return {row.tobytes() for row in problem.arrays[f"{part}_x"]}


def frame() -> pd.DataFrame:
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": CLASSES})


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ((X.tolist(), CLASSES.tolist()), {}),
        ((torch.tensor(X), torch.tensor(CLASSES)), {}),
        ((pd.DataFrame(X), pd.Series(CLASSES)), {}),
        (frame(), {"target": "kind"}),
        (TensorDataset(torch.tensor(X), torch.tensor(CLASSES)), {}),
        (DataLoader(TensorDataset(torch.tensor(X), torch.tensor(CLASSES)), batch_size=7), {}),
        ((X.astype(np.float64), CLASSES.astype(np.uint8)), {}),
    ],
    ids=["lists", "tensors", "tables", "one table", "data set", "loader", "other precision"],
)
def test_one_problem_however_the_data_come(data, options):
    assert digest(given(data, **options)) == digest(given((X, CLASSES)))


def test_nothing_leaks_and_nothing_is_lost():
    problem = given((X, CLASSES), validation=0.25, test=None)
    parts = [rows(problem, part) for part in ("train", "validation", "test")]
    assert [len(part) for part in parts] == [18, 6, 6]
    assert set().union(*parts) == {row.tobytes() for row in X}
    for part, size in zip(("train", "validation", "test"), (6, 2, 2), strict=True):
        assert np.bincount(problem.arrays[f"{part}_y"]).tolist() == [size] * 3


def test_seeds_choose_among_training_points_alone():
    problem = given((X, CLASSES))
    first, again, other = (problem.take("train", 10, seed).x for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert {row.numpy().tobytes() for row in torch.cat([first, other])} <= rows(problem, "train")
    assert torch.equal(problem.take("test", 6, 0).x, problem.take("test", 6, 1).x)
    refused("no fresh points", problem.sample, 3, Stream(0))
    refused("has 24 points, got n=25", problem.take, "train", 25, 0)


def test_a_pair_of_training_and_test_data_stays_as_it_is():
    problem = given(((X[:20], CLASSES[:20]), (X[20:], CLASSES[20:])))
    assert np.array_equal(problem.arrays["train_x"], X[:20])
    assert np.array_equal(problem.arrays["test_x"], X[20:])
    two_points = given((X[:2], CLASSES[:2]), test=(X[2:], CLASSES[2:] % 2))
    assert two_points.size("train") == 2


def test_labels_of_every_kind():
    words = np.array(["no", "yes"])[np.arange(30) % 2]
    signs = given((X, words))
    assert signs.classes == ("no", "yes")
    assert signs.out_dim == 1
    y = signs.take("train", 24, 0).y
    assert set(y.tolist()) == {-1.0, 1.0}
    assert signs.decoded(y).tolist() == [signs.classes[i] for i in signs.arrays["train_y"]]
    several = given((X, CLASSES))
    y = several.take("train", 24, 0).y
    assert y.shape == (24, 3)
    assert several.decoded(y).tolist() == several.arrays["train_y"].tolist()
    numbers = given((X, X[:, 0] / 7))
    assert numbers.classes == ()
    assert numbers.out_dim == 1
    assert given((X, X / 7)).out_dim == 2
    assert given((X, CLASSES), classify=False).classes == ()
    assert given((X, (X[:, 0] > 9))).classes == ("False", "True")
    assert given((X, np.where(CLASSES > 0, 1.0, -1.0))).decoded(torch.tensor([-0.5, 0.5])).tolist() == [-1, 1]


def test_images_of_bytes_become_numbers_up_to_one():
    images = np.full((4, 3, 3), 255, np.uint8)
    images[:, 0, 0] = range(4)
    problem = given((images, [0, 1, 0, 1]), test_fraction=0.5)
    assert problem.in_shape == (3, 3)
    assert problem.arrays["train_x"].max() == 1.0


def test_test_points_among_the_training_points_are_counted():
    with pytest.warns(DataWarning, match="2 of the 12 test points of mine are among its training points"):
        given(((X[:20], CLASSES[:20]), (X[18:], CLASSES[18:])), name="mine")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given((X, CLASSES))


class Endless(IterableDataset):
    def __iter__(self):
        while True:
            yield torch.zeros(2), 0


@pytest.mark.parametrize(
    ("data", "options", "sentence"),
    [
        (7, {}, r"data must be \(X, y\)"),
        (frame(), {"target": "sort"}, "target must be one of the columns a, b, kind, got 'sort'"),
        (((X, CLASSES), (X[:, :1], CLASSES)), {}, "test points must have the shape of the training points"),
        (((X, CLASSES), (X + 100, CLASSES + 1)), {}, r"test labels must be among the classes 0, 1, 2, got \['3'\]"),
        (Endless(), {}, "goes on; give one that ends"),
        (((X, CLASSES),) * 3, {}, r"a pair of training and test data, got 3 sets; validation=0\.1 puts training"),
        (((X, CLASSES),) * 2, {"test": (X, CLASSES)}, "test must be given once, got training and test data as a pair"),
        (((X, CLASSES),) * 2, {"test_fraction": 0.3}, r"a fraction of the data, got both test data and 0\.3"),
        ((X, [b"\xff", b"a", b"b"] * 10), {}, r"y must hold bytes that are text in UTF-8, got b'\\xff'"),
    ],
)
def test_bad_data(data, options, sentence, monkeypatch):
    monkeypatch.setattr(reading, "MOST_POINTS", 100)
    refused(sentence, given, data, **options)


def test_other_processes_read_it_from_a_file(tmp_path):
    problem = given((X, CLASSES)).shared(tmp_path)
    description = describe(problem, remarks=True)
    key, train = digest(problem), problem.arrays["train_x"].copy()
    assert digest(given((X, CLASSES))) == key
    del problem
    gc.collect()
    again = build(description)
    assert np.array_equal(again.arrays["train_x"], train)
    code = (
        "import json, sys; from beyondkernels.core import build; "
        "print(build(json.loads(sys.argv[1])).arrays['train_x'].sum())"
    )
    said = subprocess.run([sys.executable, "-c", code, json.dumps(description)], capture_output=True, text=True)
    assert float(said.stdout) == train.sum(), said.stderr


def test_what_nobody_holds_is_asked_for_again():
    content = given((X + 1000, CLASSES)).content
    gc.collect()
    refused("give it again", GivenData, content)


def test_tables_for_training_and_test():
    table = pd.DataFrame(X, columns=["a", "b"]).assign(kind=CLASSES)
    both, named = given((table[:20], table[20:]), target="kind"), given(table[:20], test=table[20:], target="kind")
    assert both == named
    assert (both.size("train"), both.size("test")) == (20, 10)
    refused("target names a column of a DataFrame", given, (table[["a"]], CLASSES), target="kind")
    assert given((table[["a"]], table[["kind"]])).size("train") == 24


def test_three_points_are_no_three_sets():
    items = [(X[i], CLASSES[i]) for i in range(3)]
    assert given(items, test=(X[3:], CLASSES[3:])).size("train") == 3
    pair = given(([[1.0, 2.0], [3.0, 4.0]], [0, 1]), test=(X, CLASSES % 2))
    assert pair.size("train") == 2


def test_bytes_and_words_are_the_same_classes():
    words = np.where(CLASSES > 0, "yes", "no")
    assert digest(given((X, words.astype(bytes)))) == digest(given((X, words)))
    assert given(((X[:20], words[:20]), (X[20:], words[20:].astype(bytes)))).classes == ("no", "yes")


SIZES = pd.Categorical(np.array(["low", "mid", "high"])[CLASSES], ["low", "none", "mid", "high"], ordered=True)


@pytest.mark.parametrize(
    ("data", "options"),
    [((X, SIZES), {}), ((X, pd.Series(SIZES)), {}), (frame().assign(kind=SIZES), {"target": "kind"})],
)
def test_ordered_categories_keep_their_order(data, options):
    problem = given(data, **options)
    assert problem.classes == ("low", "mid", "high")
    y = problem.take("train", 24, 0).y
    assert problem.decoded(y).tolist() == [problem.classes[i] for i in problem.arrays["train_y"]]
    assert np.array_equal(problem.arrays["train_y"], given((X, CLASSES)).arrays["train_y"])


def test_other_classes_are_sorted():
    assert given((X, SIZES.as_unordered())).classes == ("high", "low", "mid")
    assert given((X, np.asarray(SIZES))).classes == ("high", "low", "mid")
    scores = pd.Categorical(CLASSES, [2, 0, 1], ordered=True)
    assert given((X, scores)).classes == ("2", "0", "1")
    assert given((X, scores)).decoded(torch.eye(3)).tolist() == [2, 0, 1]
    assert given((X, scores), classify=False).classes == ()
