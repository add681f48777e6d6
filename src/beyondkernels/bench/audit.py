"""``bk bench audit``: what an audit of a user's own module needs, against the usual recipes.

The module has three convolutions of 32 channels, 3 × 3, and ten outputs, which a linear layer takes from channel means
(``pooled``) or from all pixels (``flat``). There are 500 images of 28 × 28 pixels.

PyTorch's tutorial has a recipe for tangent kernels. It takes the Jacobian of both sides, of all points at once
(``as published``). A square matrix needs one side only, and a few points at a time stay in the cache: that is the
recipe ``tuned``, which is faster.

Where the time goes: all ways pass backward once for each output. The recipe then forms the gradient in every weight
and multiplies all gradients with all others. By layers, the gradient of a linear layer is never formed, half of the
products is enough, and no convolution is computed in groups. With channel means the linear layer is small. The tuned
recipe and the way by layers then mostly compute the same matrix products. So their ratio stays near that of their
sizes.

Training by ``bk.fit`` is compared with a loop written by hand (:mod:`beyondkernels.bench.training`).

A further comparison is a function that gives a :class:`Row`, and a line in :func:`rows`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Literal

import torch
from torch import nn

from beyondkernels.bench import training
from beyondkernels.bench.base import Row
from beyondkernels.bench.timing import alternating, megabytes, memory_ratio
from beyondkernels.core import Stream, seeded_globally
from beyondkernels.core.threads import one_thread
from beyondkernels.kernels import module_tangent_gram

Head = Literal["pooled", "flat"]
Outputs = Literal["full", "traced"]

BUDGET = 2_000_000_000
"""Bytes that our route may take."""

TUNED = 5
"""Points whose Jacobian the tuned recipe takes at once: the fastest of 1, 2, 5, 10, 20, 50 and 100."""

_HERE = "beyondkernels.bench.audit"
_STREAM = Stream(0).child("bench")
_POINTS = 500


def rows() -> Iterator[Row]:
    """Each row when it has been measured; about 25 minutes in all, and 14 GB for the recipe with all pixels."""
    with one_thread():
        for name in training.training_cases():
            yield training.training(name)
        yield tangent("pooled", "full")
        yield tangent("pooled", "traced")
        yield tangent("flat", "traced")  # with every pair of outputs the recipe needs more than 24 GB
        for head in ("pooled", "flat"):
            for outputs in ("full", "traced"):
                yield tangent(head, outputs, TUNED)
        yield tangent_double()


# The tangent kernel of a small convolutional network.


def module(head: Head) -> nn.Module:
    """The convolutional network, with initial weights that are always the same."""
    with seeded_globally(_STREAM.child("module")):
        layers: list[nn.Module] = [nn.Conv2d(1, 32, 3, padding=1), nn.ReLU()]
        for _ in range(2):
            layers += [nn.Conv2d(32, 32, 3, padding=1), nn.ReLU()]
        pooled = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)]
        flat = [nn.Flatten(), nn.Linear(32 * 28 * 28, 10)]
        return nn.Sequential(*layers, *(pooled if head == "pooled" else flat))


def images(n: int) -> torch.Tensor:
    """Random images: what they show does not change the time."""
    return _STREAM.child("x").normal(n, 1, 28, 28)


def by_layers(
    head: Head, outputs: Outputs, n: int = _POINTS, dtype: torch.dtype = torch.float32
) -> Callable[[], torch.Tensor]:
    """This package's tangent kernel of a module, after one small call that pays for the set-up."""
    net, x = module(head), images(n)
    module_tangent_gram(net, x[:2], outputs=outputs, dtype=dtype)  # libraries set themselves up on first use
    return lambda: module_tangent_gram(net, x, outputs=outputs, memory=BUDGET, dtype=dtype)


def contraction(head: Head, outputs: Outputs, n: int = _POINTS, chunk: int | None = None) -> Callable[[], torch.Tensor]:
    """PyTorch's recipe, ready to run: the Jacobian of every point by torch.func, contracted parameter by parameter.

    Arguments:
        head: of the network.
        outputs: ``full`` for every pair of outputs, ``traced`` for their sum.
        n: how many points.
        chunk: None for the recipe as published, with the Jacobian of both sides at all points; otherwise the Jacobian
            is taken once, of so many points at a time by ``vmap``'s own argument ``chunk_size``.

    Reference: PyTorch tutorials, Neural tangent kernels, ``empirical_ntk_jacobian_contraction``.
    """
    net, x = module(head), images(n)
    params = {name: value.detach() for name, value in net.named_parameters()}
    sums = {"full": "naf,mbf->nmab", "traced": "naf,maf->nm"}[outputs]

    def one(params: dict[str, torch.Tensor], point: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(net, params, (point[None],))[0]

    def parts(x: torch.Tensor) -> list[torch.Tensor]:
        jacobians = torch.func.vmap(torch.func.jacrev(one), (None, 0), chunk_size=chunk)(params, x)
        return [jacobian.flatten(2) for jacobian in jacobians.values()]

    def run(x: torch.Tensor = x) -> torch.Tensor:
        left = parts(x)
        right = parts(x) if chunk is None else left
        products = (torch.einsum(sums, one, other) for one, other in zip(left, right, strict=True))
        return torch.stack(list(products)).sum(0) if chunk is None else functools.reduce(torch.Tensor.add_, products)

    run(x[:2])
    return run


def tangent(head: Head, outputs: Outputs, chunk: int | None = None) -> Row:
    """The tangent kernel of all parameters, both in single precision, with the peak memory of both.

    Arguments:
        head: of the network.
        outputs: ``full`` or ``traced``.
        chunk: None against the recipe as published, otherwise against the tuned one.
    """
    repeats = 3 if head == "pooled" else 2  # the recipe takes minutes for all pixels
    ours, theirs = alternating(by_layers(head, outputs), contraction(head, outputs, chunk=chunk), repeats=repeats)
    name, kind = f"{head}_{outputs}", "published" if chunk is None else "tuned"
    memory = memory_ratio(f"{_HERE}:{name}_{kind}", f"{_HERE}:{name}")
    compute = "full" if outputs == "full" else "trace"
    how = "as published" if chunk is None else f"tuned: one side, {chunk} points at a time"
    remark = f"{_size(head)}, both float32; our peak {megabytes(f'{_HERE}:{name}')} of {BUDGET / 1e6:.0f} MB"
    against = f"PyTorch's Jacobian contraction, compute='{compute}', {how}"
    return Row.of(f"tangent-module-{head}-{outputs}-{kind}", against, ours, theirs, remark, memory)


def tangent_double() -> Row:
    """What double precision, the package's default, costs."""
    ours, theirs = alternating(
        by_layers("pooled", "traced", dtype=torch.float64), contraction("pooled", "traced", chunk=TUNED), repeats=2
    )
    remark = f"{_size('pooled')}, ours float64, theirs float32"
    against = "PyTorch's Jacobian contraction, compute='trace', tuned"
    return Row.of("tangent-module-float64", against, ours, theirs, remark)


def _size(head: Head) -> str:
    return f"3 convolutions of 32 channels, {head}, 10 outputs, n={_POINTS}, 28×28 pixels"


# Named, so that a fresh process can measure the memory of each.

pooled_full = functools.partial(by_layers, "pooled", "full")
pooled_traced = functools.partial(by_layers, "pooled", "traced")
flat_full = functools.partial(by_layers, "flat", "full")
flat_traced = functools.partial(by_layers, "flat", "traced")
pooled_full_published = functools.partial(contraction, "pooled", "full")
pooled_traced_published = functools.partial(contraction, "pooled", "traced")
flat_traced_published = functools.partial(contraction, "flat", "traced")
pooled_full_tuned = functools.partial(contraction, "pooled", "full", chunk=TUNED)
pooled_traced_tuned = functools.partial(contraction, "pooled", "traced", chunk=TUNED)
flat_full_tuned = functools.partial(contraction, "flat", "full", chunk=TUNED)
flat_traced_tuned = functools.partial(contraction, "flat", "traced", chunk=TUNED)
