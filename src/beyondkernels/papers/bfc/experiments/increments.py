"""What a layer adds to the accuracy: claims and a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from beyondkernels.lab import Between, Curves, Drawn, Line, Rows, Statement, claim, of
from beyondkernels.lab.declaration.pictures import by_seed
from beyondkernels.lab.declaration.rows import select
from beyondkernels.lab.declaration.values import Value
from beyondkernels.papers.bfc.experiments.classified import NETWORKS, alphas_of
from beyondkernels.papers.bfc.experiments.pictures import LOW

PROPORTIONAL = Between(0.8, 1.2)
"""The slopes that count as “proportional to α”."""

ORDER = 10.0
"""How many times larger or smaller a number “of order α” may be."""


def wrong(layer: int, by: str = "size") -> Value:
    """The share of wrong labels of the network with all layers up to one."""
    return of("test_error", by, method=NETWORKS[layer])


def shares(layer: int, by: str = "size") -> dict[str, tuple[str, Value]]:
    """What a layer decides: in words, and as a value."""
    return {
        "exact": (
            f"The share of points that layer {layer} of the target decides, computed,",
            of(f"decided{layer}", by, method=NETWORKS[layer]),
        ),
        "learnt": (
            f"The accuracy that a trained network gains by layer {layer}",
            wrong(layer - 1, by) - wrong(layer, by),
        ),
    }


def proportions(layer: int) -> list[Statement]:
    """That the share is proportional to α."""
    symbol, (low, high) = f"α{LOW[layer]}", (PROPORTIONAL.lower, PROPORTIONAL.upper)
    return [
        claim(
            f"{name}-slope-{layer}",
            f"{text} is proportional to {symbol}: the slope of its logarithm is between {low:g} and {high:g}",
            value.slope(),
            PROPORTIONAL,
            paper=f"about {symbol}",
        )
        for name, (text, value) in shares(layer, f"alpha{layer}").items()
    ]


def orders(layer: int) -> list[Statement]:
    """That the share is of order α."""
    symbol = f"α{LOW[layer]}"
    alpha, typical = (of(f"{name}{layer}", "size", method=NETWORKS[layer]) for name in ("alpha", "typical"))
    return [
        claim(
            f"{name}-order-{layer}",
            f"{text} is of order {symbol} at every α₃: its ratio to {symbol} is between 1/{ORDER:g} and {ORDER:g}",
            value / alpha,
            Between(1 / ORDER, ORDER),
            paper=f"about {symbol}",
            beside=(
                f"at half of the points the layer adds less to G* than {symbol} times",
                (typical / alpha).largest(),
            ),
        )
        for name, (text, value) in shares(layer).items()
    ]


def increments(picture: Drawn, rows: Rows, sizes: Sequence[float]) -> list[Curves]:
    """The shares that layers 3 and 4 decide, computed and learnt, over their α."""
    import numpy as np

    lines = []
    for layer in (3, 4):
        below, mine = (select(rows, {"status": "finished", "method": NETWORKS[top]}) for top in (layer - 1, layer))
        x, computed = by_seed(mine, "size", f"decided{layer}")
        more, without = by_seed(below, "size", "test_error")
        if not x or x != more:
            continue
        alphas = [alphas_of(size)[layer - 2] for size in x]
        gains = np.subtract(without, by_seed(mine, "size", "test_error")[1])
        lines.append(Line(f"layer {layer}, computed", alphas, computed))
        lines.append(Line(f"layer {layer}, learnt", alphas, np.where(gains > 0, gains, math.nan)))
    if not lines:
        return []
    ends = [alphas_of(min(sizes))[-1], alphas_of(max(sizes))[1]]
    words: dict[str, Any] = {
        "x_label": "α of the layer",
        "y_label": "share of points",
        "x_scale": "log",
        "y_scale": "log",
    }
    return [Curves(**picture.words, lines=[*lines, Line("α", ends, ends)], middle="median", **words)]
