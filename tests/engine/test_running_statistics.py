"""Running statistics at the start of a network that are those of the data."""

from typing import Any

import pytest
import torch
from torch import nn

import beyondkernels as bk
from beyondkernels.core import Stream
from beyondkernels.engine import FrozenKernel, Member
from beyondkernels.engine.running_statistics import settled_buffers
from beyondkernels.execution.outcomes import cases_of, perform
from beyondkernels.kernels import KernelAt, TangentAt, TunedKernel
from beyondkernels.networks import FromCopy, FullyConnected

STREAM = Stream(3)
X = 5 + 10 * STREAM.child("x").normal(200, 4)
Y = ((X[:, :1] - 5) * (X[:, 1:2] - 5)).sign()


def member(network: Any, batch: int | None = 50) -> Member:
    rule = bk.algorithms.GradientDescent(steps=10, learning_rate=0.1, batch=batch)
    found = Member(network, rule, bk.core.Sample(X, Y), Stream(0))
    found.start(4, 1)
    return found


def normalised() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(0.5), nn.Linear(6, 1))


@pytest.mark.parametrize("batch", [None, 50, 64])
def test_statistics_are_those_of_the_data(batch):
    start = member(FromCopy.of(normalised()), batch)
    before = {name: value.clone() for name, value in start.buffers.items()}
    found = settled_buffers(start)
    inside = X @ start.params["0.weight"].T + start.params["0.bias"]
    torch.testing.assert_close(found["1.running_mean"], inside.mean(0), rtol=0.02, atol=0.1 * inside.std().item())
    torch.testing.assert_close(found["1.running_var"], inside.var(0), rtol=0.1, atol=0.0)
    for name, value in start.buffers.items():  # the member is as it was
        assert torch.equal(value, before[name])
        if not value.is_floating_point():  # passes and draws are not counted
            assert torch.equal(value, found[name])


@pytest.mark.parametrize(
    "network", [FullyConnected(8), FromCopy.of(nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.5), nn.Linear(6, 1)))]
)
def test_a_network_without_statistics_keeps_its_buffers(network):
    start = member(network)
    assert settled_buffers(start) is start.buffers


def test_a_kernel_of_the_start_has_these_statistics():
    rule = bk.algorithms.GradientDescent(steps=10, learning_rate=0.1, batch=50)
    network = FromCopy.of(normalised())
    spec = bk.store.RunSpec(bk.data.given((X, X[:, 0] * X[:, 1])), FrozenKernel(network, rule), 160, 40, 0)
    (case,) = cases_of([spec])
    start = Member(network, rule, case.train, case.stream)
    start.start(4, 1)
    expected, initial = (
        TunedKernel((KernelAt(TangentAt(network, start.params, buffers), (4,)),)).fit(case, lambda _: None)
        for buffers in (settled_buffers(start), start.buffers)
    )
    (found,) = perform([spec])
    assert found.scalars == pytest.approx(expected.scalars, rel=1e-9)
    assert found.scalars["test_loss"] != pytest.approx(initial.scalars["test_loss"], rel=1e-2)
