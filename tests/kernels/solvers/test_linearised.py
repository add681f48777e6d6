"""Training in closed form against training step by step."""

import math

import numpy as np
import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.kernels.solvers.linearised import Descent, linearised_training
from beyondkernels.networks import FullyConnected, Linearised

F64 = torch.float64


def features(n=8, m=5, dim=12, k=2, seed=0):
    """Features at training and other points, labels, and a start that is not zero."""
    stream = Stream(seed)
    phi, psi = stream.child("phi").normal(n, dim, dtype=F64), stream.child("psi").normal(m, dim, dtype=F64)
    y, w = stream.child("y").normal(n, k, dtype=F64), 0.3 * stream.child("w").normal(dim, k, dtype=F64)
    return phi, psi, y, w


def descend(phi, y, w, rate, steps):
    """Gradient descent on ½ Σ |φ w − y|², step by step, in the weights."""
    phi, y, w = phi.numpy(), y.numpy(), w.numpy().copy()
    for _ in range(steps):
        w -= rate * phi.T @ (phi @ w - y)
    return w


@pytest.mark.parametrize(("n", "dim"), [(8, 12), (12, 5)])  # more features than points, and fewer
@pytest.mark.parametrize("fraction", [0.1, 0.7, 0.95])  # of the largest rate; from one half on, signs alternate
def test_descent_is_descent_on_the_weights(n, dim, fraction):
    phi, psi, y, w = features(n=n, dim=dim)
    gram = phi @ phi.T
    rate = fraction * 2 / np.linalg.eigvalsh(gram.numpy())[-1]
    training = linearised_training(gram, y, phi @ w)
    steps = [0, 1, 2, 7, 50]
    there = training.predict(psi @ phi.T, Descent(rate, steps), psi @ w)
    here = training.train(Descent(rate, steps))
    losses = training.losses(Descent(rate, steps))
    for i, count in enumerate(steps):
        literal = descend(phi, y, w, rate, count)
        np.testing.assert_allclose(there[i], psi.numpy() @ literal, rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(here[i], phi.numpy() @ literal, rtol=1e-10, atol=1e-11)
        assert losses[i].item() == pytest.approx(0.5 * ((phi.numpy() @ literal - y.numpy()) ** 2).sum(), rel=1e-9)


@pytest.mark.parametrize(("n", "dim"), [(8, 12), (12, 5)])
def test_flow_is_the_limit_of_small_steps(n, dim):
    phi, psi, y, w = features(n=n, dim=dim)
    gram = phi @ phi.T
    top = np.linalg.eigvalsh(gram.numpy())[-1]
    training = linearised_training(gram, y, phi @ w)
    for t in (0.3 / top, 3 / top):
        flow = training.predict(psi @ phi.T, t, psi @ w)[0].numpy()
        # Euler's error is first order in the step, so the extrapolation from two step sizes is second order
        coarse, fine = (psi.numpy() @ descend(phi, y, w, t / count, count) for count in (2000, 4000))
        error = np.abs(coarse - fine).max()
        np.testing.assert_allclose(flow, 2 * fine - coarse, rtol=0, atol=0.01 * error)
        assert np.abs(flow - fine).max() > 0.1 * error  # the difference is resolved


def test_many_times_are_each_alone():
    phi, psi, y, w = features()
    training = linearised_training(phi @ phi.T, y, phi @ w)
    times = [0.0, 0.01, 0.1, 3.0, math.inf]
    together = training.predict(psi @ phi.T, times)
    assert together.shape == (5, 5, 2)
    for i, t in enumerate(times):
        torch.testing.assert_close(together[i], training.predict(psi @ phi.T, t)[0], rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(training.train(0.0)[0], phi @ w, rtol=1e-14, atol=1e-14)
    torch.testing.assert_close(training.train(torch.tensor([3.0, 0.1])), training.train(times)[[3, 2]])
    losses = training.losses(times)
    assert losses[-1] < 1e-20 < losses[-2] < losses[0]


@pytest.mark.parametrize(("n", "dim"), [(8, 12), (12, 5)])
def test_infinite_time_is_the_least_squares_solution_nearest_to_the_start(n, dim):
    phi, psi, y, w = features(n=n, dim=dim)
    training = linearised_training(phi @ phi.T, y, phi @ w)
    nearest = w.numpy() + np.linalg.pinv(phi.numpy()) @ (y - phi @ w).numpy()
    for t in (math.inf, 1e30, 1e3):  # long is forever, also where the kernel is singular
        np.testing.assert_allclose(
            training.predict(psi @ phi.T, t, psi @ w)[0], psi.numpy() @ nearest, rtol=1e-9, atol=1e-9
        )
    many = training.predict(psi @ phi.T, Descent(0.05 / n, [10**5]), psi @ w)[0]
    np.testing.assert_allclose(many, psi.numpy() @ nearest, rtol=1e-9, atol=1e-9)


def test_small_eigenvalues_move_in_proportion_to_time():
    gram = torch.diag(torch.tensor([1.0, 1e-9, 0.0], dtype=F64))
    y = torch.tensor([1.0, 1.0, 1.0], dtype=F64)
    alpha = linearised_training(gram, y).coefficients([1e-3, 1e3])[:, :, 0]
    # (1 − e^{−ts})/s by its series: t (1 − ts/2 + …)
    assert alpha[0].tolist() == pytest.approx([1e-3 * (1 - 5e-4 + 1e-6 / 6), 1e-3 * (1 - 5e-13), 1e-3], rel=1e-9)
    assert alpha[1].tolist() == pytest.approx([1.0, 1e3 * (1 - 5e-7), 1e3], rel=1e-12)
    assert linearised_training(gram, y).coefficients(math.inf)[0, :, 0].tolist() == pytest.approx([1, 1e9, 0])
    steps = linearised_training(gram, y).coefficients(Descent(0.5, [4]))[0, :, 0]
    assert steps.tolist() == pytest.approx([1 - 0.5**4, 2 * (1 - 1.5 * 0.5e-9), 2], rel=1e-14)


def network_in_float64(k=2):
    network = FullyConnected(width=7, depth=3)
    params, buffers = network.init(3, k, Stream(0))
    return network, {name: value.to(F64) for name, value in params.items()}, buffers


def jacobian(network, params, buffers, x):
    """∂ outputs / ∂ parameters by automatic differentiation, shape (n, k, parameters)."""
    derivative = torch.func.jacrev(lambda p: network.apply(p, buffers, x)[0])(params)
    return torch.cat([part.flatten(2) for part in derivative.values()], 2)


def test_a_linearised_network_trained_step_by_step_agrees():
    network, params, buffers = network_in_float64()
    x, z = Stream(1).normal(6, 3, dtype=F64), Stream(2).normal(4, 3, dtype=F64)
    y = Stream(3).normal(6, 2, dtype=F64)
    J, J_z = jacobian(network, params, buffers, x), jacobian(network, params, buffers, z)
    gram = torch.einsum("iap,jbp->ijab", J, J)
    block = torch.einsum("iap,jbp->ijab", J_z, J)
    rate = 0.5 / torch.linalg.eigvalsh(gram.transpose(1, 2).reshape(12, 12))[-1].item()

    model = Linearised(network)
    at = buffers | {f"at.{name}": value for name, value in params.items()}
    moved = {name: torch.zeros_like(value) for name, value in params.items()}

    def loss(moved):
        return 0.5 * (model.apply(moved, at, x)[0] - y).square().sum()

    recorded = {}
    for step in range(31):
        if step in (0, 3, 30):
            recorded[step] = model.apply(moved, at, z)[0], loss(moved)
        gradient = torch.func.grad(loss)(moved)
        moved = {name: value - rate * gradient[name] for name, value in moved.items()}

    training = linearised_training(gram, y, network.apply(params, buffers, x)[0])
    descent = Descent(rate, [0, 3, 30])
    closed = training.predict(block, descent, network.apply(params, buffers, z)[0])
    for i, (f, value) in enumerate(recorded.values()):
        torch.testing.assert_close(closed[i], f, rtol=1e-10, atol=1e-11)
        assert training.losses(descent)[i].item() == pytest.approx(value.item(), rel=1e-10)
    torch.testing.assert_close(closed[0], network.apply(params, buffers, z)[0])


def test_a_full_tensor_without_coupling_is_the_shared_kernel():
    phi, psi, y, w = features()
    gram, block = phi @ phi.T, psi @ phi.T
    eye = torch.eye(2, dtype=F64)
    shared = linearised_training(gram, y, phi @ w)
    full = linearised_training(gram[:, :, None, None] * eye, y, phi @ w)
    times = [0.05, math.inf]
    torch.testing.assert_close(full.train(times), shared.train(times))
    torch.testing.assert_close(full.predict(block[:, :, None, None] * eye, times), shared.predict(block, times))
    torch.testing.assert_close(full.losses(0.05), shared.losses(0.05))
