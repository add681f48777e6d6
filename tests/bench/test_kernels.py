"""The benchmarks compare like with like; their times are not tested."""

import math

import pytest
import torch

from beyondkernels.bench import Row, kernels
from beyondkernels.bench.timing import Times, memory_ratio, peak_bytes


def test_both_routes_to_the_tangent_kernel_give_one_tensor():
    ours, theirs = kernels.structured(width=16, n=6)(), kernels.contraction(width=16, n=6)()
    assert ours.shape == theirs.shape == (6, 6, 10, 10)
    assert ours.dtype == theirs.dtype == torch.float32
    assert (ours - theirs).abs().max() <= 1e-5 * theirs.abs().max()
    double = kernels.structured(dtype=torch.float64, width=16, n=6)()
    assert (double - theirs).abs().max() <= 1e-5 * theirs.abs().max()
    traced = kernels.structured("traced", width=16, n=6)()
    assert (traced - theirs.diagonal(dim1=2, dim2=3).mean(-1)).abs().max() <= 1e-5 * traced.abs().max()
    summed = kernels.contraction("trace", width=16, n=6)()
    assert (10 * traced - summed).abs().max() <= 1e-5 * summed.abs().max()


def test_both_ridge_regressions_are_one():
    ours, theirs = kernels.features_ridge(40, 2, 5)(), kernels.ridge_cv(40, 2, 5)()
    assert ours.ridge == pytest.approx(theirs.alpha_)
    assert ours.intercept.tolist() == pytest.approx(theirs.intercept_.tolist(), rel=1e-6)
    assert (ours.coefficients.T - torch.from_numpy(theirs.coef_)).abs().max() < 1e-6


def test_small_versions_of_the_rows():
    found = [kernels.tangent_infinite(n=40), *kernels.ridge(n=60, outputs=2, count=3)]
    assert [row.name for row in found] == ["tangent-infinite", "ridge-path", "ridge-features"]
    for row in found:
        assert row.seconds > 0
        assert row.wall_seconds > 0
        for ratio in (row.ratio, row.wall_ratio):
            assert ratio is not None
            assert math.isfinite(ratio)
        assert row.memory_ratio is None
        assert row.as_json().keys() >= {"name", "against", "ratio", "seconds", "memory_ratio"}


def test_rows_divide_their_time_by_ours():
    found = Row.of("a", "b", Times(2.0, 5.0), Times(6.0, 10.0), "remark", 3.0)
    assert (found.ratio, found.wall_ratio, found.seconds, found.wall_seconds) == (3.0, 2.0, 2.0, 5.0)
    assert (found.memory_ratio, found.remark) == (3.0, "remark")


def test_peak_memory_of_a_fresh_process(monkeypatch, tmp_path):
    (tmp_path / "hungry_case.py").write_text(
        "import torch\ndef prepare():\n    return lambda: [torch.ones(40_000_000, dtype=torch.uint8) for i in (1, 2)]\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    peak = peak_bytes("hungry_case:prepare")
    assert peak is not None
    assert 80_000_000 <= peak <= 100_000_000
    assert memory_ratio("hungry_case:prepare", "hungry_case:prepare") == 1.0
