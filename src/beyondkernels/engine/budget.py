"""How much memory the training of a network needs, computed before any of it is allocated."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from beyondkernels.algorithms import Algorithm, Batch, Stage, declared_rule
from beyondkernels.algorithms.gradient import BLOCK
from beyondkernels.core import InputError, Shape, Stream, Tensors, UncacheableError, batch_shape, digest, size_of
from beyondkernels.engine.compiled.descent import is_kept
from beyondkernels.engine.compiled.smoothed import DRAWN_BYTES
from beyondkernels.engine.ensemble import _WORTH as WORTH
from beyondkernels.engine.tape import _BYTES as RECORDED
from beyondkernels.kernels.finite.memory import peak_bytes
from beyondkernels.networks import Network, declared_form, evaluation_block

if TYPE_CHECKING:
    from beyondkernels.engine.learner import TrainedNetwork

_SLACK = 1.1
"""The factor by which an allocator takes more than it is asked for."""

_NUMBER = 8
"""The most bytes of a number: some networks and samples are in double precision."""

_FEW = 1_000_000
"""So many weights are drawn at once rather than made without numbers, which loads PyTorch's compiler (two seconds)."""

_MOST = 2**60 // _NUMBER
"""The most weights whose bytes can be counted."""


@dataclasses.dataclass(frozen=True)
class Sizes:
    """The numbers of train and test points, the shape of inputs and the dimension of predictions."""

    samples: int
    tests: int
    in_dim: Shape
    out_dim: int


def initial_shapes(network: Network, algorithm: Algorithm, in_dim: Shape, out_dim: int) -> tuple[Tensors, Tensors]:
    """The parameters and buffers that training starts from, without their numbers: tensors that take no memory."""
    try:
        with torch.device("meta"):
            return algorithm.initialise(network, in_dim, out_dim, _Shapes(0))
    except RuntimeError:  # a user's module that reads a number while it is made; what else is wrong is said again here
        drawn = algorithm.initialise(network, in_dim, out_dim, Stream(0))
        params, buffers = ({name: value.to("meta") for name, value in part.items()} for part in drawn)
        return params, buffers


def initial_names(network: Network, algorithm: Algorithm, in_dim: Shape, out_dim: int) -> tuple[Tensors, Tensors]:
    """The parameters and buffers that training starts from, for their names: drawn if they are few."""
    units = network.footprint + size_of(in_dim) + out_dim
    if network.footprint and units**2 <= _FEW:  # weights are at most as many as pairs of units
        return algorithm.initialise(network, in_dim, out_dim, Stream(0))
    return initial_shapes(network, algorithm, in_dim, out_dim)


def bytes_needed(learner: TrainedNetwork, sizes: Sizes) -> int | None:
    """The most bytes that one member needs besides the samples; None if a step cannot be taken without numbers.

    A step is taken with tensors that have shapes but no numbers, and the memory that it would allocate is added up. For
    the compiled backend, its arrays are counted.
    """
    try:
        key = (*_identity(learner.network), learner.backend, sizes, *map(learner.algorithm.program, _stages(learner)))
        if key not in _known:
            _known[key] = _bytes_needed(learner, sizes)
        return _known[key]
    except (UncacheableError, TypeError):
        return _bytes_needed(learner, sizes)


_known: dict[Hashable, int | None] = {}


def require_memory(learner: TrainedNetwork, sizes: Sizes) -> None:
    """Refuse a training that needs more memory than allowed, and say which size would fit.

    Arguments:
        learner: its ``memory`` is what is allowed.
        sizes: of samples and dimensions.
    """
    rough = _rough(learner, sizes)
    if rough is not None and rough <= learner.memory:
        return
    needed = bytes_needed(learner, sizes)
    if needed is None or needed <= learner.memory:
        return
    which, fitting = _fitting(learner, sizes)
    if fitting is None:
        largest = max((stage.batch or sizes.samples) for stage in _stages(learner))
        advice = f"smaller batches than {largest} points or a smaller network would need less"
    else:
        advice = f"{which.partition('=')[0]} {fitting} would fit"
    raise InputError(f"{which} needs {readable(needed)}, memory allows {readable(learner.memory)}: {advice}")


def members_within(learner: TrainedNetwork, sizes: Sizes, wanted: int) -> int:
    """How many members fit into memory at once, each with a sample of its own; at least one.

    Arguments:
        learner: its ``memory`` is what is allowed.
        sizes: of samples and dimensions.
        wanted: the largest number that is useful.
    """
    # Members of a sweep may each have drawn a sample of their own, which the count of one training leaves out.
    own = _NUMBER * (sizes.samples + sizes.tests) * (size_of(sizes.in_dim) + sizes.out_dim)
    rough = _rough(learner, sizes)
    if rough is not None and wanted * (rough + own) <= learner.memory:
        return wanted
    needed = bytes_needed(learner, sizes)
    return wanted if needed is None else max(1, min(wanted, learner.memory // (needed + own)))


def readable(count: int) -> str:
    """A number of bytes, with its unit.

    >>> readable(2**33), readable(1500)
    ('8 GiB', '1.46 KiB')
    """
    size, units = float(count), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1000 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return f"{size:.3g} {units[0]}" if size < 1000 else f"{size:.0f} {units[0]}"


def _rough(learner: TrainedNetwork, sizes: Sizes) -> int | None:
    """A quick upper bound. For small networks it replaces the exact count, which takes seconds."""
    if not learner.network.footprint:  # a user's module: the size of its activations is not known
        return None
    one = learner.network.footprint + size_of(sizes.in_dim) + sizes.out_dim + 1
    points = max((stage.batch or sizes.samples) for stage in _stages(learner))
    numbers = max(points, evaluation_block(learner.network)) * one + (sizes.samples + sizes.tests) * sizes.out_dim
    # 40 leaves room for gradients, the optimiser's state and all intermediate results of a step.
    return _NUMBER * 40 * (one**2 + numbers) + RECORDED  # weights are at most as many as pairs of units


def _bytes_needed(learner: TrainedNetwork, sizes: Sizes) -> int | None:
    network, algorithm = learner.network, learner.algorithm
    count = _compiled if learner.backend == "compiled" else _eager
    try:
        params, buffers = initial_shapes(network, algorithm, sizes.in_dim, sizes.out_dim)
        with torch.device("meta"), torch.no_grad():
            # Evaluation may be the peak: it runs on large blocks of points, also where training takes small batches.
            evaluation = _evaluation(network, params, buffers, sizes)
            first, *later = _stages(learner)
            stages = [count(learner, first, params, buffers, sizes)]
            for stage in later:  # a transition may change shapes before it, so that the first ones do not fit
                with contextlib.suppress(InputError):
                    stages.append(count(learner, stage, params, buffers, sizes))
    except InputError:
        raise
    except Exception:  # a user's network may need numbers, and raise any error without them
        return None
    # Recorded steps of all stages stay until the training ends, so every peak carries those of the others.
    kept = sum(each.kept for each in stages)
    return int(_SLACK * max([evaluation + kept, *(each.peak + kept - each.kept for each in stages)]))


@dataclasses.dataclass(frozen=True)
class _Stage:
    """The bytes of a stage at its peak, and those that stay allocated until training ends."""

    peak: int
    kept: int = 0


def _eager(learner: TrainedNetwork, stage: Stage, params: Tensors, buffers: Tensors, sizes: Sizes) -> _Stage:
    network, algorithm = learner.network, learner.algorithm
    optimiser = algorithm.optimiser_state(stage, params)
    points = stage.batch or sizes.samples
    noise = algorithm.noise(stage, network, params, points, _Shapes(0))
    state = _bytes(params) + _bytes(buffers) + _bytes(optimiser)
    batch = _batch(sizes, points, _dtype(params))
    given = _bytes(noise) + sum(part.nbytes for part in batch)
    alone = network.batching == "sequential"
    # blocks of points follow each other, so two of them show the peak of any number
    shown = points if alone else min(points, 2 * BLOCK)
    few = Batch(*(part[:shown] for part in batch))
    some = {name: value[:shown] if name == "noise" else value for name, value in noise.items()}
    hyper = {name: torch.empty(()) for name in algorithm.hyper(stage, 1)}
    inputs = (params, buffers, optimiser, few, some, hyper)
    step = functools.partial(algorithm.step, stage, network)
    with _Results() as results:
        if alone:
            peak = peak_bytes(lambda: step(*inputs))
        else:
            ensemble = tree_map(lambda tensor: tensor.unsqueeze(0), inputs)
            peak = peak_bytes(lambda: torch.func.vmap(step)(*ensemble))
    if alone:  # the member's state, and a copy that steps overwrite while the member's is still there
        return _Stage(3 * state + given + peak)
    if stage.steps < WORTH:
        return _Stage(2 * state + given + peak)
    # Three copies of the state and the inputs exist at once: the member's, the ensemble's, and the one that a step is
    # recorded from. While a step is recorded, all its results are kept, unless they are too many. The memory of
    # the recorded step then stays until the end.
    blocks = -(-points // shown)
    recorded = min(blocks * results.new, RECORDED)
    kept = state + given + peak if blocks * results.all <= RECORDED else 0
    return _Stage(2 * state + 2 * given + max(recorded + peak, state + (kept or peak)), kept)


def _compiled(learner: TrainedNetwork, stage: Stage, params: Tensors, buffers: Tensors, sizes: Sizes) -> _Stage:
    """The bytes of the state, its packed copy and its parts, a batch, kept layers, and the order of the points."""
    network, form = learner.network, declared_form(learner.network)
    assert form is not None
    state = _bytes(params) + _bytes(buffers) + _bytes(learner.algorithm.optimiser_state(stage, params))
    points = stage.batch or sizes.samples
    numbers = network.footprint + (8 if form.linearised else 4) * form.width
    activations = 4 * points * (numbers + size_of(sizes.in_dim) + 4 * sizes.out_dim)
    kept = 4 * sizes.samples * network.footprint if _keeps(learner, stage, params, sizes) else 0
    order = 8 * points * (2 * -(-stage.steps // 20) if stage.batch else 1)
    return _Stage(2 * state + 2 * _bytes(params) + activations + kept + order + _drawn(learner, stage, params, points))


def _drawn(learner: TrainedNetwork, stage: Stage, params: Tensors, points: int) -> int:
    """The random numbers of the steps for which they are drawn at once."""
    one = _bytes(learner.algorithm.noise(stage, learner.network, params, points, _Shapes(0)))
    return max(one, DRAWN_BYTES) + 3 * _bytes(params) if one else 0


def _keeps(learner: TrainedNetwork, stage: Stage, params: Tensors, sizes: Sizes) -> bool:
    """Whether the compiled backend computes the frozen layers once for all points and keeps their outputs."""
    network, form = learner.network, declared_form(learner.network)
    rule = declared_rule(learner.algorithm, stage)
    if form is None or rule is None or rule.kind != "descent":
        return False
    first = f"{form.layers[0]}.weight"
    still = form.linearised or first not in network.trained(rule.group, params)
    uses = stage.steps * (stage.batch or sizes.samples)
    return still and is_kept(uses, sizes.samples, network.footprint)


def _evaluation(network: Network, params: Tensors, buffers: Tensors, sizes: Sizes) -> int:
    n = max(sizes.samples, sizes.tests)
    x = torch.empty(batch_shape(min(n, evaluation_block(network)), sizes.in_dim), dtype=_dtype(params))
    peak = peak_bytes(lambda: network.apply(params, buffers, x, train=False))
    outputs = x.itemsize * n * sizes.out_dim
    return 2 * _bytes(params) + _bytes(buffers) + peak + 4 * outputs  # the optimiser's state has the size of params


def _fitting(learner: TrainedNetwork, sizes: Sizes) -> tuple[str, int | None]:
    """The field that is too large, and the largest value that fits, to two digits."""
    network, value = learner.network, learner.network.size
    if value is None:
        return getattr(network, "name", None) or type(network).__name__, None
    # Memory grows with the size, so a bisection finds the border: a dozen counts rather than one for every size.
    low, high = 0, value
    while high - low > 1:
        middle = (low + high) // 2
        needed = bytes_needed(dataclasses.replace(learner, network=network.resized(middle)), sizes)
        if needed is not None and needed <= learner.memory:
            low = middle
        else:
            high = middle
    digits = 10 ** max(0, len(str(low)) - 2)
    return f"{network.grows_by}={value}", low // digits * digits or None


def _stages(learner: TrainedNetwork) -> tuple[Stage, ...]:
    return learner.algorithm.stages()


def _identity(network: Network) -> tuple[Hashable, ...]:
    return (digest(network),)


def _batch(sizes: Sizes, points: int, dtype: torch.dtype) -> Batch:
    labels = (points,) if sizes.out_dim == 1 else (points, sizes.out_dim)
    return Batch(torch.empty(batch_shape(points, sizes.in_dim), dtype=dtype), torch.empty(labels, dtype=dtype))


def _dtype(params: Tensors) -> torch.dtype:
    """That of the widest parameters; points and predictions have it too, as far as is known before they are drawn."""
    return max((value.dtype for value in params.values()), key=lambda dtype: dtype.itemsize, default=torch.float32)


def _bytes(tensors: Tensors) -> int:
    return sum(tensor.nbytes for tensor in tensors.values())


class _Shapes(Stream):
    """A stream that returns tensors with shapes but without numbers."""

    # Tensors without numbers are alike, so no stream needs to be told from another.
    def child(self, *names: str) -> Stream:
        return self

    def at(self, step: int) -> Stream:
        return self

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        if math.prod(shape) > _MOST:  # even a tensor without numbers counts its bytes in 64 bits
            raise InputError(f"weights of shape {shape} fit into no memory; a narrower network would")
        return torch.empty(shape, dtype=dtype, device="meta")

    uniform = normal

    def integers(self, high: int, *shape: int) -> torch.Tensor:
        return torch.empty(shape, dtype=torch.int64, device="meta")

    def permutation(self, n: int) -> torch.Tensor:
        return torch.empty(n, dtype=torch.int64, device="meta")


class _Results(TorchDispatchMode):
    """Adds up the bytes of all results, and separately of the results that allocate new memory."""

    def __init__(self) -> None:
        super().__init__()
        self.all = self.new = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        given = {_memory(leaf) for leaf in tree_leaves(args) if isinstance(leaf, torch.Tensor)}
        for leaf in tree_leaves(out):
            if isinstance(leaf, torch.Tensor):
                self.all += leaf.nbytes
                self.new += leaf.nbytes if _memory(leaf) not in given else 0
        return out


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata  # noqa: SLF001 - there is no other name for it
