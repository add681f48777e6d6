"""The gradient of a network at a batch of points, in factors: each layer's input, and the slope at its output."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from beyondkernels.core import Stream, Tensors, require
from beyondkernels.networks import Network, Use, recorded


@dataclass(frozen=True)
class Factor:
    r"""The gradients of one layer at n points, as outer products :math:`\delta_c(x) \otimes h(x)`.

    Arguments:
        inputs: h, shape (n, p).
        changes: :math:`\delta_c = \partial f_c / \partial z`, the derivatives in the layer's output, shape (n, k, m).
    """

    inputs: torch.Tensor
    changes: torch.Tensor


@dataclass(frozen=True)
class Common:
    r"""Gradients in the rows of a weight that all outputs have in common, up to a number: :math:`A_{cm} v_m(x)`.

    Arguments:
        rows: v, shape (n, m, p).
        readout: A, shape (k, m), the same at all points.
    """

    rows: torch.Tensor
    readout: torch.Tensor


@dataclass(frozen=True)
class Formed:
    """Gradients that are written out, parameter by parameter.

    Arguments:
        gradients: shape (n, k, parameters).
    """

    gradients: torch.Tensor


Layer = list[Factor] | Common | Formed
"""The gradient of a layer: a sum of factors, more than one where the layer is used more than once, or another form."""

Factors = list[Layer]
"""The gradients of all trained layers."""


class Gradient(ABC):
    """The gradient of a function of points in some of its parameters, as factors.

    ``chunk`` is the number of points that are worked on at one time, None for all that are given. ``looking`` is how
    many bytes were taken to find out how to go about it.
    """

    dtype: torch.dtype
    chunk: int | None = None
    looking: int = 0

    @abstractmethod
    def at(self, x: torch.Tensor) -> Factors:
        """The factors of a batch of points."""

    @abstractmethod
    def fixed_bytes(self) -> int:
        """Memory that is needed before and beside ``at``: parameters, and what checking takes."""


class LayerGradient(Gradient):
    r"""The structured route. It never forms the derivative in a parameter.

    A parameter enters a network of the package only through :func:`~beyondkernels.networks.linear`, z = W h + s·b, so

    .. math:: \nabla_W f_c = \delta_c\,h^\top, \qquad \nabla_b f_c = s\,\delta_c, \qquad
              \delta_c = \partial f_c / \partial z,

    and the inner product of two gradients is :math:`\langle\delta_c, \delta'_{c'}\rangle (\langle h, h'\rangle + s^2)`.

    Arguments:
        network: the network.
        params: its parameters.
        buffers: its buffers.
        names: the parameters in which derivatives are taken.
        dtype: of all arithmetic.
    """

    def __init__(
        self, network: Network, params: Tensors, buffers: Tensors, names: Sequence[str], dtype: torch.dtype
    ) -> None:
        self._network, self.dtype = network, dtype
        self._params = {name: value.detach().to(dtype) for name, value in params.items()}
        self._buffers = {
            name: value.to(dtype) if value.is_floating_point() else value for name, value in buffers.items()
        }
        self._names = {id(self._params[name]): name for name in names}

    def at(self, x: torch.Tensor) -> Factors:
        """One pass forward, and one backward for each output."""
        out, uses = self._run(x)
        outputs = [use.output for use in uses]
        changes = [x.new_empty(len(x), out.shape[1], z.shape[1]) for z in outputs]
        for c in range(out.shape[1]):
            last = c == out.shape[1] - 1
            gradients = torch.autograd.grad(out[:, c].sum(), outputs, retain_graph=not last, materialize_grads=True)
            for change, gradient in zip(changes, gradients, strict=True):
                change[:, c] = gradient
        layers: dict[int, list[Factor]] = {}
        for use, change in zip(uses, changes, strict=True):
            layers.setdefault(id(use.weight), []).append(Factor(self._inputs(use), change))
        return list(layers.values())

    def holds(self, x: torch.Tensor) -> bool:
        """True if the factors equal the gradient at random points of the size of x.

        They are not when a parameter enters the network in another way too, or when points of a batch meet. Points of
        the user's own could hide that: at zero, or where all neurons are silent, every gradient agrees.
        """
        drawn = Stream(0).child("check").normal(2, *x.shape[1:], dtype=torch.float64)
        x = (drawn * (x.square().mean().sqrt() or 1.0)).to(self.dtype)
        leaves = {name: value.detach().requires_grad_() for name, value in self._params.items()}
        names = list(self._names.values())
        with torch.enable_grad():
            out = self._network.apply(leaves, self._buffers, x[:1])[0]
            w = torch.cos(torch.arange(out.shape[1], dtype=self.dtype))  # any weights will do that no output escapes
            gradients = torch.autograd.grad(
                (out[0] * w).sum(), [leaves[name] for name in names], materialize_grads=True
            )
            out, uses = self._run(x)
            changes = torch.autograd.grad((out * w).sum(), [use.output for use in uses], materialize_grads=True)
        rest = dict(zip(names, gradients, strict=True))
        sizes = {name: largest(gradient) for name, gradient in rest.items()}
        for use, change in zip(uses, changes, strict=True):
            if id(use.weight) in self._names:
                rest[self._names[id(use.weight)]].addmm_(change[:1].T, use.input[:1].detach(), alpha=-1)
            if use.bias is not None and id(use.bias) in self._names:
                rest[self._names[id(use.bias)]].sub_(change[0], alpha=use.bias_scale)
        tolerance = torch.finfo(self.dtype).eps ** 0.5
        return _layers_are_apart(uses) and all(largest(rest[name]) <= tolerance * sizes[name] for name in names)

    def fixed_bytes(self) -> int:
        """The parameters, and their gradient at one point in ``holds``."""
        return 2 * sum(value.numel() * value.element_size() for value in self._params.values())

    def _run(self, x: torch.Tensor) -> tuple[torch.Tensor, list[Use]]:
        x = x.detach().clone().requires_grad_()  # so that every layer's output has a derivative
        with torch.enable_grad(), recorded() as uses:
            out = self._network.apply(self._params, self._buffers, x)[0]
        wanted = [use for use in uses if id(use.weight) in self._names or id(use.bias) in self._names]
        return out, wanted

    def _inputs(self, use: Use) -> torch.Tensor:
        """h, with s as one more entry where biases count: ⟨h, h′⟩ + s²."""
        columns = []
        if id(use.weight) in self._names:
            columns.append(use.input.detach())
        if use.bias is not None and id(use.bias) in self._names:
            columns.append(use.input.new_full((len(use.input), 1), use.bias_scale))
        return torch.cat(columns, 1) if len(columns) > 1 else columns[0]


class JacobianGradient(Gradient):
    """The plain route for any function: torch.func's Jacobian, block by block.

    Arguments:
        function: (parameters, one point) ↦ (k,).
        params: the parameters in which derivatives are taken.
        dtype: of all arithmetic.
    """

    def __init__(self, function: Callable[[Tensors, torch.Tensor], torch.Tensor], params: Tensors, dtype: torch.dtype):
        self._function, self.dtype = function, dtype
        self._params = {name: value.detach().to(dtype) for name, value in params.items()}

    def at(self, x: torch.Tensor) -> Factors:
        return [Formed(self.jacobian(x))]

    def jacobian(self, x: torch.Tensor) -> torch.Tensor:
        """The derivatives of all outputs in all parameters, (n, k, parameters)."""
        return torch.cat([part.flatten(2) for part in self._derivatives(self._function, x).values()], 2).detach()

    def holds(self, points: torch.Tensor) -> bool:
        """True if the Jacobian of two sums of outputs equals plain gradients at these points, three or more.

        torch.func vectorises some layers wrongly. That is seen, or raised, where there are more points than outputs;
        as many points as outputs may be taken for one another. So the outputs are two, however many there are.
        """
        try:
            found = self._derivatives(self._two_sums, points)
        except Exception:  # whatever the user's module raises under torch.func
            return False
        largest_ones = {name: largest(value) for name, value in found.items()}
        tolerance = torch.finfo(self.dtype).eps ** 0.5
        plain = OneByOneGradient(self._two_sums, self._params, self.dtype)
        return all(
            largest(found[name][i, c] - gradient) <= tolerance * largest_ones[name]
            for i, point in enumerate(points)
            for c, gradients in enumerate(plain.gradients(point))
            for name, gradient in gradients.items()
        )

    def fixed_bytes(self) -> int:
        return sum(value.numel() * value.element_size() for value in self._params.values())

    def _derivatives(self, function: Callable[[Tensors, torch.Tensor], torch.Tensor], x: torch.Tensor) -> Tensors:
        with warnings.catch_warnings(), sdpa_kernel(SDPBackend.MATH):  # no other attention can be vectorised
            warnings.filterwarnings("ignore", "There is a performance drop", UserWarning)  # rare operations: be it
            return torch.func.vmap(torch.func.jacrev(function), (None, 0))(self._params, x)

    def _two_sums(self, params: Tensors, point: torch.Tensor) -> torch.Tensor:
        """Sums with weights that no output escapes."""
        out = self._function(params, point)
        steps = torch.arange(len(out), dtype=out.dtype)
        return torch.stack([torch.cos(steps), torch.sin(steps + 1)]) @ out


class OneByOneGradient(JacobianGradient):
    """The slow route, for what torch.func cannot do: one pass forward for each point, one backward for each output."""

    def __init__(self, function: Callable[[Tensors, torch.Tensor], torch.Tensor], params: Tensors, dtype: torch.dtype):
        super().__init__(function, params, dtype)
        for value in self._params.values():
            value.requires_grad_()

    def jacobian(self, x: torch.Tensor) -> torch.Tensor:
        rows = None
        for i, point in enumerate(x):
            outputs = self._run(point)
            if rows is None:
                size = sum(value.numel() for value in self._params.values())
                rows = torch.empty(len(x), len(outputs), size, dtype=self.dtype)
            for row, gradients in zip(rows[i], self._backward(outputs), strict=True):
                torch.cat([gradient.flatten() for gradient in gradients.values()], out=row)
        assert rows is not None, "there are points"
        return rows

    def gradients(self, point: torch.Tensor) -> Iterator[Tensors]:
        """The gradient of each output at one point, by the names of parameters."""
        return self._backward(self._run(point))

    def _run(self, point: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Each output on its own."""
        with torch.enable_grad():
            return self._function(self._params, point).unbind()

    def _backward(self, outputs: tuple[torch.Tensor, ...]) -> Iterator[Tensors]:
        leaves = list(self._params.values())
        for c, output in enumerate(outputs):
            if output.requires_grad:
                more = c < len(outputs) - 1
                found = torch.autograd.grad(output, leaves, retain_graph=more, materialize_grads=True)
            else:
                found = [torch.zeros_like(leaf) for leaf in leaves]  # no parameter reaches an output
            yield dict(zip(self._params, found, strict=True))


def largest(values: torch.Tensor) -> float:
    """The largest entry in size, without a copy; NaN if there is one."""
    return torch.linalg.vector_norm(values, math.inf).item() if values.numel() else 0.0


def _is_finite(values: torch.Tensor) -> bool:
    """Whether all numbers are finite. A sum is quicker than the largest, which counts where the sum overflows."""
    return math.isfinite(values.sum().item()) or math.isfinite(largest(values))


def tensors_of(layer: Layer) -> list[torch.Tensor]:
    """All numbers of a layer that grow with the points."""
    if isinstance(layer, Common):
        return [layer.rows]
    if isinstance(layer, Formed):
        return [layer.gradients]
    return [part for factor in layer for part in (factor.inputs, factor.changes)]


def outputs_of(layer: Layer) -> int:
    """How many outputs a layer's gradient is taken of."""
    if isinstance(layer, Common):
        return len(layer.readout)
    return (layer.gradients if isinstance(layer, Formed) else layer[0].changes).shape[1]


def require_finite_factors(factors: Factors) -> Factors:
    """Ask that no number of the factors is infinite or NaN."""
    for layer in factors:
        for part in tensors_of(layer):
            require(
                _is_finite(part), "the network's gradient must be finite at these points, got infinite or NaN entries"
            )
    return factors


def _layers_are_apart(uses: list[Use]) -> bool:
    """Whether each weight comes with one bias and each bias with one weight, so that layers can be told by either."""
    biases: dict[int, int] = {}
    weights: dict[int, int] = {}
    for use in uses:
        weight, bias = id(use.weight), id(use.bias) if use.bias is not None else 0
        if biases.setdefault(weight, bias) != bias or (bias and weights.setdefault(bias, weight) != weight):
            return False
    return True
