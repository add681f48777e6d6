"""The learning process of the feature-learning paper."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Annotated, Literal

from beyondkernels.algorithms.base import Algorithm, Batch, Stage, StepResult
from beyondkernels.algorithms.feature_learning_steps import ProcessSettings, StepSettings
from beyondkernels.algorithms.gradient import loss_and_gradient
from beyondkernels.algorithms.losses import ClassWeighted, Hinge, Loss
from beyondkernels.algorithms.optimisers import Decay, Rate, Shrink, chain, descend
from beyondkernels.core import Shape, Stream, Tensors, later
from beyondkernels.core.constraints import between
from beyondkernels.networks import Network

_PLAIN, _REGULARISED, _AS_WRITTEN = Rate(1.0), chain(Rate(1.0), Shrink(1.0)), chain(Decay(1.0), Rate(1.0))
"""What a step does with a gradient; the numbers are those of the settings."""

NoiseKind = Literal["smoothed", "drawn"]


@dataclass(frozen=True)
class FeatureLearning(Algorithm):
    r"""Gradient descent on the regularised hinge loss, forgetting the old weights in its first two steps.

    .. math:: \theta^{(t)} = \theta^{(t-1)} - \eta^{(t)} \nabla_\theta \big(
              L(g^{(t-1)}; \sigma_\xi^{(t)}) + \lambda_a^{(t)} |a|^2 + \lambda_w^{(t)} \|w\|^2 \big)

    The regulariser enters as the factor 1 − 2ηλ in front of the old weights. Theorem 26 sets λ = 1/(2η) in the
    first two steps, where this factor is exactly zero: computed as w − 2ηλw in floating point, the rounding error of
    the cancelled weights would be larger than the gradient step.

    A step whose classes have weights, as the first two of Theorem 34, descends the weighted loss (295). The loss that
    is reported has no weights.

    Arguments:
        settings: the numbers, e.g. from :func:`bk.features.theorem26` or
            :func:`bk.features.theorem34`.
        freeze_hidden_after: after this step only the readout is trained. None trains all to the end (Network);
            0 is the random feature method, 1 One Step, 2 Two Step.
        noise_kind: ξ averaged out in closed form, or drawn for each point and neuron.
        loss: what is minimised, in the paper the hinge loss.
        forgetting: ``exact``, or ``rounded`` to compute w − η(∇ + 2λw) as it is written, with its rounding error.

    Reference: Shi, Wei & Liang (features), §3.1, eqs. (3) and (4); App. E.1 for the frozen versions; App. F.1.1, eq.
    (295), for the weights.
    """

    settings: ProcessSettings
    freeze_hidden_after: Annotated[int, between(0, 2)] | None = None
    noise_kind: NoiseKind = "smoothed"
    loss: Loss = field(default_factory=Hinge)
    forgetting: Literal["exact", "rounded"] = later("exact")

    def stages(self) -> tuple[Stage, ...]:
        settings = self.settings
        stages = (
            Stage("emergence", 1, None),
            Stage("improvement", min(1, settings.steps - 1), None),
            Stage("classifier", settings.steps - 2, settings.batch),
        )
        return tuple(stage for stage in stages if stage.steps > 0)

    def initialise(self, network: Network, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        """The unbiased initialisation of §3.1 at the settings' scales."""
        return network.started_by(self.settings.initial).init(in_dim, out_dim, stream)

    def hyper(self, stage: Stage, step: int) -> dict[str, float]:
        """η, and of hidden weights and readout the factors 1 − 2ηλ, or 2λ where forgetting is rounded."""
        at = self.settings.at(step)
        rates = {"hidden_rate": at.hidden_rate, "output_rate": at.output_rate}
        if self.forgetting == "rounded":
            hidden, output = at.penalties
            return rates | {"decay_hidden": 2 * hidden, "decay_output": 2 * output}
        return rates | {"keep_hidden": at.keep_hidden, "keep_output": at.keep_output}

    def noise(self, stage: Stage, network: Network, params: Tensors, points: int, stream: Stream) -> Tensors:
        """ξ for each point and neuron where it is drawn; nothing where it is averaged out."""
        std = self._step_settings(stage).noise_std
        if self.noise_kind == "smoothed" or std == 0:
            return {}
        return {"noise": std * stream.normal(points, len(params["hidden.weight"]))}

    def program(self, stage: Stage) -> Hashable:
        std = self._step_settings(stage).noise_std
        noise = std if self.noise_kind == "smoothed" else ("drawn" if std > 0 else 0.0)  # drawn noise brings its level
        return type(self), stage, self._hidden_is_trained(stage), noise, self._descended(stage), self.forgetting

    def step(
        self,
        stage: Stage,
        network: Network,
        params: Tensors,
        buffers: Tensors,
        optimiser: Tensors,
        batch: Batch,
        noise: Tensors,
        hyper: Tensors,
    ) -> StepResult:
        """One update of eq. (4)."""
        std = self._step_settings(stage).noise_std
        seen = network.smoothed(std) if std > 0 and self.noise_kind == "smoothed" else network
        names = network.trained("all" if self._hidden_is_trained(stage) else "last", params)
        loss, gradient, _ = loss_and_gradient(seen, params, buffers | noise, batch, self._descended(stage), names)
        after = dict(params)
        for name in names:
            layer = "output" if name == "output.weight" else "hidden"
            number, regularised = ("keep", _REGULARISED) if self.forgetting == "exact" else ("decay", _AS_WRITTEN)
            numbers = {"rate": hyper[f"{layer}_rate"], number: hyper[f"{number}_{layer}"]}
            # Biases are not regularised: the penalty R below eq. (3) has a and w alone.
            rule = regularised if name.endswith(".weight") else _PLAIN
            after, _ = descend(rule, {name: gradient[name]}, {}, after, numbers, {})
        return StepResult(after, buffers, optimiser, loss)

    def _step_settings(self, stage: Stage) -> StepSettings:
        return {"emergence": self.settings.first, "improvement": self.settings.second}.get(
            stage.name, self.settings.later
        )

    def _descended(self, stage: Stage) -> Loss:
        """The loss whose gradient a step of this stage follows."""
        weights = self._step_settings(stage).class_weights
        return self.loss if weights == (1.0, 1.0) else ClassWeighted(self.loss, weights)

    def _hidden_is_trained(self, stage: Stage) -> bool:
        first_step = {"emergence": 1, "improvement": 2}.get(stage.name, 3)
        return self.freeze_hidden_after is None or first_step <= self.freeze_hidden_after
