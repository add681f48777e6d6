"""The benchmark of audits compares like with like; its times are not tested."""

import pytest
import torch

from beyondkernels.bench import audit


@pytest.mark.parametrize(("head", "chunk"), [("pooled", None), ("pooled", 2), ("flat", 3)])
def test_all_routes_to_the_tangent_kernel_give_one_tensor(head, chunk):
    ours, theirs = audit.by_layers(head, "full", n=4)(), audit.contraction(head, "full", n=4, chunk=chunk)()
    assert ours.shape == theirs.shape == (4, 4, 10, 10)
    assert ours.dtype == theirs.dtype == torch.float32
    assert (ours - theirs).abs().max() <= 1e-5 * theirs.abs().max()
    traced, summed = audit.by_layers(head, "traced", n=4)(), audit.contraction(head, "traced", n=4, chunk=chunk)()
    assert (10 * traced - summed).abs().max() <= 1e-5 * summed.abs().max()
