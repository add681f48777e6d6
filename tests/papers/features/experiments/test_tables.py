"""Tables 2 to 5, which share Table 1's declaration, and all of them at a glance."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import beyondkernels as bk
from beyondkernels.core import Outcome
from beyondkernels.lab import At, Reading, changed, find, specs_of
from beyondkernels.papers.features.experiments import bars, tables
from beyondkernels.papers.features.experiments.cases import Case, Numbers, problem_of, process_of
from beyondkernels.papers.features.experiments.overview import Overview, places
from beyondkernels.papers.features.experiments.paper_table import WITH_CONVERGED, PaperTable
from beyondkernels.papers.features.experiments.table3 import Table3
from beyondkernels.papers.features.paper import PAPER as FEATURES
from papers.judging import check_figures, claims_of, failing, finish, refuse, refuted

TABLES: dict[str, PaperTable] = {f"table{i}": find(f"features/table{i}") for i in (1, 2, 3, 4, 5)}  # type: ignore[misc]
CASES = [(name, case) for name, table in TABLES.items() for case in table.settings("paper").cases().values()]
SEEDS = (0, 1, 2)


@pytest.mark.parametrize(("name", "case"), CASES)
@pytest.mark.parametrize("structured", [True, False])
def test_the_constant_classifier_by_two_routes(name: str, case: Case, structured: bool) -> None:
    exact = problem_of(case, 0, structured).constant_accuracy
    assert case.constant(structured) == pytest.approx(100 * exact, rel=1e-9)


def test_the_cases_are_the_papers() -> None:
    found = {f"{name} {case.name}".strip(): case for name, case in CASES}
    assert list(found) == [
        *("table1", "table2", "table3 d = 100", "table3 d = 2000", "table4 ratio = 0.8", "table4 ratio = 0.9"),
        *("table5 n = 25000", "table5 n = 10000"),
    ]
    numbers = {label: case.numbers for label, case in found.items()}
    assert [each.dim for each in numbers.values()] == [500, 500, 100, 2000, 500, 500, 500, 500]
    assert [each.pairs for each in numbers.values()] == [300, 100, 300, 300, 300, 300, 300, 50]
    assert [each.samples for each in numbers.values()] == [50_000] * 6 + [25_000, 10_000]
    assert [each.steps for each in numbers.values()] == [600, 200] + 6 * [600]
    assert [each.relevant for each in numbers.values()] == [5, 30] + 6 * [5]
    ratios = [getattr(problem_of(case, 0), "negative_ratio", None) for case in found.values()]
    assert ratios == [None, None, None, None, 0.8, 0.9, None, None]
    rates = {label: (each.readout_rate, each.tangent_rate) for label, each in numbers.items() if label != "table2"}
    own = rates.pop("table5 n = 10000")
    assert set(rates.values()) == {(200.0, 3e-4)}  # Table 1's schedule serves all other parity labels
    assert (own, found["table5 n = 10000"].hidden_rate) == ((2000.0, 3e-4), 1e-4)
    interval: Any = problem_of(found["table2"], 0)
    assert (interval.labels.low, interval.labels.high, interval.hidden.relevant) == (20, 30, 2 / 3)


@pytest.mark.parametrize(
    ("table", "case", "test", "cosines"),
    [
        ("table2", "", [100.0, 100.0, 73.2, 41.0, 100.0, 100.0], [1.0, None, 0.153, 0.901, 0.994, 0.965]),
        ("table3", "d = 100", [100.0, 81.5, 78.3, 51.1, 100.0, 51.0], [1.0, None, 0.354, 0.967, 1.0, 0.331]),
        ("table3", "d = 2000", [100.0, 75.4, 77.0, 50.01, 100.0, 52.5], [0.998, None, 0.056, 0.56, 0.998, 0.309]),
        ("table4", "ratio = 0.8", [100.0, 82.7, 70.4, 75.7, 100.0, 61.7], [0.999, None, 0.293, 0.95, 0.999, 0.218]),
        ("table4", "ratio = 0.9", [100.0, 81.7, 72.4, 89.2, 100.0, 71.8], [0.997, None, 0.296, 0.956, 0.997, 0.286]),
        ("table5", "n = 25000", [100.0, 84.1, 74.7, 50.0, 100.0, 50.2], [0.997, None, 0.105, 0.851, 0.997, 0.23]),
        ("table5", "n = 10000", [100.0, 75.0, 74.3, 50.3, 100.0, 52.2], [0.995, None, 0.096, 0.974, 0.994, 0.176]),
    ],
)
def test_printed_numbers(table: str, case: str, test: list[float], cosines: list[float | None]) -> None:
    assert list(FEATURES.printed_by_method(table, "test_accuracy", case).values()) == test
    assert list(FEATURES.printed_by_method(table, "cosine", case).values()) == cosines
    assert FEATURES.printed_by_method("table3", "cosine", "d = 7") == {}


def test_class_weights_where_classes_are_unequal() -> None:
    for name, case in CASES:
        process = process_of(case, 0)
        unequal = name in ("table2", "table4")
        assert (process.first.class_weights != (1.0, 1.0)) is unequal
        assert process.second.class_weights == process.first.class_weights
        assert process.later.class_weights == (process.first.class_weights if name == "table4" else (1.0, 1.0))
        if unequal:
            positive = problem_of(case, 0).moments.positive
            assert process.first.class_weights == pytest.approx((1 / (2 - 2 * positive), 1 / (2 * positive)))
    interval = next(case for name, case in CASES if name == "table2")
    assert process_of(interval, 0).later.hidden_rate == 1e-5
    assert process_of(interval, 0, own_schedule=False).later.hidden_rate == pytest.approx(0.9695, rel=1e-3)
    random = process_of(interval, 0, own_schedule=False, random=True).later
    assert (random.output_rate, random.hidden_rate) == (1000.0, pytest.approx(0.9695, rel=1e-3))
    assert process_of(CASES[0][1], 0, own_schedule=False, random=True) == process_of(CASES[0][1], 0, own_schedule=False)
    # without structure an interval still correlates with its patterns, a parity does not
    assert process_of(interval, 0, structured=False).first != process_of(interval, 0).first
    parity = Case("", Numbers())
    assert process_of(parity, 0, structured=False) == process_of(parity, 0)


def test_class_weights_in_all_steps_or_at_first() -> None:
    case = TABLES["table4"].settings("smoke").cases()["ratio = 0.8"]
    names = ("RF", "RF, weighted at first", "NTK", "NTK, weighted at first")
    specs = {name: tables.spec(case, At(method=name, seed=0)) for name in names}
    rules: dict[str, Any] = {name: spec.learner.learner.algorithm for name, spec in specs.items()}  # type: ignore[attr-defined]
    assert rules["RF"].settings.later.class_weights == pytest.approx((0.625, 2.5))
    assert rules["RF, weighted at first"].settings.later.class_weights == (1.0, 1.0)
    assert rules["NTK"].loss.weights == pytest.approx((0.625, 2.5))
    assert rules["NTK, weighted at first"].loss == bk.algorithms.Hinge()


@pytest.mark.parametrize("name", ["table2", "table3", "table4", "table5"])
def test_plan(name: str) -> None:
    table = TABLES[name]
    settings = table.settings("smoke")
    specs = specs_of(table, settings, (0, 1), {})
    places = [label for label in specs if "Step one" not in str(label)]
    assert len(places) == 2 * len(settings.cases()) * len(table.methods)
    for label in places:
        spec, names = specs[label], label[:-1]
        problem: Any = spec.problem
        method = names[-1]
        assert (problem == problem.without_structure()) is str(method).endswith("w/o structure")
        inside = isinstance(spec.learner, bk.engine.InSpan)
        assert inside is (problem.span is not None and method != "Constant")
        learner: Any = spec.learner.learner if inside else spec.learner  # type: ignore[attr-defined]
        if str(method).startswith("Converged") or method == "Linear":
            assert (learner.ridges, learner.smallest, learner.largest) == (settings.ridges, *settings.ridges)
    assert len({spec.key for spec in specs.values()}) == len(specs)


def good(case: Case, printed: str) -> dict[str, float]:
    """Accuracies as printed, and what the paper says in words."""
    table = {
        name: value for name, value in FEATURES.printed_by_method(printed, "test_accuracy", case.name).items() if value
    }
    without = table["Network w/o structure"]
    others = {"NTK w/o structure": without, "RF w/o structure": without, "Linear": 80.0, "Constant": 50.0}
    best = {"Converged One Step": table["One Step"], "Converged Two Step": table["Two Step"]}
    converged = dict.fromkeys(("Converged NTK", "Converged RF"), 80.0)
    return table | others | best | converged | {f"{name} w/o structure": 100.0 for name in converged}


def rows(table: PaperTable, name: str, changes: dict[str, float], cosine: float = 0.995) -> list[dict[str, Any]]:
    return [
        {"method": method, "seed": seed, "status": "finished", "test_accuracy": value, "cosine_either_step2": cosine}
        | ({"case": case.name} if case.name else {})
        | {"train_accuracy": 100.0, "cosine_either_step1": 0.97, "best_linear": 90.0}
        | {"gained": bars.gained(case, method, value)}
        for case in table.settings("paper").cases().values()
        for method, value in (good(case, name) | changes).items()
        for seed in SEEDS
    ]


@pytest.mark.parametrize("name", ["table2", "table3", "table4", "table5"])
def test_the_printed_numbers_meet_the_claims(name: str) -> None:
    found = claims_of(TABLES[name], TABLES[name].settings("paper"), rows(TABLES[name], name, {}))
    assert refuted(found) == []
    assert len(found) == {"table2": 16, "table3": 30, "table4": 34, "table5": 32}[name]


@pytest.mark.parametrize(
    ("name", "method", "bad", "claims"),
    [
        ("table2", "NTK", 99.4, ["ntk"]),
        ("table2", "RF", 62.9, ["rf"]),
        ("table2", "One Step", 67.1, ["one-step"]),
        ("table2", "Network w/o structure", 99.4, ["network-w/o-structure"]),
        ("table2", "NTK w/o structure", 94.9, ["ntk-unneeded", "ntk-unneeded-by-way"]),
        ("table2", "NTK w/o structure", 96.0, ["ntk-unneeded-by-way"]),
        ("table2", "Converged One Step", 67.1, ["one-step-best"]),
        ("table5", "Converged Two Step", 99.4, ["n25000-two-step-best", "n10000-two-step-best"]),
        ("table3", "Network", 99.4, ["d100-network", "d2000-network"]),
        ("table3", "NTK", 85.5, ["d2000-ntk"]),
        ("table3", "One Step", 60.1, ["d100-one-step", "d2000-one-step"]),
        ("table4", "One Step", 84.1, ["ratio0_8-one-step"]),
        ("table4", "RF", 82.1, ["ratio0_8-rf", "ratio0_9-rf"]),
        (
            "table4",
            "Network",
            92.9,
            [f"ratio0_{i}-{name}" for i in (8, 9) for name in ("network", "best-linear")],
        ),
        ("table4", "RF w/o structure", 82.1, ["ratio0_8-rf-unstructured"]),
        ("table4", "Converged RF", 97.1, ["ratio0_8-converged-rf", "ratio0_9-converged-rf"]),
        ("table5", "Two Step", 99.4, ["n25000-two-step", "n10000-two-step"]),
        ("table5", "NTK w/o structure", 56.1, ["n25000-ntk-unstructured", "n10000-ntk-unstructured"]),
    ],
)
def test_each_claim_fails_on_its_own(name: str, method: str, bad: float, claims: list[str]) -> None:
    table = TABLES[name]
    found = claims_of(table, table.settings("paper"), rows(table, name, {method: bad}))
    assert failing(found) == claims


def test_the_claims_on_cosines_and_on_fitting_fail() -> None:
    found = claims_of(TABLES["table3"], TABLES["table3"].settings("paper"), rows(TABLES["table3"], "table3", {}, 0.98))
    assert failing(found) == ["d100-cosine", "d2000-cosine"]
    worse = [
        row | {"train_accuracy": 99.4, "cosine_either_step1": 0.999} for row in rows(TABLES["table3"], "table3", {})
    ]
    found = claims_of(TABLES["table3"], TABLES["table3"].settings("paper"), worse)
    assert failing(found) == [f"{case}-{name}" for case in ("d100", "d2000") for name in ("improves", "network-fits")]


def test_trivial_classifiers_that_beat_printed_rows() -> None:
    told = {f"{name} {case.name}".strip(): bars.Sentences(name, case, ()).beaten() for name, case in CASES}
    assert "constant classifier is right on 58.5 %, above One Step (41 %)" in told["table2"]
    assert "on the data without structure, above Network w/o structure (61.7 %)" in told["table4 ratio = 0.8"]
    assert "above NTK (81.7 %), RF (72.4 %), One Step (89.2 %)." in told["table4 ratio = 0.9"]
    for name in ("table1", "table3 d = 100", "table5 n = 25000"):
        assert "The constant classifier" not in told[name]


def outcome(at: At, _: Any) -> Outcome:
    generator = np.random.default_rng(0)
    series: dict[str, Any] = {"step": np.array([1.0, 600.0]), "test_accuracy": np.array([0.5, 0.9])}
    steps = np.array([1.0]) if "Step one" in at.method else np.array([0.0, 1.0, 2.0])
    series |= {"alignment/step": steps, "alignment/cosine": steps / 4, "alignment/cosine_either": steps / 4}
    series["alignment/cosines"] = generator.uniform(-1, 1, (len(steps), 250))
    series |= {"directions/step": steps, "directions/points": generator.normal(size=(len(steps), 252, 2))}
    return Outcome("finished", {"train_accuracy": 0.9, "test_accuracy": 0.9}, series)


def test_figures_and_table_of_two_cases() -> None:
    read = finish(Table3(), Table3().settings("paper"), SEEDS, outcome)
    names = ["accuracy-d100", "accuracy-d2000", "directions-d100", "directions-d2000", "step-one", "table"]
    check_figures(read, names)
    _, _, directions, _, step_one, table = read.figures
    drawn: Any = directions
    assert len(drawn.panels[0].points) == len(drawn.near) == 84  # every third of 250
    lines = {line.label: line for line in step_one.lines}  # type: ignore[attr-defined]
    assert list(lines["printed"].x) == [100, 500, 2000]
    assert lines["printed"].arrays()[1].tolist() == [[0.967, 0.848, 0.56]]
    assert [line["method"] for line in read.table[1]] == list(WITH_CONVERGED)
    assert len(table.quantities) == 2  # type: ignore[attr-defined]


def test_step_one_in_two_precisions() -> None:
    table = Table3()
    specs = specs_of(table, table.settings("smoke"), (0,), {})
    found = {label: spec for label, spec in specs.items() if "Step one" in str(label)}
    assert list(found) == [
        (f"dim={d}", method, 0) for d in (20, 30) for method in ("Step one, exact", "Step one, float32")
    ]
    rules: list[Any] = [spec.learner.algorithm for spec in found.values()]  # type: ignore[attr-defined]
    assert [rule.forgetting for rule in rules] == ["exact", "rounded"] * 2
    assert {rule.settings.steps for rule in rules} == {1}


def test_the_overview_needs_no_run_of_its_own() -> None:
    overview = Overview()
    settings = overview.settings("smoke")
    mine = {spec.key for spec in specs_of(overview, settings, (0, 1), {}).values()}
    theirs = {
        spec.key for table in TABLES.values() for spec in specs_of(table, table.settings("smoke"), (0, 1), {}).values()
    }
    assert mine < theirs and len(places(settings)) == 3
    assert len(places(overview.settings("paper"))) == len(CASES) == 8
    read = finish(overview, settings, (0, 1), outcome)
    check_figures(read, ["accuracies"])
    matrix: Any = read.figures[0]
    assert list(matrix.rows) == ["Table 2", "Table 3, d = 20", "Table 3, d = 30"]
    assert matrix.groups[0].values[0] == [pytest.approx(90.0)] * 5


def test_the_overviews_claims() -> None:
    overview = Overview()
    settings = overview.settings("paper")

    def judged(changes: dict[str, float]) -> list[str]:
        accuracies = {"Network": 99.9, "NTK": 90.0, "RF": 80.0, "One Step": 50.0, "Network w/o structure": 60.0}
        made = [
            {"setting": place, "method": method, "seed": seed, "status": "finished", "test_accuracy": value}
            for place in places(settings)
            for method, value in (accuracies | changes).items()
            for seed in SEEDS
        ]
        return failing(claims_of(overview, settings, made))

    assert judged({}) == []
    assert judged({"Network": 99.4}) == ["network"]
    assert judged({"NTK": 95.0}) == ["ntk"]
    assert judged({"Network w/o structure": 95.0}) == ["network-w/o-structure"]


def test_bad_settings() -> None:
    paper = {name: table.settings("paper") for name, table in TABLES.items()}
    refuse(
        paper["table2"], {"low": 31}, r"low must lie in \[0, 30\], the possible numbers of relevant patterns, got 31"
    )
    refuse(paper["table2"], {"high": 31}, r"high must lie in \[0, 30\]")
    refuse(paper["table2"], {"low": 20, "high": 19}, "low must not exceed high, got low 20 and high 19")
    refuse(paper["table2"], {"relevant_probability": 1.0}, "relevant_probability must lie in")
    refuse(paper["table2"], {"dim": (100, 500)}, r"dim must hold one number, got \(100, 500\)")
    refuse(paper["table3"], {"relevant": 4}, "relevant must be odd, got 4")
    refuse(paper["table3"], {"pairs": (1, 2, 3)}, r"pairs must hold one number, or one for each dim \(2\)")
    refuse(paper["table4"], {"negative_ratio": (0.8, 1.0)}, "negative_ratio must lie in")
    refuse(paper["table5"], {"batch": 20_000}, r"batch must not exceed samples \(10000\), got 20000")
    refuse(Overview().settings("paper"), {"tables": "Table 1,Table 6"}, "unknown table 'Table 6'")


def test_other_cases_than_the_papers_have_no_printed_values() -> None:
    table = TABLES["table3"]
    settings = replace(table.settings("paper"), dim=(50,), patterns=20)
    claims = {each.id: each for each in table.claims(settings)}
    assert claims["d50-network"].paper is None
    reading = Reading(table, settings, SEEDS, {}, "laptop")
    assert reading.figures == []


def test_without_parity_labels_the_overview_says_nothing_of_them() -> None:
    overview = Overview()
    one = changed(overview.settings("paper"), {"tables": "Table 2"})
    assert [statement.id for statement in overview.claims(one)] == ["network"]
