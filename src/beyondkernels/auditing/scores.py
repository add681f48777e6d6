"""The scores of a learner, seed by seed, and what other test points would change of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from beyondkernels.auditing.subject import Subject
from beyondkernels.lab import Rows, select
from beyondkernels.lab.declaration.rows import OUTCOME


@dataclass(frozen=True)
class Scores(Mapping[int, float]):
    """The score of a learner with each seed, in points.

    Arguments:
        by_seed: the scores.
        errors: for each seed the error at every test point (:class:`~beyondkernels.measure.PointErrors`).
    """

    by_seed: Mapping[int, float]
    errors: Mapping[int, np.ndarray] = field(default_factory=dict)

    def __getitem__(self, seed: int) -> float:
        return self.by_seed[seed]

    def __iter__(self) -> Iterator[int]:
        return iter(self.by_seed)

    def __len__(self) -> int:
        return len(self.by_seed)

    def among(self, seeds: Collection[int]) -> Scores:
        """The scores of some seeds."""
        return Scores({seed: score for seed, score in self.items() if seed in seeds}, self.errors)

    @property
    def mean(self) -> float:
        """Over seeds; NaN if there is none."""
        return sum(self.values()) / len(self) if self else math.nan


def scores_of(rows: Rows, **where: Any) -> Scores:
    """The score of each seed that has one, from rows of which there is one for each seed.

    Arguments:
        rows: the rows.
        where: conditions.
    """
    mine = select(rows, where)
    if mine.empty or "score" not in mine:
        return Scores({})
    scores = {int(seed): float(score) for seed, score in zip(mine["seed"], mine["score"], strict=True)}
    runs = zip(mine["seed"], mine.get(OUTCOME, ()), strict=False)
    errors = {int(seed): run.arrays["test_errors"] for seed, run in runs if "test_errors" in run.arrays}
    return Scores({seed: score for seed, score in scores.items() if math.isfinite(score)}, errors)


def error_of_test_points(subject: Subject, first: Scores, second: Scores | None = None) -> float:
    r"""The standard error of a mean score, or of the difference of two, that is due to the choice of test points.

    All seeds of a finite data set share their test points, so seeds do not show this error. Each test point i has a
    score :math:`u_i`, the mean over seeds, and the score of the learner is the mean of these. Two learners are compared
    point by point, which counts only points at which they differ:

    .. math:: \sqrt{\frac{1}{n (n-1)} \sum_i (d_i - \bar d)^2}, \qquad d_i = u_i - u'_i.

    The score of a class is 100 or 0. Two learners that differ nowhere on n points may differ on others. So two points
    are added, at one of which each learner is better (Bonett & Price 2012). For a single learner they are a right and a
    wrong one.

    The score of numbers is :math:`100 (1 - E/S)`, where E is the mean squared error and S the variance of the labels.
    Both change with the test points. To first order
    :math:`u_i = 100 (1 - e_i/S + (E/S) (v_i/S - 1))`, where :math:`v_i = \|y_i - \bar y\|^2`.

    It is zero for distributions, which draw test points for each seed.

    Arguments:
        subject: what is audited.
        first: scores of a learner.
        second: scores of the learner with which it is compared.

    Reference: Bonett & Price (2012), Adjusted Wald confidence interval for a difference of binomial proportions based
    on paired data.
    """
    others = first if second is None else second
    seeds = [seed for seed in first if seed in others and seed in first.errors and seed in others.errors]
    if not (subject.shares_test and seeds):
        return 0.0
    distances = None if subject.classes else subject.label_distances()
    at_points = [score_at_points(each.errors[seed], distances) for each in (first, others) for seed in seeds]
    half = len(seeds)
    both = None if second is None else np.mean(at_points[half:], 0)
    return error_over_points(np.mean(at_points[:half], 0), both, subject.classes)


def error_over_points(u: np.ndarray, others: np.ndarray | None, classes: bool) -> float:
    """The standard error of a mean over points, or of the difference of two such means on the same points.

    Arguments:
        u: the score of a learner at each point.
        others: that of another learner.
        classes: whether scores are 100 or 0 at each point, so that two points are added.
    """
    d = u - (0.0 if others is None else others)
    if classes:
        d = np.append(d, [100.0, 0.0 if others is None else -100.0])
    return float(d.std(ddof=1) / math.sqrt(len(d))) if len(d) > 1 else 0.0


def score_at_points(errors: np.ndarray, distances: np.ndarray | None) -> np.ndarray:
    """The score at each test point; their mean is the score.

    Arguments:
        errors: at each point.
        distances: the squared distance of each label to the mean of labels; None for classes.
    """
    if distances is None:
        return 100 * (1 - errors)
    v = distances
    E, S = errors.mean(), v.mean()
    return 100 * (1 - errors / S + E / S * (v / S - 1))
