import itertools

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.papers.bfc.theory.products import products_of_four, products_of_two


@pytest.mark.parametrize(("kernel", "degree"), [(products_of_two, 2), (products_of_four, 4)])
def test_against_the_sum_over_all_sets(kernel, degree):
    x, y = (Stream(0).child(name).normal(count, 6, dtype=torch.float64) for name, count in (("x", 3), ("y", 4)))
    sets = [list(each) for each in itertools.combinations(range(6), degree)]
    wanted = sum(x[:, each].prod(1)[:, None] * y[:, each].prod(1) for each in sets)
    torch.testing.assert_close(kernel(x, y), wanted, rtol=1e-10, atol=1e-10)
