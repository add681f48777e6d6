"""The hard instance (7.1), on which kernels and fixed feature maps provably fail."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import torch

from beyondkernels.activations import Polynomial
from beyondkernels.core import require
from beyondkernels.core.constraints import at_least, not_negative, positive, size
from beyondkernels.data.inputs import Background, Biased, CubeWithBackground
from beyondkernels.data.maps import LENGTH, GivenMap, nested
from beyondkernels.papers.resnet.problems.composite import BooleanProblem, require_plain
from beyondkernels.papers.resnet.problems.powers import product_map
from beyondkernels.papers.resnet.problems.relevant import check_indices, drawn_indices
from beyondkernels.papers.resnet.problems.smooth import SmoothComposite
from beyondkernels.papers.resnet.problems.spectrum import Spectrum, collect

if TYPE_CHECKING:
    from beyondkernels.certificates import Certificate
    from beyondkernels.kernels import Kernel
    from beyondkernels.kernels.checks import Numbers
    from beyondkernels.papers.resnet.certificates.feature_certificate import Features
    from beyondkernels.papers.resnet.certificates.kernel_certificate import Route


@dataclass(frozen=True)
class HardInstance(BooleanProblem):
    r"""k unknown coordinates, and a small multiple of their product.

    .. math:: x \sim U(\{\pm 1/\sqrt d\}^{d_1}) \times D_2, \quad F(x) = \sqrt d\,(x_{i_1}, \dots, x_{i_k}), \quad
              G(y) = \bigl(\textstyle\prod_{j \in [k]} y_j\bigr)_{i \in [k]}

    with distinct :math:`i_1, \dots, i_k \in [d_1]`. F alone has risk kα². So does the best polynomial of degree less
    than k, for every background.

    Arguments:
        dim: d.
        outputs: k, at least 2.
        alpha: α.
        uniform: d₁, by default d.
        background: D₂ as signs.
        indices: i₁, …, i_k from 0, in this order; drawn if not given.
        instance: selects the draw of the indices.
        beta: β.
        optimal_risk: OPT, half the expected squared length of the noise on the labels.

    >>> from beyondkernels.core import Stream
    >>> from beyondkernels.data.inputs import Alike
    >>> problem = HardInstance(dim=20, outputs=3, alpha=0.1, uniform=8, background=Alike())
    >>> problem.class_size, round(problem.base_only_risk, 12), problem.sample(2, Stream(0)).y.shape
    (56, 0.03, torch.Size([2, 3]))

    Reference: Allen-Zhu & Li (resnet), §7, eq. (7.1).
    """

    dim: Annotated[int, size]
    outputs: Annotated[int, at_least(2), size]
    alpha: Annotated[float, not_negative]
    uniform: Annotated[int, positive] | None = None
    background: Background = field(default_factory=Biased)
    indices: tuple[int, ...] | None = None
    instance: int = 0
    beta: Annotated[float, not_negative] = 1.0
    optimal_risk: Annotated[float, not_negative] = 0.0

    def __post_init__(self) -> None:
        d1 = self._uniform
        require(
            self.outputs <= d1 <= self.dim,
            f"uniform must lie between outputs = {self.outputs} and dim = {self.dim}, got {d1}",
        )
        check_indices(self, self.outputs, d1)

    @property
    def inputs(self) -> CubeWithBackground:
        return CubeWithBackground(self.dim, self._uniform, self.background)

    @property
    def relevant(self) -> tuple[int, ...]:
        """The indices i₁, …, i_k from 0."""
        return drawn_indices(self.instance, self.outputs, self._uniform) if self.indices is None else self.indices

    @property
    def class_size(self) -> int:
        """How many sets of indices there are."""
        return math.comb(self._uniform, self.outputs)

    def base_signal(self, x: torch.Tensor) -> torch.Tensor:
        return math.sqrt(self.dim) * x.double()[:, list(self.relevant)]

    def composite_signal(self, h: torch.Tensor) -> torch.Tensor:
        return h.prod(1, keepdim=True).expand(-1, self.outputs)

    @property
    def spectrum(self) -> Spectrum:
        """The Fourier coefficients of H in the signs √d·x of the relevant coordinates."""
        unit = torch.eye(self.outputs, dtype=torch.float64)
        terms = [((i,), self.beta * unit[r]) for r, i in enumerate(self.relevant)]
        return collect([*terms, (self.relevant, self.alpha * torch.ones(self.outputs, dtype=torch.float64))])

    def certify(
        self,
        what: Kernel | Features | None,
        x: Numbers | None = None,
        *,
        n: int | None = None,
        seed: int = 0,
        targets: int = 1000,
        route: Route | None = None,
        ridge: float | None = None,
    ) -> Certificate:
        """What a kernel, a feature map, or all of them cannot do here: Theorems 2 and 3, and that of the short version.

        Arguments:
            what: a kernel (Theorem 2 with its exact risks), a feature map (Theorem 3 with its exact risks), or None
                for the bound that holds for every kernel with n points.
            x: the training points of a kernel, shape (n, d).
            n: in place of x, how many training points to draw from the problem.
            seed: of the draws of training points, of targets and of random features.
            targets: how many targets to list; all, if there are no more. Means are over all of them in any case.
            route: ``closed form`` or ``enumeration``. By default the closed form, where it applies.
            ridge: with it, the theorem of the short version: what regression with this kernel, n points and this ridge
                leaves, in place of what the best predictor leaves (:func:`bk.resnet.certify_correlation` has more
                options).

        Reference: Allen-Zhu & Li (resnet), §7 and App. D.
        """
        from beyondkernels.papers.resnet.certificates import certify_hard_instance

        return certify_hard_instance(what, self, x, n=n, seed=seed, targets=targets, route=route, ridge=ridge)

    def concept(self) -> SmoothComposite:
        r"""The target in Concept 1, labels divided by √k.

        .. math:: F_i(x) = \sqrt{d/k}\,x_i, \qquad
            G_r(z) = \frac{k^k}{\sqrt k\,k!\,2^k} \sum_{s \in \{0,1\}^k} (-1)^{s_1 + \dots + s_k}
            \Bigl(\sum_i \frac{(-1)^{s_i} z_i}{\sqrt k}\Bigr)^k = \frac{k^{k/2}}{\sqrt k} \prod_i z_i

        so :math:`p_F = 1` and :math:`p_G = 2^k`.

        Reference: Allen-Zhu & Li (resnet), Corollary 7.1 (App. D.4).
        """
        require_plain(self)
        d, k = self.dim, self.outputs
        w = torch.zeros(k, 1, d, dtype=torch.float64)
        w[range(k), 0, list(self.relevant)] = LENGTH
        base = GivenMap(nested(w), ((1.0,),) * k, Polynomial((0.0, math.sqrt(2 * d / k))))
        composite = product_map(k, range(k), (k ** ((k - 1) / 2),) * k)
        return SmoothComposite(self.inputs, base, composite, self.alpha, optimal_risk=self.optimal_risk / k)

    @property
    def _uniform(self) -> int:
        return self.dim if self.uniform is None else self.uniform
