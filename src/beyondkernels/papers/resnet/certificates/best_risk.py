"""The best risk of a kernel or a feature map as a run, so that experiments can store it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from beyondkernels.certificates.span import require_enumerable
from beyondkernels.certificates.universal import require_alpha
from beyondkernels.core import Case, InputError, Learner, Outcome, Problem, Progress, shown
from beyondkernels.core.constraints import any_number, positive
from beyondkernels.kernels import Kernel, RandomFeatures
from beyondkernels.papers.resnet.certificates.hard_class import HardClass
from beyondkernels.papers.resnet.certificates.hard_instance import certify_hard_instance
from beyondkernels.papers.resnet.certificates.instance import InstanceCertificate
from beyondkernels.papers.resnet.problems.hard import HardInstance


@dataclass(frozen=True)
class BestRisk(Learner):
    """The exact risk of the best predictor of a kernel on the training points, or of a feature map.

    It learns nothing from labels: the best predictor knows the whole distribution. The scalars are those of
    :class:`InstanceCertificate`:

    - ``risk``: the mean over all targets of the class; ``own_risk``: for the problem's own target;
    - ``smallest_risk`` and ``largest_risk``: of the listed targets; ``learnt_share``: the share of them with risk α²/16
      or less;
    - ``bound`` and ``bound_share``: the bounds on the mean and on that share for all kernels or feature maps;
    - ``dimension`` of the span, and ``left_out``: how many directions were left out as rounding;
    - ``numerical_error`` of a risk.

    The array ``risks`` has the risk of each listed target.

    Arguments:
        what: a kernel, or random features.
        targets: how many targets are listed; all, if there are no more.
        seed: of the draws of targets and of random features.
        route: of a kernel, ``closed form`` or ``enumeration``; by default the closed form, where it applies.

    >>> import beyondkernels as bk
    >>> problem = HardInstance(dim=20, outputs=3, alpha=0.3)
    >>> run = bk.fit(BestRisk(bk.kernels.Gaussian(1.0)), problem, n=50, test=1)
    >>> {name: round(run.outcome.scalars[name], 4) for name in ("risk", "bound", "learnt_share", "bound_share")}
    {'risk': 0.4164, 'bound': 0.2582, 'learnt_share': 0.0, 'bound_share': 0.0468}

    Reference: Allen-Zhu & Li (resnet), Theorems 2 and 3.
    """

    what: Kernel | RandomFeatures
    targets: Annotated[int, positive] = 1000
    seed: Annotated[int, any_number] = 0
    route: Literal["closed form", "enumeration"] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.what, RandomFeatures) and self.route == "closed form":
            raise InputError("route must be enumeration for a feature map, got 'closed form'")

    def check(self, problem: Problem, samples: int, test_samples: int) -> None:
        """Check that the problem is a hard instance, and that its cube can be enumerated where that is needed."""
        found = self._problem(problem)
        closed = isinstance(self.what, Kernel) and self.what.rotation_invariant and self.route != "enumeration"
        if not closed:
            functions = self.what.count if isinstance(self.what, RandomFeatures) else samples
            require_enumerable(HardClass(found).varying, functions)

    def fit(self, case: Case, progress: Progress) -> Outcome:
        problem = self._problem(case.problem)
        x = case.train.x if isinstance(self.what, Kernel) else None
        route = self.route if isinstance(self.what, Kernel) else None
        found = certify_hard_instance(self.what, problem, x, seed=self.seed, targets=self.targets, route=route)
        assert isinstance(found, InstanceCertificate)
        progress(1.0)
        scalars = {
            "risk": found.mean,
            "own_risk": found.own,
            "smallest_risk": min(found.risks),
            "largest_risk": max(found.risks),
            "learnt_share": found.learnt_share,
            "bound": found.universal.mean_risk,
            "bound_share": found.universal.learnable_share,
            "dimension": float(found.dimension),
            "left_out": float(found.left_out),
            "numerical_error": found.error,
        }
        return Outcome(scalars=scalars, arrays={"risks": np.array(found.risks)})

    def _problem(self, problem: Problem) -> HardInstance:
        if not isinstance(problem, HardInstance):
            raise InputError(f"problem must be a HardInstance, to which the theorems apply, got {shown(problem)}")
        require_alpha(problem.alpha)
        return problem
