"""The experiment on coupling: exponents, bounds and sums a second way, claims that can fail, a small run."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import gamma, jv

import beyondkernels as bk
from beyondkernels.core import Outcome, Stream
from beyondkernels.execution.outcomes import perform
from beyondkernels.lab import Reading, specs_of, tabulate
from beyondkernels.papers.resnet.experiments.circle import LIPSCHITZ, CouplingSettings, problem_of, sizes_of
from beyondkernels.papers.resnet.experiments.coupling import PROMISES, Coupling, outside
from beyondkernels.papers.resnet.measurements.existence import Witness, gate_bounds
from measuring import measured
from papers.judging import check_figures, claims_of, failing, stored, undecided

EXPERIMENT = Coupling()
LAPTOP = EXPERIMENT.settings("laptop")
SMALL = replace(
    EXPERIMENT.settings("smoke"),
    widths=(12, 48),
    fit_from=12,
    steps=40,
    snapshots=(0, 3, 10),
    points=9,
    witness_points=6,
    test_samples=20,
    backend="eager",
)


@pytest.fixture(scope="module")
def reading() -> Reading:
    specs = specs_of(EXPERIMENT, SMALL, (0, 1), {})
    outcomes = perform(list(specs.values()))
    finished = {label: stored(outcome) for label, outcome in zip(specs, outcomes, strict=True)}
    return Reading(EXPERIMENT, SMALL, (0, 1), finished, "smoke")


def made_rows(powers: dict[str, float] | None = None, more: dict[str, float] | None = None) -> list[dict[str, Any]]:
    """Rows whose terms are powers of m, a little different from seed to seed; by default exactly as promised."""
    exponents = LAPTOP.exponents | (powers or {})
    good = {"first_flips_ratio": 0.3, "second_flips_ratio": 0.3, "error_ratio": 0.4, "error_size": 0.4}
    good |= {"second_matrix_order": 0.6, "regret_ratio": 0.5, "test_error": 1e-3}
    return [
        {"width": m, "seed": seed, "status": "finished"}
        | {name: 0.2 * (1 + seed) * m ** (power - 1e-9) for name, power in exponents.items()}
        | good
        | (more or {})
        for m in LAPTOP.widths
        for seed in range(3)
    ]


def verdicts(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return claims_of(EXPERIMENT, LAPTOP, rows)


def test_exponents_are_those_of_the_right_sides() -> None:
    """By the slope of the right sides themselves between two very wide networks with the same radii."""
    settings = CouplingSettings()
    assert settings.exponents["first_flips"] == pytest.approx(-1 / 8)
    assert settings.exponents["second_flips"] == pytest.approx(-1 / 8)
    for name in ("first_vanishing", "second_vanishing", "second_matrix", "first_gates", "second_gates"):
        assert settings.exponents[name] == pytest.approx(-1 / 16), name
    others = (replace(settings, first_power=-0.25), replace(settings, first_power=-0.4, second_power=0.25))
    taus, out1 = (2.0, 0.3), torch.ones(1).double()
    star = Witness(torch.ones(1, 1).double(), torch.ones(1, 1).double())
    for one in (settings, *others):
        found = []
        for m in (10**17, 10**18):  # so wide that the slower term of every sum is nearly alone
            sides = {n: float(v) for n, v in vars(bk.resnet.coupling_bounds(m, 2, one.stds(m), taus, out1)).items()}
            sides |= {n: float(v) ** 0.5 for n, v in gate_bounds(m, one.stds(m), taus, star, out1).items()}
            found.append({n: v / m if n.endswith("flips") else v for n, v in sides.items()})
        for name, power in one.exponents.items():
            assert math.log10(found[1][name] / found[0][name]) == pytest.approx(power, abs=2e-3), name


@pytest.mark.parametrize(("dim", "frequency"), [(5, 2.0), (2, 1.0), (9, 5.0), (3, 5.0)])
def test_the_target_and_its_floor(dim: int, frequency: float) -> None:
    settings = replace(SMALL, dim=dim, frequency=frequency, alpha=0.2)
    problem = problem_of(settings)
    risk = problem.base_risk(40_000, Stream(1))
    assert settings.base_only_risk == pytest.approx(risk.value, abs=5 * risk.error)
    s, half = 4 * frequency / math.sqrt(2), dim / 2
    mean = float(gamma(half) * (2 / s) ** (half - 1) * jv(half - 1, s))  # the same as a Bessel function
    assert settings.base_only_risk == pytest.approx(0.2**2 * (1 - mean) / 2, rel=1e-9)
    h = problem.base_signal(problem.sample(50, Stream(2)).x)
    assert h.norm(dim=1).tolist() == pytest.approx([1.0] * 50)
    assert float(problem.composite_signal(h).norm(dim=1).max()) <= 1 + 1e-12


def test_the_lipschitz_constant_is_the_least() -> None:
    G = problem_of(SMALL).composite_signal
    angle = Stream(3).uniform(500, dtype=torch.float64) * 2 * math.pi
    h = torch.stack([angle.sin(), angle.cos()], 1)
    near = h * (1 - 1e-4 * Stream(4).uniform(500, 1, dtype=torch.float64)) + 0
    other = torch.stack([(angle + 1e-4).sin(), (angle + 1e-4).cos()], 1)
    for pair in (near, other, h.flip(0), 0.3 * h.roll(1, 0)):
        quotient = (G(h) - G(pair)).norm(dim=1) / (h - pair).norm(dim=1)
        assert float(quotient.max()) <= LIPSCHITZ + 1e-9
    steepest = (G(h) - G(other)).norm(dim=1) / (h - other).norm(dim=1)
    assert float(steepest.max()) > 0.99 * LIPSCHITZ


def test_specs() -> None:
    for scale in ("smoke", "laptop", "paper"):
        settings = EXPERIMENT.settings(scale)
        specs = specs_of(EXPERIMENT, settings, range(settings.seeds), {})
        assert len(specs) == settings.seeds * len(settings.widths)
        m = settings.widths[1]
        spec: Any = specs[f"width={m}", 1]
        stds = bk.networks.initial_stds(spec.learner.network, settings.dim, 2)
        assert stds == pytest.approx((m ** (-5 / 16), m ** (3 / 16)))
        rule = spec.learner.algorithm
        assert (rule.steps, rule.first_rate, rule.second_rate) == (settings.steps, 0.05, 0.005)
        assert (spec.samples, spec.seed) == (settings.steps, 1)
        assert spec.learner.snapshot_at == settings.times
        assert (settings.times[0], settings.times[-1]) == (0, settings.steps)
    assert replace(SMALL, snapshots=(0, 10, 40, 50)).times == (0, 10, 40)


def test_a_small_run(reading: Reading) -> None:
    rows = reading.rows.to_dict("records")
    assert [(row["width"], row["seed"]) for row in rows] == [(12, 0), (12, 1), (48, 0), (48, 1)]
    row, outcome = rows[-1], rows[-1]["outcome"]
    s = outcome.scalars
    spec = specs_of(EXPERIMENT, SMALL, (0, 1), {})["width=48", 1]
    for measurement in spec.measurements:
        again = measured(measurement, outcome, spec.problem)  # type: ignore[arg-type]
        assert {name: s[name] for name in again.scalars} == again.scalars
        assert all(np.array_equal(outcome.series[name], series) for name, series in again.series.items())
    s = s | {
        f"{name.partition('/')[2]}/{int(step)}": value
        for name, series in outcome.series.items()
        if name.startswith(("coupling/", "regret/")) and series.ndim == 1
        for step, value in zip(*outcome.over(name), strict=True)
    }
    assert row["first_flips"] == s["first_flips/40"]
    assert row["second_matrix_order"] == pytest.approx(s["second_matrix_max/40"] / s["second_radius/40"])
    assert row["second_gates"] == pytest.approx(s["second_gates/40"] ** 0.5)
    assert row["first_gates_ratio"] == pytest.approx(s["first_gates_ratio/40"] ** 0.5)
    a, L, small, ratios = SMALL.alpha, LIPSCHITZ, sizes_of(SMALL).accuracy, {}
    for t in (0, 3, 10, 40):
        tau = max(s[f"second_radius/{t}"], s["second_witness"])
        right = (tau + a * L) ** 2 * s[f"risk/{t}"] + (small**2 + 2 * tau**2 + 2 * a * tau * L) ** 2
        ratios[t] = s[f"error/{t}"] / right
    assert row["error_ratio"] == pytest.approx(max(ratios.values()))
    assert row["error_step"] == max(ratios, key=lambda t: ratios[t])
    sizes = [s[f"error_max/{t}"] ** 0.5 / max(s[f"first_radius/{t}"], s["first_witness"]) for t in ratios]
    assert row["error_size"] == pytest.approx(max(sizes))
    squares = [(0.05 * s[f"first_gradient/{t}"] + 0.005 * s[f"second_gradient/{t}"]) / 2 for t in ratios]
    shares = [square / s[f"risk/{t}"] for square, t in zip(squares, ratios, strict=True)]
    assert row["gradient_share"] == pytest.approx(max(shares))
    assert all(claim.holds is None for claim in reading.claims)


def test_table_and_pictures(reading: Reading) -> None:
    columns, lines = reading.table
    assert [line["width"] for line in lines] == ["12", "48"]
    wide = reading.rows[reading.rows["width"] == 48]["first_flips"]
    assert lines[1]["first_flips"] == pytest.approx(np.mean(wide))
    assert lines[1]["first_flips_sd"] == pytest.approx(np.std(wide, ddof=1))
    assert all(column.cell(lines[0]) for column in columns)
    check_figures(reading, ["flips", "vanishing", "regret", "error"])


def test_diverged_runs_are_results(reading: Reading) -> None:
    broken = {**reading.finished, ("width=48", 1): stored(Outcome("diverged", {"steps": 7.0}))}
    again = Reading(EXPERIMENT, SMALL, (0, 1), broken, "laptop")
    assert len(again.figures) == 4
    assert {"first-flips", "error-size"} <= set(undecided(again))
    alone = Reading(EXPERIMENT, SMALL, (1,), {("width=48", 1): broken["width=48", 1]}, "laptop")
    _, (line,) = alone.table
    assert line["remark"] == "1 of 1 diverged"


def test_claims_hold_as_promised_and_can_fail() -> None:
    good = verdicts(made_rows())
    assert all(claim.holds for claim in good.values()) and len(good) == 14
    for term, (name, _) in PROMISES.items():
        slower = LAPTOP.exponents[term] + 0.02
        found = verdicts(made_rows({term: slower}))
        assert failing(found) == [name]
        assert found[name].measured == pytest.approx(slower, abs=1e-6)
    named = {"first_flips_ratio": "first-constant", "second_flips_ratio": "second-constant", "error_ratio": "error"}
    named |= {"error_size": "error-size", "regret_ratio": "regret", "second_matrix_order": "second-matrix-order"}
    for term, name in named.items():
        assert failing(verdicts(made_rows(more={term: 1.1}))) == [name]
    assert failing(verdicts(made_rows(more={"test_error": 1.01 * LAPTOP.base_only_risk}))) == ["learns"]


def test_slopes_are_fitted_over_wide_networks() -> None:
    rows = made_rows()
    for row in rows:
        if row["width"] < 1000:
            row["first_flips"], row["second_matrix_order"], row["test_error"] = 1e-9, 5.0, 1.0
    found = verdicts(rows)
    assert found["first-flips"].measured == pytest.approx(-1 / 8)
    assert found["second-matrix-order"].holds
    assert not found["learns"].holds


def test_claim_c6_is_claimed_at_the_largest_width_alone() -> None:
    rows = made_rows()
    for row in rows:
        row["error_ratio"] = 0.5 if row["width"] == LAPTOP.widths[-1] else 7.0
    assert verdicts(rows)["error"].measured == pytest.approx(0.5)


def test_ranges_of_lemma_c1() -> None:
    line = {"width": 10_000, "first_std": 0.1, "second_std": 4.0, "first_radius": 1.5, "second_radius": 0.5}

    def told(**changes: float) -> str:
        return outside(tabulate([{**line, **changes, "status": "finished"}]))

    assert told() == ""
    assert told(first_radius=0.5) == "‖W‖ ÷2.0"
    assert told(first_radius=3.52, second_radius=0.1) == "‖W‖ ×2.0, ‖V‖ ÷1.6"
    assert told(second_radius=8.0) == "‖V‖ ×2.0"
    assert told(second_radius=0.0) == "‖V‖ is zero"
