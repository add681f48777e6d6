"""W* in closed form as a learner: the risk that was asked, on samples and by enumeration, at nearly the least norm."""

import pytest

import beyondkernels as bk
from beyondkernels.papers.resnet.theory import ClosedForm, least_norm


@pytest.mark.parametrize(("degree", "dim", "width"), [(6, 40, 200), (6, 8, 128), (4, 9, 50)])
def test_it_has_the_risk_that_was_asked(degree: int, dim: int, width: int) -> None:
    """At points of the problem too, where all of them have the same error."""
    problem = bk.resnet.Monomial(dim, degree, instance=3)
    found = bk.fit(ClosedForm(width, 0.037), problem, n=3, test=50).outcome.scalars
    for name in ("risk", "train_loss", "test_loss"):
        assert found[name] == pytest.approx(0.037, rel=1e-9)
    # rows that are copied more often than others cost a little; none are where 2^q divides the width
    most = 1 + 1e-9 if width % 2**degree == 0 else 1.02
    assert 1 - 1e-9 <= found["norm"] / least_norm(0.037, degree) <= most
