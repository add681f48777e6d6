"""A toy problem whose points are images, and a small module that takes them as they are; workers load this file."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from beyondkernels.core import Problem, Sample, Stream


@dataclass(frozen=True)
class Stripes(Problem):
    """Noisy images with a bright row (+1) or a bright column (−1) somewhere."""

    size: int = 6
    channels: int = 2
    noise: float = 0.3

    @property
    def in_shape(self) -> tuple[int, ...]:
        return (self.channels, self.size, self.size)

    @property
    def out_dim(self) -> int:
        return 1

    def sample(self, n: int, stream: Stream) -> Sample:
        x = self.noise * stream.child("noise").normal(n, *self.in_shape)
        y = 2.0 * stream.child("label").bernoulli(0.5, n).float() - 1
        place = stream.child("place").integers(self.size, n)
        for i, (label, at) in enumerate(zip(y.tolist(), place.tolist(), strict=True)):
            if label > 0:
                x[i, :, at, :] += 1
            else:
                x[i, :, :, at] += 1
        return Sample(x, y, {"place": place})


def rows_and_columns(in_shape: tuple[int, ...], out_dim: int) -> torch.nn.Module:
    """A convolution along rows, the largest value anywhere, a linear readout."""
    channels, height, _ = in_shape
    return torch.nn.Sequential(
        torch.nn.Conv2d(channels, 8, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(8, 8, (1, height)),
        torch.nn.AdaptiveMaxPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(8, out_dim),
    )
