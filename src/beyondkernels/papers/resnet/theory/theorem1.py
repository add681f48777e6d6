"""Theorem 1 of the paper on ResNets and kernels: settings from target and network, and its hypotheses."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Annotated

from beyondkernels.activations import ReLU, activation
from beyondkernels.algorithms import OnePass
from beyondkernels.core import Component, InputError, require, require_positive
from beyondkernels.core.constraints import any_number, positive
from beyondkernels.core.hypotheses import Hypothesis, WithHypotheses
from beyondkernels.networks import ThreeLayerResNet, theorem_network
from beyondkernels.papers.resnet.theory.concept_sizes import ConceptSizes
from beyondkernels.papers.resnet.theory.ranges import Theorem1Ranges


@dataclass(frozen=True)
class Theorem1Constants(Component):
    r"""What stands for each Θ̃(·), O(·), poly(·) and polylog(m) of Theorem 1 and Table 1; none is in the paper.

    Arguments:
        alpha: in α ≤ Θ̃(1/(k p_G C_s(G))).
        risk: in δ ≥ OPT + Θ̃(α⁴ …).
        steps: in T = Θ̃(…).
        rate: in :math:`\eta_w` = Θ̃(min{1, δ}); the proof asks for O(η_w + η_v τ_w²) ≤ 0.1, and 0.05 obeys it.
        first_radius: in :math:`\tau_w` = Θ̃(k p_F C_s(F)).
        second_radius: in :math:`\tau_v` = Θ̃(α k p_G C_s(G)).
        width: in M = width · (C_α(F) · C_α(G) · p_F / α) ^ ``width_power``: the paper says only "polynomial".
        width_power: that power.
        log_power: polylog(m) is log(m) to this power, m ≥ 2.
    """

    alpha: Annotated[float, positive] = 1.0
    risk: Annotated[float, positive] = 1.0
    steps: Annotated[float, positive] = 1.0
    rate: Annotated[float, positive] = 0.05
    first_radius: Annotated[float, positive] = 1.0
    second_radius: Annotated[float, positive] = 1.0
    width: Annotated[float, positive] = 1.0
    width_power: Annotated[float, positive] = 1.0
    log_power: Annotated[float, positive] = 1.0


@dataclass(frozen=True)
class Theorem1Settings(WithHypotheses, Component):
    r"""The numbers Theorem 1 sets.

    Arguments:
        width: m.
        steps: T, which is also the number N of samples.
        first_rate: :math:`\eta_w`.
        second_rate: :math:`\eta_v`.
        first_std: :math:`\sigma_w`.
        second_std: :math:`\sigma_v`.
        first_radius: :math:`\tau_w`, which :math:`\|W\|` keeps to.
        second_radius: :math:`\tau_v`, which :math:`\|V\|` keeps to.
        risk: δ, up to a constant the risk that is promised.
        hypotheses: what the theorem asks and how this case stands to it; not part of the identity.
    """

    width: Annotated[int, any_number]
    steps: Annotated[int, any_number]
    first_rate: Annotated[float, any_number]
    second_rate: Annotated[float, any_number]
    first_std: Annotated[float, any_number]
    second_std: Annotated[float, any_number]
    first_radius: Annotated[float, any_number]
    second_radius: Annotated[float, any_number]
    risk: Annotated[float, any_number]
    hypotheses: tuple[Hypothesis, ...] = field(default=(), compare=False, metadata={"identity": False})

    @property
    def network(self) -> ThreeLayerResNet:
        """The network with the start these settings ask for."""
        return theorem_network(self.width, self.first_std, self.second_std)

    @property
    def algorithm(self) -> OnePass:
        """Algorithm 1 with these steps and rates."""
        return OnePass(self.steps, self.first_rate, self.second_rate)


def theorem1(
    sizes: ConceptSizes,
    network: ThreeLayerResNet,
    *,
    risk: float | None = None,
    steps: int | None = None,
    first_rate: float | None = None,
    second_rate: float | None = None,
    first_std: float | None = None,
    second_std: float | None = None,
    constants: Theorem1Constants | None = None,
) -> Theorem1Settings:
    r"""The numbers Theorem 1 sets for a target and a network, with its hypotheses checked one by one.

    .. math::
        \tau_w = \tilde\Theta(k p_F \mathfrak C_s(F)),\quad \tau_v = \tilde\Theta(\alpha k p_G \mathfrak C_s(G)),\quad
        \delta = \mathrm{OPT} + \tilde\Theta\big(\alpha^4 (k p_G \mathfrak C_s(G))^4 (1 + B_F)^2\big),

        T = \tilde\Theta\Big(\frac{(k p_F \mathfrak C_s(F))^2}{\min\{1, \delta^2\}}\Big),\quad
        \eta_w = \tilde\Theta(\min\{1, \delta\}),\quad \eta_v = \eta_w\,(\tau_v/\tau_w)^2 .

    Table 1 leaves ranges for :math:`\sigma_w, \sigma_v`; what is not given is their geometric middle, or near it where
    a range is empty because the width is too small. Nothing is refused because a hypothesis fails: an α outside the
    theorem's range is a failing hypothesis. A negative α counts by its size, G then having the other sign.

    Arguments:
        sizes: what is known about the target.
        network: gives m; in the bottleneck form.
        risk: δ; None takes the smallest the theorem allows.
        steps: T; None takes the theorem's.
        first_rate: :math:`\eta_w`; None takes the theorem's.
        second_rate: :math:`\eta_v`; None takes the theorem's for this :math:`\eta_w`.
        first_std: :math:`\sigma_w`, e.g. from :func:`beyondkernels.networks.initial_stds`; None takes the middle.
        second_std: :math:`\sigma_v`, likewise.
        constants: what stands for the constants the theorem leaves open.

    >>> sizes = ConceptSizes(outputs=1, alpha=0.1, base_terms=1, composite_terms=1, base_complexity=1.0,
    ...                      composite_complexity=1.0)
    >>> settings = theorem1(sizes, ThreeLayerResNet(width=1000, form="bottleneck"))
    >>> settings.steps, round(settings.risk, 6), round(settings.second_radius, 3)
    (6250000, 0.0004, 0.1)
    >>> print(settings.hypotheses[1])
    holds by a factor 10: α ≤ Θ̃(1/(k p_G C_s(G))) (0.1 against 1)

    Reference: Allen-Zhu & Li (resnet), Theorem 1, eq. (6.2), Table 1, App. C.4.
    """
    require(
        isinstance(network, ThreeLayerResNet) and network.form == "bottleneck",
        f"network must be a ThreeLayerResNet in the bottleneck form, got {network}",
    )
    positive = {
        "risk": risk,
        "steps": steps,
        "first_rate": first_rate,
        "first_std": first_std,
        "second_std": second_std,
    }
    for name, value in positive.items():
        if value is not None:
            require_positive(name, value)
    require(second_rate is None or second_rate >= 0, f"second_rate must not be negative, got {second_rate}")
    c = constants or Theorem1Constants()
    try:
        return _settings(sizes, network, risk, steps, first_rate, second_rate, first_std, second_std, c)
    except (OverflowError, ZeroDivisionError) as error:
        raise InputError("sizes must leave the theorem's numbers in the range of floats, got " + str(sizes)) from error


def _settings(
    sizes: ConceptSizes,
    network: ThreeLayerResNet,
    risk: float | None,
    steps: int | None,
    first_rate: float | None,
    second_rate: float | None,
    first_std: float | None,
    second_std: float | None,
    c: Theorem1Constants,
) -> Theorem1Settings:
    m, alpha = network.width, abs(sizes.alpha)
    tau_w, tau_v = c.first_radius * sizes.base_size, c.second_radius * alpha * sizes.composite_size
    floor = sizes.best_risk + c.risk * (alpha * sizes.composite_size) ** 4 * (1 + sizes.base_norm) ** 2
    delta = floor if risk is None else risk
    require(delta > 0, "risk must be given where α and OPT leave none, got None")
    needed = c.steps * sizes.base_size**2 / min(1, delta) ** 2
    eta_w = c.rate * min(1, delta) if first_rate is None else first_rate
    table = Theorem1Ranges(m, sizes.outputs, tau_w, tau_v, math.log(max(m, 2)) ** c.log_power)
    sigma_w = table.middle[0] if first_std is None else first_std
    sigma_v = table.middle[1] if second_std is None else second_std
    numbers = Theorem1Settings(
        width=m,
        steps=math.ceil(needed) if steps is None else steps,
        first_rate=eta_w,
        second_rate=eta_w * (tau_v / tau_w) ** 2 if second_rate is None else second_rate,
        first_std=sigma_w,
        second_std=sigma_v,
        first_radius=tau_w,
        second_radius=tau_v,
        risk=delta,
    )
    asked = (
        *_about_target(sizes, network, delta, floor, c),
        *table.hypotheses(sigma_w, sigma_v),
        *_about_steps(numbers, sizes, needed, c),
    )
    return replace(numbers, hypotheses=asked)


def _about_target(
    sizes: ConceptSizes, network: ThreeLayerResNet, delta: float, floor: float, c: Theorem1Constants
) -> tuple[Hypothesis, ...]:
    alpha = abs(sizes.alpha)
    product = sizes.base_width_complexity * sizes.composite_width_complexity * sizes.base_terms
    M = c.width * (product / alpha) ** c.width_power if alpha else math.inf
    other = not isinstance(activation(network.activation), ReLU)
    return (
        Hypothesis("α is not zero, 1 if it is", float(alpha == 0), 0, at_least=False),
        Hypothesis("α ≤ Θ̃(1/(k p_G C_s(G)))", alpha, c.alpha / sizes.composite_size, at_least=False),
        Hypothesis("δ ≥ OPT + Θ̃(α⁴ (k p_G C_s(G))⁴ (1 + B_F)²)", delta, floor),
        Hypothesis("m ≥ M = poly(C_α(F), C_α(G), p_F, 1/α)", network.width, M),
        Hypothesis("the activation is the ReLU, 0 if so", float(other), 0, at_least=False),
        Hypothesis(
            "W and V have biases, 0 if so", float(network.parameterisation.bias_variance is None), 0, at_least=False
        ),
    )


def _about_steps(
    at: Theorem1Settings, sizes: ConceptSizes, needed: float, c: Theorem1Constants
) -> tuple[Hypothesis, ...]:
    """Rates and steps: the theorem's own, then what the proof takes from them."""
    tau_w, tau_v, eta_w, eta_v, T = at.first_radius, at.second_radius, at.first_rate, at.second_rate, at.steps
    travelled = tau_w**2 / eta_w + (tau_v**2 / eta_v if eta_v else math.inf if tau_v else 0.0)
    return (
        Hypothesis("T ≥ Θ̃((k p_F C_s(F))²/min{1, δ²})", T, needed),
        Hypothesis("η_w ≤ Θ̃(min{1, δ})", eta_w, c.rate * min(1, at.risk), at_least=False),
        Hypothesis("η_w + η_v τ_w² ≤ 0.1 (App. C.4)", eta_w + eta_v * tau_w**2, 0.1, at_least=False),
        Hypothesis(
            "τ_v + α L_G ≤ 0.1 (App. C.4)", tau_v + abs(sizes.alpha) * sizes.composite_lipschitz, 0.1, at_least=False
        ),
        # ‖W*‖ ≤ τ_w/10 and ‖V*‖ ≤ τ_v/10 in (C.4), whose left side is a quarter of the average risk
        Hypothesis("T ≥ (τ_w²/η_w + τ_v²/η_v)/(50δ) (App. C.4)", T, travelled / (50 * at.risk)),
        Hypothesis("η_w √T ≤ τ_w, so that ‖W‖ keeps to τ_w (App. C.4)", eta_w * T**0.5, tau_w, at_least=False),
    )
