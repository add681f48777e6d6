"""The numbers of (4.1) and of Definition B.3, written out once more."""

import math
from dataclasses import replace

import pytest

from beyondkernels.core import InputError, build, describe
from beyondkernels.papers.bfc.problems.graph import Graph
from beyondkernels.papers.bfc.theory import ProofConstants, definition_b3, practical, theorem1
from refusals import refused

ALPHAS, WIDTHS, BOUNDS = (1.0, 0.2, 0.01), (3, 2, 1), (2.0, 5.0, 7.0)
GRAPH = ((1,), (2, 0), (3, 1))


def test_the_special_case():
    s = theorem1(100, ALPHAS, WIDTHS, error=0.1, kappa=2.0, bounds=BOUNDS, gap_base=2, base=4)
    for i, (layer, alpha) in enumerate(zip((2, 3, 4), ALPHAS, strict=True)):
        assert s.distill_at[i] == pytest.approx(alpha**2 / 100 ** (1 / (6 * 4**layer)))
        assert s.cross[i] == s.distill_at[i]
        assert s.own[i] == pytest.approx(alpha**2 / 100 ** (1 / (3 * 4**layer)))
        assert s.whole[i] == pytest.approx(alpha**2 / 100 ** (1 / (2 * 4**layer)))
        below = {2: 1, 3: 3, 4: 2}[layer]  # layer 2 does not enter layer 4
        assert s.decay[i] == pytest.approx(1 / (below * 4 * 2.0) ** 8)
        if layer > 2:
            assert s.join_at[i] == pytest.approx(ALPHAS[i - 1] ** 2 / 100 ** (1 / (3 * 4 ** (layer - 1))))
    assert s.join_at[0] == math.inf
    assert s.rank_cut == (1 / 40,) * 3
    assert (s.first_error, s.error, s.depth) == (49.0, 0.1, 4)
    # the order of stages: a layer is distilled before the next one joins
    assert all(join < distil for join, distil in zip(s.join_at[1:], s.distill_at, strict=False))


def test_the_hypotheses_of_the_special_case():
    s = theorem1(100, ALPHAS, WIDTHS, error=0.1, kappa=2.0, bounds=BOUNDS)
    gap = [(h.measured, h.bound) for h in s.hypotheses[:2]]
    assert gap == [(0.2, pytest.approx(100**-0.25)), (pytest.approx(0.05), pytest.approx(100**-0.125))]
    assert [h.bound for h in s.hypotheses[2:5]] == pytest.approx([100 ** (1 / (2**i + 2)) for i in (2, 3, 4)])
    assert [h.bound for h in s.hypotheses[6:9]] == [2.0 ** (2**i) * k for i, k in zip((2, 3, 4), WIDTHS, strict=True)]
    assert [h.text for h in s.missed] == ["k₂ ≤ d^(1/(C₁² + C₁))", "k₃ ≤ d^(1/(C₁³ + C₁))"]
    assert build(describe(s)) == s


def test_skip_connections_of_the_special_case_do_not_go_deep():
    """{2, …, ℓ − C₁} ∩ 𝒥_ℓ = ∅, for every ℓ where the first set holds something."""

    def deep(graph: Graph, gap_base: int) -> dict[str, bool]:
        alphas, widths = tuple(0.1**i for i in range(len(graph))), (1,) * len(graph)
        s = theorem1(10, alphas, widths, error=0.1, graph=graph, gap_base=gap_base, base=9)
        return {h.text[1:3]: h.holds for h in s.hypotheses if "𝒥" in h.text}

    short, long = ((1,), (2, 0), (3, 1), (4, 0)), ((1,), (2, 0), (3, 1), (4, 2), (5, 3, 2))
    assert deep(short, 2) == {"𝒥₄": True, "𝒥₅": True}
    assert deep(long, 2) == {"𝒥₄": True, "𝒥₅": False, "𝒥₆": False}
    assert deep(long, 3) == {"𝒥₅": False, "𝒥₆": False}  # layer 3 in 𝒥₆ and layer 2 in 𝒥₅ lie three below
    assert deep(long, 4) == {"𝒥₆": False}
    assert deep(long, 5) == {}
    s = theorem1(10, (1.0, 0.1, 0.01, 0.001, 0.0001), (1,) * 5, error=0.1, graph=long)
    assert str(s.hypotheses[-1]) == "fails: |𝒥₆ ∩ {2, …, 6 − C₁}| = 0 (2)"


def test_practical():
    s = practical(
        (2.0, 0.5),
        (1.0, 0.1),
        error=0.01,
        join=0.2,
        distill=0.3,
        distill_last=0.02,
        weight=0.5,
        decay=1e-3,
        rank_cut=0.7,
    )
    assert s.join_at == (math.inf, 0.2 * 4)
    assert s.distill_at == (0.3 * 4, 0.02 * 0.25)
    assert s.cross == s.own == s.whole == (0.5, 0.5 * 0.1**2)
    assert s.decay == (1e-3,) * 2
    assert s.rank_cut == (0.7,) * 2
    assert s.first_error is None
    assert s.relative_cut


def test_definition_b3_against_whole_numbers():
    """D as a whole number of thousands of digits."""
    n = definition_b3(10, GRAPH, ALPHAS, WIDTHS, BOUNDS, error=0.1, kappa=2.0, constants=ProofConstants(exponent=2))
    k_bar, b_bar = {2: 1, 3: 3, 4: 2}, {2: 1, 3: 2, 4: 5}
    D = {}
    for layer in (2, 3, 4):
        q = 2**layer
        tau = (b_bar[layer] * k_bar[layer] * 4 * 2) ** 4
        assert n.tau[layer] == pytest.approx(math.log(tau))
        assert n.kappa[layer] == pytest.approx(math.log((k_bar[layer] * 4 * 2) ** 4))
        D[layer] = (tau * 2**q * q**q * math.factorial(q) * math.factorial(6 * q)) ** (2 * layer)
        assert n.factor[layer] == pytest.approx(math.log(D[layer]), rel=1e-12)
        c4 = q
        assert n.truncation[layer] == pytest.approx(math.log(tau * (c4 * math.log(10 * 4 / 0.1)) ** c4))
    d3, d4 = math.log(D[3]), math.log(D[4])
    y3, y4 = 20 * d3 + 20 * 64 * d4, 20 * d4
    assert n.product[4] == pytest.approx(y4, rel=1e-12)
    assert n.product[3] == pytest.approx(y3, rel=1e-12)
    assert n.product[2] >= 20 * n.factor[2] + 6 * (n.product[3] + n.product[4])  # as the paper notes
    assert n.distill_at[4] == pytest.approx(math.log(0.01**2 / 4) - 6 * d4 - y4, rel=1e-12)
    assert n.join_at[4] == pytest.approx(math.log(0.2**2) - 18 * d3 - 2 * y3, rel=1e-12)
    assert n.cross[4] == pytest.approx(math.log(0.01**2) - d4 - y4, rel=1e-12)
    assert n.own[4] == pytest.approx(math.log(0.01**2) - 7 * d4 - 2 * y4, rel=1e-12)
    assert n.whole[4] == pytest.approx(math.log(0.01**2) - 13 * d4 - 3 * y4, rel=1e-12)
    assert n.decay[4] == pytest.approx(-2 * math.log((2 * 4 * 2) ** 4))
    assert [h.holds for h in n.gap] == [False, False]
    assert n.gap[1].bound == pytest.approx(6 * n.product[4] + n.truncation[3])
    assert n.join_at.keys() == {3, 4}
    refused(r"^Thres_Δ of layer 3 is 10\^-\d+, which no float holds; take practical", n.settings)


def test_refused():
    refused("widths must hold 3 values, one for each layer, got 2", theorem1, 10, ALPHAS, (2, 2), error=0.1)
    refused("base must be larger than gap_base=2, got 2", theorem1, 10, ALPHAS, WIDTHS, error=0.1, base=2)
    refused("error must be positive, got 0", theorem1, 10, ALPHAS, WIDTHS, error=0)
    with pytest.raises(InputError, match="graph must hold 3 sets, one for each α, got 2"):
        definition_b3(10, GRAPH[:2], ALPHAS, WIDTHS, BOUNDS, error=0.1)
    with pytest.raises(InputError, match="cross must hold 2 values, one for each layer, got 1"):
        replace(practical((1.0, 1.0), (1.0, 0.1), error=0.1), cross=(1.0,))


def test_thresholds_stand_in_the_order_of_the_stages() -> None:
    settings = practical((1.0, 0.3, 0.1), (1.0, 0.3, 0.1), error=0.01)
    join, distill = settings.join_at, settings.distill_at
    labels = [label.split(":")[0] for label in settings.thresholds]
    assert labels == ["Thres₂,∇", "Thres₃,Δ", "Thres₃,∇", "Thres₄,Δ", "Thres₄,∇"]  # the first layer joins at once
    assert [*settings.thresholds.values()] == [distill[0], join[1], distill[1], join[2], distill[2]]
