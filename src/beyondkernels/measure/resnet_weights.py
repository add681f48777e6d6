"""The bottleneck ResNet as its proof writes it: three matrices with biases absorbed, and diagonal gates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch

from beyondkernels.core import InputError, Outcome, Tensors, require
from beyondkernels.measure.alignment import snapshots

_BLOCK = 400_000  # hidden values at once: what stays in the cache; wide layers at many points would fill the memory


@dataclass(frozen=True)
class ResNetWeights:
    r"""W (m, d + 1), V (m, k + 1) and A (k, m), the last columns of W and V their biases; all in float64.

    .. math::
        \mathrm{out}_1(x) = A D_W W (x, 1), \qquad
        \mathrm{out}(x) = \mathrm{out}_1(x) + A D_{V,W} V (\mathrm{out}_1(x), 1),

    with gates :math:`D_W = \mathrm{diag}\{1_{W(x, 1) \ge 0}\}`,
    :math:`D_{V,W} = \mathrm{diag}\{1_{V(\mathrm{out}_1(x), 1) \ge 0}\}`. W and V stand for the whole weights here,
    the proof's :math:`W^{(0)} + W` and :math:`V^{(0)} + V`.

    Reference: Allen-Zhu & Li (resnet), §6 and App. C.
    """

    W: torch.Tensor
    V: torch.Tensor
    A: torch.Tensor

    @classmethod
    def of(cls, params: Tensors) -> ResNetWeights:
        """From the parameters of a bottleneck ``ThreeLayerResNet`` in the standard parameterisation."""
        lost = [name for name in ("W.weight", "V.weight", "A.weight") if name not in params]
        require(not lost, f"params must hold W.weight, V.weight and A.weight, got {', '.join(params)}")

        def absorbed(name: str) -> torch.Tensor:
            weight = params[f"{name}.weight"].double()
            bias = params.get(f"{name}.bias")
            column = torch.zeros(len(weight), 1).double() if bias is None else bias.double()[:, None]
            return torch.cat([weight, column], 1)

        return cls(absorbed("W"), absorbed("V"), params["A.weight"].double())

    @property
    def width(self) -> int:
        """The neurons m of a hidden layer."""
        return self.A.shape[1]

    @property
    def outputs(self) -> int:
        """The outputs k."""
        return self.A.shape[0]

    def first(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The gates of W, (n, m), and out₁, (n, k)."""
        h = with_one(x) @ self.W.T
        D = (h >= 0).double()
        return D, (D * h) @ self.A.T

    def second(self, out1: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The gates of V at out₁, and what the second layer adds, A D V (out₁, 1)."""
        h = with_one(out1) @ self.V.T
        D = (h >= 0).double()
        return D, (D * h) @ self.A.T


def with_one(x: torch.Tensor) -> torch.Tensor:
    """(x, 1) for each row, in float64."""
    return torch.cat([x.double(), torch.ones(len(x), 1, dtype=torch.float64)], 1)


def blocks(x: torch.Tensor, width: int) -> Iterator[torch.Tensor]:
    """Points, a few at a time, so that their hidden values at this width fit the memory."""
    yield from x.split(max(1, _BLOCK // width))


def scales(initial: ResNetWeights) -> tuple[float, float]:
    r""":math:`\sigma_w, \sigma_v` as the entries at the start show them: V's times √m."""
    return float(initial.W.std(correction=0)), float(initial.V.std(correction=0)) * initial.width**0.5


def radii(initial: ResNetWeights, now: ResNetWeights) -> tuple[float, float]:
    r"""The spectral norms of what W and V have learned: the least :math:`\tau_w, \tau_v` that bound them."""
    first, second = (float(torch.linalg.matrix_norm(d, ord=2)) for d in (now.W - initial.W, now.V - initial.V))
    return first, second


def course(outcome: Outcome) -> dict[int, ResNetWeights]:
    """The weights of a run at all its snapshots, the start among them."""
    kept: dict[str, Mapping[int, object]] = {name: snapshots(outcome, f"{name}.weight") for name in ("W", "V", "A")}
    biases = [name for name in ("W.bias", "V.bias") if any(key.endswith(f"/{name}") for key in outcome.arrays)]
    if biases:  # a network may have none; those of one layer or step alone would open the wrong gates
        kept |= {name: snapshots(outcome, name) for name in ("W.bias", "V.bias")}
    steps = list(kept["W"])
    if 0 not in steps or any(list(found) != steps for found in kept.values()):
        raise InputError(
            "the run must have kept W, V and A with their biases at the same steps, 0 among them; "
            "ask for them with snapshot_at and snapshot_names"
        )
    prefix = "snapshot/{}/"
    return {
        step: ResNetWeights.of(
            {
                key.removeprefix(prefix.format(step)): torch.from_numpy(array)
                for key, array in outcome.arrays.items()
                if key.startswith(prefix.format(step))
            }
        )
        for step in steps
    }
