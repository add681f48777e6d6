"""Numbers whose last digits are not their own."""

from __future__ import annotations


def settled(number: float) -> float:
    """A number to nine significant digits.

    The last digits of a sum of products depend on its order, and so on the number of threads. A setting that is made
    from such a sum is part of a run's identity, which must not.

    >>> settled(0.1 + 0.2)
    0.3
    """
    return float(f"{number:.9g}")
