"""The rungs with a last layer train or read one and the same linear layer, however blocks are cut."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import beyondkernels as bk
from beyondkernels.algorithms.base import Algorithm
from beyondkernels.engine import TrainedNetwork

X = bk.core.Stream(0).normal(400, 6)
Y = (X[:, 0] * X[:, 1] > 0).long()
SMALL: dict[str, Any] = {"parts": ["ladder"], "seeds": 1, "steps": 3, "progress": False}


class Head(nn.Sequential):
    """Two layers that are one block, because the head has a ``forward`` of its own."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:  # noqa: A002 - PyTorch's name
        return super().forward(input)


class Bare(nn.Module):
    """A first layer that is a bare parameter, so that the module is a single block."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.head = nn.Parameter(torch.empty(12, 6)), nn.Linear(12, 2)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head((x @ self.weight.T).relu())


class Encoding(nn.Module):
    """An encoder and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.enc, self.head = nn.Linear(6, 16), Head(nn.ReLU(), nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.enc(x))


def flat() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 2))


def left_out(found: Any) -> str:
    return found.experiment.remarks(found.experiment.settings("laptop"))[-1]


MODELS: dict[str, tuple[nn.Module, dict[str, Any], set[str]]] = {
    "layers": (flat(), {}, {"4.weight", "4.bias"}),
    "a head of two layers": (Encoding(), {}, {"head.3.weight", "head.3.bias"}),
    "blocks by hand": (flat(), {"blocks": {"body": ("0",), "head": ("2", "4")}}, {"4.weight", "4.bias"}),
    "a single block": (Bare(), {}, {"head.weight", "head.bias"}),
}


@pytest.mark.parametrize("rung", ["last layer", "early features"])
@pytest.mark.parametrize("name", MODELS)
def test_the_last_layer_alone_moves(name: str, rung: str) -> None:
    model, options, moving = MODELS[name]
    audit = bk.auditing.Audit(model, (X, Y), steps=10, **options)
    learner = {each.name: each.make for each in audit.rungs(audit.settings("laptop"))}[rung]
    assert learner is not None
    made = learner()
    assert isinstance(made, TrainedNetwork) and isinstance(made.algorithm, Algorithm)
    params, _ = made.network.init(6, 2, bk.core.Stream(0))
    groups = {"last layer": getattr(made.algorithm, "group", ""), "early features": ""}
    group = groups[rung] or getattr(made.algorithm, "groups")[-1]  # noqa: B009 - of Staged
    assert set(made.network.trained(group, params)) == moving


def test_how_layers_are_cut_into_blocks_changes_no_fixed_features() -> None:
    """The same layers have the same score, and the model has its lead, whichever of them are one block."""
    options = SMALL | {
        "steps": None,
        "epochs": 15,
        "learning_rate": 1e-2,
        "without": ["feature machine", "layer by layer"],
    }
    found = [bk.audit(model, (X, Y), **options, **more) for model, more, _ in list(MODELS.values())[:3]]
    scores = [dict(zip(each.ladder["rung"], each.ladder["score"], strict=True)) for each in found]
    for name in ("last layer", "conjugate kernel", "early features", "model"):
        assert scores[0][name] == pytest.approx(scores[1][name]) == pytest.approx(scores[2][name])
    assert scores[1]["last layer"] < scores[1]["model"] - 10
    assert found[0].sentence == found[1].sentence == found[2].sentence


def test_a_model_that_ends_otherwise_has_no_such_rung() -> None:
    found = bk.audit(nn.Sequential(flat(), nn.Tanh()), (X, Y), **SMALL)
    assert not {"last layer", "conjugate kernel", "early features"} & set(found.ladder["rung"])
    assert "last layer (the model does not end with a linear layer on vectors)" in left_out(found)
    assert "conjugate kernel (the model does not end" in left_out(found)


def test_tied_weights_leave_the_kernel_alone() -> None:
    line = nn.Linear(6, 6)
    model = nn.Sequential(line, nn.ReLU(), line)
    found = bk.audit(model, (X, X[:, :6] * X[:, :1]), **SMALL)
    assert "conjugate kernel" in set(found.ladder["rung"])
    assert "last layer (the numbers of the last layer of Sequential are also used before it" in left_out(found)
