"""Functions of independent fair signs, given by their Fourier coefficients. Parseval's identity gives exact risks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch

from beyondkernels.core import require

Spectrum = Mapping[tuple[int, ...], torch.Tensor]
r"""Sets S of coordinates, increasing, with vectors :math:`c_S`: the function :math:`\sum_S c_S \prod_{j \in S} s_j`."""


def distance(one: Spectrum, other: Spectrum) -> float:
    r"""The mean squared distance of two functions of fair signs.

    .. math:: E\|f - g\|^2 = \sum_S \|\hat f_S - \hat g_S\|^2

    >>> c = torch.ones(2, dtype=torch.float64)
    >>> distance({(0, 1): 3 * c, (2,): c}, {(0, 1): c})  # 2·2² + 2·1²
    10.0
    """
    total = 0.0
    for S in one.keys() | other.keys():
        c, other_c = one.get(S), other.get(S)
        assert c is not None or other_c is not None
        difference = c if other_c is None else -other_c if c is None else c - other_c
        assert difference is not None
        total += float(difference.double().square().sum())
    return total


def beyond(spectrum: Spectrum, degree: int) -> float:
    """The risk of the best polynomial of a degree: the squared coefficients of higher degree, summed."""
    require(degree >= 0, f"degree must not be negative, got {degree}")
    return distance({S: c for S, c in spectrum.items() if len(S) > degree}, {})


def collect(terms: Iterable[tuple[tuple[int, ...], torch.Tensor]]) -> dict[tuple[int, ...], torch.Tensor]:
    """A spectrum from terms. Terms with equal sets are added."""
    found: dict[tuple[int, ...], torch.Tensor] = {}
    for S, c in terms:
        key = tuple(sorted(S))
        found[key] = found[key] + c if key in found else c
    return found
