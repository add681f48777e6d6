"""Numbers in single precision, and what is lost on the way there."""

from __future__ import annotations

import numpy as np

from beyondkernels.core import InputError

_BLOCK = 256
"""So many columns are looked at at once, which bounds the memory that this takes."""


def single(values: np.ndarray, name: str) -> np.ndarray:
    """A copy of finite numbers in single precision.

    Arguments:
        values: finite numbers, (n, …).
        name: what to call them in an error message.
    """
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32, order="C")
    over = np.flatnonzero(~np.isfinite(rounded).all(axis=tuple(range(1, rounded.ndim))))
    if len(over):
        largest = np.abs(values[over[0]]).max()
        raise InputError(
            f"{name} must fit into single precision, which ends at {np.finfo(np.float32).max:.1e}, got {largest:.1e} "
            f"in row {over[0]}; divide by a number first"
        )
    return rounded


def lost(values: np.ndarray) -> np.ndarray:
    """By how many of its standard deviations each column changes at most in single precision; 0 if it does not vary.

    Arguments:
        values: finite numbers that single precision reaches, (n, …).

    >>> lost(np.array([1e8, 1e8 + 1])) > 0.1, lost(np.array([0.1, 0.3])) > 1e-6
    (array([ True]), array([False]))
    """
    flat = values.reshape(len(values), -1)
    if values.dtype.kind == "b" or values.dtype.itemsize <= (4 if values.dtype.kind == "f" else 2):
        return np.zeros(flat.shape[1])
    return np.concatenate([_lost(flat[:, i : i + _BLOCK]) for i in range(0, flat.shape[1], _BLOCK)])


def varies(columns: np.ndarray) -> np.ndarray:
    """Whether each column of (n, k) numbers varies by more than the rounding of double precision."""
    exact = columns.astype(np.float64)
    return _spread(exact) > 16 * np.finfo(np.float64).eps * np.abs(exact).max(0)


def _lost(columns: np.ndarray) -> np.ndarray:
    exact = columns.astype(np.float64, copy=False)
    found, close = np.zeros(exact.shape[1]), np.flatnonzero(_close(exact))
    exact = exact[:, close]
    changed = np.abs(exact.astype(np.float32) - exact).max(0)
    found[close] = np.divide(changed, _spread(exact), out=np.zeros(len(close)), where=varies(exact))
    return found


def _close(exact: np.ndarray) -> np.ndarray:
    """Whether the numbers of each column are close to each other, or to 0; few are, and only these take time."""
    largest = np.maximum(exact.max(0), -exact.min(0))
    variance = np.einsum("ij,ij->j", exact, exact) / len(exact) - exact.mean(0) ** 2
    return (variance <= 1e-7 * largest**2) | (largest < np.finfo(np.float32).tiny)


def _spread(exact: np.ndarray) -> np.ndarray:
    """The standard deviation of each column, around its first number, so that a constant has none at all."""
    return (exact - exact[0]).std(0)
