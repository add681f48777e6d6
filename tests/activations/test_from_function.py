"""An activation of the user's own."""

import json

import pytest
import torch

from beyondkernels.activations import FromFunction, activation
from beyondkernels.core import UncacheableError, build, canonical_json
from refusals import refused


def ramp(z: torch.Tensor) -> torch.Tensor:
    return z.clamp(0, 2)


def rising(z: torch.Tensor) -> torch.Tensor:
    return ((z > 0) & (z < 2)).to(z.dtype)


SIGMA = FromFunction(ramp, rising, "ramp", (2, 0))


def test_description_and_back():
    assert build(json.loads(canonical_json(SIGMA))) == SIGMA
    assert activation(SIGMA) is SIGMA
    assert SIGMA.kinks == (0.0, 2.0)
    with pytest.raises(UncacheableError, match=r"FromFunction.function holds an unnamed function"):
        canonical_json(FromFunction(lambda z: z, rising, "unnamed"))


def test_it_is_called_by_its_name():
    one = torch.ones(1, 1, dtype=torch.float64)
    refused(r"^ramp has no dual map in closed form", SIGMA.dual, one, one, one)
    refused(r"^ramp has no closed form under noise of std 0.1", SIGMA.smoothed, 0.1)
