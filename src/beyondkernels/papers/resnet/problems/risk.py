"""The population risk of a predictor: exact where all inputs can be listed, otherwise a mean with its error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch

from beyondkernels.core import Estimate, Stream, require
from beyondkernels.data.inputs import Inputs

Predictor = Callable[[torch.Tensor], torch.Tensor]
"""Takes inputs (n, d), gives predictions (n, k), or (n,) where k = 1."""

MOST = 2**16
"""Inputs are listed if there are at most so many."""

_BLOCK = 2**13


def mean_over(
    inputs: Inputs, function: Predictor, n: int = 10_000, stream: Stream | None = None, most: int = MOST
) -> Estimate:
    """The mean of a function that gives one number for each point x.

    Arguments:
        inputs: the distribution of x.
        function: takes (n, d) float64, gives (n,).
        n: draws if the inputs cannot be listed.
        stream: where draws come from, ``Stream(0).child("risk")`` if not given.
        most: the inputs are listed if there are at most so many.
    """
    require(n >= 2, f"n must be at least 2, got {n}")
    listed = inputs.points(most)
    x = inputs.draw(n, stream or Stream(0).child("risk")) if listed is None else listed
    values = torch.cat([function(block).double().reshape(-1) for block in blocks(x)])
    error = 0.0 if listed is not None else float(values.std()) / math.sqrt(n)
    return Estimate(float(values.mean()), error, listed is not None)


def blocks(x: torch.Tensor) -> Iterator[torch.Tensor]:
    """The rows in blocks, small enough that what is computed from a block fits into memory."""
    yield from x.split(_BLOCK)
