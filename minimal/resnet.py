"""What can a ResNet learn that kernels cannot? The effect of Figure 2 in one file of plain PyTorch.

Inputs are 30 random signs, labels are 15 products of two of them, plus α = 0.3 times a product of eight. Whoever learns
only the products of two has an error of 15 α² = 1.35. A three-layer ResNet, which can build the product of eight from
the products of two that it found first, goes below with 500 points. Kernels do not, whatever their ridge.

    python minimal/resnet.py          about ten seconds

Paper: Allen-Zhu, Li. What Can ResNet Learn Efficiently, Going Beyond Kernels? Section 8.1.
"""

from __future__ import annotations

import math

import torch

D, K, ALPHA = 30, 15, 0.3  # signs, outputs, the size of the composite signal
N, N_TEST = 500, 5000
WIDTH, EPOCHS, BATCH = 200, 800, 50
RATE, MOMENTUM, DECAY = 0.05, 0.9, 0.01  # the rate falls to a tenth after half of the epochs


def sample(n: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Signs x, uniform on {−1, 1}^30, and y = F(x) + α G(F(x))."""
    x = torch.randint(0, 2, (n, D), generator=generator) * 2.0 - 1
    base = x[:, 0::2] * x[:, 1::2]  # F: x₁x₂, x₃x₄, …
    signs = torch.tensor([(-1.0) ** i for i in range(1, K + 1)])
    return x, base + ALPHA * signs * base[:, :4].prod(1, keepdim=True)  # G_i(y) = (−1)^i y₁y₂y₃y₄


class ResNet(torch.nn.Module):
    """out = out₁ + A σ(V out₁ + b₂) with out₁ = A σ(W x + b₁): one readout A, used twice."""

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()

        def entries(*shape: int) -> torch.nn.Parameter:
            return torch.nn.Parameter(torch.randn(*shape, generator=generator) / math.sqrt(WIDTH))

        self.W, self.b1 = entries(WIDTH, D), entries(WIDTH)
        self.V, self.b2 = entries(WIDTH, K), entries(WIDTH)
        self.A = entries(K, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The network's 15 outputs."""
        out1 = torch.relu(x @ self.W.T + self.b1) @ self.A.T
        return out1 + torch.relu(out1 @ self.V.T + self.b2) @ self.A.T


def train(network: ResNet, x: torch.Tensor, y: torch.Tensor, generator: torch.Generator) -> None:
    """Mini-batch gradient descent on the squared error, all layers at once."""
    optimiser = torch.optim.SGD(network.parameters(), lr=RATE, momentum=MOMENTUM, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.StepLR(optimiser, step_size=EPOCHS // 2, gamma=0.1)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(x), generator=generator).split(BATCH):
            loss = error(network(x[rows]), y[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        schedule.step()


def error(out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The squared error summed over outputs, averaged over points."""
    return (out - y).square().sum(1).mean()


def tangent_kernel(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    """The tangent kernel of an infinitely wide three-layer ReLU network on inputs of equal norm."""
    cosine = (x1 @ x2.T / D).clamp(-1, 1)
    kernel = covariance = cosine
    for _ in range(2):
        angle = torch.acos(covariance.clamp(-1, 1))
        slope = (math.pi - angle) / math.pi
        covariance = (torch.sin(angle) + (math.pi - angle) * torch.cos(angle)) / math.pi
        kernel = covariance + slope * kernel
    return kernel


def best_kernel_error(kernel: torch.Tensor, block: torch.Tensor, y: torch.Tensor, y_test: torch.Tensor) -> float:
    """The least test error of kernel ridge regression over all ridges: chosen on the test points, to its advantage."""
    s, V = torch.linalg.eigh(kernel)
    ridges = torch.logspace(-8, 3, 45, dtype=kernel.dtype)
    fits = (block @ (V @ ((V.T @ y) / (s + ridge)[:, None])) for ridge in ridges)
    return min(error(fit, y_test).item() for fit in fits)


def main(seed: int = 0) -> dict[str, float]:
    """Both errors, printed."""
    generator = torch.Generator().manual_seed(seed)
    (x, y), (x_test, y_test) = sample(N, generator), sample(N_TEST, generator)
    network = ResNet(generator)
    train(network, x, y, generator)
    with torch.no_grad():
        errors = {"ResNet": error(network(x_test), y_test).item()}
    x, y, x_test, y_test = (part.double() for part in (x, y, x_test, y_test))
    errors["tangent kernel"] = best_kernel_error(tangent_kernel(x, x), tangent_kernel(x_test, x), y, y_test)
    errors["linear kernel"] = best_kernel_error(x @ x.T, x_test @ x.T, y, y_test)
    errors["only the products of two"] = K * ALPHA**2
    for name, value in errors.items():
        print(f"{name:26} test error {value:6.3f}")
    return errors


if __name__ == "__main__":
    main()
