"""Maps a second time: one term after the other."""

import math
from collections.abc import Callable

import pytest
import torch

from beyondkernels.data import TwoLayerMap
from beyondkernels.papers.resnet.problems import GeneralMap


def literal_map(source: TwoLayerMap | GeneralMap, point: list[float]) -> list[float]:
    """(5.2) or Definition A.1, read aloud."""
    out = []
    a, functions = source.coefficients.tolist(), source.functions
    for r in range(source.out_dim):
        total = 0.0
        for i in range(source.terms):
            phi = functions[r][i]
            if isinstance(source, TwoLayerMap):
                w = source.directions[r, i].tolist()
                z = sum(w[j] * point[j] for j in range(len(point)))
                total += a[r][i] * float(phi.value(torch.tensor(z, dtype=torch.float64)))
            else:
                x1 = [*point, 1.0]
                length = math.sqrt(sum(v * v for v in x1))
                first, second = source.first[r, i].tolist(), source.second[r, i].tolist()
                z = sum(first[j] * x1[j] for j in range(len(x1))) / length
                outer = sum(second[j] * x1[j] for j in range(len(x1)))
                total += a[r][i] * float(phi.value(torch.tensor(z, dtype=torch.float64))) * outer
        out.append(total)
    return out


@pytest.fixture(scope="session")
def literal() -> Callable[[TwoLayerMap | GeneralMap, list[float]], list[float]]:
    return literal_map
