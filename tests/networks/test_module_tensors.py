"""Modules with other tensors in them."""

import threading
from typing import Any

import pytest
import torch
from torch import nn

from beyondkernels.core import InputError
from beyondkernels.networks.module_tensors import filled, refilled


def tied() -> nn.Module:
    line = nn.Linear(2, 2)
    return nn.Sequential(line, nn.BatchNorm1d(2), line)


def twice(module: nn.Module) -> dict[str, torch.Tensor]:
    return {name: 2 * value.detach() for name, value in (*module.named_parameters(), *module.named_buffers())}


@pytest.mark.parametrize("fill", [filled, refilled])
def test_numbers_are_put_in_and_tied_weights_stay_tied(fill):
    module = tied()
    numbers = twice(module)
    made = fill(module, numbers)
    assert (made is module) == (fill is refilled)
    assert all(torch.equal(value, numbers[name]) for name, value in made.named_parameters())
    assert all(torch.equal(value, numbers[name]) for name, value in made.named_buffers())
    assert made.get_submodule("0") is made.get_submodule("2")


def test_a_module_that_cannot_be_copied_is_refused_in_a_sentence():
    module: Any = nn.Linear(2, 2)
    module.lock = threading.Lock()
    with pytest.raises(
        InputError, match=r"the module Linear cannot be copied \(.*lock.*\); FromModule takes a function"
    ):
        filled(module, twice(module))
