"""One door to every certificate."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from beyondkernels.certificates.certificate import Certificate
from beyondkernels.core import InputError, Problem, shown


@runtime_checkable
class Certifiable(Protocol):
    """A problem for which a lower bound is known; the bound stands with the problem's paper."""

    def certify(self, what: Any, *args: Any, **options: Any) -> Certificate:
        """What a kernel, a feature map, a kind of network, or all of them cannot do on this problem."""
        ...


def certify(what: Any, problem: Problem, *args: Any, **options: Any) -> Certificate:
    """What no predictor of a kind can do on a problem, whatever its weights are.

    Problems with such a bound have a method ``certify``, whose help lists the options:

    - :class:`bk.resnet.HardInstance`: one kernel on its training points (Theorem 2), one feature map (Theorem 3),
      all of them at once (``None``), or regression with one kernel and a ridge (the short version's theorem);
    - :class:`bk.features.DictionaryParity`: fixed features and kernel balls (Theorem 2, Corollary 3), and all
      algorithms with statistical queries (Theorem 4);
    - the targets of :func:`bk.bfc.sparse_target`: all kernels with N points, all maps to N features (Theorems I.1 and
      I.3);
    - the targets of :func:`bk.bfc.even_target`: two-layer polynomial networks of a width (Theorems I.6 and I.7).

    Arguments:
        what: a kernel, a feature map, or ``None`` for the bound over all predictors that the theorem speaks of.
        problem: the problem.
        args: what the problem's own method takes besides, such as training points.
        options: likewise, by name.

    >>> import beyondkernels as bk
    >>> problem = bk.resnet.HardInstance(dim=16, outputs=2, alpha=0.3)
    >>> print(bk.certify(bk.kernels.Gaussian(1.0), problem, n=20).verdict)
    100.00% of the listed targets have a best risk above α²/16. The theorem's conclusion, at least 99%, is true here.
    """
    if not isinstance(problem, Certifiable):
        raise InputError(
            "problem must be one that a lower bound is known for, such as bk.resnet.HardInstance (it has a method "
            f"certify), got {shown(problem)}"
        )
    return problem.certify(what, *args, **options)
