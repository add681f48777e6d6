"""A plane picture of the neurons' directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from beyondkernels.core import Ended, Measured, require
from beyondkernels.measure.alignment import direction
from beyondkernels.measure.base import Measurement, over_steps
from beyondkernels.measure.snapshots import snapshots


def cosine_distances(rows: np.ndarray) -> np.ndarray:
    """1 − cos between all rows; a zero row is at distance 1 from every other."""
    rows = np.asarray(rows, dtype=np.float64)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    rows = np.divide(rows, largest, out=np.zeros_like(rows), where=largest > 0)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    distances = 1 - unit @ unit.T
    np.fill_diagonal(distances, 0)
    return np.clip(distances, 0, 2)


def classical_scaling(distances: np.ndarray, dimensions: int = 2) -> np.ndarray:
    r"""Multidimensional scaling by one eigendecomposition.

    .. math:: B = -\tfrac12 J\,(\delta_{ij}^2)\,J, \quad J = I - \tfrac1n 11^\top, \qquad
              X = V_{1:q}\,\Lambda_{1:q}^{1/2}

    Distances of points in a Euclidean space come back exactly. Signs are fixed so that the picture is the same on
    every machine: the first of the entries of largest size in each coordinate is positive.

    Arguments:
        distances: δ, a symmetric matrix with zero diagonal.
        dimensions: q.
    """
    n = len(distances)
    require(0 < dimensions <= n, f"dimensions must lie in [1, {n}], got {dimensions}")
    squared = np.asarray(distances, dtype=np.float64) ** 2
    centred = squared - squared.mean(0, keepdims=True) - squared.mean(1, keepdims=True) + squared.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    values, vectors = values[::-1][:dimensions], vectors[:, ::-1][:, :dimensions]
    sizes = np.abs(vectors)  # a neuron and its opposite tie up to rounding, which must not decide the sign
    signs = np.sign(vectors[(sizes > 0.999999 * sizes.max(0)).argmax(0), np.arange(dimensions)])
    return vectors * signs * np.sqrt(np.clip(values, 0, None))


@dataclass(frozen=True)
class Directions(Measurement):
    """Neuron directions at every snapshot, in the plane by classical scaling of cosine distance.

    Series ``directions/points``: at every step a point for each neuron, then one for the ground truth v and one for −v.

    Reference: Shi, Wei & Liang (features), Figures 2 and 6.
    """

    def measure(self, run: Ended) -> Measured:
        truth, kept = direction(run.problem), snapshots(run.outcome)
        rows = [
            {"points": classical_scaling(cosine_distances(np.vstack([weights, truth, -truth])))}
            for weights in kept.values()
        ]
        return Measured(series=over_steps("directions", kept, rows))
