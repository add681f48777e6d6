"""Audits of the kinds of models that people have: every run of every part ends, and what cannot be had is said."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import beyondkernels as bk

torch.set_num_threads(1)
STREAM = torch.Generator().manual_seed(0)
X = torch.randn(40, 4, generator=STREAM)
Y = (X[:, 0] * X[:, 1] > 0).long()
IMAGES = torch.randn(30, 1, 5, 5, generator=STREAM)
SEQUENCES = torch.randn(40, 3, 8, generator=STREAM)
TOKENS = torch.randint(0, 9, (40, 5), generator=STREAM)


class Encoder(nn.Module):
    """A transformer on sequences of vectors."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 8, dropout=0.0, batch_first=True)
        self.encoder, self.out = nn.TransformerEncoder(layer, 1), nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.encoder(x).mean(1))


class Embedded(nn.Module):
    """A bag of words; points are whole numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.out = nn.Embedding(9, 4), nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.table(x).mean(1))


class Recurrent(nn.Module):
    """A recurrent network, which torch.func cannot differentiate."""

    def __init__(self, cell: type[nn.Module] = nn.GRU) -> None:
        super().__init__()
        self.cell, self.out = cell(8, 4, batch_first=True), nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.cell(x)[0][:, -1])


def dense(*layers: nn.Module, out_dim: int = 2) -> nn.Module:
    return nn.Sequential(nn.Linear(4, 6), *layers, nn.ReLU(), nn.Linear(6, out_dim))


def frozen() -> nn.Module:
    model = dense()
    for parameter in model.get_submodule("0").parameters():
        parameter.requires_grad_(False)
    return model


def audit(model: nn.Module, x: torch.Tensor, y: torch.Tensor, **options: Any) -> Any:
    small = {"seeds": 1, "steps": 3, "points": 12, "snapshots": 3, "without": "feature machine", "progress": False}
    return bk.audit(model, (x, y), **small | options)


KINDS = {
    "linear alone": (nn.Linear(4, 2), X, Y),
    "no last linear layer": (
        nn.Sequential(nn.Conv2d(1, 2, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        IMAGES,
        (IMAGES[:, 0, 0, 0] > 0).long(),
    ),
    "numbers": (dense(out_dim=3), X, X[:, :3] * X[:, 1:]),
    "normalisation and dropout": (dense(nn.BatchNorm1d(6), nn.Dropout(0.2)), X, Y),
    "encoder": (Encoder(), SEQUENCES, (SEQUENCES[:, 0, 0] > 0).long()),
    "tokens": (Embedded(), TOKENS, (TOKENS[:, 0] > 4).long()),
    "frozen": (frozen(), X, Y),
    "bfloat16": (dense(nn.BatchNorm1d(6)).bfloat16(), X, Y),
    "recurrent": (Recurrent(), SEQUENCES, (SEQUENCES[:, 0, 0] > 0).long()),
    "long memory": (Recurrent(nn.LSTM), SEQUENCES, (SEQUENCES[:, 0, 0] > 0).long()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_run_ends(kind: str) -> None:
    found = audit(*KINDS[kind])
    assert not found.result.missing
    assert found.ladder["score"].notna().all()
    assert found.ladder["rung"].tolist()[-1] == "model"
    assert found.sentence.startswith("The model ")
    assert len(found._repr_html_()) < 200_000


@pytest.mark.parametrize("kind", ["recurrent", "long memory"])
def test_a_recurrent_model_has_tangent_kernels(kind: str) -> None:
    found = audit(*KINDS[kind], parts=("ladder", "when"))
    assert found.left_out == {} and not found.result.missing
    assert {"tangent kernel", "trained tangent kernel", "linearised network"} <= set(found.ladder["rung"])
    assert "a tangent kernel that is frozen there" in found.sentence
    assert found.when["tangent/start"].iloc[0] == pytest.approx(1)


def test_a_model_without_a_tangent_kernel_says_why() -> None:
    """A normalisation by the batch has no value for a point alone."""
    model = dense(nn.BatchNorm1d(6, track_running_stats=False))
    found = audit(model, X, Y, parts=("ladder", "when"))
    remarks = found.experiment.remarks(found.experiment.settings("laptop"))
    assert "tangent kernel (torch cannot differentiate the model point by point: Expected more than 1" in remarks[-1]
    assert "kernels over training (torch cannot" in remarks[-1]
    assert not {"tangent kernel", "trained tangent kernel"} & set(found.ladder["rung"])
    assert "tangent kernel" not in found.sentence
    assert found.when.empty
    assert "linearised network" in set(found.ladder["rung"])


class Rounded(torch.autograd.Function):
    """A function without a forward derivative."""

    @staticmethod
    def forward(_context: Any, x: torch.Tensor) -> torch.Tensor:
        return x.round()

    @staticmethod
    def backward(_context: Any, *slopes: torch.Tensor) -> torch.Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return slopes[0]


class Quantised(nn.Sequential):
    """Its hidden layer is rounded, and the rounding passes gradients on."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:  # noqa: A002 - PyTorch's name
        return self[1](Rounded.apply(self[0](input)))


def test_a_model_that_cannot_be_linearised_says_why() -> None:
    found = audit(Quantised(nn.Linear(4, 6), nn.Linear(6, 2)), X, Y, parts=("ladder",))
    assert not found.result.missing
    remarks = found.experiment.remarks(found.experiment.settings("laptop"))
    assert "linearised network (torch has no forward derivative of the model: " in remarks[-1]
    assert "linearised network" not in set(found.ladder["rung"])


def test_directions_of_a_first_layer_that_does_not_see_all_are_left_out(tmp_path: Path) -> None:
    class Skipping(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.skip = dense(), nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.body(x) + self.skip(x)

    found = audit(Skipping(), X, Y, parts=("what",))
    why = "the input does not reach the output through the first layer alone, or is changed before that layer"
    assert found.left_out == {"directions of the first layer": why}
    assert sorted(found.directions) == ["end/directions", "end/shares", "start/directions", "start/shares"]
    found.write(tmp_path)
    pages = "".join(html.unescape(page.read_text()) for page in tmp_path.rglob("*.html"))
    assert f"The directions of the first layer's weights are left out: {why}." in pages
    straight = audit(*KINDS["normalisation and dropout"], parts=("what",))
    assert straight.left_out == {} and "end/weight_directions" in straight.directions


def test_a_block_of_two_branches_has_both_names(tmp_path: Path) -> None:
    class Branching(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.skip, self.a, self.head = nn.Linear(4, 6), nn.Linear(4, 6), nn.Linear(6, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(self.skip(x) + self.a(x).relu())

    found = audit(Branching(), X, Y, parts=("where",), without=())
    assert not found.result.missing
    assert found.frozen["block"].tolist() == ["skip&a", "head"]
    found.write(tmp_path)
    pages = "".join(page.read_text() for page in tmp_path.rglob("*.html"))
    assert "skip&amp;a" in pages and not re.search("skip&(?!amp;)", pages)


@pytest.mark.parametrize("model", [Encoder, lambda: Recurrent(nn.LSTM)])
def test_the_linearised_model_is_its_expansion(model: Any) -> None:
    """At the start its value is the model's; a small move along one parameter has the slope of a difference."""
    network = bk.networks.FromCopy.of(model().double())
    expansion = bk.networks.Linearised(network)
    move, buffers = expansion.init((3, 8), 2, bk.core.Stream(0))
    params, rest = network.init((3, 8), 2, bk.core.Stream(0))
    x = SEQUENCES[:5].double()
    move = {name: torch.full_like(value, 1e-6) for name, value in move.items()}
    moved = {name: value + move[name] for name, value in params.items()}
    expected = network.apply(moved, rest, x)[0]
    torch.testing.assert_close(expansion.apply(move, buffers, x)[0], expected, rtol=0, atol=1e-9)
    assert torch.backends.mha.get_fastpath_enabled() and torch._C._get_mkldnn_enabled()


@pytest.mark.parametrize(
    "model", [nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 1)), bk.networks.FullyConnected(4)]
)
def test_a_distribution_may_draw_numbers_of_double_precision(model: Any) -> None:
    problem = bk.bfc.QuadraticTarget(5)
    assert problem.take("train", 1, 0).x.dtype == torch.float64
    small = {"seeds": 1, "steps": 3, "points": 8, "snapshots": 3, "without": "feature machine", "progress": False}
    assert not bk.audit(model, problem, n=12, test=10, **small).result.missing
