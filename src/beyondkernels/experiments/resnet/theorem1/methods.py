"""The runs of the experiment: Algorithm 1 with the numbers of Theorem 1, its controls, and the two-step kernel."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import beyondkernels as bk
from beyondkernels.runs import RunSpec

if TYPE_CHECKING:
    from beyondkernels.experiments.resnet.theorem1.experiment import Theorem1ExperimentSettings
    from beyondkernels.networks import ThreeLayerResNet
    from beyondkernels.problems import HardInstance
    from beyondkernels.theory import Theorem1Settings

_ANY_WIDTH = 1000  # the limit of infinite width does not depend on it
_MEMORY = 2**30


@dataclass(frozen=True)
class Method:
    """What is run at every α.

    Arguments:
        name: as tables and figures call it.
        numbers: whose T and rates: those of its own α, those of the smallest α for every α, or none for a kernel.
        frozen: whether V stays where it starts.
    """

    name: str
    numbers: Literal["own", "smallest", "kernel"]
    frozen: bool = False


NETWORK = Method("Algorithm 1", "own")
FROZEN = Method("V frozen", "own", frozen=True)
SAME = Method("same T", "smallest")
KERNEL = Method("two-step kernel", "kernel")
METHODS = (NETWORK, FROZEN, SAME, KERNEL)


def problem_of(settings: Theorem1ExperimentSettings, alpha: float) -> HardInstance:
    """The hard instance (7.1) on uniform signs."""
    return bk.problems.HardInstance(settings.dim, settings.outputs, alpha)


def network_of(settings: Theorem1ExperimentSettings) -> ThreeLayerResNet:
    """The network of §6."""
    return bk.networks.theorem_network(settings.width, settings.first_std, settings.second_std)


@functools.lru_cache(maxsize=256)
def theorem_of(settings: Theorem1ExperimentSettings, alpha: float) -> Theorem1Settings:
    r"""Theorem 1's numbers for one α, with C* = 1 and three constants of our choice in place of Θ̃.

    .. math:: \delta = (\alpha/\alpha_1)^4, \quad T = (k p_F \mathfrak C_s(F))^2 / \min\{1, \delta^2\}, \quad
              \eta_w = c \min\{1, \delta\}, \quad \eta_v = \eta_w\, r\, (\alpha/\alpha_1)^2

    with α₁ = ``unit_alpha``, c = ``rate``, r = ``ratio``. In the theorem r comes from the constant of τ_v; here it is
    η_v's alone, and hypotheses on τ_v are checked with constant 1. Sizes are those of the target in Concept 1, labels
    divided by √k.
    """
    sizes = bk.theory.concept_complexity(problem_of(settings, alpha), star=1.0).sizes
    at_one = settings.unit_alpha * sizes.composite_size
    constants = bk.theory.Theorem1Constants(risk=1 / (at_one**4 * (1 + sizes.base_norm) ** 2), rate=settings.rate)
    theorem = functools.partial(
        bk.theory.theorem1,
        sizes,
        network_of(settings),
        first_std=settings.first_std,
        second_std=settings.second_std,
    )
    r = settings.ratio**0.5 * sizes.base_size / at_one
    eta_v = theorem(constants=replace(constants, second_radius=r)).second_rate
    return theorem(constants=constants, second_rate=eta_v)


def spec_of(method: Method, settings: Theorem1ExperimentSettings, alpha: float, seed: int) -> RunSpec:
    """One run."""
    problem = problem_of(settings, alpha)
    if method.numbers == "kernel":
        kernel = tangent_kernel()
        learner = bk.kernels.TwoStepRidge(kernel, kernel, weights=settings.kernel_weights)
        return RunSpec(problem, learner, settings.kernel_samples, settings.test_samples, seed)
    numbers = theorem_of(settings, alpha if method.numbers == "own" else min(settings.alphas))
    rule = bk.algorithms.OnePass.of(numbers)
    if method.frozen:
        rule = replace(rule, second_rate=0.0)
    # samples of millions of points: not many of them at a time
    learner = bk.engine.TrainedNetwork(network_of(settings), rule, backend=settings.backend, memory=_MEMORY)
    return RunSpec(problem, learner, rule.steps, settings.test_samples, seed)


def tangent_kernel() -> bk.kernels.Kernel:
    """The tangent kernel of a wide two-layer ReLU network with biases, everything of unit variance."""
    scales = bk.networks.Parameterisation("ntk", weight_variance=1.0, bias_variance=1.0, input_fan_in=1)
    return bk.kernels.infinite_tangent(bk.networks.FullyConnected(_ANY_WIDTH, 2, parameterisation=scales))
