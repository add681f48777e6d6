"""Parameters that do not require a gradient keep their numbers."""

from typing import Any

import pytest
import torch

import beyondkernels as bk
from beyondkernels.core import InputError, Stream
from beyondkernels.networks import FromCopy


def half_frozen() -> Any:
    model: Any = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    with torch.no_grad():
        model[0].weight.copy_(torch.arange(32.0).reshape(8, 4) / 32)
        model[0].bias.zero_()
    model[0].requires_grad_(False)
    return model


def data(n=60):
    x = torch.randn(n, 4, generator=torch.Generator().manual_seed(0))
    return x, (x[:, :1] * x[:, 1:2]).numpy()


def test_a_frozen_layer_is_neither_drawn_nor_trained():
    model = half_frozen()
    trained: Any = bk.fit(model, data(), epochs=3, seed=5, progress=False).module
    assert torch.equal(trained[0].weight, model[0].weight)
    assert torch.equal(trained[0].bias, model[0].bias)
    assert not torch.equal(trained[2].weight, model[2].weight)
    assert [value.requires_grad for value in trained.parameters()] == [False, False, True, True]


def test_the_numbers_of_a_frozen_layer_are_part_of_the_identity():
    one, other = half_frozen(), half_frozen()
    with torch.no_grad():
        other[0].weight[0, 0] += 1
    third = half_frozen()
    third[2].weight.data += 1  # drawn anew for each seed, so it does not matter
    free = half_frozen().requires_grad_(True)
    names = [FromCopy.of(model).architecture for model in (one, other, third, free)]
    assert names[0] == names[2] and len(set(names)) == 3


def test_kernels_take_no_derivative_in_a_frozen_parameter():
    model = half_frozen()
    network, (x, _) = FromCopy.of(model), data(7)
    params, buffers = network.init(4, 1, Stream(0))
    assert sorted(params) == ["2.bias", "2.weight"]
    h = torch.relu(model[0](x)).detach().double()
    expected = h @ h.T + 1
    assert bk.kernels.tangent_gram(network, params, buffers, x) == pytest.approx(expected, rel=1e-5)


def test_a_module_that_is_frozen_altogether_is_refused():
    with pytest.raises(InputError, match="no parameter that requires a gradient, so there is nothing to train"):
        bk.fit(half_frozen().requires_grad_(False), data(), epochs=1, progress=False)


def frozen_normalisation(mean: float = 5.0, affine: bool = True) -> Any:
    """A part that was trained before: its normalisation keeps running statistics."""
    norm = torch.nn.BatchNorm1d(8, affine=affine)
    norm.get_buffer("running_mean").fill_(mean)
    body: Any = torch.nn.Sequential(torch.nn.Linear(4, 8), norm).requires_grad_(False)
    with torch.no_grad():
        body[0].weight.fill_(0.5)
        body[0].bias.zero_()
    return torch.nn.Sequential(body, torch.nn.ReLU(), torch.nn.Linear(8, 1))


@pytest.mark.parametrize("affine", [True, False])
def test_the_statistics_of_a_frozen_part_stay_at_the_start(affine):
    network = FromCopy.of(frozen_normalisation(affine=affine))
    for seed in (0, 1):
        assert torch.equal(network.init(4, 1, Stream(seed))[1]["0.1.running_mean"], torch.full((8,), 5.0))


def test_the_statistics_of_a_part_that_is_trained_start_anew():
    free = frozen_normalisation()
    free[0][1].weight.requires_grad_(True)
    assert torch.equal(FromCopy.of(free).init(4, 1, Stream(0))[1]["0.1.running_mean"], torch.zeros(8))


def test_statistics_stay_while_a_frozen_part_is_in_evaluation_mode():
    class Kept(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = frozen_normalisation()

        def train(self, mode: bool = True) -> Any:
            super().train(mode)
            self.layers[0].eval()
            return self

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layers(x)

    trained: Any = bk.fit(Kept(), data(), steps=3, progress=False).module
    assert torch.equal(trained.layers[0][1].running_mean, torch.full((8,), 5.0))


def test_the_statistics_of_a_frozen_part_are_part_of_the_identity():
    names = [FromCopy.of(frozen_normalisation(mean)).architecture for mean in (5.0, 5.0, 6.0)]
    assert names[0] == names[1] != names[2]
