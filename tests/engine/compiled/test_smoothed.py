"""Algorithm 2 on the compiled backend: against double precision, the eager backend, and itself with stops."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from beyondkernels.algorithms import Hinge, PseudoHuber, Scaled, Squared
from beyondkernels.engine import Member
from beyondkernels.engine.compiled import refusal, smoothed
from beyondkernels.papers.overparam import ThreeLayerLearner, ThreeLayerSettings, ThreeLayerSGD, TwoLayerSGD
from stepping import finished, sample, started

SAMPLE = sample()
SETTINGS = ThreeLayerSettings((0.2, 0.1), 0.3, (50.0, 2.0), wait=2, draws=4)
RULE = ThreeLayerSGD(SETTINGS, 12, 0.02, batch=4)
NETWORK = ThreeLayerLearner(13, output_std=0.3)
RULES = {
    "L1": RULE,
    "L2": replace(RULE, variant="L2"),
    "scaled": replace(RULE, variant="L2", loss=Scaled(Squared(), 3.0)),
    "whole sample": replace(RULE, batch=None),
    "nothing drawn": replace(RULE, settings=ThreeLayerSettings(penalties=(50.0, 2.0))),
    "smoothing of V": replace(RULE, settings=replace(SETTINGS, smoothing=(0.0, 0.1), gradient_noise=0.0, wait=None)),
}


def trained(rule: ThreeLayerSGD, backend: Any, network=NETWORK, stops=(), until=None) -> Member:
    return finished(started(network, rule, SAMPLE, backend=backend), stops, until)


def gap(one: Member, other: Member) -> float:
    """The largest relative difference of any tensor of the state."""
    pairs = [
        (getattr(one, part)[name], value)
        for part in ("params", "buffers", "optimiser")
        for name, value in getattr(other, part).items()
    ]
    assert all(mine.shape == value.shape and mine.dtype == value.dtype for mine, value in pairs)
    return max(float((mine - value).abs().max() / value.abs().max().clamp(min=1e-9)) for mine, value in pairs)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("width", [13, 16, 300])
def test_some_steps_against_automatic_differentiation_in_double_precision(name, width):
    """The objective is written out once more, with matrices, and differentiated."""
    rule, steps = RULES[name], 3
    network = replace(NETWORK, width=width, output_std=0.1)
    member = trained(rule, "compiled", network, until=steps)
    start = started(network, rule, SAMPLE)
    W0, V0 = start.params["W"].double(), start.params["V"].double()
    b1, b2, a = (start.buffers[key].double() for key in ("b1", "b2", "a"))
    W, V, scale, s = torch.zeros_like(W0), torch.zeros_like(V0), 1.0, rule.settings
    rows = start.rows(0, steps)
    for t in range(steps):
        drawn = {key: value.double() for key, value in start.noise(t).items()}
        which = slice(None) if rows is None else rows[t]
        x, y = SAMPLE.x[which].double(), SAMPLE.y[which].double()
        W, V = W.detach().requires_grad_(), V.detach().requires_grad_()
        sigma = torch.diag(drawn.get("signs", torch.ones(width, dtype=torch.float64)))
        w, v = (sigma @ W + W0 + drawn.get("smoothing/W", 0), V @ sigma + V0 + drawn.get("smoothing/V", 0))
        out = (((x @ w.T + b1).clamp(min=0)) @ v.T + b2).clamp(min=0) @ a.T
        loss = rule.loss.each(scale * out, y).mean()
        loss = loss + s.penalties[0] * W.square().sum(1).square().sum() + s.penalties[1] * V.square().sum()
        slopes = torch.autograd.grad(loss, (W, V))
        W = W - rule.learning_rate * (slopes[0] - drawn.get("gradient/W", 0))
        V = V - rule.learning_rate * (slopes[1] - drawn.get("gradient/V", 0))
        if t == 0 and s.wait is not None:  # and not again within three steps, since a wait has at least two
            scale = 1 - rule.learning_rate
    for key, expected in (("W", W0 + W), ("V", V0 + V)):
        assert float((member.params[key] - start.params[key]).abs().max()) > 1e-4
        assert (member.params[key] - expected).abs().max() <= 2e-6 * expected.abs().max()
    torch.testing.assert_close(member.buffers["a"].double(), scale * a, rtol=1e-6, atol=0)
    assert torch.equal(member.buffers["b2"].double(), b2)


@pytest.mark.parametrize("name", RULES)
def test_many_steps_follow_the_eager_backend(name):
    """To the end: λ, the steps until it shrinks, the readout and the chosen noise matrix too."""
    compiled, eager = (trained(RULES[name], backend) for backend in ("compiled", "eager"))
    assert not compiled.diverged
    assert gap(compiled, eager) <= 2e-6
    shrunk = RULES[name].settings.wait is not None
    assert (float(compiled.optimiser["scale"]) < 0.99) == shrunk


def test_neither_stops_nor_how_many_numbers_are_drawn_at_once_change_a_bit(monkeypatch):
    through = trained(RULES["L2"], "compiled")
    assert gap(trained(RULES["L2"], "compiled", stops=(1, 7, 8)), through) == 0
    monkeypatch.setattr(smoothed, "DRAWN_BYTES", 6000)  # five steps
    assert gap(trained(RULES["L2"], "compiled"), through) == 0


def test_what_is_refused():
    assert refusal(NETWORK, RULE) is None
    assert refusal(NETWORK, RULES["scaled"]) is None
    assert "not Hinge" in (refusal(NETWORK, replace(RULE, loss=Hinge())) or "")
    assert "not Scaled" in (refusal(NETWORK, TwoLayerSGD(3, 0.1, loss=Scaled(PseudoHuber(), 2.0))) or "")
