from beyondkernels.lab import AtLeast, Claim
from beyondkernels.lab.report.claims import Strength
from beyondkernels.lab.report.views import STRENGTHS, claim_view


def test_what_decides_is_told_where_something_was_decided():
    test = AtLeast(1.0, "clearly")
    for values, told in (([2.0, 2.1], True), ([2.0], False), ([0.5, 0.4], True)):
        judged = test.judge(values)
        claim = Claim("id", "It is large", measured=judged.measured, holds=judged.holds, strength=test.strength)
        assert (claim_view(claim)["strength"] == STRENGTHS["clearly"]) is told


def test_an_interval_is_shown_if_it_decides_and_seeds_if_they_are_few():
    cases: list[tuple[Strength, str, str]] = [("clearly", "1.50 to 2.50", ""), ("mean", "", "1.90, 2.10")]
    for strength, interval, seeds in cases:
        claim = Claim("id", "It is large", measured=2.0, low=1.5, high=2.5, strength=strength, values=(1.9, 2.1))
        view = claim_view(claim)
        assert (view["interval"], view["seeds"]) == (interval, seeds)
