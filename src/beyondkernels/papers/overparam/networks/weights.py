"""Initial weights of the learners."""

from __future__ import annotations

import torch

from beyondkernels.core import Stream


def initial_weights(rows: int, columns: int, stream: Stream) -> torch.Tensor:
    r"""A weight matrix with entries :math:`N(0, 1/m)`, m its number of rows."""
    return stream.normal(rows, columns) / rows**0.5


def initial_biases(rows: int, stream: Stream) -> torch.Tensor:
    r"""Biases that are 0 with probability 1/2 and :math:`N(0, 2/m)` otherwise, m their number."""
    present = stream.child("present").bernoulli(0.5, rows)
    return present * stream.child("value").normal(rows) * (2 / rows) ** 0.5


def initial_readout(outputs: int, rows: int, std: float, stream: Stream) -> torch.Tensor:
    r"""Readout weights :math:`N(0, \varepsilon_a^2)`."""
    return std * stream.normal(outputs, rows)
