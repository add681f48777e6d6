from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import torch

import beyondkernels as bk
from beyondkernels.core import InputError, Outcome, Stream
from beyondkernels.experiments.published import published
from beyondkernels.experiments.resnet.fig2.experiment import Fig2a, Fig2b
from beyondkernels.experiments.resnet.fig2.methods import (
    KERNELS,
    KERNELS_BY_SGD,
    Method,
    kernel_spec,
    network_of,
    problem_of,
    trained_methods,
    trained_spec,
)
from beyondkernels.experiments.resnet.fig2.settings import Fig2aSettings, Fig2Settings
from beyondkernels.experiments.resnet.held_out import points_of, search_errors
from beyondkernels.reports import render_svg
from beyondkernels.runs import StoredRun
from beyondkernels.runs.perform import perform

torch.set_num_threads(1)

A, B = Fig2a(), Fig2b()
SMALL = replace(A.settings("laptop"), widths=(20, 50), validation_samples=100, test_samples=300)
SEEDS = (0, 1, 2)
GOOD = {
    "3resnet (all)": 0.5,
    "3layer (all)": 2.0,
    "2layer (all)": 2.1,
    **{method.name: 15.0 for method in KERNELS_BY_SGD},
    **{method.name: 6.0 for method in KERNELS},
}
BEST = (0.05, 0.01)


def stored(outcome: Outcome) -> StoredRun:
    return StoredRun("0" * 32, {}, outcome, {})


def network_run(test: float | None, validation: float | None = None) -> StoredRun:
    """A trained network's run: ``test`` on the test points proper, ``validation`` on those before them."""
    if test is None:
        return stored(Outcome("diverged", {"steps": 7.0}))
    v, t = SMALL.validation_samples, SMALL.test_samples
    validation = test if validation is None else validation
    scalars = {"train_loss": 0.01, "test_loss": (v * validation + t * test) / (v + t)}
    return stored(Outcome("finished", scalars, {"step": np.array([8000.0]), "test_loss": np.array([validation])}))


def kernel_run(test: float, loo: float) -> StoredRun:
    scalars = {"train_error": 0.2, "test_error": loo, "ridge": 3.0, "ridge_on_edge": 0.0}
    arrays = {
        "path_ridge": np.array([9.0, 3.0, 1.0]),
        "path_train_error": np.array([0.3, 0.2, 0.1]),
        "path_test_error": np.array([loo + 1, loo, test]),
    }
    return stored(Outcome("finished", scalars, arrays=arrays))


def value(given: Any, width: int | None, seed: int) -> float | None:
    given = given.get(width, 9.0) if isinstance(given, dict) else given
    return given[seed] if isinstance(given, list) else given


def finished_runs(errors: dict[str, Any], experiment: Fig2a = A, search: Any = None) -> dict[Any, StoredRun]:
    """Runs made by hand, as the plan asks for them; by method, and where wanted by width and by seed."""
    finished: dict[Any, StoredRun] = {}
    while new := [label for label in experiment.plan(SMALL, SEEDS, finished) if label not in finished]:
        for label in new:
            parts: Any = label
            part, name, width, *point, seed = parts
            if part == "kernel":
                test = value(errors[name], None if width == "infinite" else width, seed)
                assert test is not None
                finished[label] = kernel_run(test, test + 0.5)
            elif part == "search":
                rate, decay = (float(word.partition("=")[2]) for word in point)
                bowl = 1 + math.log(rate / BEST[0]) ** 2 + math.log(decay / BEST[1]) ** 2 + width / 1000
                finished[label] = search(name, width, rate, decay, seed) if search else network_run(bowl)
            else:
                finished[label] = network_run(value(errors[name], width, seed))
    return finished


def claims(errors: dict[str, Any], scale: str = "laptop", **more: Any) -> dict[str, Any]:
    rows = A.rows(SMALL, finished_runs(errors, **more))
    return {claim.id: claim for claim in A.claims(SMALL, rows, scale)}


def test_the_papers_numbers() -> None:
    printed = published("resnet", "figure2")
    for experiment, n in ((A, "n_all"), (B, "n_hidden")):
        settings = experiment.settings("paper")
        names = ("dim", "outputs", "alpha", "epochs", "decay_epoch", "momentum", "batch")
        assert {name: getattr(settings, name) for name in names} == {name: printed[name] for name in names}
        assert settings.samples == printed[n]
        assert settings.widths == (20, 50, 100, 200, 500, 1000)
        assert settings.threshold == pytest.approx(printed["threshold"])
        laptop = experiment.settings("laptop")
        assert laptop.widths == (20, 50, 100, 200)
        changed = {name for name in vars(settings) if getattr(settings, name) != getattr(laptop, name)}
        coarser = {"learning_rates", "weight_decays", "kernel_rates", "kernel_decays"}
        assert changed == coarser | {"widths", "test_samples"}


def test_the_threshold_is_the_problems() -> None:
    for settings in (A.settings("paper"), A.settings("smoke"), replace(A.settings("smoke"), alpha=0.7)):
        assert settings.threshold == pytest.approx(problem_of(settings).base_only_risk, rel=1e-12)


def test_specs_are_what_the_paper_trains() -> None:
    for experiment, group, steps in ((A, "all", 8000), (B, "hidden", 16_000)):
        settings = experiment.settings("paper")
        specs = experiment.plan(settings, SEEDS, {})
        first: Any = specs["search", f"3resnet ({group})", 200, "η=0.05", "λ=0.01", 1001].learner
        rule = first.algorithm
        assert (rule.steps, rule.drops, rule.drop_factor) == (steps, (steps // 2,), 0.1)
        assert (rule.learning_rate, rule.weight_decay, rule.momentum, rule.batch) == (0.05, 0.01, 0.9, 50)
        assert (rule.group, first.network.form, first.network.width) == (group, "bottleneck", 200)
        starts = {
            "3resnet": network_of("3resnet", 20),
            "3layer": network_of("3layer", 20),
            "2layer": network_of("2layer", 20),
        }
        assert [getattr(network, "depth", None) for network in starts.values()] == [None, 3, 2]
        for name, network in starts.items():
            last: Any = specs["search", f"{name} (last), by SGD", 20, "η=0.05", "λ=0.1", 1000].learner
            assert (last.network, last.algorithm.group) == (network, "last")
            tangent: Any = specs["search", f"{name} (NTK), by SGD", 20, "η=0.05", "λ=0.1", 1000].learner
            assert (tangent.network, tangent.algorithm.group) == (bk.networks.Linearised(network), "all")
        assert {spec.samples for spec in specs.values()} == {settings.samples}
        assert {spec.test_samples for spec in specs.values()} == {11_000}
        searches = {label[1] for label in specs if label[0] == "search"}
        assert searches == {method.name for method in trained_methods(experiment.regime)}
        assert not any(label[0] == "chosen" for label in specs)
        # a kernel is drawn with the seed of its run
        solved: Any = specs["kernel", "3resnet (NTK)", 50, 2]
        assert (solved.seed, solved.learner.kernel.seed, solved.learner.kernel.out_dim) == (2, 2, 15)
        kernels = {label[1:3] for label in specs if label[0] == "kernel"}
        assert kernels == {(method.name, width) for method in KERNELS for width in (*settings.widths, "infinite")}


def test_the_search_comes_first_and_has_seeds_of_its_own() -> None:
    finished = finished_runs(GOOD)
    plan = A.plan(SMALL, SEEDS, finished)
    assert set(plan) == set(finished)
    assert {label[-1] for label in plan if label[0] == "search"} == {1000, 1001}
    chosen = {label[1:5] for label in plan if label[0] == "chosen"}
    assert chosen == {
        (method.name, width, "η=0.1" if method.kernel else "η=0.05", "λ=0.01")  # the kernels' grid has no 0.05
        for method in trained_methods("all")
        for width in SMALL.widths
    }
    assert {label[-1] for label in plan if label[0] == "chosen"} == set(SEEDS)
    with pytest.raises(InputError, match=r"seeds must not be those of the search, got \[1001\]"):
        A.plan(SMALL, (0, 1001), {})
    lost = {label: run for label, run in finished.items() if label[:3] != ("search", "2layer (all)", 20)}
    assert not any(label[:3] == ("chosen", "2layer (all)", 20) for label in A.plan(SMALL, SEEDS, lost))


def test_the_mean_over_search_seeds_chooses_by_each_criterion() -> None:
    def search(name: str, width: int, rate: float, decay: float, seed: int) -> StoredRun:
        table = {
            (0.05, 0.01): ((0.5, 3.0), (1.5, 3.0)),  # (test, validation) of the two seeds: means 1.0 and 3.0
            (0.05, 0.05): ((0.1, 2.0), (4.0, 2.0)),  # the best single test error, means 2.05 and 2.0
            (0.05, 0.2): ((0.0, 0.0), None),  # would win, but one of its seeds diverged
        }
        pair = table.get((rate, decay), ((5.0, 5.0), (5.0, 5.0)))[seed - 1000]
        return network_run(None) if pair is None else network_run(*pair)

    finished = finished_runs(GOOD, search=search)
    rows = [row for row in A.rows(SMALL, finished) if (row["method"], row["width"]) == ("2layer (all)", 20)]
    chosen = {
        row["choice"]: (row["learning_rate"], row["weight_decay"], row["search_error"], row["on_edge"], row["tried"])
        for row in rows
    }
    assert chosen == {
        "test": (0.05, 0.01, pytest.approx(1.0), False, 12),
        "validation": (0.05, 0.05, pytest.approx(2.0), False, 12),
    }
    assert len(rows) == 2 * len(SEEDS)


def test_all_claims_hold_on_good_numbers() -> None:
    for scale in ("laptop", "paper"):
        found = claims(GOOD, scale)
        assert {name: claim.holds for name, claim in found.items()} == dict.fromkeys(found, True)
        assert list(found) == [
            "3resnet-all", "3layer-all", "2layer-all",
            "3resnet-last-sgd", "3layer-last-sgd", "2layer-last-sgd",
            "3resnet-ntk-sgd", "3layer-ntk-sgd", "2layer-ntk-sgd",
            "3resnet-last", "3layer-last", "2layer-last", "3resnet-ntk", "3layer-ntk", "2layer-ntk",
        ]  # fmt: skip
    assert {claim.holds for claim in claims(GOOD, "smoke").values()} == {None}


@pytest.mark.parametrize(
    ("claim", "method"),
    [
        ("3layer-all", "3layer (all)"),
        ("2layer-all", "2layer (all)"),
        ("3layer-last-sgd", "3layer (last), by SGD"),
        ("3resnet-last-sgd", "3resnet (last), by SGD"),
        ("2layer-ntk-sgd", "2layer (NTK), by SGD"),
        ("3resnet-last", "3resnet (last)"),
        ("2layer-ntk", "2layer (NTK)"),
    ],
)
def test_one_width_below_fails_a_claim(claim: str, method: str) -> None:
    for width in (20, 50):
        found = claims(GOOD | {method: {width: 1.3}})
        assert [name for name, each in found.items() if each.holds is not True] == [claim]
        assert found[claim].measured == pytest.approx(1.3)


def test_infinite_width_counts() -> None:
    found = claims(GOOD | {"3layer (NTK)": {None: 1.34}})
    assert [name for name, claim in found.items() if claim.holds is not True] == ["3layer-ntk"]


def test_clearly_below() -> None:
    vague = claims(GOOD | {"3layer (all)": {50: [0.9, 1.9, 1.1]}})["3layer-all"]
    assert vague.holds is True
    assert vague.measured == pytest.approx(1.3)
    assert vague.reason.startswith("not clearly: 1.30 is below 1.35")
    clear = claims(GOOD | {"3layer (all)": {50: [1.30, 1.31, 1.29]}})["3layer-all"]
    assert clear.holds is False
    # the width with the least mean is vague, another one is not
    both = claims(GOOD | {"3layer (all)": {20: [0.8, 1.8, 1.0], 50: [1.30, 1.31, 1.29]}})["3layer-all"]
    assert (both.holds, both.measured) == (False, pytest.approx(1.3))
    # a kernel is given no such grace
    assert claims(GOOD | {"3layer (NTK)": {50: [0.9, 1.9, 1.1]}})["3layer-ntk"].holds is False


def test_the_resnets_width_is_the_searchs_choice() -> None:
    # the search likes narrow ones here, so what the wide one reaches does not help
    found = claims(GOOD | {"3resnet (all)": {20: 1.4, 50: 0.1}})["3resnet-all"]
    assert (found.holds, found.measured) == (False, pytest.approx(1.4))
    found = claims(GOOD | {"3resnet (all)": {20: 1.3, 50: 9.0}})["3resnet-all"]
    assert (found.holds, found.measured) == (True, pytest.approx(1.3))


def test_a_diverged_run_decides_nothing() -> None:
    found = claims(GOOD | {"3resnet (all)": [0.5, None, 0.5]})["3resnet-all"]
    assert (found.holds, found.reason) == (None, "1 of 3 runs gave no value")
    finished = finished_runs(GOOD | {"3resnet (all)": [0.5, None, 0.7]})
    _, rows = A.table(SMALL, A.rows(SMALL, finished))
    assert rows[0]["remark"] == "1 of 3 diverged"
    assert rows[0]["test_error"] == pytest.approx(0.6)


def test_table() -> None:
    finished = finished_runs(GOOD | {"3resnet (all)": [0.4, 0.5, 0.6]})
    columns, rows = A.table(SMALL, A.rows(SMALL, finished))
    assert len(rows) == (3 + 6) * 2 + 6 * 3
    names = list(dict.fromkeys(row["method"] for row in rows))
    assert names == [method.name for method in (*trained_methods("all"), *KERNELS)]
    cells = [column.cell(rows[0]) for column in columns]
    assert cells == ["3resnet (all)", "20", "0.500 ± 0.100", "0.500 ± 0.100", "1.020", "0.05", "0.01", ""]
    last = {column.title: column.cell(rows[-1]) for column in columns}
    assert (last["Method"], last["Width"]) == ("2layer (NTK)", "∞")
    assert (last["Chosen on test"], last["Chosen without"]) == ("6.000 ± 0.000", "6.500 ± 0.000")
    assert A.table(SMALL, [])[1] == []


def test_kernel_rows_take_the_best_ridge_and_that_of_leave_one_out() -> None:
    rows = [row for row in A.rows(SMALL, finished_runs(GOOD)) if row["method"] == "3resnet (last)"]
    by_choice = {row["choice"]: row for row in rows if (row["width"], row["seed"]) == (20, 0)}
    assert by_choice["test"] | {"method": ""} == {
        "method": "", "width": 20, "choice": "test", "seed": 0, "status": "finished", "train_error": 0.1,
        "test_error": 6.0, "search_error": None, "learning_rate": None, "weight_decay": None, "ridge": 1.0,
        "on_edge": True, "tried": 3,
    }  # fmt: skip
    loo = by_choice["leave-one-out"]
    assert (loo["test_error"], loo["ridge"], loo["on_edge"]) == (6.5, 3.0, False)


def test_figures() -> None:
    finished = finished_runs(GOOD)
    error, by_sgd, choices = (figure for figure in A.figures(SMALL, finished))
    lines: Any = {line.label: line for line in error.lines}  # pyright: ignore[reportAttributeAccessIssue]
    assert list(lines) == ["3resnet (all)", "3layer (all)", "2layer (all)", *(method.name for method in KERNELS)]
    assert list(lines["3layer (NTK)"].y) == [[6.0, 6.0]] * 3
    levels: Any = error.levels  # pyright: ignore[reportAttributeAccessIssue]
    assert [level.value for level in levels] == [pytest.approx(1.35), pytest.approx(16.35)]
    slow: Any = {line.label: line for line in by_sgd.lines}  # pyright: ignore[reportAttributeAccessIssue]
    assert list(slow) == [method.name for method in KERNELS_BY_SGD]
    assert list(slow["2layer (NTK), by SGD"].y) == [[15.0, 15.0]] * 3
    assert [line.label for line in choices.lines][-1] == "the search's own best"  # pyright: ignore[reportAttributeAccessIssue]
    for figure in (error, by_sgd, choices):
        assert ET.fromstring(render_svg(figure)).tag.endswith("svg")
        assert "iverged" not in figure.caption
    assert A.figures(SMALL, {}) == []


def test_a_figure_leaves_out_what_diverged_and_says_so() -> None:
    gone = {"3resnet (all)": {20: [0.4, None, 0.6], 50: 0.3}, "2layer (NTK), by SGD": {20: [None] * 3, 50: 15.0}}
    error, by_sgd, choices = (figure for figure in A.figures(SMALL, finished_runs(GOOD | gone)))
    lines: Any = {line.label: line for line in (*error.lines, *by_sgd.lines)}  # pyright: ignore[reportAttributeAccessIssue]
    _, mean, low, high = lines["3resnet (all)"].summary("range")
    assert (mean.tolist(), low.tolist(), high.tolist()) == ([0.5, 0.3], [0.4, 0.3], [0.6, 0.3])
    assert np.isnan(lines["2layer (NTK), by SGD"].summary("range")[1]).tolist() == [True, False]
    assert error.caption.endswith("Diverged and left out: 1 of 3 runs of 3resnet (all) at width 20.")
    assert by_sgd.caption.endswith("Diverged and left out: 3 of 3 runs of 2layer (NTK), by SGD at width 20.")
    assert "1 of 3 runs of 3resnet (all), by validation, at width 20" in choices.caption
    for figure in (error, by_sgd, choices):
        assert ET.fromstring(render_svg(figure)).tag.endswith("svg")


def test_validation_and_test_points_are_disjoint() -> None:
    """The errors of a run of the search, computed again from the network it trained."""
    settings = replace(A.settings("smoke"), epochs=3, decay_epoch=2)
    method, point, seed = trained_methods("all")[0], (0.01, 0.01), 1000
    spec = trained_spec(method, settings, 8, point, seed)
    learner: Any = spec.learner
    names = ("W.weight", "W.bias", "V.weight", "V.bias", "A.weight")
    kept = replace(learner, snapshot_at=(learner.algorithm.steps,), snapshot_names=names)
    outcome = perform([replace(spec, learner=kept)])[0]
    at = f"snapshot/{learner.algorithm.steps}/"
    W, b1, V, b2, A_ = (torch.from_numpy(outcome.arrays[at + name]).double() for name in names)
    sample = spec.problem.sample(points_of(settings), Stream(seed).child("test"))
    out1 = torch.relu(sample.x.double() @ W.T + b1) @ A_.T
    out = out1 + torch.relu(out1 @ V.T + b2) @ A_.T
    errors = (out - sample.y.double()).square().sum(1)
    v = settings.validation_samples
    expected = errors[v:].mean().item(), errors[:v].mean().item()
    assert search_errors(outcome, settings) == pytest.approx(expected, rel=1e-4)
    assert abs(expected[0] - expected[1]) > 1e-2  # else the test could not tell them apart
    diverged = Outcome("diverged", {"steps": 1.0})
    assert search_errors(diverged, settings) == (math.inf, math.inf)


def test_a_kernel_by_sgd_tends_to_the_ridge_regression_of_its_features() -> None:
    """(NTK) against the tangent features themselves: what g(x; θ₀) leaves of y, regressed with all outputs together."""
    settings = replace(
        A.settings("smoke"), samples=30, batch=30, epochs=4000, decay_epoch=3000, momentum=0.9, validation_samples=50
    )
    for name in ("3resnet", "2layer"):
        spec = trained_spec(Method(name, "NTK"), settings, 8, (0.01, 0.1), 1000)
        found = perform([spec])[0].scalars
        network, stream, learner = network_of(name, 8), Stream(1000), cast("Any", spec.learner)
        sample = spec.problem.sample(30, stream.child("train"))
        test = spec.problem.sample(points_of(settings), stream.child("test"))
        _, drawn = learner.algorithm.initialise(learner.network, 8, 4, stream.child("learner").child("initial"))
        params = {key.removeprefix("at."): value.double() for key, value in drawn.items()}
        parts = []
        for points in (sample.x.double(), test.x.double()):
            slopes = torch.func.jacrev(lambda at, x=points, g=network: g.apply(at, {}, x)[0])(params)
            start = network.apply(params, {}, points)[0]
            parts.append((torch.cat([slope.flatten(2) for slope in slopes.values()], 2).flatten(0, 1), start))
        (features, start), (features_test, start_test) = parts
        # the loss is a mean over points, weight decay λ adds λ|Δ|²/2: so half of Nλ is the ridge
        ridge = 30 * 0.1 / 2
        gram = features @ features.T + ridge * torch.eye(len(features), dtype=torch.float64)
        alpha = torch.linalg.solve(gram, (sample.y.double() - start).flatten())
        out = start_test + (features_test @ (features.T @ alpha)).view(start_test.shape)
        expected = (out - test.y.double()).square().sum(1).mean().item()
        assert found["test_loss"] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("method", KERNELS, ids=lambda method: method.name)
def test_infinite_width_does_not_depend_on_the_width_it_is_asked_at(
    method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = A.settings("paper")
    x = problem_of(settings).sample(20, Stream(5)).x
    grams = []
    for width in (50, 1000):
        monkeypatch.setattr("beyondkernels.experiments.resnet.fig2.methods._ANY_WIDTH", width)
        kernel: Any = kernel_spec(method, settings, None, 0).learner
        gram = kernel.kernel(x)
        grams.append(gram / gram.trace())  # the best ridge goes with the scale
    assert torch.allclose(*grams, rtol=1e-10)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"widths": ()}, "widths must hold increasing numbers, each once"),
        ({"widths": (20, 20)}, "widths must hold increasing numbers, each once"),
        ({"widths": (0, 20)}, "widths must be positive, got 0"),
        ({"learning_rates": (0.05, 0.02)}, "learning_rates must hold increasing numbers"),
        ({"learning_rates": (0.03,)}, "1, 2 or 5 times a power of ten, got 0.03"),
        ({"learning_rates": (-0.1, 0.1)}, "learning_rates must be positive, got -0.1"),
        ({"learning_rates": (0.05, 5.0)}, r"learning_rates must lie in \[0.001, 1.0\], got 5.0"),
        ({"decay_limits": (1.0, 0.1)}, "decay_limits must be two increasing numbers"),
        ({"batch": 501}, r"batch must not exceed samples \(500\), got 501"),
        ({"decay_epoch": 801}, r"decay_epoch must lie in \[0, 800\], got 801"),
        ({"search_seeds": 0}, "search_seeds must be positive, got 0"),
    ],
)
def test_bad_settings(changes: dict[str, Any], sentence: str) -> None:
    for settings in (Fig2Settings(), Fig2aSettings()):
        with pytest.raises(InputError, match=sentence):
            replace(settings, **changes)


def test_bad_grids_of_the_kernels() -> None:
    with pytest.raises(InputError, match="kernel_rates must hold increasing numbers"):
        replace(Fig2aSettings(), kernel_rates=(0.1, 0.05))
    with pytest.raises(InputError, match=r"kernel_decays must lie in \[0.0001, 10.0\], got 20.0"):
        replace(Fig2aSettings(), kernel_decays=(1.0, 20.0))
    with pytest.raises(InputError, match="kernel_rate_limits must be two increasing numbers"):
        replace(Fig2aSettings(), kernel_rate_limits=(1.0,))
    axes = Fig2aSettings().axes_of(KERNELS_BY_SGD[0]), Fig2aSettings().axes_of(trained_methods("all")[0])
    assert [[axis.limits for axis in pair] for pair in axes] == [
        [(1e-5, 1.0), (1e-4, 10.0)],
        [(1e-3, 1.0), (1e-4, 1.0)],
    ]


def test_remarks() -> None:
    levels, clearly = A.remarks(A.settings("paper"))
    assert "1.35" in levels and "16.35" in levels and "11000 points" in levels
    assert "95 % t interval" in clearly


def test_the_notes_say_what_is_done_and_how_was_chosen() -> None:
    text = " ".join(A.notes)
    for words in (
        "A stands twice",
        "Δ begins at zero",
        "seed 100",
        "without ½",
        "validation points",
        "infinitely bad",
        "leave-one-out",
        "N(0, 1/m)",
    ):
        assert words in text
    assert bk.experiments.CATALOGUE.keys() >= {A.id, B.id}
