"""An audit as an experiment: its parts, its store, its page."""

import json
from typing import Any

import numpy as np
import pytest
import torch

import beyondkernels as bk
from beyondkernels.auditing import Audit, ladder
from beyondkernels.store import Store
from refusals import refused

X = bk.core.Stream(0).child("points").normal(120, 5)
Y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")


def model() -> Any:
    return torch.nn.Sequential(
        torch.nn.Linear(5, 12), torch.nn.ReLU(), torch.nn.Linear(12, 12), torch.nn.ReLU(), torch.nn.Linear(12, 2)
    )


OPTIONS: dict[str, Any] = {"epochs": 3, "seeds": 2, "points": 40, "snapshots": 4, "progress": False, "name": "small"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> tuple[Any, Any]:
    """An audit with all its parts, and its store."""
    folder = tmp_path_factory.mktemp("audit") / "store"
    return bk.audit(model(), (X, Y), store=folder, **OPTIONS), folder


def test_all_parts_have_their_rows(whole):
    found, _ = whole
    rows = found.to_frame()
    assert len(found.ladder) == 14
    assert found.ladder["seeds"].tolist() == [2] * 14
    assert found.frozen["block"].tolist() == ["0", "2", "4"]
    assert found.correction["block"].tolist() == ["0"] * 4 + ["2"] * 4
    assert sorted(set(rows["part"])) == ["correction", "frozen", "ladder", "probe"]
    assert (rows["error"] + rows["score"]).tolist() == pytest.approx([100] * len(rows))
    assert sorted(set(found.when["step"])) == list(found.experiment.subject.moments(4))
    assert set(found.layers["block"]) == {"0", "2", "4"}
    assert found.directions["end/directions"].shape[1:] == (5,)
    json.dumps(found.result.as_json(), allow_nan=False)


def test_scores_are_those_of_the_learners_alone(whole):
    """The rung of the model is ``bk.fit`` with the same options, seed by seed; that of a kernel is its own fit."""
    found, _ = whole
    rows = found.to_frame()
    for seed in (0, 1):
        run = bk.fit(model(), (X, Y), epochs=3, seed=seed, progress=False)
        mine = rows[(rows["rung"] == "model") & (rows["seed"] == seed)]["score"]
        assert list(mine) == pytest.approx([100 * run.test_accuracy])
    linear = bk.fit(bk.kernels.TunedKernel((bk.kernels.PolynomialKernel(1),)), (X, Y), progress=False)
    assert list(rows[rows["rung"] == "linear"]["score"]) == pytest.approx([100 * linear.test_accuracy] * 2)


def test_the_share_of_features_is_read_off_the_trained_kernel(whole):
    found, _ = whole
    scores = dict(zip(found.ladder["rung"], found.ladder["score"], strict=True))
    fixed = {
        name: scores[name]
        for name, kind in zip(found.ladder["rung"], found.ladder["kind"], strict=True)
        if kind == "fixed features"
    }
    gap = scores["model"] - max(fixed.values())
    claim = next(each for each in found.claims if each.id == "features")
    assert claim.measured == pytest.approx(gap)
    carried = next(each for each in found.claims if each.id == "carried")
    assert carried.measured == pytest.approx(scores["model"] - scores["trained tangent kernel"])


def test_a_stored_audit_is_read_and_an_interrupted_one_goes_on(whole):
    found, folder = whole
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("done.json")}
    again = bk.audit(model(), (X, Y), store=folder, **OPTIONS)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("done.json")} == before
    assert again.sentence == found.sentence
    part = bk.audit(model(), (X, Y), store=folder, parts=["ladder"], without=["feature machine"], **OPTIONS)
    assert len(part.ladder) == 13
    new = len(list(folder.rglob("done.json"))) - len(before)
    assert new == 2  # the model's own runs, which measure less now
    other = bk.audit(model(), (X.flip(0), Y[::-1].copy()), store=folder, parts=["when"], **OPTIONS)
    assert len(Store.open(folder).requests()) >= 3
    assert len(list(folder.rglob("done.json"))) == len(before) + new + 2  # other data, other runs
    assert other.ladder["rung"].tolist() == ["model"]


def test_a_page_begins_with_what_was_found(whole, tmp_path):
    found, _ = whole
    index = found.write(tmp_path)
    page = (tmp_path / "audit__small.html").read_text()
    assert index.is_file()
    assert page.index(found.sentence[:30]) < page.index("<figure")
    for name in ("ladder", "when", "drift", "where", "correction", "what"):
        assert f"{name}.svg" in page
    assert len(found._repr_html_()) < 200_000
    assert "laptop" not in page
    assert "What was asked of the model" in page and "nobody has looked into it" not in page


def test_numbers_are_scored_by_the_variance_they_explain():
    y = torch.stack([X[:, 0], 3 * X[:, 1] + 1], 1)
    two = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    found = bk.audit(two, (X, y), parts=["ladder"], without=["feature machine"], **OPTIONS)
    scores = dict(zip(found.ladder["rung"], found.ladder["score"], strict=True))
    assert scores["linear"] == pytest.approx(100, abs=0.1)
    assert scores["constant"] < 1  # the mean of the training labels is not that of the test labels
    run = bk.fit(two, (X, y), epochs=3, progress=False, seed=1)
    test = found.experiment.subject.problem.take("test", found.experiment.subject.test, 0).y
    spread = ((test - test.mean(0)) ** 2).sum(1).mean()
    rows = found.to_frame()
    mine = rows[(rows["rung"] == "model") & (rows["seed"] == 1)]["score"]
    assert list(mine) == pytest.approx([100 * (1 - run.test_loss / float(spread))])


def test_rungs_that_cannot_be_had_say_why():
    few = Audit(model(), (X, Y), epochs=1, settings={"exact_points": 50})
    rungs = {rung.name: rung for rung in ladder(few.subject, few.settings("laptop"))}
    assert rungs["feature machine"].make is None
    assert rungs["feature machine"].why == "96 points are more than exact_points = 50"
    make: Any = rungs["tangent kernel"].make
    assert make().solver == "iterative"
    assert "feature machine (96 points are more than exact_points = 50)" in few.remarks(few.settings(""))[-1]


def test_blocks_can_be_named():
    named = Audit(model(), (X, Y), epochs=1, blocks={"below": ("0", "2"), "top": "4"})
    assert named.subject.block_names == ("below", "top")
    refused("'9'", Audit, model(), (X, Y), epochs=1, blocks=("9",))


def test_large_samples_are_solved_by_the_iterative_solver():
    options: dict[str, Any] = {**OPTIONS, "exact_points": 50, "seeds": 1}
    few = ("last layer", "linearised network", "layer by layer", "early features")
    rows: Any = bk.audit(model(), (X, Y), parts=["ladder"], without=few, **options).to_frame()
    kernels = ["linear", "Laplace kernel", "Gaussian kernel", "tangent kernel", "trained tangent kernel"]
    mine = rows[rows["rung"].isin(kernels)]
    assert mine["training_error_bound"].notna().tolist() == [True] * 5
    assert mine["score"].between(30, 100).tolist() == [True] * 5
