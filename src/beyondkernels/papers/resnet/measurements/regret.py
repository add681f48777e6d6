"""What a gradient step knows about the way to weights that write the target: Ξ and its error terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch

from beyondkernels.core import Ended, InputError, Measured, Problem, Stream, require
from beyondkernels.core.constraints import any_number, positive
from beyondkernels.measure.base import Measurement, over_steps
from beyondkernels.measure.point_blocks import blocks
from beyondkernels.papers.resnet.measurements.course import course, radii, scales
from beyondkernels.papers.resnet.measurements.existence import Map, Witness, existence_errors, gate_bounds
from beyondkernels.papers.resnet.networks import ResNetWeights, with_one


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
    at = _Passed.through(now, x)
    change = at.first(first)
    return at.carried(change) + change + at.second(second)


@dataclass(frozen=True)
class RegretTerms:
    r"""Ξ, the terms of Claim C.6 and the gradients of Claim C.5, an entry for every point.

    Arguments:
        regret: :math:`\Xi = \langle \nabla \mathrm{Obj}, (W - W^\star, V - V^\star) \rangle`.
        lower: :math:`\frac12\|H - \mathrm{out}\|^2 - 2\|\mathrm{Err}\|^2 - 2\|H - y\|^2`, which Ξ never falls below.
        risk: :math:`\|H(x) - \mathrm{out}(x)\|^2`.
        error: :math:`\|\mathrm{Err}\|^2` with
            :math:`\mathrm{Err} = f(W^\star - W; x) + g(V^\star - V; x) - (H(x) - \mathrm{out}(x))`.
        club: :math:`\|♣\|^2`, what the first layer's error becomes in the second.
        spade: :math:`\|♠ - H(x)\|^2`, how well the witness still writes the target through the present gates.
        diamond: :math:`\|♦ - \mathrm{out}(x)\|^2`, what the start still adds to the output.
        first_gradient: :math:`\|\nabla_W \mathrm{Obj}\|_F^2`.
        second_gradient: :math:`\|\nabla_V \mathrm{Obj}\|_F^2`.
    """

    regret: torch.Tensor
    lower: torch.Tensor
    risk: torch.Tensor
    error: torch.Tensor
    club: torch.Tensor
    spade: torch.Tensor
    diamond: torch.Tensor
    first_gradient: torch.Tensor
    second_gradient: torch.Tensor


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

    Reference: Allen-Zhu & Li (resnet), §6.1, Claims C.5 and C.6, and App. C.4.
    """
    W, V, H, y = now.W - initial.W, now.V - initial.V, target.double(), y.double().reshape(target.shape)
    at = _Passed.through(now, x)
    first_star, second_star = at.first(witness.W), at.second(witness.V)
    first_moved, second_moved = at.first(W), at.second(V)
    club = at.carried(first_star - first_moved)
    spade, diamond = first_star + second_star, first_moved + second_moved
    rest, missing = club + spade - diamond, y - at.out
    error = rest - (H - at.out)
    at_second = (missing @ now.A) * at.D2
    at_first = ((missing + at_second @ now.V[:, :-1]) @ now.A) * at.D

    def squared(v: torch.Tensor) -> torch.Tensor:
        return v.square().sum(1)

    return RegretTerms(
        regret=(missing * rest).sum(1),
        lower=squared(H - at.out) / 2 - 2 * squared(error) - 2 * squared(H - y),
        risk=squared(H - at.out),
        error=squared(error),
        club=squared(club),
        spade=squared(spade - H),
        diamond=squared(diamond - at.out),
        first_gradient=squared(at_first) * squared(at.x1),
        second_gradient=squared(at_second) * squared(at.z),
    )


def error_bound(
    risk: float, alpha: float, second_radius: float, lipschitz: float, base_norm: float = 1.0, accuracy: float = 0.0
) -> float:
    r"""The right side of Claim C.6, every O(·) read as 1.

    .. math:: E\|\mathrm{Err}\|^2 \le (\tau_v + \alpha L_G)^2\, E\|H - \mathrm{out}\|^2
              + \bigl(\tilde\alpha^2 + \tau_v^2 (1 + B_F) + \alpha \tau_v L_G (B_F + 1)\bigr)^2

    Arguments:
        risk: :math:`E\|H(x) - \mathrm{out}(x)\|^2`.
        alpha: α.
        second_radius: :math:`\tau_v`, which bounds ‖V‖ and, ten times over, the witness V*.
        lipschitz: :math:`L_G`.
        base_norm: :math:`B_F`.
        accuracy: :math:`\tilde\alpha = \alpha/(k p_F \mathfrak C_s(F) + k p_G \mathfrak C_s(G))`, Lemma C.2's.

    >>> error_bound(risk=0.5, alpha=0.1, second_radius=0.2, lipschitz=3.0)  # 0.5²·0.5 + (0.08 + 0.12)²
    0.165...

    Reference: Allen-Zhu & Li (resnet), Claim C.6.
    """
    tau, L, B = second_radius, lipschitz, base_norm
    return (tau + alpha * L) ** 2 * risk + (accuracy**2 + tau**2 * (1 + B) + alpha * tau * L * (B + 1)) ** 2


@dataclass(frozen=True)
class Regret(Measurement):
    r"""Ξ along a run of a bottleneck ``ThreeLayerResNet``, against the least weights that write the target.

    The problem must know its signals, as a ``CompositeProblem`` does: ``base_signal``, ``composite_signal``, ``alpha``
    and ``beta``; F is read as βF, so that H = F + αG(F) as in the theorem. The witness is fitted on its own points;
    everything else is measured at others. Series over the snapshots, their names beginning with ``regret/``: ``<term>``
    and ``<term>_max``, mean and largest over points, for the terms of :class:`RegretTerms` and of
    :func:`existence_errors`; ``regret_se``, the standard error of the mean Ξ; ``first_gates_ratio`` and
    ``second_gates_ratio``, the largest over points of these terms over :func:`gate_bounds` (zero where both are);
    ``first_distance`` :math:`\|W - W^\star\|_F` and ``second_distance``. Scalars ``first_witness`` and
    ``second_witness``, the witness's Frobenius norms, which Lemma C.2 wants below τ/10.

    Arguments:
        points: how many fresh points.
        witness_points: how many more for the witness: the work grows with the cube of points times outputs.
        ridge: see :func:`bk.resnet.least_witness`.
        seed: where points come from.

    Reference: Allen-Zhu & Li (resnet), Claim C.6.
    """

    revision: ClassVar[int] = 2

    points: Annotated[int, positive] = 200
    witness_points: Annotated[int, positive] = 100
    ridge: Annotated[float, positive] = 1e-6
    seed: Annotated[int, any_number] = 0

    def measure(self, run: Ended) -> Measured:
        problem = run.problem
        base, composite = signals(problem)
        weights, stream = course(run.outcome), Stream(self.seed).child("regret")
        sample = problem.sample(self.points, stream.child("points"))
        initial = weights[0]
        witness = Witness.of(
            initial, problem.sample(self.witness_points, stream.child("witness")).x, base, composite, self.ridge
        )
        scalars, rows = {"first_witness": float(witness.W.norm()), "second_witness": float(witness.V.norm())}, []
        for now in weights.values():
            if not torch.equal(now.A, initial.A):
                raise InputError("Ξ is for runs that leave A where it starts, got a run that trained A")
            stds, taus, found = scales(initial), radii(initial, now), []
            for x, y in zip(blocks(sample.x, now.width), blocks(sample.y, now.width), strict=True):
                F = base(x)
                terms = vars(regret_terms(initial, now, witness, x, y, F + composite(F)))
                terms |= existence_errors(initial, now, witness, x, base, composite)
                size = now.first(x)[1].norm(dim=1)
                bounds = gate_bounds(now.width, stds, taus, witness, size)
                found.append(terms | {f"{name}_ratio": _over(terms[name], bound) for name, bound in bounds.items()})
            distances = {
                "first_distance": float((now.W - initial.W - witness.W).norm()),
                "second_distance": float((now.V - initial.V - witness.V).norm()),
            }
            rows.append(_summary(found) | distances)
        return Measured(scalars, over_steps("regret", weights, rows))


def signals(problem: Problem) -> tuple[Map, Map]:
    """F and αG of a problem that knows them; where the target is βF + αG(F), βF and αG(·/β)."""
    base, composite, alpha = (getattr(problem, name, None) for name in ("base_signal", "composite_signal", "alpha"))
    if base is None or composite is None or alpha is None:
        raise InputError(f"{type(problem).__name__} knows no base signal F and composite signal αG(F)")
    beta = getattr(problem, "beta", 1.0)
    require(beta != 0, f"beta must not be zero where Ξ is measured: without a base signal out₁ has none, got {beta}")
    return lambda x: beta * base(x.double()), lambda h: alpha * composite(h.double() / beta)


@dataclass(frozen=True)
class _Passed:
    """Points that have passed the network: gates, inputs of both layers, and the output."""

    now: ResNetWeights
    x1: torch.Tensor
    D: torch.Tensor
    z: torch.Tensor
    D2: torch.Tensor
    out: torch.Tensor

    @classmethod
    def through(cls, now: ResNetWeights, x: torch.Tensor) -> _Passed:
        D, out1 = now.first(x)
        D2, added = now.second(out1)
        return cls(now, with_one(x), D, with_one(out1), D2, out1 + added)

    def first(self, change: torch.Tensor) -> torch.Tensor:
        """A D_W W′(x, 1)."""
        return (self.D * (self.x1 @ change.T)) @ self.now.A.T

    def second(self, change: torch.Tensor) -> torch.Tensor:
        """A D_{V,W} V′(out₁, 1)."""
        return (self.D2 * (self.z @ change.T)) @ self.now.A.T

    def carried(self, change: torch.Tensor) -> torch.Tensor:
        """A D_{V,W} V (change, 0): what a change of out₁ becomes in the second layer."""
        return (self.D2 * (change @ self.now.V[:, :-1].T)) @ self.now.A.T


def _over(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return torch.where(left == 0, 0.0, left / right)


def _summary(parts: Sequence[Mapping[str, torch.Tensor]]) -> dict[str, float]:
    """Mean and largest over the points of all blocks; of ratios the largest alone, of Ξ its mean's standard error."""
    summary = {}
    for name in parts[0]:
        values = torch.cat([part[name] for part in parts])
        if name.endswith("_ratio"):
            summary[name] = float(values.max())
        else:
            summary |= {name: float(values.mean()), f"{name}_max": float(values.max())}
        if name == "regret":
            summary["regret_se"] = float(values.std(correction=0)) / len(values) ** 0.5
    return summary
