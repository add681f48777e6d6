"""Algorithm 1, its gradient typed neuron by neuron, and its averages against lists of all states."""

from dataclasses import replace

import pytest
import torch

from beyondkernels.algorithms import Batch, OnePass, Squared
from beyondkernels.core import Stream, digest
from beyondkernels.networks import theorem_network
from views import view

NETWORK, D, K, T = theorem_network(6, 0.7, 1.3), 4, 3, 9
RULE = OnePass(T, 0.1, 0.03)


def point(t: int, dtype=torch.float64) -> Batch:
    stream = Stream(7).at(t)
    return Batch(stream.child("x").normal(1, D, dtype=dtype), stream.child("y").normal(1, K, dtype=dtype))


def start(seed: int = 0, dtype=torch.float64, network=NETWORK):
    params, buffers = RULE.initialise(network, D, K, Stream(seed))
    convert = lambda state: {name: value.to(dtype) for name, value in state.items()}  # noqa: E731
    return convert(params), convert(buffers)


def numbers(rule: OnePass, step: int, dtype=torch.float64):
    return {name: torch.tensor(value, dtype=dtype) for name, value in rule.hyper(rule.stages()[0], step).items()}


def literal(params, x, y, eta_w, eta_v):
    """Lines 4 to 6 of Algorithm 1 with ½‖y − out‖², neuron by neuron, by the chain rule in plain Python."""
    W, b1, V, b2, A = (params[n].tolist() for n in ("W.weight", "W.bias", "V.weight", "V.bias", "A.weight"))
    x, y, m = x[0].tolist(), y[0].tolist(), range(len(b1))
    h = [sum(w * v for w, v in zip(W[i], x, strict=True)) + b1[i] for i in m]
    out1 = [sum(A[r][i] * max(h[i], 0) for i in m) for r in range(K)]
    g = [sum(v * o for v, o in zip(V[i], out1, strict=True)) + b2[i] for i in m]
    out = [out1[r] + sum(A[r][i] * max(g[i], 0) for i in m) for r in range(K)]
    slope = [out[r] - y[r] for r in range(K)]  # of the objective in out
    into_g = [sum(slope[r] * A[r][i] for r in range(K)) * (g[i] > 0) for i in m]
    into_out1 = [slope[r] + sum(into_g[i] * V[i][r] for i in m) for r in range(K)]
    into_h = [sum(into_out1[r] * A[r][i] for r in range(K)) * (h[i] > 0) for i in m]
    after = {
        "W.weight": [[W[i][j] - eta_w * into_h[i] * x[j] for j in range(D)] for i in m],
        "W.bias": [b1[i] - eta_w * into_h[i] for i in m],
        "V.weight": [[V[i][r] - eta_v * into_g[i] * out1[r] for r in range(K)] for i in m],
        "V.bias": [b2[i] - eta_v * into_g[i] for i in m],
        "A.weight": A,
    }
    return {n: torch.tensor(v, dtype=torch.float64) for n, v in after.items()}, sum(s * s for s in slope)


def run(rule: OnePass, dtype=torch.float64):
    """All states (the start first) and losses, the last parameters and the optimiser."""
    params, buffers = start(dtype=dtype)
    stage, states, losses = rule.stages()[0], [], []
    optimiser = rule.optimiser_state(stage, params)
    for t in range(rule.steps):
        states.append(params)
        params, buffers, optimiser, loss = rule.step(
            stage, NETWORK, params, buffers, optimiser, point(t, dtype), {}, numbers(rule, t + 1, dtype)
        )
        losses.append(float(loss))
    return states, losses, params, optimiser


def test_steps_are_algorithm_1():
    params, buffers = start()
    stage = RULE.stages()[0]
    optimiser = RULE.optimiser_state(stage, params)
    expected = params
    for t in range(T):
        batch = point(t)
        expected, loss = literal(expected, batch.x, batch.y, 0.1, 0.03)
        result = RULE.step(stage, NETWORK, params, buffers, optimiser, batch, {}, numbers(RULE, t + 1))
        params, optimiser = result.params, result.optimiser
        assert float(result.loss) == pytest.approx(loss, rel=1e-12)
        for name, value in expected.items():
            torch.testing.assert_close(params[name], value, rtol=1e-11, atol=1e-13)
    moved, _ = start()
    assert {n for n in params if not torch.equal(params[n], moved[n])} == {"W.weight", "W.bias", "V.weight", "V.bias"}


@pytest.mark.parametrize(("tail", "late"), [(0.5, 5), (1.0, 9), (0.01, 1), (0.3, 3)])
def test_averages_against_lists(tail, late):
    rule = replace(RULE, tail=tail, end="average")
    states, losses, params, optimiser = run(rule)
    assert rule.tail_steps == late
    found = rule.summary(T, optimiser)
    assert found == pytest.approx({"online_loss": sum(losses) / T, "online_loss_tail": sum(losses[-late:]) / late})
    after = rule.transition(view(rule, NETWORK, params, optimiser, (0, T, T)))
    assert after.stage is None
    for name, value in after.params.items():
        mean = sum(state[name] for state in states[-late:]) / late
        torch.testing.assert_close(value, mean, rtol=1e-12, atol=1e-14)  # A stays, so its mean is itself
    last = replace(RULE, tail=tail)
    assert all(
        torch.equal(value, params[n])
        for n, value in last.transition(view(last, NETWORK, params, {}, (0, T, T))).params.items()
    )


def test_a_run_in_progress_has_no_tail_yet():
    _, _, _, optimiser = run(RULE)
    assert RULE.summary(4, optimiser).keys() == {"online_loss"}
    assert RULE.summary(0, optimiser) == {}


def test_sums_do_not_lose_small_losses():
    """A million steps in single precision would stop adding; the sums are double."""
    optimiser = RULE.optimiser_state(RULE.stages()[0], start(dtype=torch.float32)[0])
    assert {name: value.dtype for name, value in optimiser.items()} == dict.fromkeys(
        ("seen", "seen_late"), torch.float64
    )
    _, losses, _, optimiser = run(RULE, torch.float32)
    assert optimiser["seen"].dtype == torch.float64
    assert float(optimiser["seen"]) == pytest.approx(sum(losses), rel=1e-14)


def test_identity_and_program():
    stage = RULE.stages()[0]
    assert RULE.program(stage) == OnePass(T, 9.0, 8.0, tail=0.1).program(stage)
    assert RULE.program(stage) != replace(RULE, end="average").program(stage)
    assert digest(RULE) != digest(replace(RULE, tail=0.25))
    assert (stage.batch, stage.steps, stage.order) == (1, T, "once")
    assert RULE.loss == Squared()
