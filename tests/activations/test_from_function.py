"""An activation of the user's own."""

import json
import math

import pytest
import torch

from beyondkernels.activations import FromFunction, activation
from beyondkernels.core import InputError, UncacheableError, build, canonical_json


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
    with pytest.raises(InputError, match=r"^ramp has no dual map in closed form"):
        SIGMA.dual(one, one, one)
    with pytest.raises(InputError, match=r"^ramp has no closed form under noise of std 0.1"):
        SIGMA.smoothed(0.1)


def test_bad_input():
    with pytest.raises(InputError, match=r"^function must be a function, got 'relu'$"):
        FromFunction("relu", rising, "x")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match=r"^slope must be a function, got None$"):
        FromFunction(ramp, None, "x")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match=r"^each of bends must be finite, got inf$"):
        FromFunction(ramp, rising, "x", (math.inf,))
