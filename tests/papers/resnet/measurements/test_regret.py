"""Ξ by automatic differentiation of the objective, and Claim C.6's parts with matrices written out."""

import numpy as np
import pytest
import torch

import resnet_cases as cases
from beyondkernels.core import Outcome, Stream
from beyondkernels.papers.resnet import Regret, ResNetWeights, Witness, along, existence_errors, regret_terms
from beyondkernels.papers.resnet.measurements.course import radii, scales
from beyondkernels.papers.resnet.measurements.existence import gate_bounds
from beyondkernels.papers.resnet.measurements.regret import error_bound, signals
from measuring import measured
from refusals import refused

PROBLEM = cases.TwoSignals(noise=0.2)
INITIAL, NOW = cases.weights(0.0), cases.weights(0.3)
SAMPLE = PROBLEM.sample(cases.N, Stream(6))
STAR = Witness(
    Stream(8).child("W").normal(*INITIAL.W.shape, dtype=torch.float64),
    Stream(8).child("V").normal(*INITIAL.V.shape, dtype=torch.float64),
)


def base(x):
    return PROBLEM.base_signal(x)


def composite(h):
    return PROBLEM.alpha * PROBLEM.composite_signal(h)


def objective(W, V, A, x, y):
    """½‖y − out‖² of one point, W and V from the start."""
    one = torch.ones(1, dtype=torch.float64)
    out1 = A @ torch.relu((INITIAL.W + W) @ torch.cat([x, one]))
    out = out1 + A @ torch.relu((INITIAL.V + V) @ torch.cat([out1, one]))
    return ((y - out) ** 2).sum() / 2


def open_at(rows, z):
    return np.diag((rows @ z >= 0).astype(float))


def literal(x, target, y):
    """Claim C.6 for one point, with dense diagonal matrices and (·, 0) written out."""
    A, W0, V0 = (part.numpy() for part in (NOW.A, INITIAL.W, INITIAL.V))
    W, V, Ws, Vs = NOW.W.numpy() - W0, NOW.V.numpy() - V0, STAR.W.numpy(), STAR.V.numpy()
    x1 = np.append(x, 1.0)
    D = open_at(W0 + W, x1)
    out1 = A @ D @ (W0 + W) @ x1
    z = np.append(out1, 1.0)
    D2 = open_at(V0 + V, z)
    out = out1 + A @ D2 @ (V0 + V) @ z
    club = A @ D2 @ (V0 + V) @ np.append(A @ D @ (Ws - W) @ x1, 0.0)
    spade = A @ D @ Ws @ x1 + A @ D2 @ Vs @ z
    diamond = A @ D @ W @ x1 + A @ D2 @ V @ z
    err = club + spade - diamond - (target - out)
    F, G = base(torch.tensor(x)[None])[0].numpy(), composite(torch.tensor(out1)[None])[0].numpy()
    return {
        "risk": sum((target - out) ** 2),
        "error": sum(err**2),
        "club": sum(club**2),
        "spade": sum((spade - target) ** 2),
        "diamond": sum((diamond - out) ** 2),
        "lower": sum((target - out) ** 2) / 2 - 2 * sum(err**2) - 2 * sum((target - y) ** 2),
        "first_start": sum((A @ open_at(W0, x1) @ Ws @ x1 - F) ** 2),
        "first_now": sum((A @ D @ Ws @ x1 - F) ** 2),
        "second_start": sum((A @ open_at(V0, z) @ Vs @ z - G) ** 2),
        "second_now": sum((A @ D2 @ Vs @ z - G) ** 2),
        "first_gates": sum((A @ (open_at(W0, x1) - D) @ Ws @ x1) ** 2),
        "second_gates": sum((A @ (open_at(V0, z) - D2) @ Vs @ z) ** 2),
        "first_rest": sum((A @ D @ (Ws - W) @ x1 - (F - out1)) ** 2),
    }


def test_regret_is_the_gradient_along_the_way_to_the_witness():
    found = regret_terms(INITIAL, NOW, STAR, SAMPLE.x, SAMPLE.y, SAMPLE.y)
    for i in range(cases.N):
        W, V = ((now - start).requires_grad_() for now, start in ((NOW.W, INITIAL.W), (NOW.V, INITIAL.V)))
        objective(W, V, NOW.A, SAMPLE.x[i], SAMPLE.y[i]).backward()
        assert W.grad is not None
        assert V.grad is not None
        xi = (W.grad * (W - STAR.W)).sum() + (V.grad * (V - STAR.V)).sum()
        assert float(found.regret[i]) == pytest.approx(float(xi.detach()), rel=1e-10)
        assert float(found.first_gradient[i]) == pytest.approx(float((W.grad**2).sum()), rel=1e-10)
        assert float(found.second_gradient[i]) == pytest.approx(float((V.grad**2).sum()), rel=1e-10)


def test_the_sum_of_regrets_is_what_the_distance_to_the_witness_falls_by():
    """App. C.4's telescope, step by step: Σ Ξ_t = ♥ + the fall of ‖W − W*‖²/2η_w + ‖V − V*‖²/2η_v."""
    eta_w, eta_v, now, total, heart = 0.05, 0.02, INITIAL, 0.0, 0.0

    def distance(at: ResNetWeights) -> float:
        first, second = (at.W - INITIAL.W - STAR.W), (at.V - INITIAL.V - STAR.V)
        return float(first.square().sum()) / (2 * eta_w) + float(second.square().sum()) / (2 * eta_v)

    for x, y in zip(SAMPLE.x, SAMPLE.y, strict=True):
        terms = regret_terms(INITIAL, now, STAR, x[None], y[None], y[None])
        total += float(terms.regret)
        heart += eta_w / 2 * float(terms.first_gradient) + eta_v / 2 * float(terms.second_gradient)
        W, V = ((part - start).requires_grad_() for part, start in ((now.W, INITIAL.W), (now.V, INITIAL.V)))
        objective(W, V, NOW.A, x, y).backward()
        assert W.grad is not None
        assert V.grad is not None
        now = ResNetWeights(now.W - eta_w * W.grad, now.V - eta_v * V.grad, now.A)
    assert total == pytest.approx(heart + distance(INITIAL) - distance(now), rel=1e-9)


def test_right_sides_as_printed():
    m, (sw, sv), (tw, tv), out = 1000, (0.05, 3.0), (2.0, 0.1), torch.tensor([0.0, 1.5]).double()
    W, V = float(STAR.W.norm()), float(STAR.V.norm())
    found = gate_bounds(m, (sw, sv), (tw, tv), STAR, out)
    # √(s/m)·‖W*‖ with Lemma C.1's s, squared
    first = W * ((tw / sw) ** (2 / 3) * m ** (2 / 3) / m) ** 0.5
    second = V * ((tv / sv) ** (2 / 3) * m / m) ** 0.5
    assert found["first_gates"].tolist() == pytest.approx([first**2] * 2)
    assert found["second_gates"].tolist() == pytest.approx([second**2, (second * (1.5**2 + 1) ** 0.5) ** 2])
    a, tau, L, B, small, risk = 0.3, 0.7, 2.0, 1.5, 0.1, 0.4
    rest = small**2 + tau**2 * (1 + B) + a * tau * L * (B + 1)
    assert error_bound(risk, a, tau, L, B, small) == pytest.approx((tau + a * L) ** 2 * risk + rest**2)


def test_terms_against_matrices():
    F = base(SAMPLE.x)
    H = F + composite(F)
    terms = regret_terms(INITIAL, NOW, STAR, SAMPLE.x, SAMPLE.y, H)
    found = vars(terms) | existence_errors(INITIAL, NOW, STAR, SAMPLE.x, base, composite)
    for i in range(cases.N):
        expected = literal(SAMPLE.x[i].numpy(), H[i].numpy(), SAMPLE.y[i].numpy())
        assert found.keys() - {"regret", "first_gradient", "second_gradient"} == expected.keys()
        for name, value in expected.items():
            assert float(found[name][i]) == pytest.approx(value, rel=1e-9), name
    assert (terms.regret >= terms.lower).all()


def test_along_is_a_difference_quotient():
    """Between two kinks out is linear in W alone and in V alone: small steps give the derivative."""
    eps = 1e-6

    def out(W, V):
        moved = ResNetWeights(W, V, NOW.A)
        out1 = moved.first(SAMPLE.x)[1]
        return out1 + moved.second(out1)[1]

    quotient = (out(NOW.W + eps * STAR.W, NOW.V + eps * STAR.V) - out(NOW.W - eps * STAR.W, NOW.V - eps * STAR.V)) / (
        2 * eps
    )
    torch.testing.assert_close(along(NOW, STAR.W, STAR.V, SAMPLE.x), quotient, rtol=1e-6, atol=1e-7)


def test_a_witness_writes_both_signals():
    params = cases.theorem_network(400, 0.8, 1.1).init(cases.D, cases.K, Stream(0))[0]
    initial = ResNetWeights.of(params)
    x = PROBLEM.sample(12, Stream(9)).x
    star = Witness.of(initial, x, base, composite, ridge=1e-10)
    errors = existence_errors(initial, initial, star, x, base, composite)
    assert float(errors["first_start"].max()) < 1e-10
    # V* is fitted at F(x), which is what out₁ is once W* is there and nothing of the start is left
    F = base(x)
    D, _ = initial.second(F)
    written = (D * (torch.cat([F, torch.ones(12, 1).double()], 1) @ star.V.T)) @ initial.A.T
    torch.testing.assert_close(written, composite(F), rtol=1e-4, atol=1e-6)


def test_measurement_along_a_run():
    run = cases.outcome((0, 0.0), (5, 0.3))
    measurement = Regret(points=15, witness_points=6, ridge=1e-4, seed=3)
    found = measured(measurement, run, PROBLEM)
    assert dict(found.arrays) == {}
    scalars, at = found.scalars, Outcome(series=dict(found.series)).at
    stream = Stream(3).child("regret")
    sample = PROBLEM.sample(15, stream.child("points"))
    star = Witness.of(INITIAL, PROBLEM.sample(6, stream.child("witness")).x, base, composite, 1e-4)
    H = base(sample.x) + composite(base(sample.x))
    terms = regret_terms(INITIAL, NOW, star, sample.x, sample.y, H)
    for name, value in vars(terms).items():
        assert at(f"regret/{name}", 5) == pytest.approx(float(value.mean())), name
        assert at(f"regret/{name}_max", 5) == pytest.approx(float(value.max())), name
    errors = existence_errors(INITIAL, NOW, star, sample.x, base, composite)
    size = NOW.first(sample.x)[1].norm(dim=1)
    bounds = gate_bounds(cases.M, scales(INITIAL), radii(INITIAL, NOW), star, size)
    for name, bound in bounds.items():
        assert float(errors[name].max()) > 0
        assert at(f"regret/{name}_ratio", 5) == pytest.approx(float((errors[name] / bound).max())), name
        assert at(f"regret/{name}_ratio", 0) == 0
    assert at("regret/regret_se", 5) == pytest.approx(float(np.std(terms.regret.numpy())) / 15**0.5)
    assert at("regret/risk", 0) != at("regret/risk", 5)
    assert at("regret/first_distance", 0) == pytest.approx(scalars["first_witness"])
    assert at("regret/second_distance", 5) == pytest.approx(float((NOW.V - INITIAL.V - star.V).norm()))
    assert "regret/second_now" in found.series
    assert all(type(value) is float for value in scalars.values())


def test_a_scaled_base_signal_is_part_of_the_target():
    problem = cases.TwoSignals(beta=0.4)
    F, G = signals(problem)
    sample = problem.sample(9, Stream(1))
    torch.testing.assert_close(F(sample.x) + G(F(sample.x)), sample.y, rtol=1e-12, atol=1e-13)
    refused(r"^beta must not be zero where Ξ is measured", signals, cases.TwoSignals(beta=0.0))


def test_sentences(pointing):
    run = cases.outcome((0, 0.0), (5, 0.3))
    refused(r"^Pointing knows no base signal F and composite signal αG\(F\)$", measured, Regret(), run, pointing)
    refused(r"where it starts, got", measured, Regret(), cases.outcome((0, 0.0), (5, 0.3), same_readout=False), PROBLEM)
