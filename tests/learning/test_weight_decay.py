"""Weight decay by group of parameters, against loops written by hand with torch's parameter groups."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import beyondkernels as bk
from beyondkernels.core import Stream
from beyondkernels.networks import FromCopy, FromModule
from refusals import refused

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(100, 6)).astype(np.float32)
DATA = bk.data.given((X, np.array(["a", "b", "c"])[X[:, :3].argmax(1)]))
STEPS, RATE = 12, 0.05


def module() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, 3))


def torch_optimiser(name: str, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
    if name == "sgd":
        return torch.optim.SGD(groups, RATE, momentum=0.9)
    return (torch.optim.Adam if name == "adam" else torch.optim.AdamW)(groups, RATE)


def by_hand(name: str, decays: Mapping[str, float]) -> torch.Tensor:
    """Outputs after full-batch steps with a parameter group for each parameter."""
    twin = FromCopy.of(module()).fresh(6, 3, Stream(0).child("learner", "initial"))
    groups = [{"params": [value], "weight_decay": decays[key]} for key, value in twin.named_parameters()]
    optimiser, sample = torch_optimiser(name, groups), DATA.take("train", 80, 0)
    for _ in range(STEPS):
        optimiser.zero_grad()
        nn.functional.cross_entropy(twin(sample.x), sample.y.argmax(1)).backward()
        optimiser.step()
    return twin(torch.tensor(X)).detach()


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd"])
@pytest.mark.parametrize(
    ("given", "decays"),
    [
        ({"weight_decay": {"0": 0.5, "3": 0.1}}, (0.5, 0.5, 0, 0, 0.1, 0.1)),
        ({"weight_decay": {"0": 0.5, "0.bias": 0.0, "1.weight": 0.2}}, (0.5, 0, 0.2, 0, 0, 0)),
        ({"weight_decay": 0.5, "decay": "weights"}, (0.5, 0, 0, 0, 0.5, 0)),
        ({"weight_decay": {"0": 0.5, "3": 0.1}, "decay": "weights"}, (0.5, 0, 0, 0, 0.1, 0)),
        ({"weight_decay": 0.5}, (0.5,) * 6),
    ],
)
def test_groups_decay_as_torch_has_them(name, given, decays):
    names = [key for key, _ in module().named_parameters()]
    run = bk.fit(module(), DATA, optimiser=name, learning_rate=RATE, steps=STEPS, batch=80, **given)
    wanted = by_hand(name, dict(zip(names, decays, strict=True)))
    assert torch.allclose(run.outputs(X), wanted, atol=1e-5)
    uniform = by_hand(name, dict.fromkeys(names, 0.3))
    assert not torch.allclose(run.outputs(X), uniform, atol=1e-3)  # the comparison sees a wrong decay


def test_the_groups_are_part_of_the_identity_and_the_default_is_not():
    def key(**given: Any) -> str:
        return bk.fit(module(), DATA, steps=1, optimiser="adamw", **given).spec.key

    keys = [
        key(weight_decay=0.1),
        key(weight_decay={"0": 0.1}),
        key(weight_decay={"3": 0.1}),
        key(weight_decay=0.1, decay="weights"),
    ]
    assert len(set(keys)) == 4
    described = bk.core.describe(bk.algorithms.optimisers.Decay(0.1))
    assert list(described["fields"]) == ["value"]


def make(in_dim: int, out_dim: int) -> nn.Module:
    return nn.Sequential(nn.Linear(in_dim, 4), nn.BatchNorm1d(4), nn.Linear(4, out_dim))


def test_networks_say_which_parameters_are_weights():
    expected = {
        "0.weight": True,
        "0.bias": False,
        "1.weight": False,
        "1.bias": False,
        "2.weight": True,
        "2.bias": False,
    }
    assert FromModule(make, "mine").weights(6, 3) == expected
    images = FromCopy.of(nn.Sequential(nn.LayerNorm([2, 3]), nn.Flatten(), nn.Linear(6, 3)))
    assert images.weights((2, 3), 3) == {"0.weight": False, "0.bias": False, "2.weight": True, "2.bias": False}
    run = bk.fit(bk.networks.FullyConnected(8), DATA, steps=2, weight_decay=0.1, decay="weights")
    assert run.status == "finished"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"weight_decay": {"5": 0.1}}, "in weight_decay '5', known: 0, 0.weight, 0.bias, 1,"),
        ({"weight_decay": {"0.weigth": 0.1}}, "did you mean 0.weight"),
        ({"weight_decay": {"0": -0.1}}, r"weight_decay\['0'\] must not be negative, got -0.1"),
    ],
)
def test_bad_groups(given, sentence):
    refused(sentence, bk.fit, module(), DATA, steps=1, **given)
