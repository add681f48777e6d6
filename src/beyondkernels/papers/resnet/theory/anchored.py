"""Theorem 1 with its open constants fixed at one α."""

from __future__ import annotations

import functools
from dataclasses import replace

from beyondkernels.networks import ThreeLayerResNet
from beyondkernels.papers.resnet.theory.concept_sizes import ConceptSizes
from beyondkernels.papers.resnet.theory.theorem1 import Theorem1Constants, Theorem1Settings, theorem1


def anchored_theorem1(
    sizes: ConceptSizes,
    network: ThreeLayerResNet,
    *,
    unit_alpha: float,
    rate: float,
    ratio: float,
    first_std: float,
    second_std: float,
) -> Theorem1Settings:
    r"""Theorem 1's numbers for a target, with three constants of one's own in place of Θ̃.

    .. math:: \delta = (\alpha/\alpha_1)^4, \quad T = (k p_F \mathfrak C_s(F))^2 / \min\{1, \delta^2\}, \quad
              \eta_w = c \min\{1, \delta\}, \quad \eta_v = \eta_w\, r\, (\alpha/\alpha_1)^2

    In the theorem r comes from the constant of :math:`\tau_v`; here it is :math:`\eta_v`'s alone, and hypotheses on
    :math:`\tau_v` are checked with constant 1.

    Arguments:
        sizes: what is known about the target.
        network: gives m; in the bottleneck form.
        unit_alpha: :math:`\alpha_1`, where δ is 1.
        rate: c.
        ratio: r.
        first_std: :math:`\sigma_w`.
        second_std: :math:`\sigma_v`.

    >>> sizes = ConceptSizes(outputs=1, alpha=0.1, base_terms=1, composite_terms=1, base_complexity=1.0,
    ...                      composite_complexity=1.0)
    >>> network = ThreeLayerResNet(width=1000, form="bottleneck")
    >>> found = anchored_theorem1(sizes, network, unit_alpha=0.2, rate=1.0, ratio=0.1, first_std=0.5, second_std=1.0)
    >>> found.risk, found.steps, round(found.second_rate / found.first_rate, 6)
    (0.0625, 256, 0.025)

    Reference: Allen-Zhu & Li (resnet), Theorem 1.
    """
    at_one = unit_alpha * sizes.composite_size
    constants = Theorem1Constants(risk=1 / (at_one**4 * (1 + sizes.base_norm) ** 2), rate=rate)
    radius = ratio**0.5 * sizes.base_size / at_one
    theorem = functools.partial(theorem1, sizes, network, first_std=first_std, second_std=second_std)
    second_rate = theorem(constants=replace(constants, second_radius=radius)).second_rate
    return theorem(constants=constants, second_rate=second_rate)
