"""How far weights have moved from their start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from beyondkernels.core import Tensors


def weight_correlation(start: Mapping[str, torch.Tensor], now: Mapping[str, torch.Tensor]) -> float | None:
    r"""The mean cosine of each neuron's weights with its weights at the start; None where no neuron has a direction.

    .. math:: \frac1m \sum_{i=1}^m \Bigl\langle \frac{w_i}{\|w_i\|}, \frac{w'_i}{\|w'_i\|} \Bigr\rangle

    over all neurons of all weights. A neuron is a row of a matrix, or a filter of a convolution as one vector. Left out
    are parameters of one dimension (biases, normalisation), neurons that start at zero, and weights whose shape has
    changed. A neuron that has become zero counts with a cosine of 0.

    Arguments:
        start: parameters by name.
        now: the same later.

    >>> W = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    >>> weight_correlation({"weight": W}, {"weight": torch.tensor([[3.0, 0.0], [5.0, 0.0]])})
    0.5

    Reference: Allen-Zhu & Li (bfc), Figure 9.
    """
    cosines = []
    for w, v in _pairs(start, now):
        if w.ndim < 2:
            continue
        w, v = w.flatten(1), v.flatten(1)
        sizes = w.norm(dim=1), v.norm(dim=1)
        moving = sizes[0] > 0
        product = (w * v).sum(1)[moving]
        scale = (sizes[0] * sizes[1])[moving]
        cosines.append(torch.where(scale > 0, product / scale.clamp(min=torch.finfo(w.dtype).tiny), 0.0))
    found = torch.cat(cosines) if cosines else torch.empty(0)
    return found.mean().clamp(-1, 1).item() if len(found) else None


def relative_move(start: Mapping[str, torch.Tensor], now: Mapping[str, torch.Tensor]) -> float | None:
    r"""How far all parameters together have moved, relative to their size at the start; None if they start at zero.

    .. math:: \frac{\|\theta_t - \theta_0\|}{\|\theta_0\|}

    Parameters whose shape has changed are left out.

    Arguments:
        start: parameters by name, biases included.
        now: the same later.

    >>> start = {"w": torch.tensor([3.0]), "b": torch.tensor([4.0])}
    >>> relative_move(start, {"w": torch.tensor([3.0]), "b": torch.tensor([1.0])})
    0.6
    """
    pairs = list(_pairs(start, now))
    size = sum(w.square().sum().item() for w, _ in pairs)
    moved = sum((v - w).square().sum().item() for w, v in pairs)
    return (moved / size) ** 0.5 if size > 0 else None


def _pairs(start: Mapping[str, torch.Tensor], now: Mapping[str, torch.Tensor]) -> Iterator[tuple[torch.Tensor, ...]]:
    """What both have, in float64."""
    for name, value in start.items():
        if name in now and now[name].shape == value.shape and value.is_floating_point():
            yield value.double(), now[name].double()


def under(params: Tensors, names: tuple[str, ...]) -> Tensors:
    """The parameters of these names that exist."""
    return {name: params[name] for name in names if name in params}
