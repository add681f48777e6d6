"""Knowledge distillation between the wide and the small layers: the regulariser of (2.3), and INITIAL-DISTILL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch

from beyondkernels.algorithms.losses import Loss, cross_entropy
from beyondkernels.core import Sample, Tensors, require
from beyondkernels.networks import evaluation_block
from beyondkernels.networks.linear import product
from beyondkernels.papers.bfc.networks import DistilledDenseNet


class Penalties(NamedTuple):
    r"""The weights of the regulariser, by layer.

    Arguments:
        cross: :math:`\lambda_3`. A layer is in ``cross``, ``own`` and ``whole`` if it has both W and K.
        own: :math:`\lambda_4`.
        whole: :math:`\lambda_5`.
        decay: :math:`\lambda_6`.
    """

    cross: Mapping[int, torch.Tensor | float]
    own: Mapping[int, torch.Tensor | float]
    whole: Mapping[int, torch.Tensor | float]
    decay: Mapping[int, torch.Tensor | float]


class ScaledCrossEntropy(Loss):
    """The cross-entropy with a v that is a tensor, because it follows the target error while training."""

    def __init__(self, scale: torch.Tensor) -> None:
        self._scale = scale

    def each(self, out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return cross_entropy(out, y, self._scale)

    def report(self, out: torch.Tensor, y: torch.Tensor) -> dict[str, float]:
        return {"loss": float(self.each(out, y).mean())}


def regularised(
    network: DistilledDenseNet,
    params: Tensors,
    buffers: Tensors,
    points: Sample,
    penalties: Penalties,
    loss: Loss,
    scale: torch.Tensor | float = 1.0,
    truncate: bool = True,
) -> torch.Tensor:
    r"""The objective of Algorithm 1, differentiable in the parameters.

    .. math:: \widetilde{\mathrm{Obj}}(\mathcal Z; W, K) = E_{x \sim \mathcal Z}[\ell(y, \tilde F(x))]
              + v\, \mathrm{Reg}(W, K)

    Arguments:
        network: the network.
        params: W and K.
        buffers: R.
        points: 𝒵.
        penalties: the weights of Reg.
        loss: ℓ.
        scale: v, 1 for the squared error.
        truncate: whether F̃ is used; otherwise F, which gives Obj.

    Reference: Allen-Zhu & Li (bfc), §2.2, eq. (2.3); §3.2, eq. (3.3).
    """
    size = evaluation_block(network)
    pairs = zip(points.x.split(size), points.y.split(size), strict=True)
    each = [loss.each(network.apply(params, buffers, x, train=truncate)[0], y) for x, y in pairs]
    return torch.cat(each).mean() + scale * regulariser(network, params, penalties)


def regulariser(network: DistilledDenseNet, params: Tensors, penalties: Penalties) -> torch.Tensor:
    r"""What keeps K close to W, and both small.

    .. math::
        \mathrm{Reg}(W, K) = \sum_\ell \lambda_{3,\ell} \bigl\| K_{\ell,\ell-1}^\top K_{\ell\triangleleft}
                - W_{\ell,\ell-1}^\top W_{\ell\triangleleft} \bigr\|_F^2
            + \lambda_{4,\ell} \bigl\| K_{\ell,\ell-1}^\top K_{\ell,\ell-1}
                - W_{\ell,\ell-1}^\top W_{\ell,\ell-1} \bigr\|_F^2
            + \lambda_{5,\ell} \bigl\| K_\ell^\top K_\ell - W_\ell^\top W_\ell \bigr\|_F^2
            + \lambda_{6,\ell} \bigl( \|K_\ell\|_F^2 + \|W_\ell\|_F^2 \bigr)

    where ◁ takes the blocks of all sources but ℓ − 1. The first three products are blocks of one matrix,
    :math:`K_\ell^\top K_\ell - W_\ell^\top W_\ell`.

    Arguments:
        network: which blocks a layer has.
        params: W and K of the layers that have them.
        penalties: the four weights of each layer.

    Reference: Allen-Zhu & Li (bfc), §2.2, eq. (2.3).
    """
    cross, own, whole, decay = penalties
    parts = []
    for layer in cross:
        # side by side, the block of the layer just below first
        K, W = (torch.cat([params[name] for name in network.names(letter, layer)], -1) for letter in "KW")
        gap = _gram(K) - _gram(W)
        # One Gram matrix has all three products as blocks: up to q the source just below, behind it all others.
        q = params[f"W{layer}.{layer - 1}"].shape[-1]
        squares = gap * gap
        parts += [
            cross[layer] * squares[:q, q:].sum(),
            own[layer] * squares[:q, :q].sum(),
            whole[layer] * squares.sum(),
        ]
    for layer, weight in decay.items():
        names = network.names("W", layer) + network.names("K", layer)
        parts += [weight * params[name].square().sum() for name in names if name in params]
    return torch.stack(parts).sum()


def initial_distill(
    network: DistilledDenseNet,
    params: Tensors,
    layer: int,
    cut: float,
    relative: bool = False,
    rank: int | None = None,
) -> Tensors:
    r"""K of a layer from the singular value decomposition of its W: INITIAL-DISTILL.

    .. math::
        W_{\ell\triangleleft}^\top W_{\ell,\ell-1} \approx U \Sigma V^\top, \qquad
        K_{\ell\triangleleft}^\top = U \Sigma^{1/2}, \quad K_{\ell,\ell-1} = \Sigma^{1/2} V^\top

    with the :math:`k_\ell` singular values that reach the cut. A layer with one source, as the second one, has no
    block ◁: there :math:`W_\ell^\top W_\ell \approx V \Sigma V^\top` takes its place (ours). If no singular value
    reaches the cut, K has no rows.

    Arguments:
        network: which blocks the layer has.
        params: W of the layer.
        layer: ℓ.
        cut: the least singular value that counts, :math:`1/(10\kappa^2)` in the paper.
        relative: whether the cut is in units of the largest singular value (ours).
        rank: k, if it is known; None finds it with the cut.

    Reference: Allen-Zhu & Li (bfc), Algorithm 1, lines 21 to 23.
    """
    require(layer - 1 in network.sources(layer), f"layer {layer} must see layer {layer - 1} to be distilled")
    others = [j for j in network.sources(layer) if j != layer - 1]
    own = params[f"W{layer}.{layer - 1}"]
    # At this point of the training the proof knows the product across sources alone (App. B.2, the stage of the
    # distillation); what each block is by itself comes later, from λ₄ and λ₅.
    rest = torch.cat([params[f"W{layer}.{j}"] for j in others], 1) if others else own
    U, values, Vt = torch.linalg.svd(rest.mT @ own, full_matrices=False)
    least = cut * float(values[0]) if relative else cut
    # At the threshold the product is close to one of rank k with singular values from 1/κ² on (App. B.2), so a cut at a
    # tenth of that separates them from the rest. Zeros never count, also where all values are zero and the cut is
    # relative.
    k = int(((values >= least) & (values > 0)).sum()) if rank is None else min(rank, len(values))
    # Half of Σ on either side, so that neither factor is much larger than the other.
    roots = values[:k].sqrt()
    found = {f"K{layer}.{layer - 1}": roots[:, None] * Vt[:k]}
    sizes = [params[f"W{layer}.{j}"].shape[1] for j in others]
    split = (U[:, :k] * roots).mT.split(sizes, 1) if others else ()
    return found | {f"K{layer}.{j}": block for j, block in zip(others, split, strict=True)}


def _gram(A: torch.Tensor) -> torch.Tensor:
    return product(A.mT, A.mT)


def largest_rank(params: Tensors, layer: int) -> int:
    r"""The largest rank of :math:`W_{\ell\triangleleft}^\top W_{\ell,\ell-1}`, and of the own block where ◁ is empty.

    Arguments:
        params: W among them.
        layer: ℓ.

    >>> largest_rank({"W4.3": torch.zeros(9, 6), "W4.1": torch.zeros(9, 2), "W4.0": torch.zeros(9, 2)}, 4)
    4
    """
    shapes = {name: tuple(value.shape) for name, value in params.items() if name.startswith(f"W{layer}.")}
    rows, columns = shapes[f"W{layer}.{layer - 1}"]
    skipped = sum(shape[1] for shape in shapes.values()) - columns
    return min(rows, columns, skipped or columns)
