import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import beyondkernels as bk
from beyondkernels.core import Outcome, Stream
from beyondkernels.execution.outcomes import perform
from beyondkernels.lab import At, Reading, specs_of
from beyondkernels.papers.resnet.experiments.fig4 import Fig4a, Fig4b
from beyondkernels.papers.resnet.experiments.monomial import CLOSED, DESCENT, SGD, norm_of, spec, targets
from beyondkernels.papers.resnet.paper import PAPER as RESNET
from beyondkernels.papers.resnet.theory import ClosedForm, least_norm
from papers.judging import check_figures, claims_in, failing, finish, refuted, undecided

A, B = Fig4a(), Fig4b()
SMALL = replace(A.settings("laptop"), construction_decays=(1e-3, 1e-4))
SEEDS = (0, 1)


def sgd_place(**changes: Any) -> At:
    given = {"part": SGD, "epochs": 800, "width": 1000, "start": "1/m", "learning_rate": 5.0, "weight_decay": 2e-5}
    return At(**{**given, "seed": 1000, **changes})


def reading(
    train: float = 0.01, test: float = 1.0, norm: float = 20.0, risk: float = 0.005, least: float = 9.0, **more: Any
) -> Reading:
    """Runs of SGD with these errors and norm, W* with this risk and norm."""
    settings = replace(SMALL, **more)

    def outcome(at: At, spec: Any) -> Outcome:
        if at.part == CLOSED:
            scalars = {"risk": at.aim, "train_loss": at.aim, "test_loss": at.aim, "norm": least_norm(at.aim)}
            return Outcome("finished", scalars)
        steps = spec.learner.algorithm.steps
        dim, w = (6, least) if at.part == DESCENT else (settings.dim, norm)
        series = {"norm/step": np.array([steps]), "norm/layer1.weight": np.array([w * math.sqrt(dim)])}
        if at.part == DESCENT:
            scalars = {"train_loss": risk, "test_loss": risk, "steps": steps}
            return Outcome("finished", scalars, series)
        off = 0.001 * (abs(math.log(at.learning_rate / 5)) + abs(math.log(at.weight_decay / 5e-5)))
        loss = test + off + (0.01 if at.width == 500 else 0.0)
        scalars = {"train_loss": train, "test_loss": loss, "validation_loss": loss, "steps": steps}
        return Outcome("finished", scalars, series)

    return finish(A, settings, SEEDS, outcome)


def test_the_papers_numbers() -> None:
    a, b = A.settings("paper"), B.settings("paper")
    assert (a.dim, a.samples, a.widths[0], a.widths[-1], len(a.widths)) == (40, 5000, 200, 100_000, 9)
    assert (b.dim, b.samples, b.batch, b.widths[-1], len(b.widths)) == (100, 50_000, 100, 50_000, 8)
    assert {A.printed: 0.69, B.printed: 0.98} == RESNET.printed("figure4")["sgd_best_test"]


def test_specs_are_what_the_paper_trains() -> None:
    settings = A.settings("paper")
    made: Any = spec(settings, sgd_place())
    network, rule = made.learner.network, made.learner.algorithm
    assert (made.problem.dim, made.problem.degree, made.samples) == (40, 6, 5000)
    assert (made.test_samples, made.validation_samples) == (10_000, 1000)
    assert (rule.steps, rule.drops, rule.drop_factor, rule.batch) == (80_000, (40_000,), 0.1, 50)
    assert (rule.learning_rate, rule.weight_decay, rule.momentum, rule.group) == (5.0, 2e-5, 0.9, "hidden")
    assert (network.width, network.depth, network.readout) == (1000, 2, "signs")
    params, _ = network.init(40, 1, Stream(0))
    assert set(params) == {"layer1.weight", "output.weight"}
    assert float(params["layer1.weight"].std()) == pytest.approx(1 / math.sqrt(1000), rel=0.02)
    assert (params["output.weight"] * math.sqrt(1000)).sum() == pytest.approx(0, abs=1e-3)
    assert params["output.weight"].abs().flatten().tolist() == pytest.approx([1 / math.sqrt(1000)] * 1000)
    other: Any = spec(settings, sgd_place(start="1/d")).learner
    params, _ = other.network.init(40, 1, Stream(0))
    assert float(params["layer1.weight"].std()) == pytest.approx(1 / math.sqrt(40), rel=0.02)
    specs = specs_of(A, settings, SEEDS, {})
    assert {label[-1] for label in specs if label[0] == "search"} == {1000}
    closed: Any = [each for label, each in specs.items() if label[0] == CLOSED]
    assert [each.learner for each in closed] == [ClosedForm(200, risk) for risk, _ in targets()]
    assert {(each.problem, each.seed) for each in closed} == {(bk.resnet.Monomial(40), 0)}


def test_the_error_of_w_star_is_its_risk_at_any_dimension() -> None:
    """The weights of a run, padded: risk by enumeration at d = 8, and the norm that was kept."""
    settings = replace(A.settings("smoke"), construction_steps=200)
    place = At(part=DESCENT, width=64, learning_rate=10.0, weight_decay=3e-4, seed=100)
    made: Any = spec(settings, place)
    (outcome,) = perform([made])
    names = ("layer1.weight", "output.weight")
    learner = made.learner
    kept = bk.engine.TrainedNetwork(
        learner.network, learner.algorithm, snapshot_at=(200,), snapshot_names=names, backend=settings.backend
    )
    (whole,) = perform([replace(made, learner=kept)])
    W, a = (torch.from_numpy(whole.arrays[f"snapshot/200/{name}"]).double() for name in names)
    assert norm_of(outcome, 6) == pytest.approx(float(W.norm()) / math.sqrt(6), rel=1e-12)
    problem = bk.resnet.Monomial(8, instance=2)
    padded = problem.padded(W)
    risk = problem.risk(lambda x: torch.relu(x @ padded.T) @ a[0], dtype=torch.float64)
    assert risk.exact
    assert outcome.scalars["test_loss"] == pytest.approx(risk.value, rel=1e-5)
    assert outcome.scalars["train_loss"] == outcome.scalars["test_loss"]
    assert norm_of(outcome, 6) == pytest.approx(float(padded.norm()) / math.sqrt(8), rel=1e-6)


def test_all_claims_hold_where_sgd_finds_nothing() -> None:
    found = claims_in(reading())
    assert refuted(found) == []
    assert found["w-star-0.12"].measured == pytest.approx(least_norm(0.12))


def test_claims_about_w_star_fail() -> None:
    assert failing(reading(least=13.0)) == ["w-star-descent-0.12", "w-star-descent-0.037"]
    assert undecided(reading(risk=0.05)) == ["w-star-descent-0.037", "w-star-descent-0.011"]


def test_nothing_is_said_where_the_search_does_not_fit_its_sample() -> None:
    silent = ["sgd-test", "sgd-test-800", "sgd-test-3200", "sgd-fresh", *(f"sgd-norm-{r:g}" for r, _ in targets())]
    assert undecided(reading(train=0.5)) == silent
    small = reading(train=0.5, test=0.5)  # a small test error refutes without a small training error
    assert failing(small) == ["sgd-test", "sgd-test-800", "sgd-test-3200", "sgd-fresh"]


def test_claims_fail_where_sgd_finds_what_the_paper_does_not() -> None:
    assert failing(reading(norm=10.0)) == ["sgd-norm-0.037", "sgd-norm-0.011"]
    found = claims_in(reading(test=0.5))
    assert failing(found) == ["sgd-test", "sgd-test-800", "sgd-test-3200", "sgd-fresh"]
    assert found["sgd-fresh"].measured == pytest.approx(0.5)  # at width 200, which the search prefers


def test_one_schedule_has_one_claim() -> None:
    assert [name for name in claims_in(reading(epochs=(800,))) if name.startswith("sgd-test")] == ["sgd-test"]


def test_rows_table_and_figures() -> None:
    read = reading()
    assert set(read.rows["role"]) == {"made", "search", "chosen", "again"}
    assert set(read.rows[read.rows["role"] == "again"]["start"]) == {"1/d"}
    _, lines = read.table
    words = [line["what"] for line in lines]
    assert words.count("SGD, the search's best") == 4 and words.count("SGD") == 8
    check_figures(read, ["norm-train", "norm-test", "width"])


def test_notes_have_the_numbers() -> None:
    notes = "\n".join(A.notes(A.settings("paper")))
    assert "13.06·(1 − √R)" in notes and "{{" not in notes
    assert "8.54 for R = 0.12, 10.55 for R = 0.037, 11.69 for R = 0.011" in notes
    assert f"= {2 * 9.7 * math.sqrt(40) / math.sqrt(5000):.3g} at $d$ = 40, $N$ = 5,000" in notes
    assert "$N$ = 4,182$d$ = 167,271" in notes
    # 32 rows of each sign, of which 4 are copied four times and 28 three times
    assert f"needs {math.sqrt(200 / 64 * (28 / 3 + 1) / 32):.4f} times as much" in notes
