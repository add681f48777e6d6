"""Inputs written into given places are those handed out."""

import pytest
import torch

from beyondkernels.algorithms import GradientDescent, Squared
from beyondkernels.core import Sample, Stream
from beyondkernels.engine import Member
from beyondkernels.engine.inputs import Inputs
from beyondkernels.networks import FullyConnected
from stepping import started as begun


def started(seed: int, sample: Sample, batch: int | None) -> Member:
    rule = GradientDescent(20, 0.1 + seed, batch, drops=(3,), loss=Squared())
    return begun(FullyConnected(3), rule, sample, Stream(seed))


@pytest.mark.parametrize("batch", [4, None])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("margin", [(0, 0), (3, 0), (2, 1)], ids=["tight", "beside", "below"])
def test_written_and_handed_out(batch, shared, margin):
    """Also into the inside of a larger place, with a margin beside the points or below them."""
    samples = [Sample(Stream(i).child("x").normal(12, 5), Stream(i).child("y").normal(12, 2)) for i in range(3)]
    members = [started(i, samples[0 if shared else i], batch) for i in range(3)]
    inputs = Inputs(members, ahead=1, steps=6)
    beside, below = margin
    places = {name: torch.zeros_like(value) for name, value in inputs.at(0).items()}
    for part, width in (("x", 5), ("y", 2)):
        n = places["batch", part].shape[1]
        places["batch", part] = torch.zeros(3, n + below, width + beside)[:, :n, :width]
    for i in range(6):
        inputs.write(i, places)
        exact = inputs.at(i)
        assert exact.keys() == places.keys()
        for name, value in exact.items():
            assert torch.equal(places[name], value), (i, name)


def test_the_numbers_are_those_of_each_member_and_step():
    sample = Sample(Stream(0).normal(12, 5), Stream(1).normal(12, 2))
    members = [started(i, sample, 4) for i in range(3)]
    inputs = Inputs(members, ahead=1, steps=6)
    for i in range(6):
        rates = [0.1 + k if i + 2 <= 3 else 0.1 * (0.1 + k) for k in range(3)]
        assert inputs.at(i)["hyper", "rate"].tolist() == pytest.approx(rates)
        for k, member in enumerate(members):
            rows = member.rows(1, 6)
            assert rows is not None
            assert torch.equal(inputs.at(i)["batch", "x"][k], sample.x[rows[i]])
