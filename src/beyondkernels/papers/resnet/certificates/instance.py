"""What certificates of one kernel or one feature map share: the exact risks of its best predictors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from beyondkernels.certificates.certificate import Certificate, Numbers
from beyondkernels.certificates.degree_span import DegreeSpan
from beyondkernels.certificates.span import Parity, Span
from beyondkernels.certificates.universal import PAPER_TARGETS, THRESHOLD, UniversalCertificate, paper_hypotheses
from beyondkernels.core.hypotheses import Hypothesis
from beyondkernels.papers.resnet.certificates.hard_class import HardClass
from beyondkernels.papers.resnet.problems.hard import HardInstance

COMPARED = 24
"""Targets whose risks :meth:`Certificate.verify` computes again, evenly spaced among those listed."""


@dataclass(frozen=True)
class Risks:
    """The exact risks of the best predictors in a span.

    Arguments:
        targets: the sets S that are listed.
        risks: for each of them.
        mean: over all targets of the class.
        own: for the problem's own target.
        dimension: of the span.
        error: an estimate of the numerical error of a risk.
        left_out: how many directions of the span were left out as rounding.
    """

    targets: tuple[Parity, ...]
    risks: tuple[float, ...]
    mean: float
    own: float
    dimension: int
    error: float
    left_out: int

    @staticmethod
    def of(problem: HardInstance, span: Span, count: int, seed: int) -> Risks:
        """The risks of a span, for all targets or for so many drawn ones."""
        among = HardClass(problem)
        targets = among.drawn(count, seed)
        risks = among.risks(span, targets)
        own = float(among.risks(span, [tuple(sorted(problem.relevant))])[0])
        scale = problem.outputs * (problem.alpha**2 + problem.beta**2)
        listed = tuple(max(0.0, risk) for risk in risks.tolist())
        every = len(targets) == among.size and not isinstance(span, DegreeSpan)  # which has a closed form of its own
        mean, error = float(risks.mean()) if every else among.mean_risk(span), 2 * scale * span.error
        return Risks(tuple(targets), listed, mean, max(0.0, own), span.dimension, error, span.left_out)


@dataclass(frozen=True)
class InstanceCertificate(Certificate):
    """The exact risk of the best predictor, even of one that knows the whole distribution, for many targets.

    Arguments:
        problem: the hard instance, which gives d, d₁, k, α and β.
        functions: N points of a kernel, or D features.
        targets: the sets S that are listed.
        risks: of the best predictors for them.
        mean: of the risks over all targets of the class.
        own: the risk for the problem's own target.
        dimension: of the span of the functions.
        error: an estimate of the numerical error of a risk.
        left_out: how many directions of the span were left out, because rounding cannot tell them from zero.
        route: how the risks were computed.
    """

    kind: ClassVar[Literal["kernel", "features"]]
    words: ClassVar[str]

    problem: HardInstance
    functions: int
    targets: tuple[Parity, ...]
    risks: tuple[float, ...]
    mean: float
    own: float
    dimension: int
    error: float
    left_out: int
    route: str

    @property
    def universal(self) -> UniversalCertificate:
        """The bound for all kernels or feature maps with as many functions."""
        inputs = self.problem.inputs
        return UniversalCertificate(
            self.functions, inputs.dim, self.problem.outputs, self.problem.alpha, inputs.uniform, self.kind
        )

    @property
    def threshold(self) -> float:
        """The paper's α²/16."""
        return self.problem.alpha**2 / THRESHOLD

    @property
    def learnt_share(self) -> float:
        """The share of the listed targets with risk α²/16 or less, up to the numerical error."""
        return sum(risk <= self.threshold + self.error for risk in self.risks) / len(self.risks)

    @property
    def mean_at_least(self) -> float:
        r"""A lower bound on the mean best risk if all directions that were left out belong to the span.

        Without them the span is smaller, so the computed risks are too high, if anything. With q more directions, the
        mean over all targets of what is captured grows by at most

        .. math:: \frac qC\,\Bigl\|\sum_{S,\,i \in S} v_{S,i}\,v_{S,i}^\top\Bigr\|
                  \le q k \Bigl(\frac{\beta^2}{d_1} + \frac{\alpha^2}{C}\Bigr), \qquad
                  v_{S,i} = \beta\chi_{\{i\}} + \alpha\chi_S

        The bound for all kernels or feature maps holds in any case.
        """
        p, universal = self.problem, self.universal
        each = p.outputs * (p.beta**2 / p.inputs.uniform + p.alpha**2 / universal.targets)
        return max(universal.mean_risk, self.mean - self.left_out * each)

    @property
    def claim(self) -> str:
        best = (
            f"no weights, whatever they depend on, give {self.words} a risk E‖H − f‖² below the best risk, which is "
            "computed exactly for each target."
        )
        if not self.left_out:
            return best
        return (
            f"{best} Directions of the span that float64 cannot tell from zero are left out. If some of them belong "
            "to the span, the true best risks are lower than the computed ones, and their mean is at least the number "
            "below."
        )

    @property
    def numbers(self) -> Numbers:
        universal, alpha, k = self.universal, self.problem.alpha, self.problem.outputs
        listed = len(self.risks)
        among = f"all {listed} targets" if listed == universal.targets else f"{listed} targets drawn at random"
        left_out = {
            "directions left out as rounding": self.left_out,
            "  mean best risk with them, at least": self.mean_at_least,
        }
        return {
            "targets C": universal.targets,
            "dimension of the span": self.dimension,
            "best risk, mean over all targets": self.mean,
            **(left_out if self.left_out else {}),
            "  at least, by counting: kα²(1 − N/C)": universal.mean_risk,
            f"best risk, smallest of {among}": min(self.risks),
            f"best risk, largest of {among}": max(self.risks),
            "best risk for the problem's own target": self.own,
            "numerical error of a risk, about": self.error,
            "risk without the parity, kα²": k * alpha**2,
            f"threshold α²/{THRESHOLD}": self.threshold,
            "share of the listed targets at or below it": self.learnt_share,
            "  at most, by counting: 16N/(15C)": universal.learnable_share,
        }

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """Those of the paper's theorem for all kernels or feature maps; the exact risks need none of them."""
        universal = self.universal
        d1 = self.problem.inputs.uniform
        return paper_hypotheses(
            self.functions, universal.targets, self.problem.outputs, d1, self.problem.alpha, self.kind
        )

    @property
    def holds(self) -> bool:
        """Whether the theorem's conclusion is true here: risk above α²/16 for at least 99 % of the listed targets."""
        return Fraction(1) - Fraction(self.learnt_share) >= Fraction(PAPER_TARGETS)

    @property
    def verdict(self) -> str:
        above = f"{1 - self.learnt_share:.2%} of the listed targets have a best risk above α²/{THRESHOLD}."
        conclusion = "is true here" if self.holds else "is not true here"
        if self.left_out:
            conclusion += f", unless some of the {self.left_out} directions left out belong to the span"
        return f"{above} The theorem's conclusion, at least {PAPER_TARGETS:.0%}, {conclusion}."

    def compared(self, span: Span) -> float:
        """The largest difference between the risks listed here and those of another computation of the span.

        If all targets are listed, the mean is compared with theirs too.
        """
        places = self.spaced(COMPARED)
        again = HardClass(self.problem).risks(span, [self.targets[i] for i in places])
        difference = self.difference(places, again.tolist())
        if len(self.risks) < self.universal.targets:
            return difference
        return max(difference, abs(self.mean - math.fsum(self.risks) / len(self.risks)))

    def spaced(self, count: int) -> list[int]:
        """The places of about so many of the listed targets, evenly spaced."""
        return list(range(0, len(self.targets), max(1, len(self.targets) // count)))

    def difference(self, places: Sequence[int], again: Sequence[float]) -> float:
        """The largest difference between the risks listed at some places and others."""
        return max(abs(self.risks[i] - risk) for i, risk in zip(places, again, strict=True))
