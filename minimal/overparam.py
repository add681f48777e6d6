"""Does a wider network need more samples? Theorem 4.1 in one file of plain PyTorch, and the algorithm for three layers.

Labels come from a small network with smooth activations. The learner is a ReLU network of which only the hidden weights
are trained. Its width grows 64-fold while the 1000 samples stay, and the test loss is printed. The second part trains
three layers by Algorithm 2, whose objective is smoothed by noise on the weights and penalised.

    python minimal/overparam.py          about fifteen seconds

Paper: Allen-Zhu, Li, Liang. Learning and Generalization in Overparameterized Neural Networks, Going Beyond Two Layers.
Equation numbers are the paper's. It has no experiments: all sizes and rates are ours, chosen on seeds 100 and 101.
"""

import math

import torch

D, TERMS, FREQUENCY = 10, 4, 3.0  # coordinates; neurons of the two-layer truth and their frequency
N, N_TEST, WIDTHS = 1000, 10_000, (64, 512, 4096)
OUTPUT_STD, RATE, STEPS = 0.1, 3.0, 20_000  # ε_a, η in units of 1/(m ε_a²), T

D3, FREQUENCY3, WIDTH3, RATE3, STEPS3 = 4, 5.0, 100, 0.03, 16_000  # the same for three layers, with ε_a = 1
SIGMA, GRADIENT_NOISE, RADIUS = 0.05 / math.sqrt(WIDTH3), 1e-3, 30.0  # σ_w = σ_v; σ_n; R: λ_w = 2m/R⁴, λ_v = 2/R²
WAIT, DRAWS = math.ceil(10 * RATE3 * STEPS3 / math.log(100)), 10  # T_w; the noise matrices that are tried at the end

Weights = dict[str, torch.Tensor]


def unit_rows(n: int, d: int, generator: torch.Generator) -> torch.Tensor:
    """Directions, uniform on the sphere."""
    rows = torch.randn(n, d, generator=generator)
    return rows / rows.norm(dim=1, keepdim=True)


def inputs(n: int, d: int, generator: torch.Generator) -> torch.Tensor:
    """Vectors of norm 1 with last coordinate 1/2, otherwise uniform (§2)."""
    return torch.cat([math.sqrt(3) / 2 * unit_rows(n, d - 1, generator), torch.full((n, 1), 0.5)], 1)


def two_layer_truth(x: torch.Tensor, w: Weights) -> torch.Tensor:
    """Σᵢ aᵢ φ(⟨w₁ᵢ, x⟩) ⟨w₂ᵢ, x⟩ with φ(z) = sin 3z (eq. 3)."""
    return (torch.sin(FREQUENCY * (x @ w["w1"].T)) * (x @ w["w2"].T)) @ w["a"]


def three_layer_truth(x: torch.Tensor, w: Weights) -> torch.Tensor:
    """± cos(c⟨w₁, x⟩) cos(c⟨w₂, x⟩), a product of two measurements (§4.2)."""
    return (torch.cos(FREQUENCY3 * (x @ w["w1"].T)) * torch.cos(FREQUENCY3 * (x @ w["w2"].T))) @ w["a"]


def loss(out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """√(1 + (ŷ − y)²) − 1, averaged over points: convex, 1-Lipschitz and 1-smooth, as the theorems ask."""
    return ((1 + (out - y) ** 2).sqrt() - 1).mean()


def biases(m: int, generator: torch.Generator) -> torch.Tensor:
    """0 with probability 1/2, N(0, 2/m) otherwise."""
    present = torch.randint(0, 2, (m,), generator=generator)
    return present * torch.randn(m, generator=generator) * math.sqrt(2 / m)


def start(m: int, d: int, layers: int, output_std: float, generator: torch.Generator) -> Weights:
    """The learner (5) or, with three layers, (10)–(12): weights N(0, 1/m), readout N(0, ε_a²)."""
    W, a = torch.randn(m, d, generator=generator) / math.sqrt(m), output_std * torch.randn(m, generator=generator)
    w = {"W": W, "b1": biases(m, generator), "a": a}
    V = {"V": torch.randn(m, m, generator=generator) / math.sqrt(m), "b2": biases(m, generator)}
    return w | V if layers == 3 else w


def predict(x: torch.Tensor, w: Weights) -> torch.Tensor:
    """F(x) of either learner."""
    h = torch.relu(x @ w["W"].T + w["b1"])
    return (torch.relu(h @ w["V"].T + w["b2"]) if "V" in w else h) @ w["a"]


def algorithm1(w: Weights, x: torch.Tensor, y: torch.Tensor, rate: float, points: torch.Tensor) -> Weights:
    """Algorithm 1: SGD on W alone, one point in a step. The gradient is written out."""
    W, b, a = w["W"].clone(), w["b1"], w["a"]
    for i in points.tolist():
        z = W @ x[i] + b
        r = (a @ torch.relu(z) - y[i]).item()
        W.addr_(a * (z > 0), x[i], alpha=-rate * r / math.sqrt(1 + r**2))  # η times L′ times ∂F/∂W
    return w | {"W": W}


def noise(std: float, w: Weights, generator: torch.Generator) -> list[torch.Tensor]:
    """A Gaussian matrix for W and one for V."""
    return [std * torch.randn(w[name].shape, generator=generator) for name in ("W", "V")]


def draws_of_algorithm2(w: Weights, n: int, generator: torch.Generator):
    """What a step draws: a point, W^ρ and V^ρ, ξ_w and ξ_v, and when λ is to shrink next."""
    while True:
        point, wait = (int(torch.randint(most, (1,), generator=generator)) for most in (n, WAIT + 1))
        rho, xi = (noise(std, w, generator) for std in (SIGMA, GRADIENT_NOISE))
        yield point, rho, xi, WAIT + wait


def algorithm2(w: Weights, x: torch.Tensor, y: torch.Tensor, rate: float, steps: int, draws) -> tuple[Weights, float]:
    """Algorithm 2 with L₁ (eq. 13): descent on the increments W and V of the start. Returns the weights and λ."""
    W, V, lam, due, m = torch.zeros_like(w["W"]), torch.zeros_like(w["V"]), 1.0, 1, len(w["W"])
    for t in range(1, steps + 1):
        i, (W_rho, V_rho), (xi_w, xi_v), wait = next(draws)
        if t > due:  # λ shrinks after step 1, and then after every T_w to 2 T_w steps
            lam, due = (1 - rate) * lam, due + wait
        W, V = W.requires_grad_(), V.requires_grad_()
        out = lam * predict(x[i], w | {"W": w["W"] + W_rho + W, "V": w["V"] + V_rho + V})
        penalty = 2 * m / RADIUS**4 * W.square().sum(1).square().sum() + 2 / RADIUS**2 * V.square().sum()
        slope_w, slope_v = torch.autograd.grad(loss(out, y[i]) + penalty, (W, V))
        W, V = (W - rate * slope_w + rate * xi_w).detach(), (V - rate * slope_v + rate * xi_v).detach()
    return w | {"W": w["W"] + W, "V": w["V"] + V}, lam


def choose(w: Weights, lam: float, x: torch.Tensor, y: torch.Tensor, candidates) -> Weights:
    """The end of Algorithm 2: among noise matrices, the one with the least training loss of λF."""
    found = [w | {"W": w["W"] + W_rho, "V": w["V"] + V_rho, "a": lam * w["a"]} for W_rho, V_rho in candidates]
    return min(found, key=lambda each: loss(predict(x, each), y).item())


def problem(truth, terms: int, d: int, generator: torch.Generator) -> tuple[torch.Tensor, ...]:
    """Training and test points with the labels of a truth whose weights are drawn."""
    w = {"w1": unit_rows(terms, d, generator), "w2": unit_rows(terms, d, generator)}
    w["a"] = torch.randint(0, 2, (terms,), generator=generator) * 2.0 - 1
    x, x_test = (inputs(n, d, generator) for n in (N, N_TEST))
    return x, truth(x, w), x_test, truth(x_test, w)


def main(seed: int = 0) -> dict[str, float]:
    """Test losses, printed."""
    g, found = torch.Generator().manual_seed(seed), {}

    def note(name: str, out: torch.Tensor) -> None:
        found[name] = loss(out, y_test).item()
        print(f"{name:30} test loss {found[name]:.4f}", flush=True)

    x, y, x_test, y_test = problem(two_layer_truth, TERMS, D, g)
    note("the mean label", y.mean())
    for m in WIDTHS:
        points = torch.randint(N, (STEPS,), generator=g)
        w = algorithm1(start(m, D, 2, OUTPUT_STD, g), x, y, RATE / (m * OUTPUT_STD**2), points)
        note(f"Algorithm 1, m = {m}", predict(x_test, w))
    x, y, x_test, y_test = problem(three_layer_truth, 1, D3, g)
    note("product of cosines: the mean", y.mean())
    first = start(WIDTH3, D3, 3, 1.0, g)
    w, lam = algorithm2(first, x, y, RATE3, STEPS3, draws_of_algorithm2(first, N, g))
    candidates = [noise(SIGMA, w, g) for _ in range(DRAWS)]
    note(f"Algorithm 2, m = {WIDTH3}", predict(x_test, choose(w, lam, x, y, candidates)))
    return found


if __name__ == "__main__":
    main()
