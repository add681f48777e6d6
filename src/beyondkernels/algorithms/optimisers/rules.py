"""The rules that optimisers are made of."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.algorithms.optimisers.base import Change, Optimiser
from beyondkernels.algorithms.optimisers.schedules import Schedule, Size, schedule
from beyondkernels.core import Stream, Tensors, later, require
from beyondkernels.core.constraints import between, positive


@dataclass(frozen=True)
class _Scheduled(Optimiser):
    """A rule with one number, which may change from step to step."""

    value: Schedule | Size

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", schedule(self.value))

    def program(self) -> Hashable:
        return type(self)

    def hyper_of(self, steps: range) -> dict[str, list[float]]:
        return {self.slots()[0]: schedule(self.value).over(steps)}


@dataclass(frozen=True)
class Rate(_Scheduled):
    r"""The learning rate: the last rule of an optimiser.

    .. math:: u \leftarrow \eta_t\, u

    Arguments:
        value: η, a number or a schedule.
    """

    def slots(self) -> tuple[str, ...]:
        return ("rate",)

    def update(
        self, change: Change, state: Tensors, params: Tensors, hyper: Tensors, noise: Tensors
    ) -> tuple[Change, Tensors]:
        scaled = {name: hyper["rate"] * value for name, value in change.direction.items()}
        return change._replace(direction=scaled), {}

    def update_alone(
        self, change: Change, state: Tensors, params: Tensors, hyper: Tensors, noise: Tensors
    ) -> tuple[Change, Tensors]:
        rate = hyper["rate"]
        return change._replace(scale=rate if change.scale is None else change.scale * rate), {}


@dataclass(frozen=True)
class Decay(_Scheduled):
    r"""Adds a multiple of the parameters, which pulls them towards zero.

    .. math:: u \leftarrow u + \lambda_t\, \theta

    In front of :class:`Momentum` or :class:`Adam` this is the gradient of :math:`\tfrac\lambda2\|\theta\|^2`, L2
    regularisation. Behind them, and in front of :class:`Rate`, it is decoupled weight decay.

    Arguments:
        value: λ, a number or a schedule.
        factors: pairs of the beginning of parameters' names and a factor of λ for them, such as
            ``(("0", 1.0), ("2.weight", 0.5))``; without any, the factor of every parameter is 1. A name begins with
            whole parts: ``"1"`` is the beginning of ``1.weight``, and not of ``10.weight``. The longest one that fits
            counts. A parameter that none fits is left alone.

    >>> params = {"0.weight": torch.ones(1), "0.bias": torch.ones(1), "2.weight": torch.ones(1)}
    >>> rule, direction = Decay(0.1, (("0", 1.0), ("0.bias", 0.0))), {name: torch.zeros(1) for name in params}
    >>> change, _ = rule.update(Change(direction), {}, params, {"decay": torch.tensor(0.1)}, {})
    >>> {name: round(value.item(), 2) for name, value in change.direction.items()}
    {'0.weight': 0.1, '0.bias': 0.0, '2.weight': 0.0}

    Reference: Loshchilov & Hutter (2019), Decoupled weight decay regularization.
    """

    factors: tuple[tuple[str, float], ...] = later(())

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, factor in self.factors:
            require(0 <= factor < math.inf, f"the factor of {name!r} must be finite and not negative, got {factor}")

    def program(self) -> Hashable:
        # Factors are part of the program: they are applied as Python numbers, not as tensors that members could differ
        # in.
        return (type(self), self.factors) if self.factors else type(self)

    def factor(self, name: str) -> float:
        """The factor of λ for a parameter.

        Arguments:
            name: of the parameter.
        """
        return longest(dict(self.factors), name, 0.0) if self.factors else 1.0

    def _lambda(self, hyper: Tensors, direction: Tensors) -> Tensors:
        """λ of each parameter that is pulled."""
        factors = {name: self.factor(name) for name in direction}
        decay = hyper["decay"]
        # Where the factor is 1 the number itself, so that plain decay keeps its bits; where it is 0 the parameter is
        # left out.
        return {name: decay if factor == 1 else factor * decay for name, factor in factors.items() if factor}

    def slots(self) -> tuple[str, ...]:
        return ("decay",)

    def update(
        self, change: Change, state: Tensors, params: Tensors, hyper: Tensors, noise: Tensors
    ) -> tuple[Change, Tensors]:
        decay = self._lambda(hyper, change.direction)
        pulled = {name: change.direction[name] + value * params[name] for name, value in decay.items()}
        return change._replace(direction=change.direction | pulled), {}

    def update_alone(
        self, change: Change, state: Tensors, params: Tensors, hyper: Tensors, noise: Tensors
    ) -> tuple[Change, Tensors]:
        """The same, product and sum in one pass."""
        change = change.scaled()
        decay = self._lambda(hyper, change.direction)
        pulled = {name: torch.addcmul(change.direction[name], params[name], value) for name, value in decay.items()}
        return change._replace(direction=change.direction | pulled), {}


@dataclass(frozen=True)
class Shrink(_Scheduled):
    r"""Keeps a part of the old parameters, exactly.

    .. math:: \theta \leftarrow \kappa_t\, \theta - u

    With κ = 1 − ηλ this is weight decay. Where κ is zero nothing of the old parameters is left, not even the rounding
    error of a difference.

    Arguments:
        value: κ, a number or a schedule.
    """

    def slots(self) -> tuple[str, ...]:
        return ("keep",)

    def update(
        self, change: Change, state: Tensors, params: Tensors, hyper: Tensors, noise: Tensors
    ) -> tuple[Change, Tensors]:
        keep = hyper["keep"] if change.keep is None else change.keep * hyper["keep"]
        return change._replace(keep=keep), {}


@dataclass(frozen=True)
class ClipNorm(_Scheduled):
    r"""Limits the length of the whole direction, all parameters together.

    .. math:: u \leftarrow u \cdot \min(1, c_t / \|u\|)

    Arguments:
        value: c, a number or a schedule.

    Reference: Pascanu, Mikolov & Bengio (2013), On the difficulty of training recurrent neural networks.
    """

    def slots(self) -> tuple[str, ...]:
        return ("most",)

    def update(
        self, change: Change, state: Tensors, params: Tensors, hyper: Tensors, noise: Tensors
    ) -> tuple[Change, Tensors]:
        squares = torch.stack([value.square().sum() for value in change.direction.values()])
        # No branch on the length: a zero gradient gives c/0 = ∞, which the clamp makes 1.
        factor = torch.clamp(hyper["most"] / squares.sum().sqrt(), max=1.0)
        clipped = {name: factor * value for name, value in change.direction.items()}
        return change._replace(direction=clipped), {}


@dataclass(frozen=True)
class GradientNoise(_Scheduled):
    r"""Adds Gaussian noise.

    .. math:: u \leftarrow u + \sigma_t\, \xi, \qquad \xi \sim N(0, I)

    Arguments:
        value: σ, a number or a schedule, such as ``Power(0.1, 0.55)``.

    Reference: Neelakantan et al. (2015), Adding gradient noise improves learning for very deep networks.
    """

    def slots(self) -> tuple[str, ...]:
        """``std`` of the numbers, ``noise/`` of what is drawn."""
        return "std", "noise/"

    def noise(self, params: Tensors, stream: Stream) -> Tensors:
        """ξ for every parameter, each from a stream of its own."""
        return {
            f"noise/{name}": stream.child(name).normal(*value.shape, dtype=value.dtype)
            for name, value in params.items()
        }

    def update(
        self, change: Change, state: Tensors, params: Tensors, hyper: Tensors, noise: Tensors
    ) -> tuple[Change, Tensors]:
        moved = {name: value + hyper["std"] * noise[f"noise/{name}"] for name, value in change.direction.items()}
        return change._replace(direction=moved), {}


@dataclass(frozen=True)
class Momentum(Optimiser):
    r"""A direction that remembers.

    .. math:: v \leftarrow \mu v + u + \lambda\theta, \qquad u \leftarrow v \quad
              \text{(Nesterov: } u \leftarrow u + \lambda\theta + \mu v \text{)}

    Arguments:
        momentum: µ.
        nesterov: whether the direction looks ahead.
        decay: λ; None leaves the term out.

    Reference: Polyak (1964); Sutskever et al. (2013), On the importance of initialization and momentum.
    """

    momentum: Annotated[float, between(0, 1, "[)")]
    nesterov: bool = False
    decay: Size | None = None

    def program(self) -> Hashable:
        return type(self), self.nesterov, self.decay is None

    def state(self, params: Tensors) -> Tensors:
        return {name: torch.zeros_like(value) for name, value in params.items()}

    def slots(self) -> tuple[str, ...]:
        return ("", "momentum") if self.decay is None else ("", "momentum", "decay")

    def hyper_of(self, steps: range) -> dict[str, list[float]]:
        """µ and, where there is one, λ."""
        constant = {"momentum": self.momentum} | ({} if self.decay is None else {"decay": self.decay})
        return {name: [value] * len(steps) for name, value in constant.items()}

    def update(
        self, change: Change, state: Tensors, params: Tensors, hyper: Tensors, noise: Tensors
    ) -> tuple[Change, Tensors]:
        mu, velocity, ahead = hyper["momentum"], {}, {}
        for name, value in change.direction.items():
            velocity[name] = mu * state[name] + value
            if self.decay is not None:
                velocity[name] = velocity[name] + hyper["decay"] * params[name]
                value = value + hyper["decay"] * params[name]
            if self.nesterov:
                ahead[name] = value + mu * velocity[name]
        # Without Nesterov ``ahead`` is empty, and the direction is the velocity itself.
        return change._replace(direction=ahead or velocity), velocity

    def update_alone(
        self, change: Change, state: Tensors, params: Tensors, hyper: Tensors, noise: Tensors
    ) -> tuple[Change, Tensors]:
        """The velocity in place, where it is the direction."""
        change, mu = change.scaled(), hyper["momentum"]
        # Then the direction is not the velocity, and in place the one would overwrite the other.
        if self.nesterov or self.decay is not None:
            return self.update(change, state, params, hyper, noise)
        velocity = {name: state[name].mul_(mu).add_(value) for name, value in change.direction.items()}
        return change._replace(direction=velocity), velocity


@dataclass(frozen=True)
class Adam(Optimiser):
    r"""Directions of about one size for every parameter.

    .. math:: m \leftarrow \beta_1 m + (1 - \beta_1) u, \qquad s \leftarrow \beta_2 s + (1 - \beta_2) u^2, \qquad
              u \leftarrow \frac{m / c_1}{\sqrt{s / c_2} + \varepsilon}

    :math:`c_i = 1 - \beta_i^t` are the same averages of ones: :math:`c_i \leftarrow \beta_i c_i + (1 - \beta_i)`.

    Arguments:
        betas: :math:`\beta_1` and :math:`\beta_2`.
        eps: ε.

    Reference: Kingma & Ba (2015), Adam: a method for stochastic optimization, Algorithm 1.
    """

    betas: Annotated[tuple[float, float], between(0, 1, "[)")] = (0.9, 0.999)
    eps: Annotated[float, positive] = 1e-8

    def program(self) -> Hashable:
        return type(self)

    def state(self, params: Tensors) -> Tensors:
        some = next(iter(params.values()))
        weights = {name: some.new_zeros(()) for name in ("mean_weight", "square_weight")}
        means = {f"mean/{name}": torch.zeros_like(value) for name, value in params.items()}
        return weights | means | {f"square/{name}": torch.zeros_like(value) for name, value in params.items()}

    def slots(self) -> tuple[str, ...]:
        """``mean…``, ``square…`` and the numbers."""
        return "mean", "square", "epsilon"

    def hyper_of(self, steps: range) -> dict[str, list[float]]:
        """β₁, 1 − β₁, β₂, 1 − β₂ and ε: the differences are taken before anything is rounded."""
        mean, square = self.betas
        found = {
            "mean_keep": mean,
            "mean_add": 1 - mean,
            "square_keep": square,
            "square_add": 1 - square,
            "epsilon": self.eps,
        }
        return {name: [value] * len(steps) for name, value in found.items()}

    def update(
        self, change: Change, state: Tensors, params: Tensors, hyper: Tensors, noise: Tensors
    ) -> tuple[Change, Tensors]:
        after: Tensors = {}

        def averaged(kind: str, name: str, value: torch.Tensor | float) -> torch.Tensor:
            after[name] = hyper[f"{kind}_keep"] * state[name] + hyper[f"{kind}_add"] * value
            return after[name]

        # As averages of ones, not as 1 − βᵗ: no step counter in the state, and no power whose rounding depends on the
        # machine.
        weights = [averaged(kind, f"{kind}_weight", 1.0) for kind in ("mean", "square")]
        direction = {}
        for name, value in change.direction.items():
            m = averaged("mean", f"mean/{name}", value) / weights[0]
            s = averaged("square", f"square/{name}", value.square()) / weights[1]
            direction[name] = m / (s.sqrt() + hyper["epsilon"])
        return change._replace(direction=direction), after

    def update_alone(
        self, change: Change, state: Tensors, params: Tensors, hyper: Tensors, noise: Tensors
    ) -> tuple[Change, Tensors]:
        r"""The same with both weights in one factor.

        .. math:: u = \frac{\sqrt{c_2}}{c_1} \cdot \frac{m}{\sqrt s + \varepsilon \sqrt{c_2}}
        """
        change, direction = change.scaled(), {}
        c1, c2 = (
            state[f"{kind}_weight"].lerp_(torch.ones_like(hyper[f"{kind}_add"]), hyper[f"{kind}_add"])
            for kind in ("mean", "square")
        )
        root = c2.sqrt()
        # ε moves inside with √c₂, so that the division by c₂ can wait for the one factor at the end.
        small = hyper["epsilon"] * root
        for name, value in change.direction.items():
            m = state[f"mean/{name}"].lerp_(value, hyper["mean_add"])
            square = value.square()
            s = state[f"square/{name}"].lerp_(square, hyper["square_add"])
            # Into the memory of the squares, which nobody needs any more: these passes are what a step of a small
            # network costs.
            below = torch.sqrt(s, out=square).add_(small)
            direction[name] = torch.div(m, below, out=below)
        return change._replace(direction=direction, scale=root / c1), {}


def longest(values: Mapping[str, float], name: str, otherwise: float) -> float:
    """The value of the longest beginning of a parameter's name.

    Arguments:
        values: by beginnings of names, which end where a part of a name ends.
        name: of the parameter.
        otherwise: the value where no beginning fits.

    >>> longest({"body": 0.1, "body.0": 0.2}, "body.0.weight", 0.0), longest({"1": 0.1}, "10.weight", 0.0)
    (0.2, 0.0)
    """
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        if (value := values.get(".".join(parts[:size]))) is not None:
            return value
    return otherwise
