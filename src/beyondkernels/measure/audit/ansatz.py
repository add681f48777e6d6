"""What features are: the directions of the input that a network uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import torch

from beyondkernels.core import Ended, Measured
from beyondkernels.core.constraints import positive
from beyondkernels.engine import Predictor
from beyondkernels.measure.audit.first_layer import first_layer, input_gradients, sees_all
from beyondkernels.measure.audit.moments import chosen, moments
from beyondkernels.measure.audit.outer import factor_of, outer_cosine, root_cosine, top_directions
from beyondkernels.measure.base import Measurement, over_steps


@dataclass(frozen=True)
class Sensitivity:
    r"""The average gradient outer product of a network, as a factor, beside the weights of its first layer.

    Arguments:
        factor: R with :math:`R^\top R` the average gradient outer product, shape (r, d), in float64.
        weight: W of the first layer, shape (m, d); None if that layer is not linear or not all that sees the point.
        shape: that of a direction: of a whole point, of a patch, or of a token.
        patches: whether directions are those of patches.
    """

    factor: torch.Tensor
    weight: torch.Tensor | None
    shape: tuple[int, ...]
    patches: bool


@dataclass(frozen=True)
class Ansatz(Measurement):
    r"""The neural feature ansatz: the first layer's weights beside the average gradient outer product (AGOP).

    .. math:: M = \frac1n \sum_x \sum_o \nabla f_o(x)\, \nabla f_o(x)^\top, \qquad W^\top W \propto M^{1/2}\ ?

    A network that learns features turns the rows of W towards the directions of the input that its outputs depend on.
    The ansatz says that then :math:`W^\top W` and a power of M are parallel. For a convolution the gradient is taken in
    each patch, and the sum goes over all positions too. How M is computed, :func:`sensitivity` says. Points are those
    of the training sample.

    Series at all snapshots, and scalars with ``_start`` and ``_end`` in their names: ``ansatz/correlation``, the cosine
    of M and :math:`W^\top W`, and ``ansatz/root_correlation``, that of :math:`M^{1/2}` and :math:`W^\top W`. Wide
    networks can have a large cosine before training, because both matrices are then close to a multiple of the
    identity; only the change counts. A network that starts as zero has M = 0 and a cosine of 0. Both are left out if
    the first layer is not linear, or if the point reaches the output on another way than through that layer.

    Arrays: ``ansatz/start/directions`` and ``ansatz/end/directions``, the leading eigenvectors of M with the shape of a
    point or of a patch, and ``…/shares``, each eigenvalue's share in the sum of all. ``…/weight_directions`` and
    ``…/weight_shares`` are those of :math:`W^\top W`, left out as above.

    Scalars ``ansatz/patches``: 1 if directions are those of patches. ``ansatz/defined``: 0 if the outputs have no
    derivative in the points, as when points are numbers of tokens. Then it is all there is. ``ansatz/elsewhere``: 1 if
    :math:`W^\top W` is left out because the point reaches the output on another way; none otherwise.

    Arguments:
        points: how many training points at most, drawn by the run's stream.
        top: how many directions are kept.

    Reference: Radhakrishnan, Beaglehole, Pandit & Belkin (2024), Mechanism for feature learning in neural networks and
    backpropagation-free machine learning models, Science 383.
    """

    revision: ClassVar[int] = 2  # 2: gradients in the points themselves where these do not pass the first layer alone

    points: Annotated[int, positive] = 500
    top: Annotated[int, positive] = 8

    def measure(self, run: Ended) -> Measured:
        """Correlations at all snapshots, directions at the first and the last."""
        at, x = moments(run), chosen(run, "train", self.points).x
        rows: list[dict[str, float]] = []
        arrays: dict[str, np.ndarray] = {}
        last, scalars = list(at)[-1], {"ansatz/defined": 1.0}
        seen = [sees_all(one, x) for one in at.values()]  # a skip connection may start at zero
        through = all(seen)
        for step in at if through else dict.fromkeys((0, last)):  # without correlations the two ends will do
            found = sensitivity(at[step], x, through)
            if found is None:
                return Measured({"ansatz/defined": 0.0})
            if found.weight is not None:
                rows.append(
                    {
                        "correlation": outer_cosine(found.factor, found.weight),
                        "root_correlation": root_cosine(found.factor, found.weight),
                    }
                )
            scalars["ansatz/patches"] = float(found.patches)
            for name in ("start",) * (step == 0) + ("end",) * (step == last):
                arrays |= self._directions(f"ansatz/{name}/", found)
        if False in seen:
            scalars["ansatz/elsewhere"] = 1.0
        for key in rows[0] if rows else ():
            scalars |= {f"ansatz/{key}_start": rows[0][key], f"ansatz/{key}_end": rows[-1][key]}
        return Measured(scalars, over_steps("ansatz", at, rows) if rows else {}, arrays)

    def _directions(self, prefix: str, found: Sensitivity) -> dict[str, np.ndarray]:
        arrays = {}
        for kind, factor in (("", found.factor), ("weight_", found.weight)):
            if factor is not None:
                vectors, shares = top_directions(factor, self.top)
                arrays[f"{prefix}{kind}directions"] = vectors.reshape(-1, *found.shape).float().numpy()
                arrays[f"{prefix}{kind}shares"] = shares.numpy()
        return arrays


def sensitivity(at: Predictor, x: torch.Tensor, through: bool | None = None) -> Sensitivity | None:
    r"""The average gradient outer product of a network at given points; None if it has no derivative in them.

    The first layer is :math:`z_q = W x_q + b` at each position q, so the gradient in a patch is
    :math:`\nabla_{x_q} f_o = W^\top g_{o,q}` with :math:`g_{o,q} = \partial f_o / \partial z_q`, and

    .. math:: M = \frac1n \sum_x \sum_q \sum_o \nabla_{x_q} f_o\, \nabla_{x_q} f_o^\top = W^\top G\, W, \qquad
              G = \frac1n \sum_x \sum_q \sum_o g_{o,q}\, g_{o,q}^\top.

    This is the gradient in the point only if outputs depend on the point through that layer alone (:func:`sees_all`).
    Otherwise, and if the first layer is not linear, the gradient in the point itself is taken.

    Arguments:
        at: the network.
        x: points, shape (n, …).
        through: whether the gradient is taken through the first layer; None finds out whether it may be.
    """
    layer = first_layer(at, x) if (sees_all(at, x) if through is None else through) else None
    if layer is not None:
        slopes, rounding = factor_of(layer.slopes), torch.finfo(next(iter(at.params.values())).dtype).eps
        factor = slopes @ layer.weight
        if factor.norm() <= 8 * rounding * slopes.norm() * layer.weight.norm():
            factor = torch.zeros_like(factor)  # pairs of neurons that start with opposite signs leave rounding alone
        return Sensitivity(factor, layer.weight, layer.shape, layer.patches)
    gradients = input_gradients(at, x)
    if gradients is None:
        return None
    J = gradients.flatten(0, 1) / len(x) ** 0.5
    factor = factor_of(J.T @ J) if len(J) > J.shape[1] else J
    return Sensitivity(factor, None, tuple(x.shape[1:]), patches=False)
