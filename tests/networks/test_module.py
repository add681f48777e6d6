"""The way in and out for modules: buffers that change, sizes, and the global generator."""

from __future__ import annotations

import copy
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import beyondkernels as bk
from beyondkernels.core import Stream, UncacheableError, digest, seeded_globally
from beyondkernels.networks import (
    FromCopy,
    FromModule,
    NetworkModule,
)


def make_normed(in_dim: int, out_dim: int) -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(in_dim, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Linear(4, out_dim)
    )


def make_tied(in_dim: int, out_dim: int) -> torch.nn.Module:
    first, second = torch.nn.Linear(in_dim, in_dim), torch.nn.Linear(in_dim, in_dim)
    second.weight = first.weight
    return torch.nn.Sequential(first, torch.nn.Tanh(), second, torch.nn.Linear(in_dim, out_dim))


def reference(factory, in_dim: int, out_dim: int, stream: Stream) -> torch.nn.Module:
    with seeded_globally(stream):
        return factory(in_dim, out_dim)


@pytest.mark.parametrize("factory", [make_normed, make_tied])
@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("out_dim", [1, 3])
def test_it_is_the_module(factory, train, out_dim):
    network, x = FromModule(factory, "mine"), Stream(1).normal(9, 5)
    params, buffers = network.init(5, out_dim, Stream(0))
    module = reference(factory, 5, out_dim, Stream(0)).train(train)
    assert params.keys() == dict(module.named_parameters()).keys()
    for _ in range(3):
        out, buffers = network.apply(params, buffers, x, train)
        assert torch.equal(out, module(x))
        for name, value in module.named_buffers():
            assert torch.equal(buffers[name], value), name


def test_unnamed_factory_has_no_identity():
    network = FromModule(lambda i, o: torch.nn.Linear(i, o), "mine")
    out = network.apply(*network.init(2, 3, Stream(0)), torch.ones(4, 2))[0]
    assert out.shape == (4, 3)
    with pytest.raises(UncacheableError, match=r"FromModule\.factory holds an unnamed function"):
        digest(network)


def test_module_keeps_its_buffers():
    x = Stream(1).normal(9, 5)
    module = NetworkModule(FromModule(make_normed, "mine"), 5, 1, Stream(0))
    truth = reference(make_normed, 5, 1, Stream(0))
    for train in (True, True, False):
        assert torch.equal(module.train(train)(x), truth.train(train)(x))
    assert torch.equal(module.get_buffer("1_running_var"), truth.get_buffer("1.running_var"))
    twin = copy.deepcopy(module)
    with torch.no_grad():
        next(twin.parameters()).add_(1.0)
    assert torch.equal(module(x), truth(x))
    assert not torch.equal(twin(x), truth(x))
    assert module.double()(x.double()).dtype == torch.float64


@pytest.mark.parametrize("factory", [make_normed, make_tied])
def test_a_copy_is_the_module_and_shares_what_it_shares(factory):
    module, x = factory(5, 3), Stream(1).normal(9, 5)
    network = FromCopy.of(module, fresh_start=False)
    params, buffers = network.init(5, 3, Stream(0))
    assert params.keys() == dict(module.named_parameters()).keys()
    assert torch.equal(network.apply(params, buffers, x)[0], module.eval()(x))
    back = network.as_module(params, buffers, 5)
    assert back.state_dict().keys() == module.state_dict().keys()
    assert len([*back.parameters()]) == len(params)
    assert torch.equal(back(x), module(x))
    assert all(value.requires_grad for value in back.parameters())


class Scaled(torch.nn.Module):
    """A scale and a function that are no parameters, and that PyTorch does not print."""

    def __init__(self, scale: float = 1.0, activation: Callable[..., Any] = torch.relu, shift: float = 0.0) -> None:
        super().__init__()
        self.line, self.scale, self.activation = torch.nn.Linear(3, 2), scale, activation
        self.register_buffer("shift", torch.tensor(shift), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.scale * self.activation(self.line(x)) + self.shift


def attention(heads: int, activation: str = "relu") -> torch.nn.Module:
    return torch.nn.TransformerEncoderLayer(4, heads, 4, activation=activation, batch_first=True)


@pytest.mark.parametrize(
    ("make", "other"),
    [
        (Scaled, lambda: Scaled(scale=100.0)),
        (Scaled, lambda: Scaled(activation=torch.tanh)),
        (Scaled, lambda: Scaled(shift=1.0)),
        (lambda: attention(1), lambda: attention(2)),
        (lambda: attention(1), lambda: attention(1, "gelu")),
        (lambda: torch.nn.LSTM(3, 2), lambda: torch.nn.LSTM(3, 2, batch_first=True)),
    ],
    ids=["scale", "function", "buffer", "heads", "activation", "recurrent"],
)
def test_modules_that_compute_something_else_have_another_identity(make: Any, other: Any) -> None:
    """Stored runs of one must not come back for the other. Where each seed draws the numbers, they do not count."""
    assert FromCopy.of(make()).architecture == FromCopy.of(make()).architecture
    assert FromCopy.of(make()).architecture != FromCopy.of(other()).architecture


class Dropping(torch.nn.Module):
    """Reads numbers while it is made, as networks do whose rates of dropout rise with the depth."""

    def __init__(self, in_dim: int, out_dim: int) -> None:
        super().__init__()
        rates = [rate.item() for rate in torch.linspace(0, 0.1, 2)]
        self.layers = torch.nn.Sequential(*(torch.nn.Dropout(rate) for rate in rates), torch.nn.Linear(in_dim, out_dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def make_dropping(in_dim: int, out_dim: int) -> torch.nn.Module:
    return Dropping(in_dim, out_dim)


class Checked(torch.nn.Linear):
    """Reads a number while it is drawn anew."""

    def reset_parameters(self) -> None:
        super().reset_parameters()
        assert self.weight.norm().item() > 0


@pytest.mark.parametrize("model", [FromModule(make_dropping, "dropping"), Checked(3, 1)], ids=["made", "drawn"])
def test_a_module_that_reads_numbers_while_it_is_made_is_trained(model: Any) -> None:
    """Shapes are found without numbers where that is possible, and with them where it is not."""
    x = Stream(0).normal(20, 3)
    run = bk.fit(model, (x, x[:, 0]), steps=3, progress=False)
    assert run.status == "finished"


def make_orthogonal(in_dim: int, out_dim: int) -> torch.nn.Module:
    first = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(in_dim, 3))
    return torch.nn.Sequential(first, torch.nn.ReLU(), torch.nn.Linear(3, out_dim))


def test_a_module_with_orthogonal_weights_keeps_them_so_while_it_trains() -> None:
    """Such a weight has a buffer that is not there if the module is made without numbers."""
    x = Stream(0).normal(40, 5)
    run = bk.fit(FromModule(make_orthogonal, "orthogonal"), (x, x[:, :1]), steps=20, progress=False)
    start = FromModule(make_orthogonal, "orthogonal").fresh(5, 1, Stream(0).child("learner", "initial"))
    weights: list[Any] = [dict(module.named_modules())["0"].weight for module in (run.module, start)]
    weight, before = weights
    assert torch.allclose(weight @ weight.T, torch.eye(3), atol=1e-5)
    assert not torch.allclose(weight, before, atol=1e-3)


class Locked(torch.nn.Module):
    """Holds what cannot be copied, and reads a number while it is made."""

    def __init__(self, in_dim: int, out_dim: int) -> None:
        super().__init__()
        self.line, self.norm = torch.nn.Linear(in_dim, out_dim), torch.nn.BatchNorm1d(out_dim)
        self.lock, self.scale = threading.Lock(), torch.ones(1).item()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with self.lock:
            return self.scale * self.norm(self.line(x))


def make_old_weight_norm(in_dim: int, out_dim: int) -> torch.nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return torch.nn.Sequential(torch.nn.utils.weight_norm(torch.nn.Linear(in_dim, 4)), torch.nn.Linear(4, out_dim))


@pytest.mark.parametrize("factory", [Locked, make_old_weight_norm])
def test_a_module_that_cannot_be_copied_trains_from_a_function(factory: Any) -> None:
    x = Stream(0).normal(40, 5)
    run = bk.fit(FromModule(factory, "mine"), (x, x[:, 0]), steps=20, learning_rate=0.1, progress=False)
    assert torch.allclose(run.module(x), run.outputs(x), atol=1e-6)
    start = FromModule(factory, "mine").fresh(5, 1, Stream(0).child("learner", "initial"))
    first, last = next(start.parameters()), next(run.module.parameters())
    assert not torch.allclose(first, last, atol=1e-3)
