"""What do small convolutional networks learn on MNIST and CIFAR-10 that kernels do not?

    BK_DATA=folder bk audit examples/audit_images.py:Mnist
    BK_DATA=folder bk audit examples/audit_images.py:Cifar10

The folder holds mnist.npz and cifar10_10k.npz with the arrays x_train, y_train, x_test and y_test: images of bytes, and
classes. Each audit takes a few minutes on two cores.
"""

import os
from pathlib import Path

import numpy as np
import torch

from beyondkernels.auditing import Audit


def convolutional(in_dim: tuple[int, int, int], out_dim: int) -> torch.nn.Module:
    """Three convolutions of 32 channels that halve the image twice, channel means, and a linear layer."""
    return torch.nn.Sequential(
        torch.nn.Conv2d(in_dim[0], 32, 3, padding=1, stride=2),
        torch.nn.ReLU(),
        torch.nn.Conv2d(32, 32, 3, padding=1, stride=2),
        torch.nn.ReLU(),
        torch.nn.Conv2d(32, 32, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(128, out_dim),
    )


def images(file: str, train: int, test: int) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """The first images of both parts, as (channels, height, width), and their classes."""
    with np.load(Path(os.environ.get("BK_DATA", ".")) / file) as data:
        parts = [(data[f"x_{part}"][:n], data[f"y_{part}"][:n]) for part, n in (("train", train), ("test", test))]
    return tuple((x[:, None] if x.ndim == 3 else x.transpose(0, 3, 1, 2), y) for x, y in parts)


class Mnist(Audit):
    def __init__(self) -> None:
        super().__init__(convolutional, *images("mnist.npz", 2000, 2000), name="mnist", epochs=20, learning_rate=2e-3)


class Cifar10(Audit):
    def __init__(self) -> None:
        super().__init__(
            convolutional, *images("cifar10_10k.npz", 2000, 2000), name="cifar10", epochs=40, learning_rate=2e-3
        )
