"""Training a user's module by ``bk.fit`` against a loop written by hand, on one core.

Both train the same module with Adam and the cross entropy on the same number of batches. The loop is the usual one:
shuffled row numbers, ``zero_grad``, ``backward``, ``step``, and in the end loss and accuracy on all points. Our time is
that of the whole call ``bk.fit``, with the curves that it records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from beyondkernels.bench.base import Row
from beyondkernels.bench.timing import alternating
from beyondkernels.core import Stream
from beyondkernels.core.threads import one_thread
from beyondkernels.data import GivenData, given
from beyondkernels.learning import fit

_STREAM = Stream(0).child("bench", "training")
_BATCH, _CLASSES, _RATE = 64, 10, 1e-3
_LOOP = "a loop written by hand, torch.optim.Adam"


def dense() -> nn.Module:
    """A small network of two layers for images of 28 × 28 pixels."""
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, _CLASSES))


def convolutional() -> nn.Module:
    """Three convolutions of 32 channels, the mean over all places, and a linear layer."""
    layers: list[nn.Module] = []
    for channels, stride in ((1, 1), (32, 2), (32, 2)):
        layers += [nn.Conv2d(channels, 32, 3, stride, padding=1), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, _CLASSES))


def training_cases() -> dict[str, tuple[Callable[[], nn.Module], int, int, str]]:
    """Each row's name, with the module, the number of points, the epochs, and its sizes in words."""
    return {
        "training-dense": (dense, 3200, 6, "784-256-10, batch 64, Adam, cross entropy"),
        "training-convolutional": (
            convolutional,
            1280,
            5,
            "3 convolutions of 32 channels, strides 1, 2, 2, 28×28, batch 64, Adam",
        ),
    }


def rows() -> Iterator[Row]:
    """Each row when it has been measured; about a minute in all."""
    with one_thread():
        for name in training_cases():
            yield training(name)


def training(name: str, repeats: int = 11) -> Row:
    """The row of a name.

    Arguments:
        name: one of :func:`training_cases`.
        repeats: turns, of which the best count.
    """
    make, n, epochs, sizes = training_cases()[name]
    data = images(n)
    ours, theirs = alternating(by_fit(make(), data, epochs), by_hand(make(), data, epochs), repeats=repeats)
    remark = f"{sizes}, n={n}, {epochs} epochs; a ratio above 1 means faster than the loop"
    return Row.of(name, _LOOP, ours, theirs, remark)


def images(n: int) -> GivenData:
    """Images with labels, and a few for the test."""
    x, y = _STREAM.child("x").normal(n + _BATCH, 1, 28, 28), _STREAM.child("y").integers(_CLASSES, n + _BATCH)
    return given((x[:n], y[:n]), test=(x[n:], y[n:]))


def by_fit(module: nn.Module, data: GivenData, epochs: int, **options: Any) -> Callable[[], Any]:
    """All of ``bk.fit``, ready to run.

    Arguments:
        module: what is trained.
        data: on what.
        epochs: for how long.
        options: further arguments of ``bk.fit``.
    """
    return lambda: fit(module, data, epochs=epochs, batch=_BATCH, learning_rate=_RATE, progress=False, **options)


def by_hand(module: nn.Module, data: GivenData, epochs: int) -> Callable[[], nn.Module]:
    """The loop, ready to run. It goes on from where it is when it is run again.

    Arguments:
        module: what is trained.
        data: on what.
        epochs: for how long.
    """
    x, y, test_x, test_y = (torch.from_numpy(data.arrays[name]) for name in ("train_x", "train_y", "test_x", "test_y"))

    def run() -> nn.Module:
        optimiser = torch.optim.Adam(module.parameters(), lr=_RATE)
        module.train()
        for _ in range(epochs):
            for rows in torch.randperm(len(x)).split(_BATCH):
                optimiser.zero_grad()
                nn.functional.cross_entropy(module(x[rows]), y[rows]).backward()
                optimiser.step()
        module.eval()
        with torch.no_grad():
            for points, labels in ((x, y), (test_x, test_y)):
                out = torch.cat([module(rows) for rows in points.split(_BATCH)])
                nn.functional.cross_entropy(out, labels).item()
                (out.argmax(1) == labels).float().mean().item()
        return module

    return run
