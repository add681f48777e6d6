"""Whether there is a way down: slope, curvature, and the step that the paper's proof builds."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Literal, cast

import numpy as np
import torch

from beyondkernels.core import Ended, InputError, Measured, Outcome, Problem, Sample, Stream, Tensors, require
from beyondkernels.core.constraints import any_number, at_most, between, positive
from beyondkernels.engine import Predictor, TrainedNetwork
from beyondkernels.measure.base import Measurement, over_steps
from beyondkernels.papers.bfc.algorithms import DenseNetSGD
from beyondkernels.papers.bfc.measurements.course import Moment, course, layered, require_same_alphas
from beyondkernels.papers.bfc.networks import DistilledDenseNet
from beyondkernels.papers.bfc.problems import LayeredProblem
from beyondkernels.papers.bfc.theory import (
    QuadraticWeights,
    descent_step,
    free_frames,
    padded,
    random_frames,
    target_in_basis,
    turns,
)
from beyondkernels.papers.bfc.theory.weights import Blocks

_CHUNK = 32  # columns of the Hessian at once
_OF_THE_STEP = ("decrease", "loss_decrease", "promised", "loss_promised")

Objective = Callable[[Tensors], torch.Tensor]


@dataclass(frozen=True)
class DescentDirections(Measurement):
    r"""Slope and curvature of the objective at every snapshot, and how far the step of App. G goes down there.

    The theorems say that while training is on its way, a step built from the target's weights lowers the objective,

    .. math:: E_D\,\widetilde{\mathrm{Obj}}(W^{new}, K^{new}) \le (1 - 0.7\,\eta_1)\,\varepsilon^2 +
              2\eta_1\alpha_{\ell+1}^2, \qquad \varepsilon^2 = \widetilde{\mathrm{Obj}}(W, K),

    so that the point is no critical point of second order (B.2): either the gradient or a negative eigenvalue of the
    Hessian is at least :math:`\varepsilon^2 / \mathrm{poly}(\tilde\kappa)`. Series over the snapshots:

    - ``descent/objective``: ε², on points of the training sample. For :class:`DenseNetSGD` it is the objective of the
      stage in which the snapshot was taken, with :math:`\varepsilon_0 = \varepsilon` in λ₆ as the proof has it; for
      others the mean loss.
    - ``descent/gradient``: the norm of its gradient in all parameters.
    - ``descent/curvature``: the least eigenvalue of its Hessian.
    - ``descent/escape``: the larger of gradient and negative curvature, over ε².
    - ``descent/decrease``: :math:`(\varepsilon^2 - E_D\,\widetilde{\mathrm{Obj}}(W^{new}, K^{new})) / (\eta_1
      \varepsilon^2)`, the mean over D and −D. It is NaN where the step cannot be built:
      for plain learners, and where a layer has fewer features than the target's. Where it has more, the target gets
      further features that are zero (ours).
    - ``descent/loss_decrease``: the same for the loss without the regulariser, in units of the loss. The theorems bound
      what the regulariser adds only for weights λ far below :math:`\alpha_\ell^2`.
    - ``descent/promised``: what the decrease exceeds by the proof of the theorems, :math:`0.7 - (1 + 1/\gamma)^2\,
      \mathrm{OPT}_{\le\ell} / \varepsilon^2`, where :math:`\mathrm{OPT}_{\le\ell}` is the risk of the target's layers
      that have joined (Lemma G.8). The theorems have :math:`2\alpha_{\ell+1}^2` in the place of the last product.
    - ``descent/loss_promised``: the same for the loss by Lemma G.8, :math:`0.99 - (0.04\,\varepsilon^2 +
      (1 + 1/\gamma)^2\,\mathrm{OPT}_{\le\ell}) / \widetilde{\mathrm{Loss}}`.

    Arguments:
        points: how many points of the training sample.
        wide_step: η₁.
        small_step: η₂, at least η₁. The theorems ask for :math:`\eta_1 \le \eta_2 / \mathrm{poly}(\tilde\kappa)` and
            leave the factor open; ten is ours. (Their proofs print :math:`\eta_2 = \eta_1 /
            \mathrm{poly}(\tilde\kappa)`, which turns it round.)
        gamma: γ of Lemma G.8, more than 1. The lemma holds for every such constant; 2 is ours.
        frames: ``free`` takes D in directions that W does not use, ``random`` random signs as the proof does. Random
            signs add an error of order 1/m to the decrease times ε², which only a very wide network makes small.
        draws: how many draws of random signs, each with its opposite.
        most: the most parameters for which the Hessian is computed; with more, the run is refused.
        seed: where D comes from.

    Reference: Allen-Zhu & Li (bfc), Theorems G.10 and G.11, eq. (B.2), App. G.
    """

    points: Annotated[int, positive] = 500
    wide_step: Annotated[float, positive, at_most(1)] = 1e-5
    small_step: Annotated[float, positive, at_most(1)] = 1e-4
    frames: Literal["free", "random"] = "free"
    draws: Annotated[int, positive] = 8
    most: Annotated[int, positive] = field(default=2000, metadata={"identity": False})
    seed: Annotated[int, any_number] = 0
    gamma: Annotated[float, between(1, math.inf, "()")] = 2.0

    def __post_init__(self) -> None:
        require(
            self.small_step >= self.wide_step,
            f"small_step must be at least wide_step={self.wide_step}, got {self.small_step}",
        )

    def measure(self, run: Ended) -> Measured:
        moments = course(run)
        require(len(moments) > 0, "the run kept no snapshot; ask for them with snapshot_at and snapshot_names=('all',)")
        train = run.case.train
        points = Sample(train.x[: self.points], train.y[: self.points])
        return Measured(
            series=over_steps("descent", moments, [self._row(run, moment, points) for moment in moments.values()])
        )

    def _row(self, run: Ended, moment: Moment, points: Sample) -> dict[str, float]:
        at = moment.predictor
        objective = _objective(run, at, points)
        value = float(objective(at.params))
        gradient, curvature = slope_and_curvature(objective, at.params, self.most)
        escape = max(gradient, -curvature) / value if value > 0 else math.nan
        row = {"objective": value, "gradient": gradient, "curvature": curvature, "escape": escape}
        return row | self._step(run.problem, moment, points, objective, value)

    def _step(
        self, problem: Problem, moment: Moment, points: Sample, objective: Objective, value: float
    ) -> dict[str, float]:
        at = moment.predictor
        target = getattr(problem, "teacher", problem)
        nothing: dict[str, float] = dict.fromkeys(_OF_THE_STEP, math.nan)
        network = at.network
        if not isinstance(network, DistilledDenseNet) or not isinstance(target, LayeredProblem):
            return nothing
        if network.leading or value <= 0:
            return nothing
        require_same_alphas(network, target)
        learner = QuadraticWeights.of_network(network, at.params, at.buffers, target.in_dim)
        given, found = layered(problem).features(points.x), moment.hidden(points.x)
        ranks = {layer: S.shape[1] for layer, S in found.items()}
        if any(rank < given[layer].shape[1] for layer, rank in ranks.items()):
            return nothing
        more = {layer: padded(given[layer], rank) for layer, rank in ranks.items()}
        wanted = target_in_basis(QuadraticWeights.of_problem(target).widened(ranks), learner, turns(more, found))
        steps = [
            _named(descent_step(learner, wanted, turned, self.wide_step, self.small_step))
            for frames in self._frames(learner, wanted)
            for turned in (frames, {layer: -frame for layer, frame in frames.items()})
        ]
        loss = functools.partial(_loss, at, points)
        parts = layered(problem).contributions(points.x)
        joined = torch.stack([parts[layer] for layer in learner.layers]).sum(0)
        missing = (1 + 1 / self.gamma) ** 2 * float((points.y[:, 0] - joined).square().mean())
        before = float(loss(at.params))
        return {
            "decrease": self._decrease(value, [float(objective(step)) for step in steps]),
            "loss_decrease": self._decrease(before, [float(loss(step)) for step in steps]),
            "promised": 0.7 - missing / value,
            "loss_promised": 0.99 - (0.04 * value + missing) / before if before > 0 else math.nan,
        }

    def _decrease(self, before: float, after: list[float]) -> float:
        """How much lower the mean is, in units of the step and of what was there."""
        return math.nan if before <= 0 else (before - math.fsum(after) / len(after)) / (self.wide_step * before)

    def _frames(self, learner: QuadraticWeights, wanted: Blocks) -> list[dict[int, torch.Tensor]]:
        if self.frames == "free":
            return [free_frames(learner, wanted)]
        stream = Stream(self.seed).child("descent")
        return [random_frames(learner, wanted, stream.child(str(draw))) for draw in range(self.draws)]


def slope_and_curvature(objective: Objective, params: Tensors, most: int) -> tuple[float, float]:
    """The norm of the gradient and the least eigenvalue of the Hessian.

    Arguments:
        objective: a function of parameters, twice differentiable.
        params: where.
        most: the most parameters.

    >>> two = {"a": torch.tensor([1.0, 2.0], dtype=torch.float64)}
    >>> slope_and_curvature(lambda p: p["a"][0] ** 2 - 3 * p["a"][1] ** 2, two, 10)  # (2, −12), and 2 and −6
    (12.16..., -6.0)
    """
    names, count = list(params), sum(value.numel() for value in params.values())
    require(count <= most, f"most must be at least {count}, the parameters of the network, got {most}")

    def of_vector(vector: torch.Tensor) -> torch.Tensor:
        parts = vector.split([params[name].numel() for name in names])
        return objective({name: part.view(params[name].shape) for name, part in zip(names, parts, strict=True)})

    vector = torch.cat([params[name].detach().flatten() for name in names])
    slope = torch.func.grad(of_vector)
    hessian = cast(torch.Tensor, torch.func.jacrev(slope, chunk_size=_CHUNK)(vector))
    curvature = torch.linalg.eigvalsh((hessian + hessian.T) / 2)[0]
    return float(slope(vector).norm()), float(curvature)


def _objective(run: Ended, at: Predictor, points: Sample) -> Objective:
    """What the training minimised at this moment, on these points."""
    if not isinstance(run.learner, TrainedNetwork):
        raise InputError(f"learner must be a TrainedNetwork, got {type(run.learner).__name__}")
    rule = run.learner.algorithm
    if not isinstance(rule, DenseNetSGD):
        return lambda params: rule.loss.each(at.network.apply(params, at.buffers, points.x)[0], points.y).mean()
    require(
        rule.target != "classification",
        "learner must minimise the squared error, as in Theorems G.10 and G.11, got DenseNetSGD for classification",
    )
    last = max(int(name[1 : name.index(".")]) for name in at.params)
    letter = "K" if any(name.startswith(f"K{last}.") for name in at.params) else "W"
    stage = next(stage for stage in rule.stages() if stage.name == f"{letter}{last}")
    whole = float(rule.objective(at.network, at.params, at.buffers, points, stage, 1e-30))
    error = math.sqrt(max(whole, 1e-60))
    return lambda params: rule.objective(at.network, params, at.buffers, points, stage, error)


def _loss(at: Predictor, points: Sample, params: Tensors) -> torch.Tensor:
    return (at.network.apply(params, at.buffers, points.x)[0] - points.y).square().sum(1).mean()


def _named(weights: QuadraticWeights) -> Tensors:
    wide = {f"W{layer}.{j}": block for (layer, j), block in weights.wide.items()}
    return wide | {f"K{layer}.{j}": block for (layer, j), block in weights.small.items()}


def worst_promised(outcome: Outcome) -> dict[str, float]:
    """The worst of the points of a run at which :class:`DescentDirections` found a decrease promised.

    ``count`` is how many points there are, ``beyond`` and ``beyond_loss`` the least decrease of objective and loss
    beyond what is promised, and ``escape`` the least way out; no number where nothing is promised.

    Arguments:
        outcome: the run.
    """
    said = {name: outcome.series[f"descent/{name}"] for name in ("decrease", "promised", "escape")}
    loss, promised = (outcome.series[f"descent/loss_{name}"] for name in ("decrease", "promised"))

    def worst(values: np.ndarray, where: np.ndarray) -> float:
        return values[where > 0].min() if (where > 0).any() else math.nan

    return {
        "count": (said["promised"] > 0).sum(),
        "beyond": worst(said["decrease"] - said["promised"], said["promised"]),
        "beyond_loss": worst(loss - promised, promised),
        "escape": worst(said["escape"], said["promised"]),
    }
