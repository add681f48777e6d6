"""Modules that exist: what each seed draws anew."""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations

from beyondkernels.core import InputError, Stream
from beyondkernels.networks import FromCopy


def drawn(module: nn.Module, seed: int) -> dict[str, torch.Tensor]:
    return FromCopy.of(module).init(4, 2, Stream(seed))[0]


class Small(nn.Module):
    """Initialises its parts as language models do, also a parameter of a part that has no method of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head, self.scale = nn.Linear(4, 300), nn.Linear(300, 2), Scale()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.body.weight.data.normal_(0, 0.02)
        nn.init.zeros_(self.head.weight)
        nn.init.ones_(self.scale.factor)

    def forward(self, x):
        return self.scale(self.head(self.body(x)))


class Scale(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return x * self.factor


def test_the_outermost_part_has_the_last_word():
    first, second = drawn(Small(), 0), drawn(Small(), 1)
    assert first["body.weight"].std().item() == pytest.approx(0.02, rel=0.1)
    assert first["head.weight"].abs().max() == 0
    assert not torch.equal(first["body.weight"], second["body.weight"])
    assert not torch.equal(first["head.bias"], second["head.bias"])
    assert torch.equal(first["scale.factor"], torch.ones(2))


def test_attention_starts_as_pytorch_starts_it():
    made, params = nn.MultiheadAttention(8, 2), drawn(nn.MultiheadAttention(8, 2), 0)
    assert made.out_proj.bias.abs().max() == params["out_proj.bias"].abs().max() == 0


@pytest.mark.parametrize("shared", [False, True])
def test_parts_are_drawn_in_their_order_and_once(shared):
    line = nn.Linear(4, 4)
    module = nn.Sequential(line, nn.Sequential(line if shared else nn.Linear(4, 4)), nn.Linear(4, 2))
    made = FromCopy.of(module).fresh(4, 2, Stream(3))
    plain = FromCopy.of(nn.Sequential(*(nn.Linear(4, 4) for _ in range(1 if shared else 2)), nn.Linear(4, 2)))
    beside = plain.fresh(4, 2, Stream(3))
    assert all(torch.equal(a, b) for a, b in zip(made.parameters(), beside.parameters(), strict=True))


@pytest.mark.parametrize("name", ["weight_norm", "spectral_norm", "orthogonal"])
def test_weights_that_are_computed_are_refused(name):
    module = nn.Sequential(getattr(parametrizations, name)(nn.Linear(4, 4)), nn.Linear(4, 2))
    with pytest.raises(
        InputError, match=r"no reset_parameters draws 0\.parametrizations\.weight\.original.* \(FromModule\)"
    ):
        FromCopy.of(module)
    FromCopy.of(module, fresh_start=False)
    module[0].requires_grad_(False)
    FromCopy.of(module)


def test_trying_leaves_the_module_and_the_global_generator_alone():
    module, state = nn.Linear(4, 2), torch.get_rng_state()
    before = module.weight.clone()
    FromCopy.of(module)
    assert torch.equal(module.weight, before)
    assert torch.equal(torch.get_rng_state(), state)


def test_the_order_of_draws_is_part_of_the_identity_where_it_matters(monkeypatch):
    """Runs of plain modules that were stored while outer parts were drawn first are still found."""
    from beyondkernels.networks import copied

    names = [FromCopy.of(module).architecture for module in (nn.Sequential(nn.Linear(4, 2)), Small())]
    monkeypatch.setattr(copied, "_draws_inside", lambda _: False)
    before = [FromCopy.of(module).architecture for module in (nn.Sequential(nn.Linear(4, 2)), Small())]
    assert names[0] == before[0]
    assert names[1] != before[1]
