"""Several learners of which held-out points choose one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import torch

from beyondkernels.core import Case, Learner, Outcome, Problem, Progress, Sample, require
from beyondkernels.core.constraints import between, not_empty


@dataclass(frozen=True)
class BestOf(Learner):
    r"""Tries several learners, and learns with the one that does best at held-out points.

    .. math:: \hat\imath = \arg\min_i \hat L_{\text{held out}}\bigl(\text{learner}_i(\text{rest})\bigr), \qquad
              \hat f = \text{learner}_{\hat\imath}(\text{all points})

    All candidates learn from the same part of the training sample and from the same random numbers. The loss at the
    other part chooses; of equal ones the first. The chosen learner then learns from the whole sample. A candidate that
    diverges is never chosen; where all do, the run has diverged.

    Arguments:
        candidates: the learners.
        validation: the fraction of the training sample held out to choose by.

    >>> import beyondkernels as bk
    >>> from beyondkernels.core import Stream
    >>> from beyondkernels.kernels import KernelRidge, PolynomialKernel
    >>> problem, stream = bk.resnet.Monomial(4, degree=2), Stream(0)
    >>> train, test = problem.sample(60, stream.child("train")), problem.sample(60, stream.child("test"))
    >>> learner = BestOf(tuple(KernelRidge(PolynomialKernel(degree)) for degree in (1, 2)))
    >>> learner.fit(Case(problem, train, test, stream), lambda fraction: None).scalars["candidate"]
    1.0

    Reference: Allen-Zhu & Li (bfc), footnotes 9 and 15, which choose α and the graph so.
    """

    candidates: Annotated[tuple[Learner, ...], not_empty]
    validation: Annotated[float, between(0, 1, "()")] = 0.2

    def fit(self, case: Case, progress: Progress) -> Outcome:
        """Try all, choose, and learn.

        The outcome is that of the chosen learner, with ``candidate``, its number counted from 0, and
        ``candidate_loss``, its loss at the held-out points; the array ``candidate_losses`` has those of all, infinite
        where a candidate diverged.
        """
        tried = self._tried(case, progress)
        losses = np.array([outcome.scalars.get("test_loss", math.inf) for outcome in tried])
        # A learner may report a loss although it has diverged.
        losses[[outcome.status != "finished" for outcome in tried]] = math.inf
        if not np.isfinite(losses).any():
            return Outcome("diverged", arrays={"candidate_losses": losses})
        at = int(losses.argmin())
        share = len(tried) / (len(tried) + 1)
        outcome = self.candidates[at].fit(case, lambda fraction: progress(share + (1 - share) * fraction))
        found = {"candidate": float(at), "candidate_loss": float(losses[at])}
        return replace(outcome, scalars=outcome.scalars | found, arrays=outcome.arrays | {"candidate_losses": losses})

    def check(self, problem: Problem, samples: int, test_samples: int) -> None:
        """Check every candidate, with the points that are left to it and with all."""
        held = self._held(samples)
        for candidate in self.candidates:
            candidate.check(problem, samples - held, held)
            candidate.check(problem, samples, test_samples)

    def prepare(self) -> None:
        """Prepare every candidate."""
        for candidate in self.candidates:
            candidate.prepare()

    def runs_on(self, device: str) -> bool:
        """Where all candidates run."""
        return all(candidate.runs_on(device) for candidate in self.candidates)

    def _tried(self, case: Case, progress: Progress) -> list[Outcome]:
        n = len(case.train)
        order = case.stream.child("best of").permutation(n).to(case.train.x.device)
        outside, inside = order.split([self._held(n), n - self._held(n)])
        # The held-out points are the test points of the trial, so a candidate cannot see them, and one stream for all
        # leaves nothing but the candidates to make a difference.
        part = Case(case.problem, _rows(case.train, inside), _rows(case.train, outside), case.stream.child("tried"))
        outcomes: list[Outcome] = []
        for group in _groups(self.candidates):
            done, share = len(outcomes), len(group) / (len(self.candidates) + 1)
            before = done / (len(self.candidates) + 1)
            outcomes += type(group[0]).fit_together(
                group,
                [part] * len(group),
                lambda fraction, before=before, share=share: progress(before + share * fraction),
            )
        return outcomes

    def _held(self, n: int) -> int:
        held = round(self.validation * n)
        require(0 < held < n, f"validation must leave points on both sides, got {self.validation} of {n}")
        return held


def _groups(learners: Sequence[Learner]) -> list[list[Learner]]:
    """Neighbours of one class, which may learn together."""
    groups: list[list[Learner]] = []
    for learner in learners:
        if groups and type(groups[-1][0]) is type(learner):
            groups[-1].append(learner)
        else:
            groups.append([learner])
    return groups


def _rows(sample: Sample, rows: torch.Tensor) -> Sample:
    hidden = {name: value[rows] for name, value in sample.hidden.items()}
    return Sample(sample.x[rows], sample.y[rows], hidden)
