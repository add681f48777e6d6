"""Figure 4: what is trained, how the search goes, what the claims say of runs made by hand."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from beyondkernels.experiments.resnet.fig4.construction import ClosedForm, closed_form_spec, least, targets
from beyondkernels.experiments.resnet.fig4.experiment import Fig4a, Fig4b
from beyondkernels.experiments.resnet.fig4.specs import AllPoints, construction_spec, norm_of, points_of, trained_spec
from beyondkernels.experiments.resnet.fig4.tables import FITTED

import beyondkernels as bk
from beyondkernels.core import InputError, Outcome, Stream
from beyondkernels.experiments.published import published
from beyondkernels.reports import render_svg
from beyondkernels.runs import StoredRun
from beyondkernels.runs.perform import perform

torch.set_num_threads(1)

A, B = Fig4a(), Fig4b()
SMALL = replace(
    A.settings("laptop"),
    widths=(200, 500),
    validation_samples=100,
    test_samples=300,
    construction_decays=(1e-3, 5e-4, 1e-4),
)
SEEDS = (0, 1, 2)
BEST = (5.0, 5e-5)
PATH = {1e-3: (0.10, 9.0), 5e-4: (0.03, 12.0), 1e-4: (0.005, 13.5)}


def stored(outcome: Outcome) -> StoredRun:
    return StoredRun("0" * 32, {}, outcome, {})


def run(train: float, test: float, norm: float, validation: float | None = None, dim: int = SMALL.dim) -> StoredRun:
    """A trained network's run: ``test`` on the test points proper, ``validation`` on those before them."""
    v, t = SMALL.validation_samples, SMALL.test_samples
    validation = test if validation is None else validation
    scalars = {
        "steps": 7.0,
        "train_loss": train,
        "test_loss": (v * validation + t * test) / (v + t),
    }
    series = {"step": np.array([7.0]), "test_loss": np.array([validation])}
    series |= {"norm/step": np.array([7.0]), "norm/layer1.weight": np.array([norm * math.sqrt(dim)])}
    return stored(Outcome("finished", scalars, series))


DIVERGED = stored(Outcome("diverged", {"steps": 3.0}))


def bowl(epochs: int, width: int, rate: float, decay: float) -> float:
    return 0.8 + (math.log(rate / BEST[0]) ** 2 + math.log(decay / BEST[1]) ** 2) / 100 + (width - epochs) / 1e5


def finished_runs(search: Any = None, fresh: Any = None, path: Any = None) -> dict[Any, StoredRun]:
    """Runs made by hand, as the plan asks for them."""
    finished: dict[Any, StoredRun] = {}
    while new := [label for label in A.plan(SMALL, SEEDS, finished) if label not in finished]:
        for label in new:
            parts: Any = label
            numbers = [float(word.partition("=")[2]) for word in parts if isinstance(word, str) and word[1:2] == "="]
            if parts[0] == "closed form":
                (finished[label],) = (stored(outcome) for outcome in perform([A.plan(SMALL, SEEDS, {})[label]]))
                continue
            if parts[0] == "W*":
                risk, norm = (path or PATH)[numbers[0]]
                finished[label] = run(risk, risk, norm + 0.1 * parts[-1], dim=6)
                continue
            part, epochs, width, *_, seed = parts
            place = (int(epochs.split()[0]), width, *numbers)
            if part == "search":
                finished[label] = search(*place, seed) if search else run(0.5, bowl(*place), 20.0)
            else:
                finished[label] = fresh(part, *place, seed) if fresh else run(0.4, 0.9 + 0.01 * seed, 21.0)
    return finished


def claims(scale: str = "laptop", **more: Any) -> dict[str, Any]:
    rows = A.rows(SMALL, finished_runs(**more))
    return {claim.id: claim for claim in A.claims(SMALL, rows, scale)}


def test_the_papers_numbers() -> None:
    printed = published("resnet", "figure4")
    assert targets() == [(0.12, 9.7), (0.037, 12.5), (0.011, 13.8)]
    a, b = A.settings("paper"), B.settings("paper")
    assert (a.dim, a.samples, a.widths[0], a.widths[-1], len(a.widths)) == (40, 5000, 200, 100_000, 9)
    assert (b.dim, b.samples, b.batch, b.widths[-1], len(b.widths)) == (100, 50_000, 100, 50_000, 8)
    assert {A.printed: 0.69, B.printed: 0.98} == printed["sgd_best_test"]
    laptop = A.settings("laptop")
    changed = {name for name in vars(a) if getattr(a, name) != getattr(laptop, name)}
    grid = {"learning_rates", "weight_decays", "rate_limits", "decay_limits"}
    assert changed == {"widths", "test_samples"} | grid


def test_specs_are_what_the_paper_trains() -> None:
    settings = A.settings("paper")
    plan = A.plan(settings, SEEDS, {})
    spec: Any = plan["search", "800 epochs", 1000, "η=5", "λ=2e-05", 1000]
    learner, rule = spec.learner, spec.learner.algorithm
    assert (spec.problem.dim, spec.problem.degree, spec.samples, spec.test_samples) == (40, 6, 5000, 11_000)
    assert (rule.steps, rule.drops, rule.drop_factor, rule.batch) == (80_000, (40_000,), 0.1, 50)
    assert (rule.learning_rate, rule.weight_decay, rule.momentum, rule.group) == (5.0, 2e-5, 0.9, "hidden")
    assert (learner.network.width, learner.network.depth, learner.network.readout) == (1000, 2, "signs")
    params, _ = learner.network.init(40, 1, Stream(0))
    assert set(params) == {"layer1.weight", "output.weight"}
    assert float(params["layer1.weight"].std()) == pytest.approx(1 / math.sqrt(1000), rel=0.02)
    assert (params["output.weight"] * math.sqrt(1000)).sum() == pytest.approx(0, abs=1e-3)
    assert params["output.weight"].abs().flatten().tolist() == pytest.approx([1 / math.sqrt(1000)] * 1000)
    other: Any = trained_spec(settings, 800, 1000, (5.0, 2e-5), 0, "1/d").learner
    params, _ = other.network.init(40, 1, Stream(0))
    assert float(params["layer1.weight"].std()) == pytest.approx(1 / math.sqrt(40), rel=0.02)
    assert {label[-1] for label in plan if label[0] == "search"} == {1000}
    assert {label[0] for label in plan} == {"closed form", "W*", "search"}
    made: Any = plan["closed form", "R=0.12", 0]
    assert (made.learner, made.problem) == (ClosedForm(200, 0.12), bk.problems.Monomial(40))


def test_all_points_are_there_once() -> None:
    sample = AllPoints().sample(64, None)
    rows = {tuple(row) for row in sample.x.sign().int().tolist()}
    assert rows == set(itertools.product((1, -1), repeat=6))
    assert sample.x.norm(dim=1).tolist() == pytest.approx([1.0] * 64)
    assert sample.y.tolist() == [math.prod(row) for row in sample.x.sign().int().tolist()]
    with pytest.raises(InputError, match=r"^n must be 64, the number of all points, got 63$"):
        AllPoints().sample(63, None)


def test_the_error_of_w_star_is_its_risk_at_any_dimension() -> None:
    """The weights of a run, padded: risk by enumeration at d = 8, and the norm that was kept."""
    settings = replace(A.settings("smoke"), construction_steps=200)
    spec: Any = construction_spec(settings, 3e-4, seed=100)
    (outcome,) = perform([spec])
    kept = bk.engine.TrainedNetwork(
        spec.learner.network,
        spec.learner.algorithm,
        snapshot_at=(200,),
        snapshot_names=("layer1.weight", "output.weight"),
        backend=settings.backend,
    )
    (whole,) = perform([replace(spec, learner=kept)])
    W, a = (torch.from_numpy(whole.arrays[f"snapshot/200/{name}.weight"]).double() for name in ("layer1", "output"))
    assert norm_of(outcome, 6) == pytest.approx(float(W.norm()) / math.sqrt(6), rel=1e-12)
    assert outcome.arrays == {}
    problem = bk.problems.Monomial(8, instance=2)
    padded = problem.padded(W)
    risk = problem.risk(lambda x: torch.relu(x @ padded.T) @ a[0], dtype=torch.float64)
    assert risk.exact
    assert outcome.scalars["test_loss"] == pytest.approx(risk.value, rel=1e-5)
    assert outcome.scalars["train_loss"] == outcome.scalars["test_loss"]
    assert norm_of(outcome, 6) == pytest.approx(float(padded.norm()) / math.sqrt(8), rel=1e-6)


def test_both_backends_train_the_hidden_weights_alone() -> None:
    settings = replace(A.settings("smoke"), epochs=(2,))
    ends = []
    for backend in ("eager", "compiled"):
        spec: Any = trained_spec(replace(settings, backend=backend), 2, 16, (0.5, 1e-3), 100, "1/m")
        steps = spec.learner.algorithm.steps
        kept = bk.engine.TrainedNetwork(
            spec.learner.network,
            spec.learner.algorithm,
            snapshot_at=(0, steps),
            snapshot_names=("layer1.weight", "output.weight"),
            backend=backend,
        )
        (outcome,) = perform([replace(spec, learner=kept)])
        arrays = outcome.arrays
        assert (arrays["snapshot/0/output.weight"] == arrays[f"snapshot/{steps}/output.weight"]).all()
        moved = arrays[f"snapshot/{steps}/layer1.weight"] - arrays["snapshot/0/layer1.weight"]
        assert np.abs(moved).max() > 0.01
        ends.append(arrays[f"snapshot/{steps}/layer1.weight"])
    assert np.abs(ends[0] - ends[1]).max() < 1e-4


def test_the_search_comes_first_and_has_seeds_of_its_own() -> None:
    finished = finished_runs()
    assert set(A.plan(SMALL, SEEDS, finished)) == set(finished)
    chosen = {label[:5] for label in finished if label[0] == "chosen"}
    place = ("η=5", "λ=5e-05")
    assert chosen == {("chosen", f"{e} epochs", m, *place) for e in SMALL.epochs for m in SMALL.widths}
    assert {label[1:5] for label in finished if label[0] == "other start"} == {label[1:] for label in chosen}
    with pytest.raises(InputError, match=r"^seeds must not be those of the search, got \[1000\]$"):
        A.plan(SMALL, (1000,), {})


def test_the_grid_grows_and_diverged_runs_are_never_best() -> None:
    def search(epochs: int, width: int, rate: float, decay: float, seed: int) -> StoredRun:
        return DIVERGED if rate >= 20 else run(0.5, 1 / rate, 20.0)

    finished = finished_runs(search)
    rates = {label[3] for label in finished if label[0] == "search"}
    assert rates == {"η=2", "η=5", "η=10", "η=20"}
    rows = A.rows(SMALL, finished)
    assert {row["learning_rate"] for row in rows if row["part"] == "chosen"} == {10.0}
    _, table = A.table(SMALL, rows)
    best = [line for line in table if line["what"] == "SGD, the search's best"]
    assert [line["test_error"] for line in best] == [pytest.approx(0.1)] * 4
    assert {line["remark"].split(", ")[1] for line in best} == {"4 diverged"}


def test_rows_are_all_runs() -> None:
    finished = finished_runs()
    rows = A.rows(SMALL, finished)
    parts = ("closed form", "W*", "search", "chosen", "other start")
    by_part = {part: [row for row in rows if row["part"] == part] for part in parts}
    assert [len(by_part[part]) for part in by_part] == [3, 9, 36, 24, 12]
    assert [row["risk"] for row in by_part["closed form"]] == [pytest.approx(risk, rel=1e-9) for risk, _ in targets()]
    assert [row["test_error"] for row in by_part["closed form"]] == [pytest.approx(r, rel=1e-9) for r, _ in targets()]
    first = by_part["W*"][1]
    assert (first["train_error"], first["norm"], first["epochs"]) == (0.10, pytest.approx(9.1), None)
    assert {row["start"] for row in by_part["other start"]} == {"1/d"}
    assert {row["start"] for row in by_part["search"]} == {"1/m"}
    row = next(row for row in by_part["search"] if (row["learning_rate"], row["weight_decay"]) == (2.0, 2e-4))
    assert row["test_error"] == pytest.approx(bowl(800, 200, 2.0, 2e-4))
    assert row["norm"] == pytest.approx(20.0)


def test_claims_about_w_star() -> None:
    made = claims()
    for risk, norm in targets():
        closed = made[f"w-star-{risk:g}"]
        assert (closed.holds, closed.paper) == (True, norm)
        assert least(risk) <= closed.measured <= 1.005 * least(risk) < norm
    descent = [made[f"w-star-descent-{risk:g}"] for risk, _ in targets()]
    assert [claim.measured for claim in descent] == [pytest.approx(x) for x in (9.1, 12.1, 13.6)]
    assert [claim.holds for claim in descent] == [True, True, True]
    worse = claims(path={1e-3: (0.13, 9.0), 5e-4: (0.03, 12.4), 1e-4: (0.02, 13.5)})
    assert worse["w-star-descent-0.12"].holds is False
    assert worse["w-star-descent-0.12"].measured == pytest.approx(12.5)
    assert worse["w-star-descent-0.011"].holds is None


TEST_CLAIMS = ("sgd-test", "sgd-test-800", "sgd-test-3200", "sgd-fresh")


def fits(*where: int) -> Any:
    """A search whose runs of those epochs fit their sample, as well as is asked for and no better."""

    def search(epochs: int, width: int, rate: float, decay: float, seed: int) -> StoredRun:
        return run(FITTED if epochs in where else 0.5, bowl(epochs, width, rate, decay), 20.0)

    return search


def test_claims_when_sgd_finds_nothing() -> None:
    made = claims(search=fits(800, 3200))
    assert {made[name].holds for name in TEST_CLAIMS} == {True}
    assert made["sgd-test"].text == "SGD meets no test error below 0.69 in any schedule"
    assert made["sgd-norm-0.12"].holds is True
    assert made["sgd-test"].measured == pytest.approx(bowl(3200, 200, *BEST))
    assert made["sgd-test"].interval == "the least of 36 runs"
    assert made["sgd-test-800"].measured == pytest.approx(bowl(800, 200, *BEST))
    assert made["sgd-fresh"].measured == pytest.approx(0.91)
    assert "(3200 epochs, width 200)" in made["sgd-fresh"].text
    assert made["sgd-norm-0.037"].reason == "none of 60 runs has so small a training error"
    assert all(claim.holds is None for claim in claims("smoke").values())


def test_claims_say_nothing_where_the_search_does_not_fit_its_sample() -> None:
    assert targets()[0][0] == FITTED
    made = claims()
    assert {made[name].holds for name in TEST_CLAIMS} == {None}
    reason = "no run of the search has a training error of at most 0.12; the least is 0.5"
    assert {made[name].reason for name in TEST_CLAIMS} == {reason}
    assert made["sgd-fresh"].measured == pytest.approx(0.91)
    assert {made[f"sgd-norm-{risk:g}"].holds for risk, _ in targets()} == {None}
    assert made["sgd-norm-0.12"].reason == "none of 60 runs has so small a training error"
    made = claims(search=fits(3200))
    assert [made[name].holds for name in TEST_CLAIMS] == [True, None, True, True]


def test_a_small_test_error_refutes_without_a_small_training_error() -> None:
    made = claims(search=lambda *_: run(0.3, 0.6, 20.0), fresh=lambda *_: run(0.3, 0.65, 20.0))
    assert {made[name].holds for name in TEST_CLAIMS} == {False}


def test_one_schedule() -> None:
    settings = replace(SMALL, epochs=(800,))
    rows = A.rows(settings, finished_runs(search=fits(800)))
    made = {claim.id: claim for claim in A.claims(settings, rows, "laptop")}
    assert {name for name in made if name.startswith("sgd-test")} == {"sgd-test"}
    assert made["sgd-test"].text == "SGD meets no test error below 0.69 in the search"
    assert "Here one schedule is searched, of 800 epochs" in A.remarks(settings)[-1]
    assert "so 800 and 3200 epochs stand side by side" in A.remarks(SMALL)[-1]
    assert {*A.notes} - {*B.notes} and {*B.notes} - {*A.notes}


def test_claims_fail_where_sgd_finds_what_the_paper_does_not() -> None:
    def search(epochs: int, width: int, rate: float, decay: float, seed: int) -> StoredRun:
        good = epochs == 3200 and (rate, decay) == BEST
        return run(0.1, 0.2, 9.5, validation=0.3) if good else run(0.5, bowl(epochs, width, rate, decay), 20.0)

    def fresh(part: str, epochs: int, width: int, rate: float, decay: float, seed: int) -> StoredRun:
        return run(0.03, [0.2, 0.3, 0.4][seed], 15.0 - seed) if epochs == 3200 else run(0.5, 0.9, 20.0)

    made = claims(search=search, fresh=fresh)
    wrong = {"sgd-test", "sgd-test-3200", "sgd-fresh", "sgd-norm-0.12"}
    assert {name for name, claim in made.items() if claim.holds is False} == wrong
    assert (made["sgd-test"].measured, made["sgd-fresh"].measured) == (pytest.approx(0.2), pytest.approx(0.3))
    assert made["sgd-norm-0.12"].measured == pytest.approx(9.5)
    assert made["sgd-norm-0.037"].measured == pytest.approx(13.0)
    assert made["sgd-norm-0.011"].reason.startswith("none of")


def test_remarks_have_the_numbers() -> None:
    norms, bound, _ = A.remarks(A.settings("paper"))
    assert "13.06·(1 − √R)" in norms
    assert "8.54 for R = 0.12, 10.55 for R = 0.037, 11.69 for R = 0.011" in norms
    gap = 2 * 9.7 * math.sqrt(40) / math.sqrt(5000)
    assert f"= {gap:.3g} at d = 40, N = 5,000" in bound
    assert "N = 4,182·d = 167,271" in bound
    # 32 rows of each sign, of which 4 are copied four times and 28 three times
    assert f"needs {math.sqrt(200 / 64 * (28 / 3 + 1) / 32):.4f} times as much" in norms


def test_the_closed_form_at_forty_inputs() -> None:
    spec: Any = closed_form_spec(A.settings("laptop"), 0.037, 0)
    (outcome,) = perform([spec])
    scalars = outcome.scalars
    for name in ("risk", "train_loss", "test_loss"):
        assert scalars[name] == pytest.approx(0.037, rel=1e-9)
    assert least(0.037) < scalars["norm"] < 1.005 * least(0.037)
    with pytest.raises(InputError, match=r"^problem must be a Monomial, got a AllPoints$"):
        perform([replace(spec, problem=AllPoints(), samples=64, test_samples=64)])


def test_figures() -> None:
    finished = finished_runs()
    train, test, width = A.figures(SMALL, finished)
    figures: list[Any] = [train, test, width]
    assert [figure.name for figure in figures] == ["norm-train", "norm-test", "width"]
    for figure, error in ((figures[0], 0.5), (figures[1], None)):
        labels = [marks.label for marks in figure.marks]
        assert labels == ["SGD, 800 epochs", "SGD, 3200 epochs", "W* by descent on all points", "the paper's W*"]
        assert [len(marks.x) for marks in figure.marks] == [30, 30, 9, 3]
        assert error is None or error in figure.marks[0].y
        (line,) = figure.lines
        assert all(x == pytest.approx(least(y)) for x, y in zip(line.x, line.y, strict=True))
        assert (line.x[0], line.x[-1]) == (pytest.approx(least(0)), pytest.approx(1.0))
    for figure in figures:
        assert render_svg(figure).endswith("</svg>\n")
    assert A.figures(SMALL, {}) == []
    small: Any = A.figures(SMALL, finished_runs(search=lambda *_: run(0.99, 1.0, 0.4)))[0]
    assert small.lines[0].x[-1] == pytest.approx(0.4)
    assert len(A.figures(replace(SMALL, widths=(200,)), finished)) == 2


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"dim": 5}, r"^dim must be at least 6, the degree of the monomial, got 5$"),
        ({"widths": (200, 201)}, r"^widths must be even, got 201$"),
        ({"epochs": (5,)}, r"^epochs must be even, got 5$"),
        ({"widths": (500, 200)}, r"^widths must hold increasing numbers, each once, got \(500, 200\)$"),
        ({"construction_width": 32}, r"^construction_width must be at least 64, got 32$"),
        ({"learning_rates": (3.0,)}, r"^rates and decays must be 1, 2 or 5 times a power of ten, got 3$"),
        ({"weight_decays": (1.0,)}, r"^weight_decays must"),
        ({"batch": 6000}, r"^batch must not exceed samples \(5000\), got 6000$"),
        ({"rate_limits": (1.0,)}, r"^rate_limits must be two increasing numbers"),
    ],
)
def test_bad_settings(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        replace(A.settings("paper"), **change)


def test_points() -> None:
    assert points_of(SMALL) == 400
