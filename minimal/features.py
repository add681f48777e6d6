"""Table 1 of Shi, Wei & Liang in plain PyTorch: a network learns the features of a parity, fixed features do not.

    python minimal/features.py            the paper's size, about three minutes on one core
    python minimal/features.py --small    a tenth of the data

Inputs are x = M φ: a dictionary M of 100 orthonormal patterns in 500 dimensions, φ saying which are present. The label
is the parity of 5 relevant patterns. With probability 1/2 all patterns are fair coins; otherwise the relevant ones are
all present or all absent: the input structure that gives the features away. Equation numbers are the paper's.
"""

import math
import sys

import torch

d, D, k, p_o, m, T, BATCH = 500, 100, 5, 0.5, 300, 600, 1000
READOUT_RATE = 200.0  # not the paper's, which states none: the readout's rate at step 3, falling linearly to zero
TANGENT_RATE = 3e-4  # likewise: plain gradient descent on the linearised network


def dictionary(generator, d=d, D=D, k=k):
    """Orthonormal patterns M (d, D) and the relevant set A."""
    M, _ = torch.linalg.qr(torch.randn(d, D, generator=generator))
    return M, torch.randperm(D, generator=generator)[:k]


def sample(n, M, A, structured, generator):
    """Normalised inputs x = (M φ̃ − E)/σ̃ and labels ±1 (App. C and E.1.1)."""
    D, k = M.shape[1], len(A)
    coins = torch.rand(n, D, generator=generator) < 0.5
    if structured:
        aligned = torch.rand(n, D, generator=generator) < p_o / (2 - 2 * p_o)
        aligned[:, A] = (torch.rand(n, 1, generator=generator) < 0.5).expand(n, k)
        coins = torch.where(torch.rand(n, 1, generator=generator) < p_o, coins, aligned)
    phi = coins.float()
    y = torch.where(phi[:, A].sum(1) % 2 == 1, 1.0, -1.0)
    return ((phi - 0.5) / math.sqrt(D / 4)) @ M.T, y  # at p_o = 1/2 every pattern has mean 1/2 and variance 1/4


def theorem26(k=k, m=m, T=T, D=D):
    """Initial scales and rates of Theorem 26 at p_o = 1/2, where γ = 1/4 and σ̃² = D/4."""
    gamma, variance = (1 - p_o) / 2, D / 4
    scales = (1 / k, 1 / k**2, variance / (gamma * k**2))
    return scales, gamma**2 * variance / (k * m**3), k**2 / (T * m ** (1 / 3))


def initial(generator, d=d, m=m, scales=None):
    """Every neuron has a twin with the opposite output weight, so the network starts at zero."""
    sw, sb, sa = scales or theorem26()[0]
    W, b, a = (s * torch.randn(*shape, generator=generator) for s, shape in ((sw, (m, d)), (sb, (m,)), (sa, (m,))))
    return torch.cat([W, W]), torch.cat([b, b]), torch.cat([a, -a])


def activation(z, s):
    """The truncated ReLU and its derivative, averaged over Gaussian noise of level s (eq. 3)."""
    if s == 0:
        return z.clamp(0, 1), ((z > 0) & (z < 1)).float()
    Phi = torch.special.ndtr

    def ramp(u):
        return u * Phi(u / s) + s * torch.exp(-((u / s) ** 2) / 2) / math.sqrt(2 * math.pi)

    return ramp(z) - ramp(z - 1), Phi(z / s) - Phi((z - 1) / s)


def gradients(W, b, a, x, y, s, tangent=None):
    """Gradients of the hinge loss in W, b, a; ``tangent`` holds the displacement of the linearised network (NTK)."""
    z = x @ W.T + b
    h, slope = activation(z, s)
    out = h @ a if tangent is None else h @ tangent[2] + (slope * (x @ tangent[0].T + tangent[1])) @ a
    r = -y * (y * out < 1) / len(y)
    back = slope * r[:, None] * a
    return back.T @ x, back.sum(0), h.T @ r


def train(W, b, a, x, y, batches, *, frozen_after=None, one_rate=False, k=k, T=T, D=D, snapshot=None):
    """The learning process (4). Steps 1 and 2 take all points and forget the old weights: λ = 1/(2η), exactly."""
    _, first, rate = theorem26(k, len(a) // 2, T, D)
    for t in range(1, T + 1):
        rows, s = (slice(None), 1 / k**2) if t <= 2 else (batches[t - 3], 0)
        gW, gb, ga = gradients(W, b, a, x[rows], y[rows], s)
        fading = rate if one_rate else READOUT_RATE * (T + 1 - t) / (T - 2)
        eta, eta_a = {1: (first, first), 2: (1.0, 1.0)}.get(t, (rate, fading))
        keep, keep_a = {1: (0, 1), 2: (0, 0)}.get(t, (1, 1))
        if frozen_after is None or t <= frozen_after:
            W, b = keep * W - eta * gW, b - eta * gb
        a = keep_a * a - eta_a * ga
        if snapshot is not None:
            snapshot(t, W, b, a)
    return W, b, a


def train_linearised(W, b, a, x, y, batches, *, snapshot=None):
    """The NTK's classifier: gradient descent on the displacement of the linearised network, from zero."""
    moved = [torch.zeros_like(v) for v in (W, b, a)]
    for t, rows in enumerate(batches, start=1):
        gradient = gradients(W, b, a, x[rows], y[rows], 0, tangent=moved)
        moved = [v - TANGENT_RATE * g for v, g in zip(moved, gradient, strict=True)]
        if snapshot is not None:
            snapshot(t, *moved)
    return moved


def accuracy(start, moved, x, y, linearised):
    W, b, a = start if linearised else moved
    h, slope = activation(x @ W.T + b, 0)
    out = h @ moved[2] + ((slope * (x @ moved[0].T + moved[1])) @ a if linearised else 0)
    return 100 * (y * out > 0).float().mean().item()


def main(n=50_000):
    generator = torch.Generator().manual_seed(0)
    M, A = dictionary(generator)
    truth = M[:, A].sum(1) / math.sqrt(k)
    methods = {
        "Network": {},
        "Two Step": {"frozen_after": 2},
        "One Step": {"frozen_after": 1},
        "RF": {"frozen_after": 0, "one_rate": True},
        "NTK": None,
    }
    for structured in (True, False):
        x, y = sample(n, M, A, structured, generator)
        x_test, y_test = sample(10_000, M, A, structured, generator)
        start = initial(generator)
        batches = [torch.randperm(n, generator=generator)[:BATCH] for _ in range(T)]
        print(f"{'with' if structured else 'without'} input structure")
        for name, how in methods.items():
            if structured or "Step" not in name:
                linearised = how is None
                moved = train_linearised(*start, x, y, batches) if linearised else train(*start, x, y, batches, **how)
                score = accuracy(start, moved, x_test, y_test, linearised)
                cosine = (moved[0] @ truth / moved[0].norm(dim=1)).max().item()
                aligned = "" if linearised else f"   largest cosine {cosine:.3f}"
                print(f"  {name:9} test accuracy {score:5.1f} %{aligned}", flush=True)


if __name__ == "__main__":
    main(5_000 if "--small" in sys.argv else 50_000)
