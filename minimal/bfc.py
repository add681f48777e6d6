"""Backward feature correction in one file of plain PyTorch: higher layers repair the features of lower ones.

The target is a sum of three layers of squares. Layer ℓ squares what it sees of the layers below, and adds less to the
target the higher it stands: their standard deviations are as 1 : 0.2 : 0.05.

    S₂ = W₂₁(x² − 1)        S₃ = W₃₂ S₂² + W₃₀ x        S₄ = W₄₃ S₃² + W₄₁(x² − 1)
    y  = α₂ ΣS₂² + α₃ ΣS₃² + α₄ ΣS₄²

The learner has the same form, with unknown weights and more neurons. Its layers join the training one after the other.
Layer 2 alone learns features S₂ that are bent towards what only the higher layers can express. When layer 3 joins, it
takes over a part of that, and S₂ gets better, although layer 2 had converged. When layer 4 joins, S₂ and S₃ both get
better again. In layerwise training the lower layers stay as they were, and so do their errors.

    python minimal/bfc.py          about fifteen seconds

Paper: Allen-Zhu, Li. Backward Feature Correction: How Deep Learning Performs Deep Learning. Theorem 2, Figure 5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

GRAPH = {2: (1,), 3: (2, 0), 4: (3, 1)}  # which layers each layer sees; 0 is x, 1 is x² − E[x²]
D, K, M = 8, {2: 2, 3: 2, 4: 1}, {2: 3, 3: 3, 4: 3}  # inputs, neurons of the target, neurons of the learner
SHARES = {2: 1.0, 3: 0.2, 4: 0.05}  # standard deviations of what the layers add to the target
N, N_TEST = 5000, 10_000
STEPS = {2: 1000, 3: 2000, 4: 4000}  # while this layer is the highest
RATE, BATCH, SCALE = 0.01, 200, 0.3  # Adam's rate falls to zero in every stage; scale of the first weights

Weights = dict[tuple[int, int], torch.Tensor]


def draw_inputs(n: int, generator: torch.Generator) -> torch.Tensor:
    """Independent coordinates, uniform with variance 1."""
    return (2 * torch.rand(n, D, generator=generator, dtype=torch.float64) - 1) * math.sqrt(3)


def draw_target(generator: torch.Generator) -> tuple[Weights, dict[int, float]]:
    """Weights with orthonormal rows or columns, and the α that give the layers their shares."""
    sizes = {0: D, 1: D, **K}
    weights = {}
    for layer, seen in GRAPH.items():
        for j in seen:
            tall = torch.randn(max(K[layer], sizes[j]), min(K[layer], sizes[j]), generator=generator).double()
            q = torch.linalg.qr(tall).Q
            weights[layer, j] = q if K[layer] >= sizes[j] else q.T
    stds = {
        layer: S.square().sum(1).std().item() for layer, S in features(weights, draw_inputs(10**5, generator)).items()
    }
    return weights, {layer: share * stds[2] / stds[layer] for layer, share in SHARES.items()}


def draw_learner(generator: torch.Generator) -> Weights:
    """Random weights, small enough that a new layer adds little when it joins."""
    sizes = {0: D, 1: D, **M}
    return {
        (layer, j): torch.randn(M[layer], sizes[j], generator=generator).double() * SCALE / math.sqrt(sizes[j])
        for layer, seen in GRAPH.items()
        for j in seen
    }


def features(weights: Weights, x: torch.Tensor, top: int = 4) -> dict[int, torch.Tensor]:
    """S_ℓ(x) of the layers up to ``top``."""
    below, found = {0: x, 1: x.square() - 1}, {}
    for layer in range(2, top + 1):
        found[layer] = sum(below[j] @ weights[layer, j].T for j in GRAPH[layer])
        below[layer] = found[layer].square()
    return found


def predict(weights: Weights, alphas: dict[int, float], x: torch.Tensor, top: int = 4) -> torch.Tensor:
    """The sum over layers of α_ℓ Sum(S_ℓ²)."""
    found = features(weights, x, top)
    return torch.stack([alphas[layer] * S.square().sum(1) for layer, S in found.items()]).sum(0)


def feature_error(target: torch.Tensor, found: torch.Tensor) -> float:
    """How far features S are from S*, relative to E‖S*‖², when a rotation of S does not count.

    Only the leading directions of S count, as many as S* has: the paper distils its features in the same way.
    """
    leading = torch.linalg.eigh(found.T @ found).eigenvectors[:, -target.shape[1] :]
    S = found @ leading
    P, _, Q = torch.linalg.svd(target.T @ S)
    return ((target - S @ (P @ Q).T).square().sum() / target.square().sum()).item()


def train(
    weights: Weights,
    alphas: dict[int, float],
    x: torch.Tensor,
    y: torch.Tensor,
    batches: Iterator[torch.Tensor],
    top: int,
    steps: int,
    frozen: bool,
) -> None:
    """Adam on the squared error of the layers up to ``top``: all of them, or the highest alone."""
    trained = [weight for (layer, _), weight in weights.items() if layer == top or (layer < top and not frozen)]
    for weight in weights.values():
        weight.requires_grad_(any(weight is other for other in trained))
    optimiser = torch.optim.Adam(trained, lr=RATE, betas=(0.9, 0.99))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        rows = next(batches)
        loss = (predict(weights, alphas, x[rows], top) - y[rows]).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()


def draw_batches(generator: torch.Generator) -> Iterator[torch.Tensor]:
    """Batches epoch by epoch."""
    while True:
        yield from torch.randperm(N, generator=generator).split(BATCH)


def main(seed: int = 0, steps: dict[int, int] = STEPS) -> dict[tuple[str, int], dict[str, float]]:
    """Train in both ways; print and return the relative test error and the feature errors after each stage."""
    generator = torch.Generator().manual_seed(seed)
    target, alphas = draw_target(generator)
    x, x_test = draw_inputs(N, generator), draw_inputs(N_TEST, generator)
    y, y_test, truth = predict(target, alphas, x), predict(target, alphas, x_test), features(target, x_test)
    start, table = draw_learner(generator), {}
    for way in ("together", "layerwise"):
        weights, batches = {name: weight.clone() for name, weight in start.items()}, draw_batches(generator)
        print(f"{way}\n  layers trained   test error   error of S₂   error of S₃   error of S₄")
        for top in GRAPH:
            train(weights, alphas, x, y, batches, top, steps[top], frozen=way == "layerwise")
            with torch.no_grad():
                error = (predict(weights, alphas, x_test, top) - y_test).square().mean() / y_test.var()
                found = features(weights, x_test, top)
            row = {"test": error.item(), **{f"S{layer}": feature_error(truth[layer], found[layer]) for layer in found}}
            print(
                f"  {'2' if top == 2 else f'2 to {top}':17}" + "   ".join(f"{value:9.1e}  " for value in row.values())
            )
            table[way, top] = row
    return table


if __name__ == "__main__":
    main()
