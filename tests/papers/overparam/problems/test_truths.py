"""Ground truths against the formulas of the paper, term by term."""

import json
import math

import pytest
import torch

from beyondkernels.activations import Cosine, Polynomial, PowerSeries
from beyondkernels.core import Stream, build, canonical_json
from beyondkernels.papers.overparam.problems import (
    GivenWeights,
    SignalInputs,
    ThreeLayerTruth,
    TwoLayerTruth,
    UnitInputs,
)
from refusals import refused

UNIT = UnitInputs(5)


def dot(w, x) -> float:
    return sum(float(p) * float(q) for p, q in zip(w, x, strict=True))


def at(function, z: float) -> float:
    return float(function.value(torch.tensor(z, dtype=torch.float64)))


def literal_two_layer(truth: TwoLayerTruth, x: torch.Tensor) -> list[list[float]]:
    w = truth.matrices()
    return [
        [
            sum(
                float(w["a"][r, i]) * at(truth.functions[i], dot(w["w1"][i], row)) * dot(w["w2"][i], row)
                for i in range(truth.terms)
            )
            for r in range(truth.outputs)
        ]
        for row in x
    ]


def literal_three_layer(truth: ThreeLayerTruth, x: torch.Tensor) -> list[list[float]]:
    w, (phi1, phi2), p2 = truth.matrices(), truth.inner_functions, truth.inner_terms
    out = []
    for row in x:
        line = []
        for r in range(truth.outputs):
            total = 0.0
            for i in range(truth.outer_terms):
                one = two = 0.0
                for j in range(p2):
                    first = float(w["v1"][i, j]) * at(phi1[j], dot(w["w1"][j], row))
                    second = float(w["v2"][i, j]) * at(phi2[j], dot(w["w2"][j], row))
                    one += first * (dot(w["w3"][j], row) if truth.linear else 1.0)
                    two += second * (dot(w["w4"][j], row) if truth.linear else 1.0)
                total += float(w["a"][r, i]) * at(truth.outer_functions[i], one) * two
            line.append(total)
        out.append(line)
    return out


TWO = {
    "plain": TwoLayerTruth(UNIT),
    "many": TwoLayerTruth(UNIT, ("sin", "exp", Polynomial((0.0, 1.0, 2.0))), terms=3, outputs=2, instance=3),
    "constant": TwoLayerTruth(UNIT, "sigmoid", second="constant", outputs=2),
    "few coordinates": TwoLayerTruth(SignalInputs(9, 3), "cos", relevant=3),
}
THREE = {
    "plain": ThreeLayerTruth(UNIT),
    "mixed": ThreeLayerTruth(UNIT, ("exp", "sin"), ("cos", "sin", "tanh"), "sinh", 2, 3, outputs=2, instance=4),
    "standard": ThreeLayerTruth(UNIT, "tanh", "sin", "constant", 3, 4),
    "general": ThreeLayerTruth(UNIT, "sin", "cos", "exp", 2, 3, linear=True),
}


@pytest.mark.parametrize("truth", TWO.values(), ids=TWO)
def test_two_layers_term_by_term(truth):
    x = truth.source.draw(4, Stream(1))
    assert truth.target(x).tolist() == [pytest.approx(row, abs=1e-12) for row in literal_two_layer(truth, x)]


@pytest.mark.parametrize("truth", THREE.values(), ids=THREE)
def test_three_layers_term_by_term(truth):
    x = truth.source.draw(4, Stream(1))
    assert truth.target(x).tolist() == [pytest.approx(row, abs=1e-12) for row in literal_three_layer(truth, x)]


@pytest.mark.parametrize("truth", [*TWO.values(), *THREE.values()])
def test_weights_are_those_of_the_paper(truth):
    for name, rows in truth.matrices().items():
        if name == "a":
            assert float(rows.abs().max()) <= 1
        else:
            torch.testing.assert_close(rows.norm(dim=1), torch.ones(len(rows), dtype=torch.float64))
    assert build(json.loads(canonical_json(truth))) == truth


@pytest.mark.parametrize("truth", [TWO["many"], THREE["mixed"]])
def test_samples(truth):
    sample = truth.sample(50, Stream(5))
    assert sample.x.dtype == sample.y.dtype == torch.float32
    assert sample.y.shape == (50, truth.out_dim)
    torch.testing.assert_close(sample.y, truth.target(sample.x).float(), rtol=1e-5, atol=1e-5)
    assert torch.equal(sample.y, sample.hidden["target"])
    assert torch.equal(truth.sample(50, Stream(5)).x, sample.x)
    assert not torch.equal(truth.sample(50, Stream(6)).x, sample.x)


def test_remarks_of_the_paper():
    """A constant linear factor gives a standard two-layer network, halved; a constant second factor gives (7)."""
    x = UNIT.draw(6, Stream(2))
    two = TWO["constant"]
    w = two.matrices()
    plain = torch.sigmoid(x @ w["w1"].T) @ w["a"].T
    torch.testing.assert_close(2 * two.target(x), plain)
    three = THREE["standard"]
    w = three.matrices()
    plain = torch.tanh(torch.sin(x @ w["w1"].T) @ w["v1"].T) @ w["a"].T
    torch.testing.assert_close(three.target(x), plain)


def test_the_example_of_the_paper():
    wave = Cosine(frequency=100.0)
    truth = ThreeLayerTruth(UNIT, "identity", wave, wave, 1, 1)
    x, w = UNIT.draw(5, Stream(3)), truth.matrices()
    sign = w["a"] * w["v1"] * w["v2"]
    torch.testing.assert_close(truth.target(x), sign * torch.cos(100 * x @ w["w1"].T) * torch.cos(100 * x @ w["w2"].T))
    assert abs(float(sign)) == 1


def test_noise_on_values():
    truth = TwoLayerTruth(UNIT, outputs=3, noise=0.3)
    sample = truth.sample(4000, Stream(7))
    noise = sample.y - sample.hidden["target"]
    torch.testing.assert_close(noise.abs(), torch.full_like(noise, 0.3), rtol=1e-4, atol=1e-6)
    assert abs(float(noise.mean())) < 6 * 0.3 / math.sqrt(noise.numel())


def test_flipped_signs():
    truth = TwoLayerTruth(UNIT, labels="signs", flips=0.2)
    sample = truth.sample(4000, Stream(7))
    assert set(sample.y.flatten().tolist()) == {-1.0, 1.0}
    wrong = (sample.y * sample.hidden["target"] < 0).double().mean().item()
    assert abs(wrong - 0.2) < 6 * math.sqrt(0.16 / 4000)


def test_given_weights():
    given = GivenWeights(a=((0.5,),), w1=((0.6, 0.8),), w2=((0.0, 1.0),))
    truth = TwoLayerTruth(UnitInputs(2), Polynomial((0.0, 0.0, 1.0)), terms=1, weights=given)
    x = torch.tensor([[math.sqrt(0.75), 0.5]], dtype=torch.float64)
    assert truth.target(x).item() == pytest.approx(0.5 * (0.6 * math.sqrt(0.75) + 0.4) ** 2 * 0.5)
    assert build(json.loads(canonical_json(truth))) == truth


def test_the_reach_of_an_outer_function():
    """sin(1) is the most that sin gives, and v₁ = (0.6, 0.8) makes at most 1.4 times that of it."""
    directions = ((1.0, 0.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0, 0.0))
    weights = GivenWeights(a=((1.0,),), w1=directions, w2=directions, v1=((0.6, 0.8),), v2=((0.6, 0.8),))
    least = 1.4 * math.sin(1.0)

    def truth(radius: float) -> ThreeLayerTruth:
        outer = PowerSeries(lambda n: radius**-n, rate=1 / radius, sharp=True)
        return ThreeLayerTruth(UNIT, outer, "sin", outer_terms=1, weights=weights)

    assert torch.isfinite(truth(1.05 * least).sample(50, Stream(0)).y).all()
    refused(r"where the series converges, got \|z\| = 1\.178", truth, 0.999 * least)


@pytest.mark.parametrize("linear", [False, True])
def test_factors_of_the_terms(linear):
    truth = ThreeLayerTruth(UnitInputs(5), "sin", "exp", "cos", outer_terms=3, outputs=2, linear=linear, instance=100)
    x = truth.draw(6, Stream(100))
    outer, inner = truth.factors(x)
    w = truth.matrices()
    for n, r in ((n, r) for n in range(6) for r in range(2)):
        total = sum(float(w["a"][r, i] * outer[n, i] * inner[n, i]) for i in range(3))
        assert float(truth.target(x)[n, r]) == pytest.approx(total)
    i, n = 2, 4
    parts = [torch.exp(w["w1"][j] @ x[n]) * (w["w3"][j] @ x[n] if linear else 1.0) for j in range(2)]
    assert float(outer[n, i]) == pytest.approx(float(torch.sin(w["v1"][i] @ torch.stack(parts))))
