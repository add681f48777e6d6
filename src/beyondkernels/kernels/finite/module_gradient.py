"""The gradient of a user's module in factors: by known layers, and by torch.func or point by point in the rest."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import torch

from beyondkernels.core import InputError, Tensors
from beyondkernels.kernels.finite.calls import Call, Recorder
from beyondkernels.kernels.finite.factors import Common, Factor, Factors, Formed, Gradient, OneByOneGradient, largest
from beyondkernels.kernels.finite.gradient_choice import checked_jacobian, others
from beyondkernels.kernels.finite.layers import Layout, by_point, layout, weight_gradient
from beyondkernels.kernels.finite.memory import peak_bytes

Function = Callable[[Tensors, torch.Tensor], torch.Tensor]
"""(parameters, points (n, …)) ↦ outputs (n, …)."""

_NUMBERS = 2**23
"""Intermediate numbers of the points that pass through the module together: they should stay in the cache."""

_POINTWISE = 16
"""How many multiplications of a matrix product take as long as one multiplication that reads and writes memory."""

_ROUNDING = 1000
"""By how many units in the last place proportional gradients may differ."""


@dataclass(frozen=True)
class _Pair:
    """A weight, and perhaps its bias, whose gradients stay products of two vectors.

    Arguments:
        weight: its name.
        bias: its name; None where the gradient in it is formed, or not wanted.
        inputs: the size of the layer's input, with a constant that stands for the bias.
        channels: of the layer's output.
        positions: in all calls together.
    """

    weight: str
    bias: str | None
    inputs: int
    channels: int
    positions: int


class NotCommonError(Exception):
    """The outputs' gradients are not proportional at all points, as they were at random ones."""


class ModuleGradient(Gradient):
    r"""The gradient of any function of parameters and points, fast where parameters enter through known layers.

    A layer's weight meets an input :math:`h_q` at each position q, so its gradient is
    :math:`\sum_q \delta_{c,q} h_q^\top` (:func:`weight_gradient`). One pass forward and one backward for each output
    give all :math:`\delta` of a batch, because points do not meet. For each weight the cheaper of two ways is taken:
    the gradient is formed, or the products stay apart and the kernel is a sum over pairs of positions,

    .. math:: \sum_{q, q'} \langle\delta_{c,q}, \delta'_{c',q'}\rangle \langle h_q, h'_{q'}\rangle.

    Where a channel reaches all outputs through one number, as before a mean over positions and a linear readout, the
    gradients of the outputs are proportional, and one of them is enough (:class:`Common`). That is found out at random
    points too, and watched at all others.

    Calls that share a weight are added up before they are multiplied. Whether the layers account for the whole
    gradient is found out at random points, parameter by parameter. In the others torch.func differentiates, which is
    compared with plain gradients too. Where it fails, each point and output has a pass backward of its own.

    Arguments:
        function: the function.
        params: the parameters in which derivatives are taken.
        x: points, at least one, which say the shape and the size of inputs.
        outputs: what the kernel will be, ``traced`` or ``full``: it decides which way is cheaper.
        dtype: of all arithmetic.
        common: whether to look for proportional gradients.
    """

    def __init__(
        self,
        function: Function,
        params: Tensors,
        x: torch.Tensor,
        outputs: Literal["traced", "full"],
        dtype: torch.dtype,
        *,
        common: bool = True,
    ) -> None:
        self._common: dict[str, tuple[torch.Tensor, str | None]] = {}
        self._look_for_common = common
        self._traced = outputs == "traced"
        self._function, self.dtype = function, dtype
        self._params = {name: value.detach().to(dtype).requires_grad_() for name, value in params.items()}
        self._layouts: list[Layout | None] = []
        self._order: list[tuple[str | None, str | None]] = []
        self._pairs: dict[str, _Pair] = {}
        self._products: dict[str, tuple[int, int]] = {}
        self._columns: dict[str, slice] = {}
        self.by_layers: frozenset[str] = frozenset()
        # A module that takes only one point at a time fails here. torch.func then says what is wrong, if anything is.
        with contextlib.suppress(RuntimeError, ValueError, TypeError, IndexError):
            self.looking = peak_bytes(lambda: self._look(x, outputs))
        rest = {name: value for name, value in params.items() if name not in self.by_layers}
        self._rest = None
        if rest:
            self._rest, checking = checked_jacobian(self._at_one_point, rest, x, dtype)
            self.looking = max(self.looking, checking)
        if isinstance(self._rest, OneByOneGradient) and self.by_layers:
            self.chunk = 1  # so that what the layers take does not grow either, and one point tells it all
        self._width = sum(columns.stop - columns.start for columns in self._columns.values())
        self._rest_width = sum(value.numel() for value in rest.values())

    def at(self, x: torch.Tensor) -> Factors:
        """A pass forward and one backward for each output, for a few points at a time."""
        if not self.by_layers:
            assert self._rest is not None, "there are parameters"
            return self._rest.at(x)
        n, k = len(x), self._outputs
        formed = torch.empty(n, k, self._width + self._rest_width, dtype=self.dtype)
        apart = {
            name: (
                torch.empty(pair.positions, n, pair.inputs, dtype=self.dtype),
                torch.empty(pair.positions, n, k, pair.channels, dtype=self.dtype),
            )
            for name, pair in self._pairs.items()
        }
        products = {
            name: torch.empty(n, k * channels, inputs, dtype=self.dtype)
            for name, (channels, inputs) in self._products.items()
        }
        rows = {
            name: torch.empty(n, readout.shape[1], self._inputs(name) + (bias is not None), dtype=self.dtype)
            for name, (readout, bias) in self._common.items()
        }
        step = self.chunk or n
        for start in range(0, n, step):
            at = slice(start, min(start + step, n))
            now = {name: (h[:, at], d[:, at]) for name, (h, d) in apart.items()}
            whole = ({name: value[at] for name, value in each.items()} for each in (products, rows))
            self._fill(x[at], formed[at], now, *whole)
        layers: Factors = [[Factor(h, d) for h, d in zip(*pair, strict=True)] for pair in apart.values()]
        for name, v in rows.items():
            readout = self._common[name][0]
            if self._traced:  # the mean of squares over outputs is a number for each row
                v *= readout.square().mean(0).sqrt()[:, None]
                layers.append(Formed(v.flatten(1)[:, None]))
            else:
                layers.append(Common(v, readout))
        layers += [Formed(product.view(n, k, -1)) for product in products.values()]
        return [*layers, Formed(formed)] if formed.shape[2] else layers

    def fixed_bytes(self) -> int:
        return 2 * sum(value.numel() * value.element_size() for value in self._params.values())

    def _at_one_point(self, params: Tensors, point: torch.Tensor) -> torch.Tensor:
        return self._function(params, point[None]).reshape(-1)

    def _run(self, x: torch.Tensor) -> tuple[torch.Tensor, list[Call]]:
        with torch.enable_grad(), Recorder(self._params) as recorder:
            out = self._function(self._params, x)
        return out.reshape(len(x), -1), recorder.calls

    def _used(self, calls: list[Call], names: Iterable[str]) -> list[tuple[Call, Layout]]:
        """The calls with one of these parameters."""
        wanted = set(names)
        pairs = zip(calls, self._layouts, strict=True)
        return [(call, where) for call, where in pairs if where is not None and wanted & {call.weight, call.bias}]

    def _fill(
        self,
        x: torch.Tensor,
        formed: torch.Tensor,
        apart: dict[str, tuple[torch.Tensor, torch.Tensor]],
        products: dict[str, torch.Tensor],
        rows: dict[str, torch.Tensor],
    ) -> None:
        """Write the gradients at a few points."""
        out, calls = self._run(x)
        if _order(calls) != self._order:
            raise InputError("the module must call the same layers for all points, and at these it calls others")
        used = self._used(calls, self.by_layers)
        changes = _changes(out, used)
        del out, calls  # and with them what was kept for the passes backward
        begun: set[str] = set()
        filled = dict.fromkeys(apart, 0)
        for (call, where), change in zip(used, changes, strict=True):
            if call.weight in self._pairs:
                pair, (h, d) = self._pairs[call.weight], apart[call.weight]
                at = slice(filled[call.weight], filled[call.weight] + where.positions)
                filled[call.weight] = at.stop
                seen = by_point(call.input(), call, where, len(x))
                h[at, :, : seen.shape[1]] = seen.permute(2, 0, 1)
                h[at, :, seen.shape[1] :] = 1.0  # what a bias meets
                d[at] = change.permute(3, 0, 1, 2)
                if pair.bias is not None:
                    continue
            elif call.weight in self._common:
                readout, bias = self._common[call.weight]
                one, sums = the_common(change, readout)
                seen = by_point(call.input(), call, where, len(x))
                rows[call.weight][:, :, : seen.shape[1]] = torch.bmm(one, seen.mT)
                if bias is not None:
                    rows[call.weight][:, :, -1] = sums
                    continue
            elif call.weight in self._products:
                seen = by_point(call.input(), call, where, len(x))
                torch.bmm(change.flatten(1, 2), seen.mT, out=products[call.weight])
            elif call.weight in self._columns:
                self._write(formed, call.weight, weight_gradient(change, call, where), begun)
            if call.bias in self._columns:
                self._write(formed, call.bias, change.sum(3), begun)
        if self._rest is not None:
            formed[:, :, self._width :] = self._rest.jacobian(x)

    def _write(self, formed: torch.Tensor, name: str, gradient: torch.Tensor, begun: set[str]) -> None:
        columns = formed[:, :, self._columns[name]]
        if name in begun:
            columns += gradient
        else:
            columns.copy_(gradient)
            begun.add(name)

    def _look(self, x: torch.Tensor, outputs: Literal["traced", "full"]) -> None:
        """Find the layers, and the parameters for which they account, and choose a way for each."""
        points = others(x, self.dtype)
        two, (out, three) = self._run(points[:2])[1], self._run(points)
        self._outputs, self._order = out.shape[1], _order(three)
        if _order(two) != self._order:
            return
        self._layouts = [layout(a, b) for a, b in zip(two, three, strict=True)]
        lost = {
            name for names, where in zip(self._order, self._layouts, strict=True) if where is None for name in names
        }
        seen = {name for names in self._order for name in names}
        names = [name for name in self._params if name in seen - lost]
        used = self._used(three, names)
        changes = _changes(out, used)
        found = self._accounted(points[:1], used, changes, names)
        readouts = [common_readout(change) if self._look_for_common else None for change in changes]
        if not found:
            return
        self._choose(used, readouts, found, outputs)
        used = self._used(three, found)
        each = sum(self._outputs * where.channels * where.positions for _, where in used)
        self.chunk = max(1, min(64, _NUMBERS // max(1, each)))
        self.by_layers = frozenset(found)

    def _accounted(
        self, point: torch.Tensor, used: list[tuple[Call, Layout]], changes: list[torch.Tensor], names: list[str]
    ) -> list[str]:
        """The parameters whose gradient at a point, alone in its batch, is that of the layers among other points."""
        if not names:
            return []
        w = torch.cos(torch.arange(self._outputs, dtype=self.dtype))  # any weights will do that no output escapes
        with torch.enable_grad():
            alone = self._function(self._params, point).reshape(-1)
            leaves = [self._params[name] for name in names]
            truth = torch.autograd.grad((alone * w).sum(), leaves, materialize_grads=True)
        left = {name: gradient.flatten().clone() for name, gradient in zip(names, truth, strict=True)}
        sizes = {name: largest(gradient) for name, gradient in left.items()}
        for (call, where), each in zip(used, changes, strict=True):
            change = torch.einsum("nkmq,k->nmq", each, w)[:, None]
            if call.weight in left:
                left[call.weight] -= weight_gradient(change, call, where)[0, 0]
            if call.bias in left:
                left[call.bias] -= change[0, 0].sum(1)
        tolerance = torch.finfo(self.dtype).eps ** 0.5
        return [name for name in names if largest(left[name]) <= tolerance * sizes[name]]

    def _inputs(self, weight: str) -> int:
        return self._params[weight].numel() // self._common[weight][0].shape[1]

    def _choose(
        self,
        used: list[tuple[Call, Layout]],
        readouts: list[torch.Tensor | None],
        names: list[str],
        outputs: Literal["traced", "full"],
    ) -> None:
        """Which gradients are formed and which stay products: what takes fewer multiplications a pair of points."""
        entries = self._outputs**2 if outputs == "full" else 1
        rows = self._outputs**2 if outputs == "full" else self._outputs
        joined: set[str | None] = set()
        for name in names:
            calls = [(call, where) for call, where in used if call.weight == name]
            if not calls or any(call.groups > 1 or call.diagonal for call, _ in calls):
                continue
            if len({call.transposed for call, _ in calls}) > 1:
                continue
            plain = len(calls) == 1 and not calls[0][0].transposed
            m, positions = calls[0][1].channels, sum(where.positions for _, where in calls)
            p = self._params[name].numel() // m
            biases = {call.bias for call, _ in calls}
            elsewhere = {call.bias for call, _ in used if call.weight != name}
            bias = biases.pop() if len(biases) == 1 and not biases & elsewhere else None
            bias = bias if bias in names else None
            readout = next(one for one, (call, _) in zip(readouts, used, strict=True) if call.weight == name)
            if positions == 1 or positions**2 * (p + rows * m + entries * _POINTWISE) < rows * m * p:
                self._pairs[name] = _Pair(name, bias, p + (bias is not None), m, positions)
                joined.add(bias)
            elif plain and readout is not None:
                self._common[name] = (readout, bias)
                joined.add(bias)
            elif plain:
                self._products[name] = (m, p)
        start = 0
        for name in names:
            if name not in {*self._pairs, *self._common, *self._products, *joined}:
                self._columns[name] = slice(start, start + self._params[name].numel())
                start = self._columns[name].stop


def _order(calls: list[Call]) -> list[tuple[str | None, str | None]]:
    return [(call.weight, call.bias) for call in calls]


def _changes(out: torch.Tensor, used: list[tuple[Call, Layout]]) -> list[torch.Tensor]:
    """The derivatives of all outputs (n, k) in the output of each call, (n, k, channels, positions)."""
    n, k = out.shape
    found = [torch.empty(n, k, where.channels, where.positions, dtype=out.dtype) for _, where in used]
    edges = [call.output for call, _ in used]
    for c in range(k):
        slopes = torch.autograd.grad(out[:, c].sum(), edges, retain_graph=c < k - 1, allow_unused=True)
        for change, slope, (call, where) in zip(found, slopes, used, strict=True):
            change[:, c] = 0.0 if slope is None else by_point(slope, call, where, n)
    return found


def common_readout(changes: torch.Tensor) -> torch.Tensor | None:
    """The numbers by which the gradients of outputs differ, (k, m), at most 1; None if they differ otherwise.

    Arguments:
        changes: the derivatives (n, k, m, q) in a layer's output, at random points.
    """
    k, m = changes.shape[1:3]
    D = changes.permute(2, 1, 0, 3).reshape(m, k, -1)
    sizes = torch.linalg.vector_norm(D, dim=2)
    if k == 1 or not sizes.amax(1).min() > 0:
        return None  # a silent channel says nothing
    largest_one = D[torch.arange(m), sizes.argmax(1)]
    A = (D @ largest_one[..., None])[..., 0] / largest_one.square().sum(1, keepdim=True)
    left = torch.linalg.vector_norm(D - A[..., None] * largest_one[:, None], dim=2)
    tolerance = _ROUNDING * torch.finfo(changes.dtype).eps
    return A.T.contiguous() if (left <= tolerance * sizes.amax(1, keepdim=True)).all() else None


def the_common(changes: torch.Tensor, readout: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What the gradients of all outputs have in common, (n, m, q), and its sum over positions, (n, m).

    Sums over positions are what is compared with the readout, at every point.
    """
    m = changes.shape[2]
    one = changes[:, readout.abs().argmax(0), torch.arange(m)]
    sums, all_sums = one.sum(2), changes.sum(3)
    tolerance = _ROUNDING * torch.finfo(changes.dtype).eps
    if not largest(all_sums - readout * sums[:, None]) <= tolerance * largest(all_sums):
        raise NotCommonError
    return one, sums
