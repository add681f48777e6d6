"""Algorithm 1 of the paper on backward feature correction."""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import torch

from beyondkernels.algorithms.base import Algorithm, Batch, Stage, StepResult
from beyondkernels.algorithms.gradient import loss_and_gradient
from beyondkernels.algorithms.losses import CrossEntropy, Loss, Squared
from beyondkernels.algorithms.optimisers import Chain, Optimiser, Rate, adam, chain, descend
from beyondkernels.algorithms.view import MemberView, Transition
from beyondkernels.core import DivergedError, InputError, Sample, Shape, Stream, Tensors, later, require
from beyondkernels.core.constraints import not_negative, positive, size
from beyondkernels.networks import Network
from beyondkernels.papers.bfc.algorithms.distillation import (
    Penalties,
    ScaledCrossEntropy,
    initial_distill,
    largest_rank,
    regularised,
    regulariser,
)
from beyondkernels.papers.bfc.networks import DistilledDenseNet
from beyondkernels.papers.bfc.theory import DenseNetSettings, cross_entropy_scale, practical

_ERROR, _SCALE, _CLOCK = "target_error", "loss_scale", "clock"
_LARGEST = 0.5
"""The largest target error for the cross-entropy, so that v is positive."""


@dataclass(frozen=True)
class DenseNetSGD(Algorithm):
    r"""Algorithm 1: gradient descent on the regularised objective (2.3), while layers join and are distilled.

    .. math::
        W_\ell \leftarrow W_\ell - \eta\, \nabla_{W_\ell} \widetilde{\mathrm{Obj}} + \text{noise}, \qquad
        K_\ell \leftarrow K_\ell - \eta\, \nabla_{K_\ell} \widetilde{\mathrm{Obj}}

    For each layer ℓ there are two stages. In the first, :math:`W_\ell` has joined. When the objective is at most
    :math:`\mathrm{Thres}_{\ell,\nabla}`, INITIAL-DISTILL finds :math:`k_\ell` and :math:`K_\ell`, :math:`R_\ell` is
    drawn, and the second stage begins, in which :math:`K_\ell` is trained too. When the objective is at most
    :math:`\mathrm{Thres}_{\ell+1,\Delta}`, the next layer joins. Whenever the objective is below
    :math:`\varepsilon_0^2/4`, the target error ε₀ is halved and :math:`\lambda_6` falls to a quarter. Training ends
    when ε₀ is below ε and all layers are there; in an earlier stage such an ε₀ lets the next stage begin (ours, since
    the paper's ε lies below all thresholds). In the paper all this is asked before every step, here every
    ``check_every`` steps (ours).

    If no singular value reaches the cut, the rank of a layer is 0. Training then ends, because no feature is left for
    the layers above, and the scalar ``layer2/rank`` of the run says so. A full rank is not an error (k = 1 has it); the
    run goes on, and ``layer2/full_rank`` is 1.

    For classification the loss is the cross-entropy of :math:`v (x_0 + F(x))`, Reg is multiplied by v, and
    :math:`v = \log^q(1/\varepsilon_0) / (c\, \varepsilon_0)` follows the target error. There ε is the objective itself,
    so a threshold is compared with its square.

    Arguments:
        settings: thresholds and weights, from :func:`bk.bfc.theorem1` or
            :func:`bk.bfc.practical`.
        rule: the optimiser, the last rule its learning rate; the paper's is ``sgd(η)``.
        steps: the most steps of each stage: W₂, K₂, W₃, K₃, …
        batch: points in a batch, 1 in the paper; None takes the whole sample.
        check_every: how many steps lie between two looks at the objective.
        noise_std: the standard deviation of the noise on W.
        start: ``drawn`` starts W of a layer from the network's draw (ours); ``zero`` from zeros, as in the paper, and
            then noise must move it.
        strict: whether training ends when a stage has had its steps and has not reached its threshold. Otherwise the
            next stage begins anyway (ours).
        fading: whether the learning rate falls to zero along a cosine in each stage (ours).
        draws: how many R are drawn for a layer; the best conditioned is taken. The paper draws one, which at small k is
            often close to singular.
        target: ``regression`` with the squared error or ``classification`` with the cross-entropy.
        constant: c, ours. The paper has 100, with which ε₀ cannot halve: the cross-entropy of the target itself is
            about :math:`\pi^2 p / (6 v)`, where p is the density of :math:`x_0 + G^*(x)` at zero, and that is below
            :math:`\varepsilon_0/2` only for :math:`\log(1/\varepsilon_0) > \pi^2 p\, c / 3`. Since p is at most
            :math:`1/\sqrt{2\pi}`, it is so from the first ε₀ = 1/2 on where c is below 0.5.
        power: q. It is 1 in footnote 47, and 2 in App. H.1.1, where c is 1/100.

    Reference: Allen-Zhu & Li (bfc), §4, Algorithm 1; App. B.2; App. H, footnote 47.
    """

    settings: DenseNetSettings
    rule: Optimiser
    steps: Annotated[tuple[int, ...], positive]
    batch: Annotated[int, positive] | None = None
    check_every: Annotated[int, positive] = 100
    noise_std: Annotated[float, not_negative] = 0.0
    start: Literal["drawn", "zero"] = "drawn"
    strict: bool = False
    fading: bool = False
    draws: Annotated[int, size] = 1
    target: Literal["regression", "classification"] = "regression"
    constant: Annotated[float, positive] = 0.3
    power: Annotated[int, positive] = later(1)

    def __post_init__(self) -> None:
        count = 2 * (self.settings.depth - 1)
        require(
            len(self.steps) == count,
            f"steps must hold {count} numbers, two for each layer of the settings, got {len(self.steps)}",
        )
        rates = [isinstance(part, Rate) for part in self._rule.parts]
        require(
            rates[-1] and sum(rates) == 1,
            "rule must end with its only learning rate, as in chain(Adam(), Rate(0.001)), got "
            f"{[type(part).__name__ for part in self._rule.parts]}",
        )
        require(
            self.start == "drawn" or self.noise_std > 0,
            "noise_std must be positive where W starts from zeros, because the gradient vanishes there, got 0",
        )
        # A single rule and a chain of one are the same run, so they get one identity.
        object.__setattr__(self, "rule", self._rule)

    @classmethod
    def practical(
        cls,
        stds: tuple[float, ...],
        alphas: tuple[float, ...],
        *,
        error: float,
        steps: int = 2000,
        last: int = 4,
        rate: float = 0.01,
        batch: int | None = 250,
        target: Literal["regression", "classification"] = "regression",
        **settings: float,
    ) -> DenseNetSGD:
        """Settings with which Algorithm 1 learns small targets in some thousand steps; ours.

        Adam takes the place of SGD, its rate falls in each stage, batches have many points, and R is the best
        conditioned of 100 draws.

        Arguments:
            stds: the standard deviations of what the layers add to the target.
            alphas: α₂, α₃, …, those of the network.
            error: ε.
            steps: the most steps of a stage.
            last: how many times longer the last stage may be.
            rate: Adam's learning rate.
            batch: points in a batch.
            target: what the labels are.
            settings: what :func:`bk.bfc.practical` takes besides.

        >>> rule = DenseNetSGD.practical((1.0, 0.2), (1.0, 0.05), error=0.01)
        >>> [(stage.name, stage.steps) for stage in rule.stages()]
        [('start', 1), ('W2', 2000), ('K2', 2000), ('W3', 2000), ('K3', 8000)]
        """
        numbers = practical(stds, alphas, error=error, **settings)
        lengths = (steps,) * (2 * len(alphas) - 1) + (last * steps,)
        return cls(numbers, adam(rate), lengths, batch, check_every=50, fading=True, draws=100, target=target)

    @property
    def loss(self) -> Loss:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The squared error, or the cross-entropy with v = 1: the v of training changes."""
        return CrossEntropy() if self._classifies else Squared()

    def stages(self) -> tuple[Stage, ...]:
        """One step that only looks at the objective, and two stages for each layer."""
        return self._stages

    def layer(self, stage: Stage) -> tuple[int, Literal["", "W", "K"]]:
        """The highest layer that has joined, and which of its parts joined last; (2, "") before the first stage."""
        i = self._stages.index(stage)
        return ((i - 1) // 2 + 2, "WK"[(i - 1) % 2]) if i else (2, "")  # pyright: ignore[reportReturnType]

    def initialise(self, network: Network, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        if not isinstance(network, DistilledDenseNet):
            raise InputError(f"DenseNetSGD is for a DistilledDenseNet, got a {type(network).__name__}")
        require(
            network.depth == self.settings.depth,
            f"settings must be for {network.depth} layers, those of the network, got {self.settings.depth}",
        )
        for layer in network.layers:
            require(
                layer - 1 in network.sources(layer),
                f"graph must connect layer {layer} to layer {layer - 1}, to be distilled, got {network.sources(layer)}",
            )
        return self._wide(network, 2, network.input_size(in_dim, out_dim), {}, stream), {}

    def later_parameters(self, network: Network) -> tuple[str, ...]:
        return tuple(name for names in network.groups().values() for name in names)

    def optimiser_state(self, stage: Stage, params: Tensors) -> Tensors:
        """The rule's own state, the target error, v, and the steps of the present stage."""
        # A placeholder where the settings name none: the first transition replaces it by the root of the objective.
        error = self.settings.first_error or 1.0
        # In the optimiser's state, because that is what checkpoints keep; −1 stands for what has not happened.
        record = {f"{what}{layer}": -1.0 for layer, what in self._recorded_things}
        return self._rule.state(params) | _scalars(self._at(error) | {_CLOCK: 0.0} | record, params)

    def hyper(self, stage: Stage, step: int) -> dict[str, float]:
        """The rule's numbers, the weights of the regulariser, and the standard deviation of the noise."""
        rule = {name: values[0] for name, values in self._rule.hyper_of(range(step, step + 1)).items()}
        return rule | self._weights(stage) | {"noise_std": self.noise_std}

    def noise(self, stage: Stage, network: Network, params: Tensors, points: int, stream: Stream) -> Tensors:
        drawn = self._rule.noise(params, stream.child("rule"))
        if self.noise_std == 0:
            return drawn
        wide = {name: value for name, value in params.items() if name.startswith("W")}
        return drawn | {f"on/{n}": stream.child("W", n).normal(*v.shape, dtype=v.dtype) for n, v in wide.items()}

    def program(self, stage: Stage) -> Hashable:
        # Thresholds and penalties are not here: they enter as numbers, so runs that differ in them still train
        # together.
        return type(self), stage, self.noise_std > 0, self.fading, self.target, self._rule.program()

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
        """One update of all W and K that have joined; in the first stage none."""
        assert isinstance(network, DistilledDenseNet)
        # A tensor of the state and not a number, because members of one ensemble may have reached different target
        # errors.
        v = optimiser[_SCALE]
        loss = ScaledCrossEntropy(v) if self._classifies else Squared()
        value, gradient, after = loss_and_gradient(network, params, buffers, batch, loss, tuple(params))
        # The stage before the first takes no step. It exists because the target error needs the objective at the start.
        if not self.layer(stage)[1]:
            return StepResult(params, after, optimiser, value)
        penalties = self._penalties(stage, hyper, optimiser[_ERROR])
        slopes, penalty = torch.func.grad_and_value(lambda moving: regulariser(network, moving, penalties))(params)
        # In classification Reg is multiplied by v, so that growing v does not drown it (§3.2, (3.3)); otherwise v is 1.
        gradient = {name: slope + v * slopes[name] for name, slope in gradient.items()}
        fade = (1 + torch.cos(math.pi * optimiser[_CLOCK] / stage.steps)) / 2 if self.fading else 1.0
        numbers = hyper | {"rate": hyper["rate"] * fade}
        moved, kept = descend(self._rule, gradient, optimiser, params, numbers, noise)
        # Line 15. Noise only on W: W = 0 is a saddle point, and the proof leaves it by noise; K starts from a
        # distillation.
        for name in [name for name in params if f"on/{name}" in noise]:
            moved[name] = moved[name] + hyper["noise_std"] * noise[f"on/{name}"]
        state = optimiser | kept | {_CLOCK: optimiser[_CLOCK] + 1}
        return StepResult(moved, after, state, value + v * penalty)

    def objective(
        self, network: Network, params: Tensors, buffers: Tensors, points: Sample, stage: Stage, target_error: float
    ) -> torch.Tensor:
        """The objective on some points in a stage, with the λ₆ and v of a target error; differentiable in params."""
        assert isinstance(network, DistilledDenseNet)
        v = self._at(target_error)[_SCALE]
        penalties = self._penalties(stage, self._weights(stage), target_error)
        loss = CrossEntropy(v) if self._classifies else Squared()
        return regularised(network, params, buffers, points, penalties, loss, v)

    def transition(self, view: MemberView) -> Transition:
        """Halve the target error, let a layer join or be distilled, or end."""
        stage = self._stages[view.stage]
        layer, part = self.layer(stage)
        target = float(view.optimiser[_ERROR])
        # The paper starts from ε₀ = B², a bound that data do not tell; the error at the start takes its place (ours).
        if not part and self.settings.first_error is None:
            target = self._error(view, stage, target)
        # Lines 3, 4 and 18. A loop, because checks lie many steps apart and the objective may have passed several
        # halvings; and the objective is computed anew in each round, because halving ε₀ shrinks λ₆ and so the objective
        # itself.
        while (error := self._error(view, stage, target)) < target / 2 and target >= self.settings.error:
            target /= 2
        # The paper waits for a threshold as long as it takes; a run has to end.
        over, limits = view.steps_in_stage >= stage.steps, self.settings
        record = self._at(target)
        if not part:
            return self._entered(view, view.params, view.buffers, record | {"joined2": float(view.step)})
        last = part == "K" and layer == limits.depth
        # Thres(ℓ,∇) asks for an objective so far below α_ℓ² that W_ℓ must have found the k_ℓ directions of the target:
        # only then is its SVD a sound start for K_ℓ. Thres(ℓ+1,Δ), lower still, asks for a K_ℓ so exact that the next
        # W can build on its features (App. B.2). Tuples begin with the second layer: join_at[layer − 1] is layer + 1.
        limit = 0.0 if last else (limits.distill_at[layer - 2] if part == "W" else limits.join_at[layer - 1])
        reached = max(target, error) < limits.error  # the objective may have grown since the target was halved
        # Thresholds are in units of the objective, and the error is its root. In classification it is the objective
        # itself, and the square is what App. H compares.
        if not last and (error**2 <= limit or reached or (over and not self.strict)):
            return self._distilled(view, layer, record) if part == "W" else self._joined(view, layer + 1, record)
        if over or reached:
            return self._ended(view, record)
        # The new target error must be kept also where nothing else happens: λ₆ and v of the next steps follow it.
        return view.stay()._replace(optimiser=view.optimiser | _scalars(record, view.params))

    def recorded(self, view: MemberView) -> dict[str, float]:
        """The objective on the whole sample, and the target error ε₀."""
        stage, target = self._stages[view.stage], float(view.optimiser[_ERROR])
        value = self.objective(view.network, view.params, view.buffers, view.sample, stage, target)
        return {"objective": float(value), _ERROR: target}

    def summary(self, steps: int, optimiser: Tensors) -> dict[str, float]:
        """The target error, and for each layer when it joined and was distilled, and its rank."""
        named = {f"layer{layer}/{what}": float(optimiser[f"{what}{layer}"]) for layer, what in self._recorded_things}
        return {_ERROR: float(optimiser[_ERROR])} | {name: value for name, value in named.items() if value >= 0}

    def _joined(self, view: MemberView, layer: int, record: dict[str, float]) -> Transition:
        network = view.network
        assert isinstance(network, DistilledDenseNet)
        d = network.input_size(view.in_dim, view.out_dim)
        # From the stream of the initial draw, so that a layer's start does not depend on when it joins.
        new = self._wide(network, layer, d, view.buffers, view.initial)
        return self._entered(view, view.params | new, view.buffers, record | {f"joined{layer}": float(view.step)})

    def _distilled(self, view: MemberView, layer: int, record: dict[str, float]) -> Transition:
        network = view.network
        assert isinstance(network, DistilledDenseNet)
        # An architecture that fixes k does not have it found.
        rank = None if network.ranks is None else network.ranks[layer - 2]
        cut, relative = self.settings.rank_cut[layer - 2], self.settings.relative_cut
        new = initial_distill(network, view.params, layer, cut, relative, rank)
        k = len(new[f"K{layer}.{layer - 1}"])
        most = largest_rank(view.params, layer)
        found = {"distilled": float(view.step), "rank": float(k), "full_rank": float(k == most)}
        record = record | {f"{what}{layer}": value for what, value in found.items()}
        # Nothing of W reaches the cut: the layers above would have this layer's features as input, and there are none.
        if k == 0:
            return self._ended(view, record)
        # R_ℓ has k_ℓ columns, so it cannot be drawn before INITIAL-DISTILL has found k_ℓ.
        buffers = view.buffers | network.drawn_spread(layer, k, view.initial, self.draws)
        return self._entered(view, view.params | new, buffers, record)

    def _entered(self, view: MemberView, params: Tensors, buffers: Tensors, record: dict[str, float]) -> Transition:
        # The rule's own averages begin anew, because the objective has changed; the history of the layers must not.
        kept = {name: view.optimiser[name] for name in (f"{what}{layer}" for layer, what in self._recorded_things)}
        state = self._rule.state(params) | kept | _scalars(record | {_CLOCK: 0.0}, params)
        return Transition(view.stage + 1, params, buffers, state)

    def _ended(self, view: MemberView, record: dict[str, float]) -> Transition:
        return view.end()._replace(optimiser=view.optimiser | _scalars(record, view.params))

    def _error(self, view: MemberView, stage: Stage, target: float) -> float:
        """The error that corresponds to the objective on the training sample."""
        value = float(self.objective(view.network, view.params, view.buffers, view.sample, stage, target))
        if not math.isfinite(value):
            raise DivergedError(f"the objective is {value} after step {view.step}")
        return value if self._classifies else math.sqrt(value)

    def _wide(self, network: DistilledDenseNet, layer: int, d: int, buffers: Tensors, stream: Stream) -> Tensors:
        drawn = network.drawn_wide(layer, d, buffers, stream)
        return drawn if self.start == "drawn" else {name: torch.zeros_like(value) for name, value in drawn.items()}

    def _penalties(
        self, stage: Stage, numbers: Mapping[str, torch.Tensor | float], error: torch.Tensor | float
    ) -> Penalties:
        layer, part = self.layer(stage)
        # λ₃, λ₄ and λ₅ of a layer are zero until it has a K to tie to its W (lines 8 and 9); λ₆ counts from W on (line
        # 7).
        both = range(2, layer + (part == "K"))
        cross, own, whole = ({i: numbers[f"{name}{i}"] for i in both} for name in ("cross", "own", "whole"))
        return Penalties(cross, own, whole, {i: numbers[f"decay{i}"] * error * error for i in range(2, layer + 1)})

    def _weights(self, stage: Stage) -> dict[str, float]:
        layers = range(2, self.layer(stage)[0] + 1)
        names = ("cross", "own", "whole", "decay")
        return {f"{name}{layer}": getattr(self.settings, name)[layer - 2] for layer in layers for name in names}

    def _at(self, target: float) -> dict[str, float]:
        """What follows from a target error: itself, and v."""
        if not self._classifies:
            return {_ERROR: target, _SCALE: 1.0}
        # log(1/ε₀) is not positive for ε₀ ≥ 1, and a start with a large objective would turn the loss upside down.
        e = min(target, _LARGEST)
        return {_ERROR: e, _SCALE: cross_entropy_scale(e, self.constant, self.power)}

    @property
    def _classifies(self) -> bool:
        return self.target == "classification"

    @functools.cached_property
    def _rule(self) -> Chain:
        return chain(self.rule)

    @functools.cached_property
    def _stages(self) -> tuple[Stage, ...]:
        names = [f"{letter}{layer}" for layer in range(2, self.settings.depth + 1) for letter in "WK"]
        pairs = zip(names, self.steps, strict=True)
        stages = (Stage(name, steps, self.batch, self.check_every) for name, steps in pairs)
        return (Stage("start", 1, self.batch), *stages)

    @functools.cached_property
    def _recorded_things(self) -> tuple[tuple[int, str], ...]:
        """What is kept of each layer's history, by layer and name."""
        names = ("joined", "distilled", "rank", "full_rank")
        return tuple((layer, name) for layer in range(2, self.settings.depth + 1) for name in names)


def _scalars(values: Mapping[str, float], like: Tensors) -> Tensors:
    some = next(iter(like.values()))
    return {name: some.new_tensor(value) for name, value in values.items()}
