from typing import Any

import numpy as np
import pytest

import beyondkernels as bk
from beyondkernels.core import Outcome
from beyondkernels.lab import At, Reading, specs_of
from beyondkernels.papers.features.experiments.table1 import Table1
from beyondkernels.papers.features.experiments.table1_strong import Table1Strong
from beyondkernels.papers.features.experiments.tables import CONVERGED, METHODS, record_steps
from papers.judging import check_figures, claims_of, finish, refuse, refuted

TABLE1, STRONG = Table1(), Table1Strong()
PAPER, SMOKE = TABLE1.settings("paper"), TABLE1.settings("smoke")
SEEDS = (0, 1, 2)
GOOD = {
    "Network": 99.9,
    "NTK": 85.0,
    "RF": 76.0,
    "One Step": 50.0,
    "Two Step": 100.0,
    "Network w/o structure": 50.5,
    "NTK w/o structure": 50.0,
    "RF w/o structure": 49.0,
    "Network, one rate": 84.0,
    "Constant": 50.0,
    "Linear": 84.4,
}


def reading(percents: dict[str, Any]) -> Reading:
    """Hand-made runs of Table 1; a list gives seed by seed."""
    generator = np.random.default_rng(0)

    def outcome(at: At, _: Any) -> Outcome:
        given = percents[at.method]
        percent = given[at.seed] if isinstance(given, list) else given
        if percent is None:
            return Outcome("diverged", {"steps": 7.0})
        share = percent / 100
        series: dict[str, Any] = {}
        if at.method not in ("Constant", "Linear"):
            series |= {"step": np.array([1.0, 10.0, 600.0]), "test_accuracy": np.array([0.5, 0.7, share])}
        if at.method.startswith(("Network", "RF")):
            series |= {
                "alignment/step": np.array([0.0, 1.0, 2.0, 600.0]),
                "alignment/cosine": np.array([0.1, 0.9, 0.995, 0.995 - 0.01 * at.seed]),
                "alignment/cosine_either": np.array([0.1, 0.9, 0.995, 0.995]),
            }
        if at.method == "Network":
            series["alignment/cosines"] = generator.uniform(-1, 1, (4, 12))
            series |= {"directions/step": np.array([0.0, 1.0, 2.0])}
            series["directions/points"] = generator.normal(size=(3, 14, 2))
        fitted = 1.0 if at.method == "Network w/o structure" else share
        return Outcome("finished", {"train_accuracy": fitted, "test_accuracy": share}, series)

    return finish(TABLE1, PAPER, SEEDS, outcome)


def test_good_numbers_hold_and_the_table_has_means_spreads_and_printed_values() -> None:
    read = reading(GOOD | {"NTK": [84.0, 85.0, 86.0]})
    assert refuted(read) == []
    columns, lines = read.table
    assert [line["method"] for line in lines] == list(METHODS)
    ntk = [column.cell(lines[1]) for column in columns]
    assert ntk == ["NTK", "85.0 ± 1.0", "84.0", "85.0 ± 1.0", "86.4", "–", "–"]
    assert [column.cell(lines[3]) for column in columns][-1] == "0.848"


def test_figures() -> None:
    read = reading(GOOD | {"NTK": None})
    check_figures(read, ["accuracy", "directions", "cosines", "table"])
    accuracy, _, _, table = (figure for figure in read.figures)
    lines = {line.label: line for line in accuracy.lines}  # type: ignore[attr-defined]
    assert "NTK" not in lines and "Network, one rate" not in lines and "Constant" not in lines
    assert lines["Network"].arrays()[1].tolist()[0] == pytest.approx([50, 70, 99.9])
    assert accuracy.levels[0].value == pytest.approx(84.375)  # type: ignore[attr-defined]
    dot = table.quantities[0].dots[0]  # type: ignore[attr-defined]
    assert (dot.measured, dot.low, dot.high, dot.published) == (pytest.approx(99.9), 99.9, 99.9, 100.0)


def test_plan_is_every_method_with_every_seed() -> None:
    specs = specs_of(TABLE1, SMOKE, (0, 1), {})
    assert list(specs) == [(method, seed) for method in METHODS for seed in (0, 1)]
    assert len({spec.key for spec in specs.values()}) == len(specs) == 22
    for (name, seed), spec in specs.items():
        assert (spec.seed, spec.samples, spec.test_samples) == (seed, 2000, 1000)
        problem: Any = spec.problem
        assert (problem.instance, problem.patterns, problem.relevant) == (seed, 20, 3)
        assert (problem == problem.without_structure()) is str(name).endswith("w/o structure")
    learners: dict[str, Any] = {str(name): spec.learner for (name, seed), spec in specs.items() if seed == 0}
    process = {name: each for name, each in learners.items() if hasattr(getattr(each, "algorithm", 0), "settings")}
    own = {name for name, found in process.items() if found.algorithm.settings.fading}
    assert own == {"Network", "One Step", "Two Step", "Network w/o structure"}
    frozen = {name: found.algorithm.freeze_hidden_after for name, found in process.items()}
    assert {name: after for name, after in frozen.items() if after is not None} == {
        "RF": 0,
        "One Step": 1,
        "Two Step": 2,
        "RF w/o structure": 0,
    }
    tangent = learners["NTK"]
    assert (tangent.algorithm.learning_rate, tangent.algorithm.steps, tangent.algorithm.group) == (3e-4, 40, "all")
    assert tangent.network.network.initialisation == learners["Network"].algorithm.settings.initial


def test_steps_that_are_recorded() -> None:
    assert record_steps(600) == (1, 2, 3, 5, 10, 20, 35, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 550, 600)
    for steps in (1, 2, 3, 40):
        assert record_steps(steps)[-1] == steps
        assert min(record_steps(steps)) >= 1


def test_the_network_is_ahead_seed_by_seed() -> None:
    percents = {"Network": [99.0, 98.0, 100.0], **dict.fromkeys(CONVERGED, [90.0] * 3), "Linear": [84.0] * 3}
    rows = [
        {"method": name, "seed": seed, "status": "finished", "test_accuracy": each[seed], "duality_gap": 0.001}
        for name, each in percents.items()
        for seed in SEEDS
    ]
    found = claims_of(STRONG, STRONG.settings("paper"), rows)
    assert refuted(found) == ["one-step-best"]  # 90 % is more than the paper has
    assert found["converged-rf"].measured == pytest.approx(9.0)


def test_strong_takes_the_networks_runs_from_table1() -> None:
    weak, strong = specs_of(TABLE1, SMOKE, (0, 1), {}), specs_of(STRONG, STRONG.settings("smoke"), (0, 1), {})
    for label in (("Network", 0), ("Network", 1), ("Constant", 1)):
        assert weak[label].key == strong[label].key
    learner: Any = strong["Converged One Step", 1].learner
    assert (learner.source.after, learner.source.kind, learner.tolerance) == (1, "neurons", 1e-4)
    assert strong["Linear", 0].learner == bk.kernels.FixedFeatureClassifier(
        bk.kernels.InputFeatures(), tolerance=1e-4, validation=0.2
    )


def test_bad_settings() -> None:
    refuse(PAPER, {"relevant": 101}, "relevant must not exceed patterns")
    refuse(PAPER, {"batch": 60_000}, "batch must not exceed samples")
