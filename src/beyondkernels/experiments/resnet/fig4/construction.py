"""W*, the least weights that compute the monomial, in closed form: a learner that needs no sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import beyondkernels as bk
from beyondkernels.core import Case, Learner, Outcome, Progress, Sample, require, require_between
from beyondkernels.experiments.published import published
from beyondkernels.experiments.resnet.fig4.specs import DEGREE
from beyondkernels.runs import RunSpec

if TYPE_CHECKING:
    import torch

    from beyondkernels.experiments.resnet.fig4.experiment import Fig4Settings


@dataclass(frozen=True)
class ClosedForm(Learner):
    """The least network of a given risk on the six relevant inputs, made wider, and padded to the problem's inputs.

    At widths that are no multiple of 64 some rows are repeated more often than others, and the norm is slightly larger.

    Its outcome has ``risk``, the mean over all points of the six inputs, the errors on both samples of the problem it
    is given, and ``norm``, ‖W‖_F/√d of the padded weights.

    Arguments:
        width: m, even, at least 64.
        risk: from 0 to 1.

    >>> run = bk.fit(ClosedForm(width=200, risk=0.12), bk.problems.Monomial(40), n=1, test=10)
    >>> {name: round(value, 4) for name, value in run.outcome.scalars.items()}
    {'risk': 0.12, 'train_loss': 0.12, 'test_loss': 0.12, 'norm': 8.5773}
    """

    width: int
    risk: float

    def __post_init__(self) -> None:
        require_between("risk", self.risk, 0, 1)

    def fit(self, case: Case, progress: Progress) -> Outcome:
        """Make it, and measure it."""
        from beyondkernels.problems import Monomial

        problem = case.problem
        require(isinstance(problem, Monomial), f"problem must be a Monomial, got a {type(problem).__name__}")
        assert isinstance(problem, Monomial)
        W, a = closed_form(self.width, self.risk)
        padded = problem.padded(W)

        def error(sample: Sample) -> float:
            y = sample.y.double()
            x = y.new_tensor(1 / math.sqrt(problem.dim)) * sample.x.double().sign()  # a float32 input is not exactly it
            return float((_apply(padded, a, x) - y).square().mean())

        exact = Monomial(DEGREE).risk(lambda x: _apply(W, a, x), dtype=W.dtype)
        scalars = {
            "risk": exact.value,
            "train_loss": error(case.train),
            "test_loss": error(case.test),
            "norm": float(padded.norm()) / math.sqrt(problem.dim),
        }
        return Outcome("finished", scalars)


def closed_form_spec(settings: Fig4Settings, risk: float, seed: int) -> RunSpec:
    """The closed form at the figure's dimension; the seed only draws the points it is looked at."""
    learner = ClosedForm(settings.construction_width, risk)
    return RunSpec(bk.problems.Monomial(settings.dim), learner, 1, settings.test_samples, seed)


def closed_form(width: int, risk: float) -> tuple[torch.Tensor, torch.Tensor]:
    """W (m, 6) and a (m,) of the least network of that risk, its rows repeated up to the width."""
    from beyondkernels.problems.resnet import widened
    from beyondkernels.theory.minimal_norm import minimal_network

    return widened(*minimal_network(DEGREE, 1 - math.sqrt(risk)), width)


def least(risk: float) -> float:
    """A lower bound on ‖W‖_F/√d of any network with that risk, attained where 64 divides the width.

    >>> round(least(0.12), 2)
    8.54
    """
    from beyondkernels.theory.minimal_norm import least_norm

    return least_norm(risk, DEGREE)


def targets() -> list[tuple[float, float]]:
    """The paper's errors and norms of W*.

    >>> targets()
    [(0.12, 9.7), (0.037, 12.5), (0.011, 13.8)]
    """
    printed = published("resnet", "figure4")
    return list(zip(printed["error"], printed["norm_over_sqrt_d"], strict=True))


def _apply(W: torch.Tensor, a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return (x @ W.T).relu() @ a
