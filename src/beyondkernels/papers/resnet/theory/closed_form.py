"""W* of §8.2 in closed form: the least network of a given risk, at any width and on any number of inputs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.core import Case, Learner, Outcome, Progress, Sample, require
from beyondkernels.core.constraints import between, even, positive
from beyondkernels.papers.resnet.problems.monomial import Monomial, widened
from beyondkernels.papers.resnet.theory.minimal_norm import minimal_network


def closed_form(width: int, risk: float, degree: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    r"""W (m, q) and a (m,) of the least network of a risk, the rows of :func:`minimal_network` repeated.

    Its norm is :func:`least_norm` where :math:`2^q` divides the width, and slightly larger elsewhere.

    Arguments:
        width: m, even, at least 2^q.
        risk: from 0 to 1.
        degree: q, even.

    >>> W, a = closed_form(width=200, risk=0.12)
    >>> W.shape, round(float(W.norm()) / 6**0.5, 4)
    (torch.Size([200, 6]), 8.5773)

    Reference: our own, for the construction of Allen-Zhu & Li (resnet), §8.2 and footnote 16.
    """
    return widened(*minimal_network(degree, 1 - math.sqrt(risk)), width)


@dataclass(frozen=True)
class ClosedForm(Learner):
    """The least network of a given risk on the relevant inputs of a ``Monomial``, padded to all of them.

    Its outcome has ``risk``, the mean over all points of the relevant inputs, the errors on both samples of the problem
    it is given, and ``norm``, ‖W‖_F/√d of the padded weights.

    Arguments:
        width: m, even, at least 2^q for a monomial of degree q.
        risk: from 0 to 1.

    >>> import beyondkernels as bk
    >>> run = bk.fit(ClosedForm(width=200, risk=0.12), bk.resnet.Monomial(40), n=1, test=10)
    >>> {name: round(value, 4) for name, value in run.outcome.scalars.items()}
    {'risk': 0.12, 'train_loss': 0.12, 'test_loss': 0.12, 'norm': 8.5773}

    Reference: our own, for the construction of Allen-Zhu & Li (resnet), §8.2 and footnote 16.
    """

    width: Annotated[int, positive, even]
    risk: Annotated[float, between(0, 1)]

    def fit(self, case: Case, progress: Progress) -> Outcome:
        problem = case.problem
        require(isinstance(problem, Monomial), f"problem must be a Monomial, got a {type(problem).__name__}")
        assert isinstance(problem, Monomial)
        W, a = closed_form(self.width, self.risk, problem.degree)
        padded = problem.padded(W)

        def error(sample: Sample) -> float:
            y = sample.y.double()
            x = y.new_tensor(1 / math.sqrt(problem.dim)) * sample.x.double().sign()  # a float32 input is not exactly it
            return float((_apply(padded, a, x) - y).square().mean())

        alone = Monomial(problem.degree, problem.degree)
        scalars = {
            "risk": alone.risk(lambda x: _apply(W, a, x), dtype=W.dtype).value,
            "train_loss": error(case.train),
            "test_loss": error(case.test),
            "norm": float(padded.norm()) / math.sqrt(problem.dim),
        }
        return Outcome("finished", scalars)


def _apply(W: torch.Tensor, a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return (x @ W.T).relu() @ a
