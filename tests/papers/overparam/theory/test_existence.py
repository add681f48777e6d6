"""The weights of Lemma G.1, neuron by neuron, and what their pseudo network gives."""

import math

import numpy as np
import pytest
import torch

from beyondkernels.activations import smooth_function
from beyondkernels.core import Stream
from beyondkernels.execution.outcomes import perform
from beyondkernels.papers.overparam import TwoLayerLearner, TwoLayerTruth, UnitInputs
from beyondkernels.papers.overparam.theory import (
    ExistingNetwork,
    existing_weights,
    indicator_function,
    pseudo_two_layer,
)
from beyondkernels.store import RunSpec

TRUTH = TwoLayerTruth(UnitInputs(4), ("sin", "cos", "exp"), terms=3, outputs=2, instance=100)


def start(width: int, std: float = 0.5):
    params, buffers = TwoLayerLearner(width, std).init(4, 2, Stream(100))
    return params["W"].double(), {name: value.double() for name, value in buffers.items()}


def test_weights_neuron_by_neuron():
    (W, buffers), functions = start(50), [indicator_function(f, 0.1) for f in TRUTH.functions]
    found, stars = existing_weights(TRUTH, W, buffers, functions, 0.5), TRUTH.matrices()
    for j in range(50):
        literal = torch.zeros(4, dtype=torch.float64)
        for r in range(2):
            for i in range(3):
                alpha, bias = (math.sqrt(50) * float(each) for each in (W[j] @ stars["w1"][i], buffers["b1"][j]))
                h = float(functions[i](np.array(alpha), bias))
                literal += float(buffers["a"][r, j] * stars["a"][r, i]) * h * stars["w2"][i] / (50 * 0.25)
        assert torch.allclose(found[j], literal, rtol=1e-9, atol=1e-12)


def test_the_pseudo_network_is_right_on_average():
    """The mean over starts of g(x; W̃) is the target, at every point and output, within its standard error."""
    truth = TwoLayerTruth(UnitInputs(4), "sin", terms=2, outputs=2, instance=100)
    x, functions = truth.source.draw(3, Stream(100)), [indicator_function(smooth_function("sin"), 0.01)] * 2
    outputs = []
    for seed in range(400):
        params, buffers = TwoLayerLearner(200, 0.5).init(4, 2, Stream(seed))
        W, buffers = params["W"].double(), {name: value.double() for name, value in buffers.items()}
        star = existing_weights(truth, W, buffers, functions, 0.5)
        outputs.append(pseudo_two_layer(x, star, W, buffers))
    found = torch.stack(outputs)
    error = found.std(0) / math.sqrt(400)
    assert ((found.mean(0) - truth.target(x)).abs() < 4 * error).all()
    assert error.max() < 0.1


def run(width: int, biased: bool = True, std: float = 1e-3, function: str = "sin", seed: int = 100):
    truth = TwoLayerTruth(UnitInputs(4), function, terms=2, outputs=2, instance=seed)
    spec = RunSpec(truth, ExistingNetwork(TwoLayerLearner(width, std), 0.01, biased=biased), 1, 40, seed)
    return truth, spec, perform([spec])[0].scalars


@pytest.mark.parametrize("biased", [True, False])
def test_the_run_measures_what_it_says(biased):
    _, _, found = run(60, biased, std=0.3)
    outcomes = [run(width, biased, seed=seed)[2]["error"] for width in (500, 8000) for seed in range(100, 108)]
    narrow, wide = sum(outcomes[:8]) / 8, sum(outcomes[8:]) / 8
    assert 2.5 < narrow / wide < 6.5  # √16 = 4
    assert found["row_norm"] <= found["frobenius_norm"] <= found["row_norm"] * math.sqrt(60)
    assert found["row_norm"] <= found["row_bound"]


def test_expected_error_is_what_is_found():
    scalars = [run(3000, seed=seed)[2] for seed in range(100, 120)]
    found, expected = (sum(each[name] for each in scalars) for name in ("error", "expected_error"))
    assert found == pytest.approx(expected, rel=0.25)


def test_near_a_large_start_the_real_network_adds_what_the_pseudo_network_adds():
    """With ε_a = 1 few gates change: both differ from the target by what the start itself gives."""
    _, _, found = run(20_000, biased=False, std=1.0)
    assert found["real_error"] == pytest.approx(found["start_error"], rel=0.02)
    assert found["error"] < 0.2 * found["start_error"]
