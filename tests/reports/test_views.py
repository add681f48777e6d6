from beyondkernels.reports import AtLeast, Claim
from beyondkernels.reports.views import STRENGTHS, claim_view


def test_what_decides_is_told_where_something_was_decided():
    test = AtLeast(1.0, "clearly")
    for values, told in (([2.0, 2.1], True), ([2.0], False), ([0.5, 0.4], True)):
        judged = test.judge(values)
        claim = Claim("id", "It is large", measured=judged.measured, holds=judged.holds, strength=test.strength)
        assert (claim_view(claim)["strength"] == STRENGTHS["clearly"]) is told
