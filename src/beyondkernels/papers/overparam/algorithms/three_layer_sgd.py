"""Stochastic gradient descent for three layers, with smoothing, penalties and a shrinking scale."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Annotated, Literal

import torch

from beyondkernels.algorithms.base import Algorithm, Batch, CompiledRule, Stage, StepResult
from beyondkernels.algorithms.gradient import loss_and_gradient
from beyondkernels.algorithms.losses import Loss, PseudoHuber
from beyondkernels.algorithms.view import MemberView, Transition
from beyondkernels.core import DivergedError, InputError, Shape, Stream, Tensors, require
from beyondkernels.core.constraints import positive
from beyondkernels.networks import Network
from beyondkernels.papers.overparam.networks import ThreeLayerLearner
from beyondkernels.papers.overparam.theory import ThreeLayerSettings

_NAMES = ("W", "V")
_SCALE, _LEFT, _CHOSEN = "scale", "left", "chosen"
_LEAST_RATE = 1e-6  # below, rounding 1 − η to single precision can change η by more than 3 %


@dataclass(frozen=True)
class ThreeLayerSGD(Algorithm):
    r"""Algorithm 2: descent on a smoothed and penalised objective of the increments W and V.

    .. math::
        L_1 = L\bigl(\lambda_t F(x; W^{(0)} + W^\rho + W,\ V^{(0)} + V^\rho + V),\ y\bigr)
              + \lambda_w \|W\|_{2,4}^4 + \lambda_v \|V\|_F^2, \qquad
        W \leftarrow W - \eta\,\partial_W L_1 + \eta\,\xi_w, \quad V \leftarrow V - \eta\,\partial_V L_1 + \eta\,\xi_v

    Each step takes a point at random, with replacement, and draws :math:`W^\rho, V^\rho, \xi_w, \xi_v` anew.
    :math:`L_2` has :math:`\Sigma W` and :math:`V \Sigma` in the place of W and V inside the loss, where Σ is a
    diagonal of random signs, drawn anew in each step.

    At random times :math:`\lambda_{t+1} = (1 - \eta) \lambda_t`. The first is after step 1, and from one to the next
    pass between :math:`T_w` and :math:`2 T_w` steps, all numbers equally likely. After the last step noise matrices are
    drawn, and for :math:`L_2` one Σ. The output is the network with that noise matrix with which the loss of
    :math:`\lambda_T F` on the sample is least.

    The parameters are :math:`W^{(0)} + W` and :math:`V^{(0)} + V`. The buffer ``a`` holds :math:`\lambda_t` times the
    readout, so that the network's prediction is :math:`\lambda_t F`.

    Arguments:
        settings: from :func:`bk.overparam.lemma53` or
            :func:`bk.overparam.practical`.
        steps: T.
        learning_rate: η, below 1 where λ shrinks.
        variant: which objective.
        batch: points in a step, drawn independently; the paper has one. None takes the whole sample.
        loss: L, by default a loss that meets the paper's conditions for all predictions.

    >>> rule = ThreeLayerSGD(ThreeLayerSettings(smoothing=(0.01, 0.01), wait=50), steps=100, learning_rate=0.01)
    >>> rule.stages()[0].batch, rule.stages()[0].order
    (1, 'independent')

    Reference: Allen-Zhu, Li & Liang (overparam), §2.2, Algorithm 2, eqs. (13) and (14).
    """

    settings: ThreeLayerSettings
    steps: Annotated[int, positive]
    learning_rate: Annotated[float, positive]
    variant: Literal["L1", "L2"] = "L1"
    batch: Annotated[int, positive] | None = 1
    loss: Loss = field(default_factory=PseudoHuber)

    def __post_init__(self) -> None:
        require(
            self.settings.wait is None or self.learning_rate < 1,
            f"learning_rate must be below 1, so that 1 − η shrinks λ, got {self.learning_rate:g}; settings with "
            "wait=None leave λ alone",
        )
        require(
            self.settings.wait is None or self.learning_rate >= _LEAST_RATE,
            f"learning_rate must be at least {_LEAST_RATE:g} where λ shrinks, since single precision does not tell "
            f"1 − η from 1 below, got {self.learning_rate:g}; settings with wait=None leave λ alone",
        )

    def stages(self) -> tuple[Stage, ...]:
        return (Stage("descent", self.steps, self.batch, order="independent"),)

    def initialise(self, network: Network, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        if not isinstance(network, ThreeLayerLearner):
            raise InputError(f"ThreeLayerSGD is for a ThreeLayerLearner, got a {type(network).__name__}")
        return super().initialise(network, in_dim, out_dim, stream)

    def optimiser_state(self, stage: Stage, params: Tensors) -> Tensors:
        """W⁽⁰⁾ and V⁽⁰⁾, λ, the steps until it shrinks, and the number of the chosen noise matrix."""
        numbers = {_SCALE: 1.0, _LEFT: 1.0, _CHOSEN: -1.0}
        start = {f"start/{name}": params[name].clone() for name in _NAMES}
        return start | {name: params["W"].new_tensor(value) for name, value in numbers.items()}

    def hyper(self, stage: Stage, step: int) -> dict[str, float]:
        """η, 1 − η, λ_w and λ_v."""
        w, v = self.settings.penalties
        return {"rate": self.learning_rate, "shrink": 1 - self.learning_rate, "penalty_w": w, "penalty_v": v}

    def noise(self, stage: Stage, network: Network, params: Tensors, points: int, stream: Stream) -> Tensors:
        """W^ρ, V^ρ, ξ_w, ξ_v, the diagonal of Σ, and T_w or up to twice as many steps."""
        drawn = self._smoothing(params, stream.child("smoothing"))
        if std := self.settings.gradient_noise:
            drawn |= {f"gradient/{name}": std * _normal(params[name], stream, "gradient", name) for name in _NAMES}
        if self.variant == "L2":
            drawn["signs"] = _signs(params["W"], stream)
        if (wait := self.settings.wait) is not None:
            drawn["wait"] = (wait + stream.child("wait").integers(wait + 1)).to(params["W"].dtype)
        return drawn

    def program(self, stage: Stage) -> Hashable:
        s = self.settings
        drawn = *(std > 0 for std in s.smoothing), s.gradient_noise > 0, s.wait is not None
        return type(self), stage, self.variant, drawn, self.loss

    def compiled_rule(self, stage: Stage) -> CompiledRule:
        return CompiledRule("smoothed")

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
        """One update of W and V, and before it of λ if the step before was one of the random times."""
        optimiser, buffers = _shrunk(optimiser, buffers, noise, hyper["shrink"])
        W, V = (params[name] - optimiser[f"start/{name}"] for name in _NAMES)
        signs = noise.get("signs")
        seen = _moved(params, optimiser, noise, signs)
        loss, gradient, after = loss_and_gradient(network, seen, buffers, batch, self.loss, _NAMES)
        if signs is not None:
            gradient = {"W": signs[:, None] * gradient["W"], "V": gradient["V"] * signs}
        rows = W.square().sum(1, keepdim=True)
        slopes = {"W": hyper["penalty_w"] * 4 * rows * W, "V": hyper["penalty_v"] * 2 * V}
        moved = {}
        for name in _NAMES:
            slope = gradient[name] + slopes[name] - noise.get(f"gradient/{name}", 0.0)
            moved[name] = params[name] - hyper["rate"] * slope
        penalty = hyper["penalty_w"] * rows.square().sum() + hyper["penalty_v"] * V.square().sum()
        return StepResult(moved, after, optimiser, loss + penalty)

    def transition(self, view: MemberView) -> Transition:
        """After the last step, the choice among noise matrices."""
        if view.steps_in_stage < self.steps:
            return view.stay()
        signs = _signs(view.params["W"], view.stream) if self.variant == "L2" else None
        best = (math.inf, -1, view.params)
        for j in range(self.settings.draws if any(self.settings.smoothing) else 1):
            noise = self._smoothing(view.params, view.stream.child("draw", str(j)))
            params = _moved(view.params, view.optimiser, noise, signs)
            value = view.objective(params)
            if value < best[0]:
                best = value, j, params
        if best[1] < 0:
            raise DivergedError(f"no noise matrix has a finite loss after step {view.step}")
        chosen = {_CHOSEN: view.params["W"].new_tensor(float(best[1]))}
        return view.end(best[2])._replace(optimiser=view.optimiser | chosen)

    def recorded(self, view: MemberView) -> dict[str, float]:
        r""":math:`\lambda_t`, :math:`\|W_t\|_{2,4}` and :math:`\|V_t\|_F`."""
        W, V = (view.params[name].double() - view.optimiser[f"start/{name}"].double() for name in _NAMES)
        w_norm = float(W.norm(dim=1).pow(4).sum().pow(0.25))
        return {_SCALE: float(view.optimiser[_SCALE]), "w_norm": w_norm, "v_norm": float(V.norm())}

    def summary(self, steps: int, optimiser: Tensors) -> dict[str, float]:
        """λ_T, and which noise matrix was chosen."""
        return {name: float(optimiser[name]) for name in (_SCALE, _CHOSEN)}

    def _smoothing(self, params: Tensors, stream: Stream) -> Tensors:
        """W^ρ and V^ρ, where they are not zero."""
        pairs = zip(_NAMES, self.settings.smoothing, strict=True)
        return {f"smoothing/{name}": std * _normal(params[name], stream, name) for name, std in pairs if std > 0}


def _shrunk(optimiser: Tensors, buffers: Tensors, noise: Tensors, shrink: torch.Tensor) -> tuple[Tensors, Tensors]:
    """The state and the buffers with λ of this step, and one step less until it shrinks again."""
    if "wait" not in noise:
        return optimiser, buffers
    due = optimiser[_LEFT] == 0
    factor = torch.where(due, shrink, torch.ones_like(shrink))
    left = torch.where(due, noise["wait"], optimiser[_LEFT]) - 1
    state = optimiser | {_SCALE: factor * optimiser[_SCALE], _LEFT: left}
    return state, buffers | {"a": factor * buffers["a"]}


def _moved(params: Tensors, optimiser: Tensors, noise: Tensors, signs: torch.Tensor | None) -> Tensors:
    """The weights with signs on their increments and with the smoothing noise."""
    seen = dict(params)
    if signs is not None:
        W0, V0 = (optimiser[f"start/{name}"] for name in _NAMES)
        seen |= {"W": W0 + signs[:, None] * (params["W"] - W0), "V": V0 + (params["V"] - V0) * signs}
    for name in _NAMES:
        if f"smoothing/{name}" in noise:
            seen[name] = seen[name] + noise[f"smoothing/{name}"]
    return seen


def _normal(like: torch.Tensor, stream: Stream, *names: str) -> torch.Tensor:
    return stream.child(*names).normal(*like.shape, dtype=like.dtype)


def _signs(like: torch.Tensor, stream: Stream) -> torch.Tensor:
    """The diagonal of Σ, one sign for each row of W."""
    return 2 * stream.child("signs").bernoulli(0.5, len(like)).to(like.dtype) - 1
