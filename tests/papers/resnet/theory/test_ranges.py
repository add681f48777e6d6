"""Table 1 of the paper on ResNets and kernels, its ranges inverted by search."""

import math

import pytest

from beyondkernels.networks import ThreeLayerResNet
from beyondkernels.papers.resnet.theory import ConceptSizes, Theorem1Ranges, radius_ranges, theorem1


def literal(m, k, log, sigma_w, sigma_v, tau_w, tau_v) -> list[bool]:
    """The ranges as printed, and the one of Claim C.6's proof."""
    return [
        m ** (-0.49) <= sigma_w,
        sigma_w <= m ** (-0.01),
        log <= sigma_v,
        sigma_v <= m**0.365,
        tau_w >= 1,
        m**0.126 * sigma_w <= tau_w,
        tau_w <= m**0.124 * sigma_w**0.25,
        tau_v <= 1 / log,
        sigma_v * (k / m) ** 0.375 <= tau_v,
        tau_v <= sigma_v / log,
        1 / sigma_v <= tau_v**2,
    ]


@pytest.mark.parametrize("m", [10, 10**6, 10**14])
@pytest.mark.parametrize("k", [1, 15])
@pytest.mark.parametrize(("sigma_w", "sigma_v"), [(0.03, 4.0), (0.9, 300.0), (1e-5, 0.5), (2.0, 1e5)])
@pytest.mark.parametrize(("tau_w", "tau_v"), [(1.2, 0.02), (40.0, 0.3), (0.5, 2.0)])
def test_against_the_table_as_printed(m, k, sigma_w, sigma_v, tau_w, tau_v):
    found = Theorem1Ranges(m, k, tau_w, tau_v, 5.0).hypotheses(sigma_w, sigma_v)
    assert [h.holds for h in found] == literal(m, k, 5.0, sigma_w, sigma_v, tau_w, tau_v)


@pytest.mark.parametrize(("m", "tau_w", "tau_v"), [(10**12, 3.0, 0.1), (10**30, 9.0, 0.01), (10**12, 1.0, 0.19)])
def test_ranges_are_where_the_table_holds(m, tau_w, tau_v):
    """A grid of 4000 scales: all hypotheses about σ hold inside the range given and none does not outside."""
    table = Theorem1Ranges(m, 2, tau_w, tau_v, 5.0)
    for which, name in ((0, "first_std"), (1, "second_std")):
        low, high = getattr(table, name)
        assert low < high
        for i in range(4000):
            sigma = math.exp(-30 + 60 * i / 4000)
            both = (sigma, 1.0) if which == 0 else (1.0, sigma)
            ranges = literal(m, 2, 5.0, *both, tau_w, tau_v)
            good = all(ranges[j] for j in ((0, 1, 5, 6), (2, 3, 8, 9, 10))[which])
            assert good == (low <= sigma <= high), (name, sigma)


def test_a_wide_network_satisfies_the_table():
    """At a width nobody can run, every range of Table 1 is met by the defaults."""
    sizes = ConceptSizes(1, 0.02, 1, 1, 1.0, 1.0)
    settings = theorem1(sizes, ThreeLayerResNet(10**16, "bottleneck"))
    about = [h for h in settings.hypotheses if h.text.startswith(("σ", "τ"))]
    assert len(about) == 12
    assert all(h.holds for h in about), [str(h) for h in about if not h.holds]


def test_ranges_of_the_radii():
    """Just inside all ends of Table 1 that speak of a radius hold, just outside one does not."""
    m, k, w, v = 10**12, 2, 1e-3, 0.8
    ends = radius_ranges(m, k, w, v)
    assert ends[0] == pytest.approx((10 ** (1.5 + 0.012) * 1e-3, 10 ** (1.5 - 0.012) * 1e-3**0.25))
    assert ends[1] == pytest.approx((0.8 * (2e-12) ** 0.375, 0.8))
    for layer, (low, high) in enumerate(ends):
        for tau, missed in ((low * 0.99, 1), (low * 1.01, 0), (high * 0.99, 0), (high * 1.01, 1)):
            taus = [2.0, 0.1]
            taus[layer] = tau
            asked = Theorem1Ranges(m, k, *taus, polylog=1.0).hypotheses(w, v)
            about = [h for h in asked if h.text.startswith("τ") and "σ" in h.text]
            assert sum(not h.holds for h in about) == missed, (layer, tau)


def test_middles():
    table = Theorem1Ranges(10**12, 2, 3.0, 0.1, 5.0)
    for found, (low, high) in zip(table.middle, (table.first_std, table.second_std), strict=True):
        assert math.log(found) == pytest.approx((math.log(low) + math.log(high)) / 2)
    narrow = Theorem1Ranges(200, 15, 15.0, 4.5, math.log(200))  # both ranges are empty
    assert narrow.first_std[0] > narrow.first_std[1]
    assert narrow.second_std[0] > narrow.second_std[1]
    assert narrow.middle == pytest.approx((200**-0.01, 200**0.365))
