"""Modules that exist: what each seed draws anew."""

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations

import beyondkernels as bk
from beyondkernels.core import Stream, UncacheableError, digest
from beyondkernels.networks import FromCopy, FromModule
from beyondkernels.networks.from_copy import ModelWarning
from refusals import refused


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
    refused(r"no reset_parameters draws 0\.parametrizations\.weight\.original.* \(FromModule\)", FromCopy.of, module)
    FromCopy.of(module, fresh_start=False)
    module[0].requires_grad_(False)
    FromCopy.of(module)


def test_trying_leaves_the_module_and_the_global_generator_alone():
    module, state = nn.Linear(4, 2), torch.get_rng_state()
    before = module.weight.clone()
    FromCopy.of(module)
    assert torch.equal(module.weight, before)
    assert torch.equal(torch.get_rng_state(), state)


class Shift:
    """A hook with a value of its own, as an object and as a method."""

    def __init__(self, by: float) -> None:
        self.by = by

    def __call__(self, part: nn.Module, given: Any, out: torch.Tensor) -> torch.Tensor:
        return out + self.by

    def method(self, part: nn.Module, given: Any, out: torch.Tensor) -> torch.Tensor:
        return out + self.by


class Slotted:
    """A hook whose value is not in its ``__dict__``."""

    __slots__ = ("by",)

    def __init__(self, by: Any) -> None:
        self.by = by

    def __call__(self, part: nn.Module, given: Any, out: torch.Tensor) -> torch.Tensor:
        return out + self.by


def shifted(by: float, part: nn.Module, given: Any, out: torch.Tensor) -> torch.Tensor:
    return out + by


def closed_over(layer: nn.Module) -> Callable[..., Any]:
    return lambda part, given, out: out + layer(given[0])


def line(bias: float) -> nn.Module:
    made = nn.Linear(4, 2)
    with torch.no_grad():
        made.weight.zero_()
        made.bias.fill_(bias)
    return made


def hooked(hook: Any, register: str = "register_forward_hook") -> nn.Module:
    module = nn.Sequential(nn.Linear(4, 2))
    getattr(module[0], register)(hook)
    return module


def plain(part: nn.Module, given: Any, out: torch.Tensor) -> torch.Tensor:
    return out * 2


def changed(part: nn.Module, given: Any, out: torch.Tensor) -> torch.Tensor:
    return out * 3


@pytest.mark.parametrize(
    ("make", "other"),
    [
        (lambda: hooked(plain), lambda: nn.Sequential(nn.Linear(4, 2))),
        (lambda: hooked(plain), lambda: hooked(changed)),
        (lambda: hooked(lambda part, given, out: out + 1), lambda: hooked(lambda part, given, out: out + 2)),
        (lambda: hooked(Shift(1)), lambda: hooked(Shift(2))),
        (lambda: hooked(Shift(1).method), lambda: hooked(Shift(2).method)),
        (lambda: hooked(Slotted(1)), lambda: hooked(Slotted(2))),
        (lambda: hooked(functools.partial(shifted, 1.0)), lambda: hooked(functools.partial(shifted, 2.0))),
        (lambda: hooked(functools.partial(Shift(1).method)), lambda: hooked(functools.partial(Shift(2).method))),
        (lambda: hooked(closed_over(line(1.0))), lambda: hooked(closed_over(line(2.0)))),
        (
            lambda: hooked(lambda part, given: given, "register_forward_pre_hook"),
            lambda: hooked(lambda part, given: (2 * given[0],), "register_forward_pre_hook"),
        ),
        (
            lambda: hooked(lambda part, into, outof: into, "register_full_backward_hook"),
            lambda: hooked(lambda part, into, outof: None, "register_full_backward_hook"),
        ),
    ],
)
def test_hooks_are_part_of_the_identity(make: Any, other: Any) -> None:
    assert digest(FromCopy.of(make())) == digest(FromCopy.of(make()))
    assert digest(FromCopy.of(make())) != digest(FromCopy.of(other()))


def test_a_module_with_a_hook_that_cannot_be_read_trains_and_is_not_stored(tmp_path: Any) -> None:
    data = (x := Stream(0).normal(20, 4), x[:, :2].numpy())
    module = hooked(lambda part, given, out, made=(i for i in range(3)): out)
    assert bk.fit(module, data, steps=2, progress=False).status == "finished"
    with pytest.raises(UncacheableError, match=r"opaque\[0\] holds an unnamed function .* is not stored"):
        bk.fit(module, data, steps=2, store=tmp_path / "store", progress=False)


class Sealed:
    """What can be copied and cannot be read."""

    __slots__ = ()

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("sealed")


class Remembering(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.line, self.sealed = nn.Linear(4, 2), Sealed()

    def forward(self, x):
        return self.line(x)


def test_a_module_with_an_attribute_that_cannot_be_read_is_not_stored(tmp_path: Any) -> None:
    data = (x := Stream(0).normal(20, 4), x[:, :2].numpy())
    with pytest.raises(UncacheableError, match="cannot be read, so that runs with it cannot be told from others"):
        bk.fit(Remembering(), data, steps=2, store=tmp_path / "store", progress=False)


def test_a_module_without_hooks_keeps_the_identity_under_which_its_runs_are_stored() -> None:
    module = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    assert FromCopy.of(module).architecture == "fc4d8c0a00404189810b3ff9b4329bc6"


class ZeroHead(nn.Module):
    """Sets its last layer to zero when it is made, which a fresh draw does not repeat."""

    def __init__(self, in_dim: int = 4, out_dim: int = 2) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(in_dim, 3), nn.Linear(3, out_dim)
        nn.init.zeros_(self.head.weight)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))


def test_a_constant_weight_that_is_drawn_anew_is_named_in_a_warning() -> None:
    with pytest.warns(ModelWarning, match=r"head\.weight of ZeroHead has one number in all places.*FromModule"):
        network = FromCopy.of(ZeroHead())
    assert network.init(4, 2, Stream(0))[0]["head.weight"].abs().max() > 0


def test_constant_weights_that_stay_cause_no_warning() -> None:
    """Any warning is an error here."""
    frozen = ZeroHead()
    frozen.head.requires_grad_(False)
    norm = nn.Sequential(nn.Linear(4, 6), nn.Unflatten(1, (2, 3)), nn.LayerNorm([2, 3]), nn.Flatten(), nn.Linear(6, 1))
    for module in (Small(), frozen, norm, nn.Linear(1, 1)):
        FromCopy.of(module)
    kept = (FromCopy.of(ZeroHead(), fresh_start=False), FromModule(ZeroHead, "zero"))
    assert all(network.init(4, 2, Stream(0))[0]["head.weight"].abs().max() == 0 for network in kept)


def test_a_hook_that_names_its_module_does_not_count_its_numbers() -> None:
    """Each seed draws them."""

    def made(layer: int) -> nn.Module:
        module = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        module.register_forward_hook(closed_over(module[layer]))
        return module

    assert FromCopy.of(made(0)).architecture == FromCopy.of(made(0)).architecture
    assert FromCopy.of(made(0)).architecture != FromCopy.of(made(1)).architecture
