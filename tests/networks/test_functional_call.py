"""A module called with tensors of one's own, against torch's functional_call."""

import pytest
import torch
from torch import nn
from torch.func import functional_call

from beyondkernels.core import Stream
from beyondkernels.networks import FromCopy
from beyondkernels.networks.functional_call import Slots, tied_names


class Tied(nn.Module):
    """Its last layer uses the weights of its first."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
        self.last.weight = self.first.weight

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))


class Recurrent(nn.Module):
    """An LSTM keeps a list of its weights beside them."""

    def __init__(self):
        super().__init__()
        self.cells, self.last = nn.LSTM(4, 3, batch_first=True), nn.Linear(3, 2)

    def forward(self, x):
        return self.last(self.cells(x[:, None])[0][:, -1])


MODULES = {
    "dense": nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2)),
    "normalised": nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Linear(5, 2)),
    "tied": Tied(),
    "recurrent": Recurrent(),
    "weight norm": nn.utils.parametrizations.weight_norm(nn.Linear(4, 2)),
}


@pytest.mark.parametrize("name", list(MODULES))
def test_calls_and_gradients_are_those_of_torch(name):
    module, x = MODULES[name], Stream(0).normal(6, 4)
    params = {key: value.detach() + 0.1 for key, value in module.named_parameters()}
    buffers = {key: value.detach().clone() for key, value in module.named_buffers()}
    before = {key: value.clone() for key, value in module.state_dict().items()}
    slots, found = Slots(module, tied_names(module)), []
    for ours in (True, False):
        given = {key: value.clone().requires_grad_() for key, value in params.items()}
        own = {key: value.clone() for key, value in buffers.items()}
        if ours:
            with slots.filled(given | own) as after:
                out = module(x)
            assert all(torch.equal(after[key], own[key]) for key in own)
        else:
            out = functional_call(module, (given, own), (x,))
        found.append([out, *torch.autograd.grad(out.square().sum(), list(given.values())), *own.values()])
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(*found, strict=True))
    for key, value in module.state_dict().items():
        assert torch.equal(value, before[key]), key
    assert isinstance(next(module.parameters()), nn.Parameter)


def test_tensors_are_put_back_after_an_error():
    module = nn.Linear(4, 2)
    weight = module.weight
    slots = Slots(module)
    with pytest.raises(KeyError), slots.filled({"weight": torch.zeros(2, 4)}):
        pass
    with pytest.raises(RuntimeError), slots.filled({"weight": torch.zeros(2, 4), "bias": torch.zeros(2)}):
        module(torch.zeros(1, 3))
    assert module.weight is weight


def test_tied_weights_stay_tied():
    network = FromCopy.of(Tied())
    params, buffers = network.init(4, 4, Stream(0))
    assert list(params) == ["first.weight"]
    out, _ = network.apply(params, buffers, torch.ones(1, 4))
    weight = params["first.weight"]
    assert torch.allclose(out, torch.tanh(torch.ones(1, 4) @ weight.T) @ weight.T)
    module = network.as_module(params, buffers, 4)
    assert isinstance(module, Tied)
    assert module.last.weight is module.first.weight
    assert torch.equal(module(torch.ones(1, 4)), out)


class Replacing(nn.Module):
    """Replaces its buffer in place of changing it."""

    def __init__(self):
        super().__init__()
        self.line = nn.Linear(4, 2)
        self.register_buffer("passes", torch.zeros(()))

    def forward(self, x):
        self.passes = self.passes + 1
        return self.line(x)


def test_a_buffer_that_is_replaced_is_found():
    network = FromCopy.of(Replacing())
    params, buffers = network.init(4, 2, Stream(0))
    _, after = network.apply(params, buffers, torch.ones(1, 4), train=True)
    assert (buffers["passes"].item(), after["passes"].item()) == (0, 1)
