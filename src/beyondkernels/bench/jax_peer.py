"""The same grid in JAX, jitted, vmapped over members and scanned over steps: a peer to be measured against."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np


def installed() -> bool:
    """Whether JAX can be imported; it is never a dependency."""
    return importlib.util.find_spec("jax") is not None


def jax_grid(
    form: str, width: int, x: np.ndarray, y: np.ndarray, orders: np.ndarray, rates: np.ndarray
) -> Callable[[], Any]:
    """All members of a grid as one program, ready to run; the first call compiles.

    Arguments:
        form: ``full`` or ``bottleneck``.
        width: m.
        x: points, shape (n, d).
        y: labels, shape (n, k).
        orders: which points each step of each member looks at, shape (members, steps, batch).
        rates: learning rates, shape (members,).
    """
    jax: Any = importlib.import_module("jax")
    jnp: Any = importlib.import_module("jax.numpy")
    (_, d), k, m = x.shape, y.shape[1], width
    inner = k if form == "bottleneck" else m
    points, labels = jnp.asarray(x), jnp.asarray(y)

    def loss(params: Any, rows: Any) -> Any:
        h = jax.nn.relu(points[rows] @ params["W"] + params["b"])
        if form == "full":
            out = (h + jax.nn.relu(h @ params["U"] + params["c"])) @ params["A"]
        else:
            first = h @ params["A"]
            out = first + jax.nn.relu(first @ params["U"] + params["c"]) @ params["A"]
        return ((out - labels[rows]) ** 2).sum(1).mean()

    def member(params: Any, order: Any, rate: Any) -> Any:
        def step(state: Any, rows: Any) -> Any:
            params, velocity = state
            value, gradient = jax.value_and_grad(loss)(params, rows)
            velocity = jax.tree.map(lambda v, g, p: 0.9 * v + g + 1e-3 * p, velocity, gradient, params)
            return (jax.tree.map(lambda p, v: p - rate * v, params, velocity), velocity), value

        return jax.lax.scan(step, (params, jax.tree.map(jnp.zeros_like, params)), order)

    shapes = {"W": (d, m), "b": (m,), "U": (inner, m), "c": (m,), "A": (m, k)}
    generator = np.random.default_rng(0)
    start = {
        name: jnp.asarray(generator.normal(0, m**-0.5, (len(rates), *shape)).astype(np.float32))
        for name, shape in shapes.items()
    }
    program = jax.jit(jax.vmap(member))
    arguments = start, jnp.asarray(orders), jnp.asarray(rates.astype(np.float32))
    return lambda: jax.block_until_ready(program(*arguments))
