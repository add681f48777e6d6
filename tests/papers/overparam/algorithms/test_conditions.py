"""Which losses meet the conditions of the theorems, and on which range of predictions."""

from __future__ import annotations

import math

import pytest
import torch

from beyondkernels.algorithms import CrossEntropy, Hinge, PseudoHuber, Scaled, Squared
from beyondkernels.core import Stream
from beyondkernels.papers.overparam import TwoLayerTruth, UnitInputs, label_noise, loss_conditions
from refusals import refused

CONVEX, LIPSCHITZ, SMOOTH, MOST, LEAST = range(5)


def failing(loss, radius, labels, outputs=1) -> list[int]:
    return [i for i, each in enumerate(loss_conditions(loss, radius, labels, outputs)) if not each.holds]


class Concave(Squared):
    """Not convex beyond 1."""

    def each(self, out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        e2 = super().each(out, y)
        return e2 / (1 + e2) / 2


@pytest.mark.parametrize(
    ("loss", "radius", "labels", "expected"),
    [
        (PseudoHuber(), 0.5, (-1.0, 1.0), []),
        (PseudoHuber(), 10.0, (0.0,), [MOST]),
        (Scaled(Squared(), 0.5), 0.5, (-0.5, 0.5), []),
        (Scaled(Squared(), 0.5), 2.0, (0.0,), [LIPSCHITZ, MOST]),
        (Squared(), 0.4, (0.0,), [SMOOTH]),
        (CrossEntropy(), 0.5, (-1.0, 1.0), []),
        (CrossEntropy(), 5.0, (-1.0, 1.0), [MOST]),
        (CrossEntropy(3.0), 0.1, (-1.0, 1.0), [LIPSCHITZ, SMOOTH]),
        (Hinge(), 2.0, (-1.0, 1.0), [SMOOTH, MOST]),
        (Concave(), 3.0, (0.0,), [CONVEX]),
        (Scaled(PseudoHuber(), 2.0), 0.2, (0.0,), [SMOOTH]),
    ],
)
def test_which_conditions_fail(loss, radius, labels, expected):
    assert failing(loss, radius, labels) == expected


def test_how_much_and_where():
    """The slope of ‖ŷ − y‖² is largest at the far end of the range; its second derivative is 2."""
    conditions = loss_conditions(Squared(), 1.5, [0.5])
    assert conditions[LIPSCHITZ].measured == pytest.approx(4.0)
    assert "at ŷ = -1.5, y = 0.5" in conditions[LIPSCHITZ].text
    assert conditions[SMOOTH].measured == pytest.approx(2.0, rel=1e-6)
    kink = loss_conditions(Hinge(), 2.0, [1.0])[SMOOTH]
    assert kink.measured > 100
    assert float(kink.text.split("ŷ = ")[1].split(",")[0]) == pytest.approx(1.0, abs=2e-3)


def test_several_outputs():
    labels = torch.zeros(1, 3)
    assert failing(PseudoHuber(), 0.9, labels, outputs=3) == []
    assert failing(PseudoHuber(), 2.0, labels, outputs=3) == [MOST]
    conditions = loss_conditions(Squared(), 1.0, labels, outputs=3)
    assert conditions[LIPSCHITZ].measured == pytest.approx(2 * math.sqrt(3))  # at a corner
    assert conditions[SMOOTH].measured == pytest.approx(2.0, rel=1e-6)


class MeanAbsolute(Squared):
    """Has a kink wherever one output agrees with its label."""

    def each(self, out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (out - y).abs().mean(-1)


class Distance(Squared):
    """Has a kink at the label alone, where its derivative is not a number."""

    def each(self, out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return super().each(out, y).sqrt()


@pytest.mark.parametrize("loss", [MeanAbsolute(), Distance()])
@pytest.mark.parametrize(
    ("radius", "label"), [(0.5, (0.3, 0.2)), (0.5, (0.0, 0.0)), (0.5, (0.3,)), (0.5, (0.0,)), (4e3, (0.3, 0.2, 0.1))]
)
def test_kinks_are_found(loss, radius, label):
    """Also where their jump is small beside the range."""
    conditions = loss_conditions(loss, radius, torch.tensor([label]), outputs=len(label))
    assert [i for i, each in enumerate(conditions) if not each.holds and i != MOST] == [SMOOTH]
    assert conditions[SMOOTH].measured > 100


@pytest.mark.parametrize("label", [(1.0, 1.0, 1.0), (0.5, -0.5, 0.5), (2.0, 0.1, -0.2)])
def test_labels_at_the_border_or_beyond_have_no_kink(label):
    assert failing(Scaled(PseudoHuber(), 0.3), 0.5, torch.tensor([label]), outputs=3) == []


@pytest.mark.parametrize("outputs", [1, 3])
def test_label_noise_gives_the_stated_loss_at_the_ground_truth(outputs):
    c = label_noise(PseudoHuber(), 0.2, outputs)
    sample = TwoLayerTruth(UnitInputs(4), outputs=outputs, noise=c).sample(50, Stream(0))
    at_truth = PseudoHuber().each(sample.hidden["target"].double(), sample.y.double())
    torch.testing.assert_close(at_truth, torch.full_like(at_truth, 0.2), rtol=1e-5, atol=1e-6)
    assert label_noise(PseudoHuber(), 0.0) < 1e-12
    refused("loss must be 0 where prediction and label agree", label_noise, CrossEntropy(), 0.2)
