"""Whether a model is trained well enough: models that are not, models that are, and the numbers behind both."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_diabetes, load_wine
from torch import nn

import beyondkernels as bk
from beyondkernels.auditing import Audit, finding as finding_module, health as health_module
from beyondkernels.auditing.checks import Finding
from beyondkernels.auditing.finding import finding
from beyondkernels.auditing.health import _start, health
from beyondkernels.auditing.input_sizes import inputs
from beyondkernels.auditing.ladder import ABOUT, KINDS
from beyondkernels.auditing.probes import changed, changes
from beyondkernels.auditing.settings import AuditSettings
from beyondkernels.auditing.starts import start_of
from beyondkernels.auditing.subject import Subject
from beyondkernels.auditing.tries import Tries
from beyondkernels.core import Outcome
from beyondkernels.data import GivenData, hold_out
from beyondkernels.lab.declaration.rows import OUTCOME

torch.set_num_threads(1)
SETTINGS = AuditSettings()
FEW = [name for name in ABOUT if name not in ("constant", "linear", "model")]


def dense(in_dim: int, out_dim: int) -> nn.Module:
    return nn.Sequential(nn.Linear(in_dim, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, out_dim))


def standardised(x: Any) -> np.ndarray:
    return (x - x.mean(0)) / x.std(0)


def audited(x: Any, y: Any, **options: Any) -> bk.AuditResult:
    small: dict[str, Any] = {"parts": "ladder", "without": FEW, "seeds": [100, 101], "progress": False, "name": "small"}
    return bk.audit(dense, (x, y), **small | options)


@pytest.mark.parametrize("load", [load_wine, load_diabetes])
def test_raw_data_are_blamed_and_not_features(load: Any) -> None:
    """With 20 epochs a network on raw wine has 62 % where linear has 100 %, and on diabetes −390 %."""
    x, y = load(return_X_y=True)
    found = audited(x.astype("f4"), y if load is load_wine else y.astype("f4"))
    what = "inputs" if load is load_wine else "labels"
    assert found.sentence.startswith("The model is not trained well enough to tell whether learning features gains")
    assert "No gain" not in found.sentence and "As it is trained, the model" in found.sentence
    assert f"standardise {what}" in found.sentence
    verdicts = dict(zip(found.health["check"], found.health["verdict"], strict=True))
    assert verdicts["training and test score"] == "change this first" and verdicts[what] == "note"
    assert load is load_wine or verdicts["end of training"] == "change this first"
    assert str(found).index("training and test score: change") < str(found).index("constant")


def test_the_same_data_standardised_may_be_spoken_of(tmp_path: Any) -> None:
    x, y = load_wine(return_X_y=True)
    found = audited(standardised(x).astype("f4"), y, epochs=60)
    assert found.sentence.startswith("The model is trained well enough to compare. No gain from learning features")
    assert set(found.health["verdict"]) == {"fine"}
    found.write(tmp_path)
    page = (tmp_path / "audit__small.html").read_text()
    assert page.index("Is the model trained well enough?") < page.index("Claims")
    short = bk.audit_many({"a": dense}, (x[::3], y[::3]), parts="ladder", without=FEW, seeds=1, steps=1, progress=False)
    assert short.summary["trained"].tolist() == [False]


X = bk.core.Stream(0).child("points").normal(150, 4)
Y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")


def test_what_is_tried_is_the_model_on_training_points_and_sees_no_test_point() -> None:
    """Other labels of the test points change no try; each is ``bk.fit`` on the data that are held out."""
    test = (X[120:], Y[120:])
    found = [audited(X[:120], Y[:120], test=each, steps=20) for each in (test, (test[0], test[1][::-1].copy()))]
    rows = [each.to_frame().query("part == 'probe'") for each in found]
    assert rows[0]["score"].tolist() == rows[1]["score"].tolist()
    problem = found[0].experiment.subject.problem
    assert isinstance(problem, GivenData)
    assert len(rows[0]) == 15
    for repeat in (0, 4):  # few points are split five times
        held = hold_out(problem, 0.2, repeat)
        assert (held.size("train"), held.size("test")) == (96, 24)
        apart = np.concatenate([held.arrays["train_x"], held.arrays["test_x"]])
        assert sorted(apart.tolist()) == sorted(problem.arrays["train_x"].tolist())
        mine = rows[0][rows[0]["repeat"] == repeat]
        for factor, score in zip(mine["factor"], mine["score"], strict=True):
            run = bk.fit(dense, held, steps=20, learning_rate=1e-3 * factor, seed=1000 + repeat, progress=False)
            assert score == pytest.approx(100 * run.test_accuracy)


def test_rates_are_searched_on_training_points_and_used_by_all_that_follow() -> None:
    keep = ["constant", "Laplace kernel", "last layer", "trained tangent kernel", "model"]
    easy = np.where(X[:, 0] > 0, "same", "other")
    without = [name for name in ABOUT if name not in keep]
    found = audited(X, easy, steps=20, tune=True, without=without, learning_rate=1e-5)
    problem, rows = found.experiment.subject.problem, found.to_frame()
    assert isinstance(problem, GivenData)
    held, tuned = hold_out(problem, 0.2), found.tuned.set_index("rung")
    assert set(tuned.index) == {"model", "last layer"}
    tried = rows.query("part == 'probe' and learner == 'model'")

    def missed(factor: float) -> tuple[float, float]:
        run = bk.fit(dense, held, steps=20, learning_rate=1e-5 * factor, seed=1000, progress=False)
        return -run.test_accuracy, run.test_loss

    best = min(tried["factor"], key=missed)
    assert best >= 5 and len(tried) == tuned["tried"]["model"] > 3  # a hundredth of the usual rate is too small
    assert tuned["chosen"]["model"] == pytest.approx(1e-5 * best)
    run = bk.fit(dense, (X, easy), steps=20, learning_rate=1e-5 * best, seed=100, progress=False)
    mine = rows.query("part == 'ladder' and rung == 'model' and seed == 100")["score"]
    assert list(mine) == pytest.approx([100 * run.test_accuracy])
    assert "role" in rows and set(rows.query("part == 'ladder' and rung == 'model'")["factor"]) == {best}
    assert set(rows.query("rung == 'trained tangent kernel'")["factor"]) == {best}


def test_a_page_says_how_to_run_it_from_python() -> None:
    """The call, evaluated where model, train and test are known, makes the same audit."""
    train, test = (X[:120], Y[:120]), (X[120:], Y[120:])
    options: dict[str, Any] = {"steps": 5, "without": ("linear", *FEW), "seeds": [100, 101], "parts": ("ladder",)}
    found = bk.audit(dense, train, test, name="my net", progress=False, **options)
    call = found.result.page().command
    assert call.startswith("bk.audit(model, train, test, name='my net', steps=5")
    again = eval(call, {"bk": bk, "model": dense, "train": train, "test": test})
    assert again.sentence == found.sentence
    assert Audit(dense, train, 0.3, steps=5).call([0, 1, 2], {}) == "bk.audit(model, train, 0.3, steps=5, seeds=3)"


def subject(**changes: Any) -> Subject:
    nothing = cast(Any, None)
    known = {"network": nothing, "blocks": (), "rule": nothing, "problem": nothing, "samples": 1000, "test": 1000}
    return Subject(**cast(Any, known | {"classes": True, "distance": 1.0, "has_features": True} | changes))


def outcome(accuracy: float, loss: float, course: Any = None, n: int = 1000) -> Outcome:
    """A try with an accuracy, and of it over training if that is given."""
    errors = (np.arange(n) >= accuracy * n / 100).astype(float)
    steps = np.arange(21) * 10.0
    at, losses = course or (np.full(21, accuracy), np.full(21, loss))
    series = {"step": steps, "test_accuracy": np.asarray(at) / 100, "test_loss": np.asarray(losses)}
    return Outcome(
        scalars={"test_accuracy": accuracy / 100, "train_accuracy": 1.0, "test_loss": loss},
        series=series,
        arrays={"test_errors": errors},
    )


def rows(tries: dict[Any, Outcome], train: float = 99.0, **scores: list[float]) -> Any:
    found = []
    for name, many in {"model": [90.0, 90.5, 90.2], "linear": [80.0, 80.1, 80.2], **scores}.items():
        rung = name.replace("_", " ")
        for seed, score in enumerate(many):
            at = {"part": "ladder", "rung": rung, "kind": KINDS[ABOUT[rung][0]], "seed": seed, "status": "finished"}
            found.append({**at, "score": score, "error": 100 - score, "train_score": train, OUTCOME: Outcome()})
    for key, run in tries.items():
        factor, change = key if isinstance(key, tuple) else (key, None)
        at = {"part": "probe", "learner": "model", "factor": factor, "change": change}
        found.append({**at, "status": run.status, OUTCOME: run})
    return pd.DataFrame(found)


def checks(monkeypatch: pytest.MonkeyPatch, table: Any) -> dict[str, Finding]:
    monkeypatch.setattr(health_module, "inputs", lambda _: [])
    monkeypatch.setattr(Subject, "steps", 200)
    return {each.check: each for each in health(subject(), SETTINGS, table, [subject()], in_words=False)}


@pytest.mark.parametrize(
    ("smaller", "larger", "verdict", "word"),
    [
        ((89.0, 0.5), (90.9, 0.39), "fine", ""),  # less than the tolerance
        ((89.0, 0.5), (95.0, 0.2), "stop", "too small"),
        ((95.0, 0.2), (80.0, 1.0), "stop", "too large"),
        ((89.0, 0.5), (95.0, 0.6), "stop", "too small"),  # a better classifier may be too sure of itself
        ((89.0, 0.5), (math.nan, math.nan), "fine", ""),  # five times the rate diverges
    ],
)
def test_a_rate_is_wrong_if_another_one_is_clearly_better(
    monkeypatch: pytest.MonkeyPatch, smaller: Any, larger: Any, verdict: str, word: str
) -> None:
    tries = {0.2: outcome(*smaller), 1.0: outcome(90.0, 0.4)}
    tries[5.0] = Outcome("diverged") if math.isnan(larger[0]) else outcome(*larger)
    found = checks(monkeypatch, rows(tries))["learning rate"]
    assert found.verdict == verdict and word in found.evidence
    assert ("diverges" in found.evidence) is math.isnan(larger[0])


def test_seeds_and_points_count_when_rates_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four points are clear if seeds agree, and not if two runs of the same model differ as much."""
    tries = {1.0: outcome(90.0, 0.4), 5.0: outcome(94.0, 0.2)}
    assert checks(monkeypatch, rows(tries))["learning rate"].verdict == "stop"
    assert checks(monkeypatch, rows(tries, model=[86.0, 90.0, 94.0]))["learning rate"].verdict == "fine"
    few = {factor: outcome(accuracy, loss, n=50) for factor, accuracy, loss in ((1.0, 90.0, 0.4), (5.0, 94.0, 0.2))}
    assert checks(monkeypatch, rows(few))["learning rate"].verdict == "fine"


@pytest.mark.parametrize("change", ["no weight decay", "Adam"])
def test_decay_and_optimiser_are_wrong_if_the_change_is_clearly_better(
    monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    check = {"Adam": "optimiser"}.get(change, "weight decay")
    for accuracy, verdict in ((95.0, "stop"), (90.5, "fine"), (50.0, "fine")):
        found = checks(monkeypatch, rows({1.0: outcome(90.0, 0.4), (1.0, change): outcome(accuracy, 0.3)}))
        assert found[check].verdict == verdict and found["learning rate"].verdict == "fine"


def test_a_rule_is_tried_without_its_decay_and_with_adam_where_these_are_changes() -> None:
    def tried(**options: Any) -> dict[str, list[str]]:
        found = Audit(dense, (X, Y), steps=1, **options).subject
        return {
            each: [type(part).__name__ for part in cast(Any, changed(found, each).rule).rule.parts]
            for each in changes(found)
        }

    assert tried() == {} == tried(optimiser="adamw")
    assert tried(weight_decay=0.1, optimiser="adamw") == {"no weight decay": ["Adam", "Rate"]}
    assert tried(optimiser="sgd") == {"Adam": ["Adam", "Rate"]}
    both = {"no weight decay": ["Momentum", "Rate"], "Adam": ["Decay", "Adam", "Rate"]}
    assert tried(optimiser="sgd", weight_decay=0.1) == both


def test_several_splits_of_few_points_are_compared_split_by_split() -> None:
    """The corrected t interval, written out: leads of 2, 4, …, 10 points, 100 points held out of 500."""
    ahead, splits = [2.0, 4.0, 6.0, 8.0, 10.0], [subject(samples=400, test=100)] * 5
    runs = {
        (1.0, None): [outcome(80.0, 0.4, n=100)] * 5,
        (5.0, None): [outcome(80.0 + each, 0.4, n=100) for each in ahead],
    }
    mean, half = Tries(splits, cast(Any, runs), [], 1.0).lead((5.0, None), 0.0)
    assert mean == pytest.approx(6.0)
    assert half == pytest.approx(2.77645 * np.std(ahead, ddof=1) * math.sqrt(1 / 5 + 100 / 400), rel=1e-4)


def with_start(kind: str) -> nn.Module:
    """Only the constructor draws these numbers, which is why the module is given as a function below."""
    model = dense(4, 2)
    layers = cast(Any, model)
    with torch.no_grad():
        if kind == "dead":
            layers[2].bias.fill_(-100.0)
        elif kind == "all zero":
            for value in model.parameters():
                value.zero_()
        elif kind == "last zero":
            layers[-1].weight.zero_()
        elif kind == "loud":
            layers[-1].weight.mul_(1000.0)
    return model


def dead(in_dim: int, out_dim: int) -> nn.Module:
    return with_start("dead")


def all_zero(in_dim: int, out_dim: int) -> nn.Module:
    return with_start("all zero")


def last_zero(in_dim: int, out_dim: int) -> nn.Module:
    return with_start("last zero")


def loud(in_dim: int, out_dim: int) -> nn.Module:
    return with_start("loud")


@pytest.mark.parametrize(
    ("make", "flat", "is_loud"),
    [(dense, 0, False), (dead, 1, False), (all_zero, 1, False), (last_zero, 0, False), (loud, 0, True)],
)
def test_a_start_is_dead_or_loud_or_fine(make: Any, flat: float, is_loud: bool) -> None:
    """A last layer of zeros comes to life after a step."""
    start = start_of(Audit(make, (X, Y), steps=30).subject)
    assert start is not None and start.flat == flat and start.loss_of_zero == pytest.approx(math.log(2))
    assert (start.loss > 10 * start.loss_of_zero) is is_loud
    for model, verdict in (([70.0, 70.1, 70.2], "stop"), ([90.0, 90.1, 90.2], "note")):  # linear has 80 %
        (check,) = _start(SETTINGS, rows({}, model=model), start)
        assert check.verdict == (verdict if flat or is_loud else "fine")


def test_what_does_not_generalise_is_no_fault_of_training(monkeypatch: pytest.MonkeyPatch) -> None:
    check = checks(monkeypatch, rows({1.0: outcome(70.0, 0.4)}, train=100.0, model=[70.0] * 3, linear=[71.0] * 3))
    fit = check["training and test score"]
    assert fit.verdict == "note" and "nothing speaks for fewer steps" in fit.evidence
    course = (95 - np.abs(UP - 70), 0.2 + np.abs(DOWN - 0.9))
    late = rows({1.0: outcome(70.0, 0.4, course)}, train=100.0, model=[70.0] * 3, linear=[71.0] * 3)
    assert "nothing speaks for" not in checks(monkeypatch, late)["training and test score"].evidence


UP, DOWN = np.linspace(60, 90, 21), np.geomspace(2.0, 0.2, 21)


@pytest.mark.parametrize(
    ("course", "verdict", "word"),
    [
        ((UP, DOWN), "stop", "still falling at the end"),
        ((np.minimum(2 * UP - 60, 90), DOWN), "fine", ""),  # the accuracy stands although the loss falls
        ((UP, np.full(21, 0.4)), "fine", ""),  # the loss stands
        ((UP, np.maximum(DOWN, DOWN[14])), "fine", ""),  # the loss has fallen, and stands in the last fifth
        ((UP + 9.5, DOWN), "fine", ""),  # half a point is left to 100 %
        ((95 - np.abs(UP - 70), 0.2 + np.abs(DOWN - 0.9)), "stop", "stopping there would give 19.5 points more"),
        ((UP[::-1], DOWN[::-1]), "fine", ""),  # never better than at its start
    ],
)
def test_the_end_of_training(monkeypatch: pytest.MonkeyPatch, course: Any, verdict: str, word: str) -> None:
    at, losses = course
    found = checks(monkeypatch, rows({1.0: outcome(float(at[-1]), float(losses[-1]), course)}))["end of training"]
    assert found.verdict == verdict and word in found.evidence


def test_without_tries_the_sentence_says_that_not_all_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    found = checks(monkeypatch, rows({}))
    assert [found[name].verdict for name in ("learning rate", "end of training")] == ["unknown"] * 2
    said = finding_module.trained(subject(), SETTINGS, rows({}), list(found.values()))
    assert said == "As far as it was checked, the model is trained well enough to compare."


@pytest.mark.parametrize(("model", "begins"), [([82.0, 82.4, 82.1], "lead"), ([79.0, 80.2, 79.9], "not")])
def test_a_clear_lead_stands_and_may_be_larger(monkeypatch: pytest.MonkeyPatch, model: Any, begins: str) -> None:
    table = rows({1.0: outcome(90.0, 0.4), 5.0: outcome(95.0, 0.2)}, model=model)
    found = list(checks(monkeypatch, table).values())
    said = finding(subject(), AuditSettings(parts=("ladder",)), table, found)
    lead = "The model could be trained better, so its lead may be larger."
    assert said.startswith(lead if begins == "lead" else "The model is not trained well enough to tell")
    assert ("There are 2.1 points between" in said) is (begins == "lead")
    assert "an algorithm with five times the learning rate" in said and "No gain" not in said


def test_a_model_that_fits_worse_than_fixed_features_predict(monkeypatch: pytest.MonkeyPatch) -> None:
    """The margin: the tolerance and 1.96 standard errors of both scores, √(p(1−p)/n) up to the two added points."""
    for train, verdict in ((75.0, "stop"), (77.0, "fine")):
        table = rows({}, train=train)
        errors = (np.arange(1000) >= 801).astype(float)
        table[OUTCOME] = [Outcome(arrays={"test_errors": errors})] * len(table)
        assert checks(monkeypatch, table)["training and test score"].verdict == verdict
    assert 75 < 80.1 - 1 - 1.96 * math.sqrt(2 * 80.1 * 19.9 / 1000) < 77


@pytest.mark.parametrize(
    ("trained", "fits", "word"), [(76.5, 78.0, "are optimisation"), (76.5, 99.0, "regularisation")]
)
def test_the_optimisation_gap(monkeypatch: pytest.MonkeyPatch, trained: float, fits: float, word: str) -> None:
    """The same features: solved exactly, and trained by the model's rule."""
    scores: Any = {"tangent_kernel": [93.1, 93.2, 93.3], "linearised_network": [trained, trained + 0.2, trained]}
    table = rows({}, **scores)
    table.loc[table["rung"] == "linearised network", "train_score"] = fits
    found = checks(monkeypatch, table)["optimisation gap"]
    assert found.verdict == "note" and "Optimisation gap: 16.6 points" in found.evidence and word in found.evidence
    assert ("13.7 points ahead of its linearisation" in found.evidence) is (fits == 78.0)
    table = rows({}, **{**scores, "tangent_kernel": [76.0, 80.0, 73.0]})
    assert checks(monkeypatch, table)["optimisation gap"].verdict == "fine"


@pytest.mark.parametrize(
    ("scale", "shift", "odd"), [((1, 1), 0, False), ((0.2, 5), 0, True), ((0.2, 0.2), 4, True), ((0.05, 0.05), 0, True)]
)
def test_columns_are_scaled_or_not(scale: Any, shift: float, odd: bool) -> None:
    x = bk.core.Stream(1).child("x").normal(200, 2).numpy() * np.array(scale) + shift
    x = np.concatenate([x, np.ones((200, 1)) * shift], 1).astype("f4")  # a column that never changes does not count
    found = Audit(nn.Linear(3, 2), (x, np.arange(200) % 2), steps=1).subject
    (check,) = inputs(found)
    assert (check.verdict == "note") is odd
