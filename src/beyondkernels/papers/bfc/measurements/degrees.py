"""How far the coefficients of a learner have come to the target's, degree by degree, over training."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from beyondkernels.core import Ended, InputError, Measured, Stream, require
from beyondkernels.core.constraints import any_number, positive
from beyondkernels.measure.base import Measurement, over_steps
from beyondkernels.papers.bfc.measurements.course import Moment, course, require_same_alphas
from beyondkernels.papers.bfc.networks import QuadraticNetwork
from beyondkernels.papers.bfc.problems import LayeredProblem
from beyondkernels.papers.bfc.theory import LayerAgreement, QuadraticWeights, layer_agreement, turns


@dataclass(frozen=True)
class CoefficientErrors(Measurement):
    r"""Steps 1 to 3 of §6.2 at every snapshot: relative differences of coefficients between learner and target.

    Series, for each layer ℓ of the target: ``coefficients/top3`` for the top degree of Sum(F₃) against Sum(G*₃) (Step
    1), ``coefficients/symmetric3`` for eq. (6.1) (Step 2), ``coefficients/whole3`` for the same without Sym, and
    ``coefficients/cross3.0`` for eq. (6.2) with the skip connection from layer 0 (Step 3). See
    :class:`bk.bfc.LayerAgreement`. They are 1 for a layer that has not joined. Arrays of the last
    snapshot: ``coefficients/difference3``, for each degree the norm of the difference of the coefficients of
    Sum(F₃) from those of Sum(G*₃), and ``coefficients/target3``, the norm of the latter.

    The factors α are left out, as in §6.2, which compares :math:`F_\ell` with :math:`G^\star_\ell`: where the learner's
    error is ε̂², it says, they differ by ε̂/α_ℓ. So the learner must have the α of the target. With another α′ it would
    learn the same function with weights :math:`\sqrt{\alpha/\alpha'}` times as large (footnote 15), and all differences
    would stay; the run is refused.

    Coefficients are exact up to rounding; they are of F, never truncated. Their number grows quickly with d and L.

    Arguments:
        points: fresh points at which features are compared, to turn them into each other.
        seed: where they come from.
        most: the most pairs of monomials that a square may take; with more, the run is refused.

    Reference: Allen-Zhu & Li (bfc), §6.2, eqs. (6.1), (6.2), App. F.3, F.4.
    """

    points: Annotated[int, positive] = 2000
    seed: Annotated[int, any_number] = 0
    most: Annotated[int, positive] = field(default=5_000_000, metadata={"identity": False})

    def measure(self, run: Ended) -> Measured:
        target, moments = getattr(run.problem, "teacher", run.problem), course(run)
        if not isinstance(target, LayeredProblem):
            raise InputError(f"problem must be a quadratic target, got {type(run.problem).__name__}")
        require(len(moments) > 0, "the run kept no snapshot; ask for them with snapshot_at and snapshot_names=('all',)")
        self._require_few(target)
        rows, last = [], {}
        for moment in moments.values():
            last = self._agreement(target, moment)
            rows.append(_row(target, last))
        arrays = {}
        for layer, part in last.items():
            for name, column in zip(("difference", "target"), zip(*part.degrees.values(), strict=True), strict=True):
                arrays[f"coefficients/{name}{layer}"] = np.array(column)
        return Measured(series=over_steps("coefficients", moments, rows), arrays=arrays)

    def _agreement(self, target: LayeredProblem, moment: Moment) -> dict[int, LayerAgreement]:
        at = moment.predictor
        if not isinstance(at.network, QuadraticNetwork):
            raise InputError(f"network must be a quadratic DenseNet, got {type(at.network).__name__}")
        require_same_alphas(at.network, target)
        learner = QuadraticWeights.of_network(at.network, at.params, at.buffers, target.in_dim)
        x = target.sample(self.points, Stream(self.seed).child("coefficients")).x
        turned = turns(target.features(x), moment.hidden(x))
        return layer_agreement(QuadraticWeights.of_problem(target), learner, turned)

    def _require_few(self, target: LayeredProblem) -> None:
        terms = math.comb(target.in_dim + 2 ** (target.depth - 1), target.in_dim)
        pairs = terms * (terms + 1) // 2
        require(
            pairs <= self.most,
            f"most must be at least {pairs}, the pairs of monomials of {target.in_dim} coordinates in layer "
            f"{target.depth}, got {self.most}",
        )


def _row(target: LayeredProblem, found: dict[int, LayerAgreement]) -> dict[str, float]:
    row = {}
    for layer, sources in enumerate(target.graph, 2):
        part = found.get(layer)
        for name in ("top", "symmetric", "whole"):
            row[f"{name}{layer}"] = 1.0 if part is None else getattr(part, name)
        row |= {f"cross{layer}.{j}": 1.0 if part is None else part.cross[j] for j in sources if j != layer - 1}
    return row
