from dataclasses import replace

import pytest

from beyondkernels.lab import Claim
from beyondkernels.lab.report.views import claim_view


@pytest.mark.parametrize(("low", "high", "seeds"), [(1.5, 2.5, ""), (None, None, "1.90, 2.10")])
def test_seeds_stand_where_there_is_no_interval(low, high, seeds):
    view = claim_view(Claim("id", "It is large", measured=2.0, low=low, high=high, values=(1.9, 2.1)))
    assert (view["interval"], view["seeds"]) == ("" if low is None else "1.50 to 2.50", seeds)


def test_a_claim_says_whose_it_is_why_it_fails_and_how_many_sets_of_seeds_agree():
    claim = Claim("id", "It is large", holds=False, kind="bound", place="Theorem 2, (3.1)")
    view = claim_view(replace(claim, cause="size", because="α is 0.1", sets=(True, False, None)))
    assert view["where"] == "Theorem 2, (3.1) · a bound"
    assert view["cause"].endswith(": α is 0.1") and view["sets"] == "met in 1 of 3 sets of seeds"
    assert claim_view(claim)["cause"] == claim_view(claim)["sets"] == ""
