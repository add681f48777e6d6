import pytest

import beyondkernels as bk
from beyondkernels.papers.overparam.measurements import constant_loss, label_variance


def test_the_squared_loss_of_the_mean_is_the_variance():
    """Over other points, hence up to what 20,000 of them leave open."""
    problem = bk.overparam.TwoLayerTruth(bk.overparam.UnitInputs(5), "sin", 2, instance=3)
    found = constant_loss(problem, bk.algorithms.Squared())
    assert found == pytest.approx(label_variance(problem), rel=0.05)
    assert 0 < constant_loss(problem, bk.algorithms.PseudoHuber()) < found
