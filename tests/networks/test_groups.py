"""Groups of parameters put together from others."""

import pytest
import torch

from beyondkernels.networks import FromModule, ThreeLayerResNet, popular_initialisation
from refusals import refused

NETWORK = ThreeLayerResNet(4, "bottleneck", parameterisation=popular_initialisation(4))
PARAMS = {name: torch.zeros(()) for name in ("W.weight", "W.bias", "V.weight", "V.bias", "A.weight")}


@pytest.mark.parametrize(
    ("group", "names"),
    [
        ("W+A", ("W.weight", "W.bias", "A.weight")),
        ("A+W", ("A.weight", "W.weight", "W.bias")),
        ("hidden-W", ("V.weight", "V.bias")),
        ("all-V", ("W.weight", "W.bias", "A.weight")),
        ("hidden-V+last", ("W.weight", "W.bias", "A.weight")),
        ("W+hidden", ("W.weight", "W.bias", "V.weight", "V.bias")),
    ],
)
def test_sums_and_differences(group, names):
    assert NETWORK.trained(group, PARAMS) == names


@pytest.mark.parametrize("group", ["hidden-W-V", "all-all", "-W"])
def test_nothing_left(group):
    refused(f"^group must leave some parameters, got {group!r}$", NETWORK.trained, group, PARAMS)


def test_unknown_parts():
    refused(r"^unknown parameter group 'hiden', did you mean hidden\?$", NETWORK.trained, "W+hiden", PARAMS)
    refused(r"^unknown parameter group ''", NETWORK.trained, "W+", PARAMS)


def test_a_name_with_a_sign_in_it_is_found_first():
    network = FromModule(
        lambda i, o: torch.nn.Linear(i, o), "linear", parts={"read-out": ("weight",), "all": ("bias",)}
    )
    params = {name: torch.zeros(()) for name in ("weight", "bias")}
    assert network.trained("read-out", params) == ("weight",)
    assert network.trained("all", params) == ("weight", "bias")
