"""The experiments on the paper's constructions: claims, rows a second way, figures."""

import math
from typing import Any

import numpy as np
import pytest

import beyondkernels as bk
from beyondkernels.core import Outcome
from beyondkernels.lab import At, changed
from beyondkernels.papers.overparam.experiments import coupling, existence, indicator, randomness
from beyondkernels.papers.overparam.measurements import three_layer_bounds
from beyondkernels.papers.overparam.theory.indicator import indicator_function
from papers.judging import check_figures, finish, refuted, unshaken

SEEDS = (0, 1, 2)


def test_claims_and_figures_of_indicator():
    """Numbers as the lemmas have them."""

    def outcome(at: At, spec: Any) -> Outcome:
        numbers = {"error": at.epsilon, "sampled_error": 0.1, "deviation": 2.0, "root_mean_square": 4.0}
        numbers |= {"log_range": 9.0, "log_slope": 9.0, "log_complexity": 20.0, "least_constant": 300.0}
        numbers |= {"log_hypothesis": 3.0}
        if at.lemma == indicator.UNBIASED:
            numbers["moment_constant"] = 0.9
        x = np.linspace(-1, 1, 5)
        return Outcome("finished", numbers, arrays={"x": x, "target": x, "mean": x + at.epsilon})

    experiment = indicator.Indicator()
    reading = finish(experiment, experiment.settings("smoke"), SEEDS, outcome)
    assert refuted(reading) == []
    assert reading.claims[0].measured == pytest.approx(1.0)
    check_figures(reading, ["functions", "error"])
    functions, errors = (figure for figure in reading.figures if hasattr(figure, "lines"))
    assert len(functions.lines) == 6  # type: ignore[attr-defined] - two functions, each with two ε
    assert max(errors.lines[1].y) == pytest.approx(1.0)  # type: ignore[attr-defined]


def existing(at: At, _: Any) -> Outcome:
    length = at.width**-0.5
    error = (1 + at.seed) * length
    numbers = {"error": error, "start_error": 0.1, "real_error": 0.2, "expected_error": error}
    numbers |= {"frobenius_norm": length, "row_norm": 1 / at.width, "row_bound": 1e60}
    return Outcome("finished", numbers)


def test_claims_and_figures_of_existence():
    experiment = existence.Existence()
    settings = changed(experiment.settings("smoke"), {"widths": (100, 1000, 10_000)})
    reading = finish(experiment, settings, SEEDS, existing)
    assert refuted(reading) == []
    check_figures(reading, ["error", "real"])
    guide = reading.figures[0].lines[-1]  # type: ignore[attr-defined]
    assert guide.y[-1] == pytest.approx(guide.y[0] / 10)


def test_constants_of_lemma_e1():
    """k p ℭ_s(sin)/√m, with ℭ_s(sin) = C* Σ (i + 1)/i! over odd i = C* (cosh 1 + sinh 1); and k p ℭ_ε(sin)/m."""
    s = existence.Existence().settings("smoke")
    at = At(lemma=existence.UNBIASED, function="sin", width=400, std=1.0, seed=0)
    found = existence.row(s, at, existing(at, None))
    many, log = s.outputs * s.terms, math.log(1 / s.epsilon)
    assert found["frobenius_constant"] * many * math.e == pytest.approx(1.0)  # ‖W̃‖_F = 1/√m
    assert found["scaled_row_norm"] == pytest.approx(1)
    star = found["rows_constant"]
    odd = range(1, 40, 2)
    assert many * sum(star**i * (1 + (log / i) ** (i / 2)) / math.factorial(i) for i in odd) == pytest.approx(1)
    assert found["log_hypothesis"] == pytest.approx(math.log10(s.epsilon * many * 1e4 * math.e))


def test_constants_of_lemma_g1():
    """A row that is as long as with |h| = ℭ(φ, √log(1/ε)) at C = 2."""
    s = existence.Existence().settings("smoke")
    at = At(lemma=existence.BIASED, function="sin", width=400, std=s.epsilon, seed=0)
    h = indicator_function(bk.activations.Sine(), s.epsilon, s.reach)

    def complexity(z: float) -> float:
        return sum(abs(c) * z**i for i, c in enumerate(h.coefficients))

    numbers = {"frobenius_norm": 1.0, "row_norm": 3.0, "row_bound": 3.0 * h.most}
    numbers["row_norm"] *= complexity(2 * math.sqrt(math.log(1 / s.epsilon)))
    found = existence.row(s, at, Outcome("finished", numbers))
    assert found["rows_constant"] == pytest.approx(2)
    assert found["log_hypothesis"] == pytest.approx(math.log10(s.epsilon * complexity(1e4)))


def coupled(at: At, _: Any) -> Outcome:
    """Terms with the powers of the lemmas, the largest half of their bounds where the lemmas speak.

    The first snapshot of three layers is shorter than the lemmas' range of radii, the second lies in it, and the last
    one beyond.
    """
    m, steps = at.width, np.array([0.0, 10.0, 40.0, 50.0])
    moved = np.array([0.0, 0.5, 1.0, 1.0])
    series: dict[str, Any] = {"coupling/step": steps, "coupling/radius": moved / m}
    sides: dict[str, Any] = {}
    if at.layers == 3:
        del series["coupling/radius"]
        w, v = np.array([0.0, 0.1 * m**-0.75, m**-0.6, 3 * m**-0.5]), np.array([0.0, m**-0.5, m**-0.4, 0.5])
        series |= {"coupling/first_radius": w, "coupling/second_radius": v}
        allowed = [(0.0, 0.0), (m**-0.75, m**-0.5), *zip(w[2:], v[2:], strict=True)]
        each = [three_layer_bounds((m, m), radii) for radii in allowed]
        sides = {name: np.array([one[name] for one in each]) for name in each[0]}
    for name, (_, power) in coupling.TERMS[at.layers].items():
        left = (1 + at.seed) * m**power * moved
        right = sides.get(name, 10 * left)
        series |= {f"coupling/{name}": left, f"coupling/{name}_bound": right, f"coupling/{name}_max": 0.5 * right}
        if at.layers == 3:
            series[f"coupling/{name}_max"][-1] = 2 * right[-1]  # where the lemmas do not speak
    return Outcome("finished", {"test_loss": 0.1}, series)


def test_claims_and_figures_of_coupling():
    experiment = coupling.Coupling()
    settings = changed(experiment.settings("smoke"), {"widths": (100, 10_000), "deep_widths": (100, 10_000)})
    reading = finish(experiment, settings, SEEDS, coupled)
    assert unshaken(experiment, settings, reading.rows) == []
    check_figures(reading, ["flips", "gap", "distance"])
    diverged = finish(experiment, settings, SEEDS, lambda *_: Outcome("diverged"))
    assert {claim.holds for claim in diverged.claims} == {None}
    assert len(diverged.table[1]) == 4


def test_claims_and_figures_of_randomness():
    """Numbers as the lemma has them, without tilt and with one."""

    def outcome(at: At, _: Any) -> Outcome:
        numbers = {"whole": 1.0, "signal": 0.1, "rest": (1 + at.seed) * at.width**-0.5, "variance": 1.0}
        return Outcome(
            "finished", numbers | {"carried": 1.0, "leak": 0.1, "excess": 0.0, "lost": 20.0 * at.width**-0.2}
        )

    experiment = randomness.Randomness()
    settings = changed(experiment.settings("smoke"), {"widths": (100, 10_000), "draws": 100, "seeds": 2})
    reading = finish(experiment, settings, SEEDS, outcome)
    assert unshaken(experiment, settings, reading.rows) == []
    check_figures(reading, ["parts"])
