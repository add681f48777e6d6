"""What Theorems 26 and 34 of the feature-learning paper have in common: a problem, a network, and three phases."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from beyondkernels.algorithms.feature_learning_steps import ProcessSettings, StepSettings
from beyondkernels.core import require, require_between, require_positive
from beyondkernels.core.hypotheses import Hypothesis
from beyondkernels.networks import Symmetric, TwoLayer
from beyondkernels.papers.features.problems import DictionaryProblem, RepresentationLabels

Applied = TypeVar("Applied", bound=DictionaryProblem | RepresentationLabels)

_ROUNDING = 1e-12  # exact moments are sums of a few hundred float64 terms


@dataclass(frozen=True)
class Application(Generic[Applied]):
    """A problem and a network, to which one of the theorems is applied.

    Arguments:
        problem: gives k, D, d and the exact moments.
        network: gives m.
        steps: T, by default the theorems' m^{4/3}.
        failure: δ.
        error: ε.
        constant: what stands for every Ω(·) of the hypotheses; its inverse stands for every O(·), so that a larger
            constant asks for more.
    """

    problem: Applied
    network: TwoLayer
    steps: int | None
    failure: float
    error: float
    constant: float

    def __post_init__(self) -> None:
        require(isinstance(self.network, TwoLayer), f"network must be a TwoLayer, got {type(self.network).__name__}")
        require_between("failure", self.failure, 0, 1, "()")
        require_between("error", self.error, 0, 1, "()")
        require_positive("constant", self.constant)
        require_positive("steps", self.T)

    @property
    def k(self) -> int:
        """The number of relevant patterns."""
        return self.problem.relevant

    @property
    def m(self) -> int:
        """Half the number of neurons."""
        return self.network.pairs

    @property
    def T(self) -> int:  # noqa: N802 - the paper's name
        """The number of steps."""
        return self.steps if self.steps is not None else math.ceil(self.m ** (4 / 3))

    def phases(
        self,
        gamma: float,
        scale: float,
        initial_weight_std: float,
        first_rate: float,
        noise_std: float,
        class_weights: tuple[float, float],
        batch: int,
        readout_rate: float | None,
        hypotheses: tuple[Hypothesis, ...],
    ) -> ProcessSettings:
        r"""The numbers of all steps, from those in which the theorems differ.

        .. math::
            \sigma_b = 1/k^2,\ \sigma_a = \tilde\sigma^2/(\gamma k^2);\qquad
            \lambda_a^{(1)} = 0,\ \lambda_w^{(1)} = 1/(2\eta^{(1)});\qquad
            \eta^{(2)} = 1,\ \lambda_a^{(2)} = \lambda_w^{(2)} = 1/2;\qquad
            \eta^{(t)} = k^2/(T m^{1/3}),\ \lambda = \sigma_\xi^{(t)} = 0 \text{ for } t > 2.
        """
        k = self.k
        eta = k**2 / (self.T * self.m ** (1 / 3))
        first = StepSettings(first_rate, first_rate, 0.0, 1.0, noise_std, class_weights)
        return ProcessSettings(
            initial=Symmetric(weight_std=initial_weight_std, bias_std=1 / k**2, output_std=scale**2 / (gamma * k**2)),
            first=first,
            second=replace(first, hidden_rate=1.0, output_rate=1.0, keep_output=0.0),
            later=StepSettings(eta, eta if readout_rate is None else readout_rate),
            steps=self.T,
            batch=batch,
            fading=readout_rate is not None,
            hypotheses=hypotheses,
        )

    def width_and_bound(self, equation: str) -> tuple[Hypothesis, Hypothesis]:
        """What both theorems ask for an error of ε; ``equation`` is where the paper states the bound."""
        k, m, c = self.k, self.m, self.constant
        return (
            Hypothesis("m ≥ Ω(k¹²/ε^(3/2))", m, c * k**12 / self.error**1.5),
            Hypothesis(
                f"the bound of {equation}, O(k⁸/m^(2/3) + k³T/m² + k²m^(2/3)/T) ≤ ε",
                c * error_bound(k, m, self.T),
                self.error,
                at_least=False,
            ),
        )


def error_bound(relevant: int, pairs: int, steps: int) -> float:
    r"""The bound of Theorems 26 and 34 on the hinge loss, and so on the error, with its hidden constant taken as one.

    .. math:: \frac{k^8}{m^{2/3}} + \frac{k^3 T}{m^2} + \frac{k^2 m^{2/3}}{T}

    Arguments:
        relevant: k.
        pairs: m.
        steps: T.

    >>> round(error_bound(relevant=1, pairs=1000, steps=10_000), 4)
    0.03

    Reference: Shi, Wei & Liang (features), eqs. (279) and (299).
    """
    k, m = relevant, pairs
    return k**8 / m ** (2 / 3) + k**3 * steps / m**2 + k**2 * m ** (2 / 3) / steps


def require_correlation(gamma: float) -> float:
    """γ if it is positive. Where it is zero, if only up to rounding, the theorems set no scale.

    A run without structure then uses the numbers of a problem with structure.
    """
    require_positive("the correlation γ of relevant patterns and label", gamma if abs(gamma) > _ROUNDING else 0)
    return gamma
