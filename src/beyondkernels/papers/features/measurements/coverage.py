"""How well neurons cover the centres of a mixture."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from beyondkernels.core import Ended, InputError, Measured, Problem, require, require_between, require_positive
from beyondkernels.measure.alignment import cosines
from beyondkernels.measure.base import Measurement, over_steps
from beyondkernels.measure.directions import classical_scaling, cosine_distances
from beyondkernels.measure.snapshots import HIDDEN, snapshots


def centres(problem: Problem) -> np.ndarray:
    """The centres, one in each row, where the problem knows them."""
    known = getattr(problem, "centres", None)
    if known is None:
        raise InputError(f"{type(problem).__name__} knows no centres")
    return np.asarray(known, dtype=np.float64)


def chance_cosine(neurons: int, dim: int, probability: float) -> float:
    r"""The cosine with a given direction that the best of some random directions reaches with a given probability.

    .. math:: \Pr[\max_{i \le m} \cos(w_i, c) \ge t] = 1 - F(t)^m = p, \qquad
        F(t) = I_{(1+t)/2}\bigl(\tfrac{d-1}2, \tfrac{d-1}2\bigr)

    The directions are independent and uniform, as those of Gaussian weights are. F is the distribution of one cosine,
    an incomplete beta function. The least over several centres reaches t with at most this probability.

    Arguments:
        neurons: m.
        dim: d, at least 2.
        probability: p.

    >>> round(chance_cosine(neurons=1, dim=3, probability=0.25), 12)  # on the sphere the cosine is uniform in [−1, 1]
    0.5
    """
    require_positive("neurons", neurons)
    require(dim >= 2, f"dim must be at least 2, got {dim}")
    require_between("probability", probability, 0, 1, "()")
    above = -math.expm1(math.log1p(-probability) / neurons)  # 1 − F, which may be tiny
    half = (dim - 1) / 2
    return 1 - 2 * float(betaincinv(half, half, above))


@dataclass(frozen=True)
class CentreCoverage(Measurement):
    r"""The neuron nearest to each centre, and the centre nearest to each neuron, at every snapshot.

    .. math:: \min_c \max_i \cos(w_i, c)

    Series ``coverage/least``: this number; ``coverage/by_centre``: the largest cosine over the neurons, for each
    centre; ``coverage/nearest``: for each neuron the index of the nearest centre; ``coverage/by_neuron``: its cosine.

    Arguments:
        weights: the parameter whose rows are the neurons.

    Reference: Shi, Wei & Liang (features), App. E.3.2, Figure 16.
    """

    weights: str = HIDDEN

    def measure(self, run: Ended) -> Measured:
        found, kept = centres(run.problem), snapshots(run.outcome, self.weights)
        rows = []
        for neurons in kept.values():
            table = np.stack([cosines(neurons, centre) for centre in found])
            by_centre = table.max(1)
            rows.append(
                {
                    "least": by_centre.min(),
                    "by_centre": by_centre,
                    "nearest": table.argmax(0),
                    "by_neuron": table.max(0),
                }
            )
        return Measured(series=over_steps("coverage", kept, rows))


@dataclass(frozen=True)
class CentreDirections(Measurement):
    """Neuron directions and centres at every snapshot, in the plane by classical scaling of cosine distance.

    Series ``centre_directions/points``: at every step a point for each neuron, then one for each centre.

    Arguments:
        weights: the parameter whose rows are the neurons.

    Reference: Shi, Wei & Liang (features), Figure 16.
    """

    weights: str = HIDDEN

    def measure(self, run: Ended) -> Measured:
        found, kept = centres(run.problem), snapshots(run.outcome, self.weights)
        rows = [
            {"points": classical_scaling(cosine_distances(np.vstack([neurons, found])))} for neurons in kept.values()
        ]
        return Measured(series=over_steps("centre_directions", kept, rows))
