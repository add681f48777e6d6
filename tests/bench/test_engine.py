"""The engine's benchmark: that both sides do the same work, and that a small one runs."""

from __future__ import annotations

import math

import pytest
import torch

from beyondkernels.bench import engine
from beyondkernels.networks import ThreeLayerResNet, popular_initialisation


@pytest.mark.parametrize("form", ["bottleneck", "full"])
@pytest.mark.parametrize("backend", ["compiled", "eager"])
def test_a_small_row(form, backend, monkeypatch):
    monkeypatch.setattr(engine, "two_workers", lambda *_: 1.9)
    monkeypatch.setattr(engine, "compile_seconds", lambda: 0.5)
    monkeypatch.setattr(engine, "MEMBERS", 3)
    row = engine.measure(form, 4, backend, epochs=1, speed=1e9)
    assert row.as_json().keys() >= {
        "network", "width", "members", "backend", "ratio_plain", "ratio_jax", "sgemm_fraction", "two_workers"
    }  # fmt: skip
    assert math.isfinite(row.ratio_plain)
    assert row.sgemm_fraction > 0
    assert (row.two_workers == 1.9) == (backend == "compiled" and form == "bottleneck")


@pytest.mark.parametrize("form", ["bottleneck", "full"])
def test_the_arithmetic_is_counted_as_autograd_does_it(form):
    """Every product of a step, seen by torch's own counter."""
    from torch.utils.flop_counter import FlopCounterMode

    network = ThreeLayerResNet(64, form, parameterisation=popular_initialisation(64))
    params, _ = network.init(engine.D, engine.K, engine._STREAM)
    leaves = {name: value.requires_grad_() for name, value in params.items()}
    data = engine.sample()
    with FlopCounterMode(display=False) as counter:
        out = network.apply(leaves, {}, data.x[: engine.BATCH])[0]
        ((out - data.y[: engine.BATCH]) ** 2).sum().backward()
    # torch pads inputs to multiples of 16 and counts that too
    assert 1.0 <= counter.get_total_flops() / engine.flops(network) <= 1.15


def test_the_plain_loop_trains_as_long_as_it_says(monkeypatch):
    steps = []
    original = torch.optim.SGD.step
    monkeypatch.setattr(torch.optim.SGD, "step", lambda self, *a: steps.append(1) or original(self, *a))
    network = ThreeLayerResNet(4, "bottleneck", parameterisation=popular_initialisation(4))
    engine.plain_loop(network, 13)()
    assert len(steps) == 13
