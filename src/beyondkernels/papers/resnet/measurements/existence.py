"""Weights that write the target through the random gates, and what they lose when the gates change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from beyondkernels.core import require_positive
from beyondkernels.papers.resnet.networks import ResNetWeights, with_one
from beyondkernels.papers.resnet.theory import least_witness

Map = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Witness:
    r"""Weights, counted from the start, with which the layers write F and αG: :math:`W^\star, V^\star`.

    Arguments:
        W: (m, d + 1).
        V: (m, k + 1).
    """

    W: torch.Tensor
    V: torch.Tensor

    @classmethod
    def of(cls, initial: ResNetWeights, x: torch.Tensor, base: Map, composite: Map, ridge: float = 1e-6) -> Witness:
        """The pair of least norm on a sample.

        Arguments:
            initial: the weights at the start.
            x: points, (n, d).
            base: F.
            composite: αG.
            ridge: see :func:`bk.resnet.least_witness`.
        """
        F = base(x)
        return cls(
            least_witness(initial.A, initial.W, x, F, ridge),
            least_witness(initial.A, initial.V, F, composite(F), ridge),
        )


def existence_errors(
    initial: ResNetWeights, now: ResNetWeights, witness: Witness, x: torch.Tensor, base: Map, composite: Map
) -> dict[str, torch.Tensor]:
    r"""How well a witness writes F and αG through the first gates and through the present ones.

    ``first_start`` :math:`\|A D_{W^{(0)}} W^\star(x,1) - F(x)\|^2` (C.2a), ``first_now`` the same with
    :math:`D_W` (C.3a), ``second_start``
    :math:`\|A D_{V^{(0)},W} V^\star(\mathrm{out}_1, 1) - \alpha G(\mathrm{out}_1)\|^2` (C.2b), ``second_now`` the same
    with :math:`D_{V,W}` (C.3b, where the paper prints α̃G for αG), ``first_rest``
    :math:`\|A D_W (W^\star - W)(x,1) - (F(x) - \mathrm{out}_1(x))\|^2` (C.3c); and what lies between the first gates
    and the present ones, the vanishing terms of C.3's proof: ``first_gates``
    :math:`\|A (D_{W^{(0)}} - D_W) W^\star(x,1)\|^2` and ``second_gates``
    :math:`\|A (D_{V^{(0)},W} - D_{V,W}) V^\star(\mathrm{out}_1, 1)\|^2`. Each for every point.

    Arguments:
        initial: the weights at the start.
        now: the present ones, with the same A.
        witness: :math:`W^\star, V^\star`.
        x: points.
        base: F.
        composite: αG.

    Reference: Allen-Zhu & Li (resnet), Lemmas C.2 and C.3.
    """
    A, F = now.A, base(x).double()
    D, out1 = now.first(x)
    D_start, _ = initial.first(x)
    D2, _ = now.second(out1)
    D2_start, _ = initial.second(out1)
    x1, z = with_one(x), with_one(out1)
    star, star2, G = x1 @ witness.W.T, z @ witness.V.T, composite(out1).double()
    moved = x1 @ (now.W - initial.W).T
    found = {
        "first_start": (D_start * star) @ A.T - F,
        "first_now": (D * star) @ A.T - F,
        "second_start": (D2_start * star2) @ A.T - G,
        "second_now": (D2 * star2) @ A.T - G,
        "first_rest": (D * (star - moved)) @ A.T - (F - out1),
        "first_gates": ((D_start - D) * star) @ A.T,
        "second_gates": ((D2_start - D2) * star2) @ A.T,
    }
    return {name: value.square().sum(1) for name, value in found.items()}


def gate_bounds(
    width: int,
    stds: tuple[float, float],
    taus: tuple[float, float],
    witness: Witness,
    first_output: torch.Tensor,
) -> dict[str, torch.Tensor]:
    r"""The right sides of C.3's vanishing terms as its proof has them, every O(·) and Õ(·) read as 1.

    .. math::
        \text{first\_gates}\quad \|W^\star\|_F^2\,\frac{(\tau_w/\sigma_w)^{2/3}}{m^{1/3}}, \qquad
        \text{second\_gates}\quad \|V^\star\|_F^2\,(\tau_v/\sigma_v)^{2/3}\,\|(\mathrm{out}_1, 1)\|^2

    Both are the squared norm of the witness times the share of gates that Lemma C.1 lets change.

    Arguments:
        width: m.
        stds: :math:`\sigma_w, \sigma_v`.
        taus: :math:`\tau_w, \tau_v`.
        witness: :math:`W^\star, V^\star`.
        first_output: :math:`\|\mathrm{out}_1(x)\|` of each point.

    Reference: Allen-Zhu & Li (resnet), proof of Lemma C.3.
    """
    (sigma_w, sigma_v), (tau_w, tau_v) = stds, taus
    for name, value in (("width", width), ("stds", sigma_w), ("stds", sigma_v)):
        require_positive(name, value)
    first = float(witness.W.square().sum()) * (tau_w / sigma_w) ** (2 / 3) / width ** (1 / 3)
    second = float(witness.V.square().sum()) * (tau_v / sigma_v) ** (2 / 3)
    return {
        "first_gates": torch.full_like(first_output, first),
        "second_gates": second * (first_output.square() + 1),
    }
