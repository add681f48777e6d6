"""What a gradient step knows about the way to weights that write the target: Ξ and its error terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import torch

from beyondkernels.core import InputError, Outcome, Problem, Stream, require, require_positive
from beyondkernels.measure.base import Measurement
from beyondkernels.measure.resnet_weights import ResNetWeights, course, with_one
from beyondkernels.theory import least_witness

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
            ridge: see :func:`beyondkernels.theory.least_witness`.
        """
        F = base(x)
        return cls(
            least_witness(initial.A, initial.W, x, F, ridge),
            least_witness(initial.A, initial.V, F, composite(F), ridge),
        )


def along(now: ResNetWeights, first: torch.Tensor, second: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    r"""The derivative of out(x) along a change of W and V, (n, k).

    .. math::
        f(W'; x) = A D_{V,W} V \bigl(A D_W W'(x, 1),\ 0\bigr) + A D_W W'(x, 1), \qquad
        g(V'; x) = A D_{V,W} V' (\mathrm{out}_1(x), 1)

    Arguments:
        now: the weights.
        first: W′.
        second: V′.
        x: points.

    Reference: Allen-Zhu & Li (resnet), Fact C.4.
    """
    first_part, second_part = _parts(now, first, second, x)
    return _carried(now, first_part, x) + first_part + second_part


@dataclass(frozen=True)
class RegretTerms:
    r"""Ξ and the terms of Claim C.6, an entry for every point.

    Arguments:
        regret: :math:`\Xi = \langle \nabla \mathrm{Obj}, (W - W^\star, V - V^\star) \rangle`.
        lower: :math:`\frac12\|H - \mathrm{out}\|^2 - 2\|\mathrm{Err}\|^2 - 2\|H - y\|^2`, which Ξ never falls below.
        risk: :math:`\|H(x) - \mathrm{out}(x)\|^2`.
        error: :math:`\|\mathrm{Err}\|^2` with
            :math:`\mathrm{Err} = f(W^\star - W; x) + g(V^\star - V; x) - (H(x) - \mathrm{out}(x))`.
        club: :math:`\|♣\|^2`, what the first layer's error becomes in the second.
        spade: :math:`\|♠ - H(x)\|^2`, how well the witness still writes the target through the present gates.
        diamond: :math:`\|♦ - \mathrm{out}(x)\|^2`, what the start still adds to the output.
    """

    regret: torch.Tensor
    lower: torch.Tensor
    risk: torch.Tensor
    error: torch.Tensor
    club: torch.Tensor
    spade: torch.Tensor
    diamond: torch.Tensor


def regret_terms(
    initial: ResNetWeights,
    now: ResNetWeights,
    witness: Witness,
    x: torch.Tensor,
    y: torch.Tensor,
    target: torch.Tensor,
) -> RegretTerms:
    r"""Ξ of App. C.4 and the parts into which Claim C.6 takes it apart.

    Arguments:
        initial: the weights at the start.
        now: the present ones, with the same A.
        witness: :math:`W^\star, V^\star`.
        x: points, (n, d).
        y: labels, (n, k).
        target: H(x), (n, k).

    Reference: Allen-Zhu & Li (resnet), §6.1, Claim C.6 and App. C.4.
    """
    W, V, H, y = now.W - initial.W, now.V - initial.V, target.double(), y.double().reshape(target.shape)
    _, out1 = now.first(x)
    out = out1 + now.second(out1)[1]
    first_star, second_star = _parts(now, witness.W, witness.V, x)
    first_moved, second_moved = _parts(now, W, V, x)
    club = _carried(now, first_star - first_moved, x)
    spade, diamond = first_star + second_star, first_moved + second_moved
    rest = along(now, witness.W - W, witness.V - V, x)
    error = rest - (H - out)

    def squared(v: torch.Tensor) -> torch.Tensor:
        return v.square().sum(1)

    return RegretTerms(
        regret=((y - out) * rest).sum(1),
        lower=squared(H - out) / 2 - 2 * squared(error) - 2 * squared(H - y),
        risk=squared(H - out),
        error=squared(error),
        club=squared(club),
        spade=squared(spade - H),
        diamond=squared(diamond - out),
    )


def existence_errors(
    initial: ResNetWeights, now: ResNetWeights, witness: Witness, x: torch.Tensor, base: Map, composite: Map
) -> dict[str, torch.Tensor]:
    r"""How well a witness writes F and αG through the first gates and through the present ones.

    ``first_start`` :math:`\|A D_{W^{(0)}} W^\star(x,1) - F(x)\|^2` (C.2a), ``first_now`` the same with
    :math:`D_W` (C.3a), ``second_start``
    :math:`\|A D_{V^{(0)},W} V^\star(\mathrm{out}_1, 1) - \alpha G(\mathrm{out}_1)\|^2` (C.2b), ``second_now`` the same
    with :math:`D_{V,W}` (C.3b), ``first_rest``
    :math:`\|A D_W (W^\star - W)(x,1) - (F(x) - \mathrm{out}_1(x))\|^2` (C.3c), each for every point.

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
    x1, z = with_one(x), with_one(out1)
    star, star2, G = x1 @ witness.W.T, z @ witness.V.T, composite(out1).double()
    moved = x1 @ (now.W - initial.W).T
    found = {
        "first_start": (initial.first(x)[0] * star) @ A.T - F,
        "first_now": (D * star) @ A.T - F,
        "second_start": (initial.second(out1)[0] * star2) @ A.T - G,
        "second_now": (now.second(out1)[0] * star2) @ A.T - G,
        "first_rest": (D * (star - moved)) @ A.T - (F - out1),
    }
    return {name: value.square().sum(1) for name, value in found.items()}


@dataclass(frozen=True)
class Regret(Measurement):
    r"""Ξ along a run of a bottleneck ``ThreeLayerResNet``, against the least weights that write the target.

    The problem must know its signals, as a ``CompositeProblem`` does: ``base_signal``, ``composite_signal``, ``alpha``
    and ``beta``; F is read as βF, so that H = F + αG(F) as in the theorem. The witness is fitted on its own points;
    everything else is a mean over others. Scalars, for each snapshot, ``<term>/<step>`` for the terms of
    :class:`RegretTerms` and of :func:`existence_errors`, ``first_distance/<step>`` :math:`\|W - W^\star\|_F` and
    ``second_distance/<step>``; once, ``first_witness`` and ``second_witness``, the witness's Frobenius norms, which
    Lemma C.2 wants below τ/10.

    Arguments:
        points: how many fresh points.
        witness_points: how many more for the witness: the work grows with the cube of points times outputs.
        ridge: see :func:`beyondkernels.theory.least_witness`.
        seed: where points come from.

    Reference: Allen-Zhu & Li (resnet), Claim C.6.
    """

    points: int = 200
    witness_points: int = 100
    ridge: float = 1e-6
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("points", "witness_points", "ridge"):
            require_positive(name, getattr(self, name))

    def measure(self, outcome: Outcome, problem: Problem) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        """All terms at all snapshots."""
        base, composite = signals(problem)
        weights, stream = course(outcome), Stream(self.seed).child("regret")
        sample = problem.sample(self.points, stream.child("points"))
        initial, x = weights[0], sample.x
        witness = Witness.of(
            initial, problem.sample(self.witness_points, stream.child("witness")).x, base, composite, self.ridge
        )
        F = base(x)
        H = F + composite(F)
        scalars = {"first_witness": float(witness.W.norm()), "second_witness": float(witness.V.norm())}
        for step, now in weights.items():
            if not torch.equal(now.A, initial.A):
                raise InputError("Ξ is for runs that leave A where it starts, got a run that trained A")
            terms = regret_terms(initial, now, witness, x, sample.y, H)
            values = {field.name: getattr(terms, field.name) for field in fields(RegretTerms)}
            values |= existence_errors(initial, now, witness, x, base, composite)
            scalars |= {f"{name}/{step}": float(value.mean()) for name, value in values.items()}
            scalars[f"first_distance/{step}"] = float((now.W - initial.W - witness.W).norm())
            scalars[f"second_distance/{step}"] = float((now.V - initial.V - witness.V).norm())
        return scalars, {}


def signals(problem: Problem) -> tuple[Map, Map]:
    """F and αG of a problem that knows them; where the target is βF + αG(F), βF and αG(·/β)."""
    base, composite, alpha = (getattr(problem, name, None) for name in ("base_signal", "composite_signal", "alpha"))
    if base is None or composite is None or alpha is None:
        raise InputError(f"{type(problem).__name__} knows no base signal F and composite signal αG(F)")
    beta = getattr(problem, "beta", 1.0)
    require(beta != 0, f"beta must not be zero where Ξ is measured: without a base signal out₁ has none, got {beta}")
    return lambda x: beta * base(x.double()), lambda h: alpha * composite(h.double() / beta)


def _parts(
    now: ResNetWeights, first: torch.Tensor, second: torch.Tensor, x: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """A D_W W′(x, 1) and A D_{V,W} V′(out₁, 1)."""
    D, out1 = now.first(x)
    D2, _ = now.second(out1)
    return (D * (with_one(x) @ first.T)) @ now.A.T, (D2 * (with_one(out1) @ second.T)) @ now.A.T


def _carried(now: ResNetWeights, change: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """A D_{V,W} V (change, 0): what a change of out₁ becomes in the second layer."""
    D2, _ = now.second(now.first(x)[1])
    return (D2 * (change @ now.V[:, :-1].T)) @ now.A.T
