"""Modules as users write them, for 8×8 images with one channel and ten classes."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import nn

SHAPE, CLASSES = (1, 8, 8), 10


class LeNet(nn.Module):
    """Layers declared in another order than they are called, with functions between them."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(32, CLASSES)
        self.conv1, self.conv2 = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


class BasicBlock(nn.Module):
    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after)
        self.conv2, self.bn2 = nn.Conv2d(after, after, 3, padding=1, bias=False), nn.BatchNorm2d(after)
        wider = (nn.Conv2d(before, after, 1, bias=False), nn.BatchNorm2d(after))
        self.shortcut = nn.Sequential(*(wider if before != after else ()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(h)) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.bn = nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.layer1 = nn.Sequential(BasicBlock(4, 4), BasicBlock(4, 4))
        self.layer2 = nn.Sequential(BasicBlock(4, 8))
        self.fc = nn.Linear(8, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.layer2(self.layer1(F.relu(self.bn(self.conv(x)))))
        return self.fc(h.mean((2, 3)))


class Transformer(nn.Module):
    """Rows of an image as a sequence."""

    def __init__(self, batch_first: bool = True) -> None:
        super().__init__()
        self.batch_first = batch_first
        self.embed, self.places = nn.Linear(8, 16), nn.Parameter(0.1 * torch.ones(8, 16))
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=batch_first)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.embed(x.squeeze(1)) + self.places
        h = self.encoder(h) if self.batch_first else self.encoder(h.transpose(0, 1)).transpose(0, 1)
        return self.head(self.norm(h).mean(1))


class Again(nn.Module):
    """Calls its first layer once more after the second."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, CLASSES)
        self.never = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.c(self.a(torch.relu(self.b(torch.relu(self.a(x.flatten(1)))))))


class Branches(nn.Module):
    """Two layers side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(64, 8), nn.Linear(64, 8), nn.Linear(16, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.flatten(1)
        return self.c(torch.relu(torch.cat([self.a(x), self.b(x)], 1)))


class Wrapped(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)


def mlp() -> nn.Sequential:
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(64, 16),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.Linear(16, 12),
        nn.Tanh(),
        nn.Linear(12, CLASSES),
    )


def sequences() -> nn.Sequential:
    """One-dimensional convolutions: channels come before positions."""
    return nn.Sequential(
        nn.Flatten(1, 2),
        nn.Conv1d(8, 6, 3),
        nn.ReLU(),
        nn.Conv1d(6, 5, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(20, CLASSES),
    )


def perceptron(in_dim: int, out_dim: int) -> nn.Sequential:
    """For vectors of any size."""
    return nn.Sequential(nn.Linear(in_dim, 8), nn.Tanh(), nn.Linear(8, out_dim))
